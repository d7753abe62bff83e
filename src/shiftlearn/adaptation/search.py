"""The adaptation that a few labelled rows support: candidates averaged, with a guard.

No strength of adaptation is right everywhere: ten labelled rows of a table with few columns want a
small change of a good model, hundreds of rows of images want a large one. So candidates from "the
source as it is" to "the rows alone" are fitted, each labelled row is predicted by candidates that
have not seen it, and the candidates' probabilities are averaged with the weights under which those
held-out labels are most likely (`shiftlearn.adaptation.averaging`). The source's scores and the
rows' coordinates are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from shiftlearn.adaptation.averaging import HeldOut, check_folds, cross_fitted, held_out_folds
from shiftlearn.adaptation.base import FromSource
from shiftlearn.adaptation.candidates import (
    Candidate,
    Fitted,
    Material,
    as_candidates,
    default_candidates,
    fit_candidate,
    log_probabilities,
)
from shiftlearn.adaptation.companions import companion_models
from shiftlearn.adaptation.logistic import AdaptLogisticRegression, reduced_rows
from shiftlearn.adaptation.rows import AdaptationRows
from shiftlearn.adaptation.sources import Source, Sources
from shiftlearn.certificates import Certificate
from shiftlearn.kernels import resolve_kernel
from shiftlearn.machines.base import check_predict_rows, check_rows, warn_scales
from shiftlearn.machines.formulations import combine

__all__ = ["AdaptCV", "Guard"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_CREDIBLE = 0.25  # standard errors of the gain over the source alone; more costs more than it saves


@dataclass(frozen=True, slots=True)
class Guard:
    """What the held-out rows say about the average against the source alone.

    Attributes
    ----------
    gain : float
        Mean gain in log-likelihood of a held-out row.
    standard_error : float
        Of the gain.
    kept_source : bool
        Whether the source alone is used.
    verdict : str
        The same in words.
    """

    gain: float
    standard_error: float
    kept_source: bool
    verdict: str


class AdaptCV(FromSource):
    """Adapt an existing classifier to a few labelled rows, as strongly as they support.

    Fits candidates c from "the source as it is" over small changes of it to the labelled rows
    alone, and averages their probabilities,

        p(y | x) = Σ_c w_c p_c(y | x),
        w = argmax Σ_i ω_i log Σ_c w_c p_c^(-i)(y_i | x_i) + Σ_c a_c log w_c   on the simplex,

    where p_c^(-i) has not seen row i and a is a prior worth five rows (half of it for the union,
    where there is one). Labelled rows with equally many of each class were drawn class by class
    and say nothing of the target's class proportions: ω_i then brings them to those of the
    source, where it knows them. This is what to call with a model and
    a few new labels; nothing needs to be set.

    Parameters
    ----------
    source : classifier, callable or list of those, default=None
        What to adapt: a fitted classifier of any library with ``predict_proba`` or
        ``decision_function``, or a function that returns log-odds (two classes) or one score a
        class. A classifier that is not fitted is cloned and fitted on the source rows of ``fit``;
        None stands for a logistic regression where there are source rows, else for no source.
    candidates : "default" or list of (str, estimator), default="default"
        What is averaged. "default": the source alone; trust in it and class biases;
        :class:`AdaptLogisticRegression` from C=0.1 to 1000; :class:`AdaptSVC`, linear and RBF; the
        target rows alone; and, where source rows are given, their weighted union with the target
        rows. In a list, estimators of this library that take ``source_scores`` adapt the source,
        any other classifier is fitted on the target rows alone, and None is the source alone.
    cv : "auto", int, splitter or list of splits, default="auto"
        Folds of the labelled rows: "auto" leaves one out up to 10 rows and takes 5 stratified
        folds of more.
    guard : bool, default=True
        Keep the source alone where nothing is better than it on held-out rows.
    averaging : bool, default=True
        False picks the candidate of the largest held-out likelihood instead.
    companions : "auto" or None, default="auto"
        Where source rows are given, "auto" fits another model on them and adapts both together: a
        logistic regression beside a model that is not linear, extremely randomised trees beside a
        linear one (dense rows). It serves as a further source with a trust of its own.
    random_state : int, RandomState or None, default=None
        Draws of the folds and the trees; None is a fixed draw.
    n_jobs : int or None, default=None
        Threads of the candidates; None means all CPUs that this process may use.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the rows and of the sources together.
    weights_ : dict of str to float
        Weight of each candidate; 0 where it is not used.
    best_name_, best_params_, best_estimator_
        The candidate of the largest weight, its parameters, and it fitted (None: the source).
    cv_results_ : dict of lists
        ``name``, ``held_out_log_likelihood`` and ``held_out_accuracy`` (means over the held-out
        rows), ``weight``.
    guard_ : Guard
        The average against the source alone.

    See Also
    --------
    AdaptLogisticRegression, AdaptSVC : one adaptation, of a strength that you choose.
    select_queries : the rows worth labelling.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import AdaptCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> old = LogisticRegression().fit(X, X[:, 0] > 0)
    >>> X_new = X + [1.0, 0.0]  # the boundary has moved to 1
    >>> model = AdaptCV(old).fit(X_new[:20], X_new[:20, 0] > 1)
    >>> bool(model.score(X_new, X_new[:, 0] > 1) > old.score(X_new, X_new[:, 0] > 1) + 0.2)
    True
    >>> model.guard_.kept_source
    False
    """

    source_transform: Callable[..., ArrayLike] | str | None = None
    tol: float = 1e-6
    _reading: ClassVar[str] = "log"

    def __init__(
        self,
        source: Any = None,
        *,
        candidates: Sequence[tuple[str, Any]] | str = "default",
        cv: Any = "auto",
        guard: bool = True,
        averaging: bool = True,
        companions: str | None = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.source = source
        self.candidates = candidates
        self.cv = cv
        self.guard = guard
        self.averaging = averaging
        self.companions = companions
        self.random_state = random_state
        self.n_jobs = n_jobs

    def predict_proba(
        self,
        X: Any,
        *,
        sample_domain: ArrayLike | None = None,
        allow_source: bool = True,
        source_scores: Any = None,
    ) -> Floats:
        """Averaged probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them; the model is that of the target.
        source_scores : array-like, optional
            The scores of the source at X, instead of asking it.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Each row sums to one.
        """
        check_is_fitted(self, "sources_")
        rows = check_predict_rows(self, X)
        return self._average(rows, self._all_scores(X, source_scores))

    def _check_parameters(self) -> None:
        if self.companions not in ("auto", None):
            raise ValueError(f'companions must be "auto" or None, got {self.companions!r}.')
        if not isinstance(self.candidates, str) or self.candidates != "default":
            as_candidates(self.candidates)
        check_folds(self.cv)

    def _default_source(self) -> AdaptLogisticRegression:
        return AdaptLogisticRegression(n_jobs=self.n_jobs)

    def _learn(self, rows: AdaptationRows, codes: Ints, sources: Sources, scores: Floats) -> None:
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        material = self._material(rows, codes, sources, scores, rng)
        candidates = self._candidates(material)
        folds = held_out_folds(codes, self.cv, rng, rows.index)
        if len(codes) < 2:
            self._without_folds(candidates, material)
            return
        fitted = [fit_candidate(candidate, material) for candidate in candidates]
        held_out = cross_fitted(candidates, material, folds)
        fitted = [
            replace(one, temperature=a)
            for one, a in zip(fitted, held_out.temperatures.tolist(), strict=True)
        ]
        weights = held_out.weights(self.averaging)
        self.guard_ = self._look(candidates, held_out, weights)
        if self.guard_ is not None and self.guard_.kept_source:
            weights = np.eye(len(candidates))[_source_alone(candidates)]
        self._adopt(fitted, weights, material)
        self.cv_results_ = {
            "name": [candidate.name for candidate in candidates],
            "held_out_log_likelihood": held_out.log_likelihood().tolist(),
            "held_out_accuracy": held_out.accuracy().tolist(),
            "weight": weights.tolist(),
        }

    def _material(
        self, rows: AdaptationRows, codes: Ints, sources: Sources, scores: Floats, rng: Any
    ) -> Material:
        """Everything that candidates are fitted on; sets the companions."""
        source_X = source_codes = None
        self.companions_ = Sources((), sources.classes, self._reading)
        if len(codes):
            warn_scales(rows.X)
        if rows.source_X is not None and rows.source_y is not None and len(codes):
            source_X = check_rows(self, rows.source_X, reset=False)
            source_codes = np.searchsorted(sources.classes, rows.source_y)
            if self.companions is not None:
                models = companion_models(sources, source_X, rows.source_y, rng, self.n_jobs)
                members = tuple(Source.of(model) for model in models)
                self.companions_ = replace(self.companions_, members=members)
        scores = np.concatenate([scores, self.companions_.scores(rows.X)], axis=1)
        return Material(
            rows.X, reduced_rows(rows.X, rows.weights), codes, rows.weights, scores,
            len(sources.members), len(sources.classes), source_X, source_codes,
            _class_shares(sources, source_codes),
        )  # fmt: skip

    def _candidates(self, material: Material) -> list[Candidate]:
        if not isinstance(self.candidates, str):
            return as_candidates(self.candidates)
        union = material.source_X is not None
        gamma = _scale_gamma(material.X)
        return default_candidates(material.scores.shape[1], gamma, union, self.n_jobs)

    def _without_folds(self, candidates: list[Candidate], material: Material) -> None:
        """One row or none compares nothing: the source as it is."""
        source = _source_alone(candidates)
        if source is None:
            raise ValueError(
                f"y holds {len(material.codes)} labelled row: without a source at least 2 are "
                "needed to compare candidates."
            )
        self.guard_ = Guard(0.0, 0.0, True, "Too few labelled rows to compare anything.")
        fitted = [Fitted(candidates[source], None, material.n_own, material.n_classes)]
        self._adopt(fitted, np.ones(1), material)
        self.cv_results_ = {"name": [candidates[source].name], "weight": [1.0]}

    def _look(
        self, candidates: list[Candidate], held_out: HeldOut, weights: Floats
    ) -> Guard | None:
        """The average against the source alone; None where there is none."""
        source = _source_alone(candidates)
        if source is None:
            return None
        gain, error = held_out.gain(weights, source)
        better = gain > _CREDIBLE * error
        verdict = (
            f"The labels held out are {np.exp(gain):.2f} times as likely under the average as "
            f"under the source alone (a row; log {gain:+.3f} ± {error:.3f})."
        )
        if self.guard and not better:
            verdict += " Nothing is credibly better than the source: it is kept as it is."
        return Guard(gain, error, bool(self.guard and not better), verdict)

    def _adopt(self, fitted: list[Fitted], weights: Floats, material: Material) -> None:
        """Set the fitted attributes."""
        best = int(weights.argmax())
        self.weights_ = {
            one.candidate.name: float(w) for one, w in zip(fitted, weights, strict=True)
        }
        self.best_name_ = fitted[best].candidate.name
        self.best_params_ = fitted[best].candidate.params
        self.best_estimator_ = fitted[best].model
        self._used = [(one, float(w)) for one, w in zip(fitted, weights, strict=True) if w > 0]
        self.certificate_ = _all_of([one.model for one, _ in self._used])
        self.n_iter_ = max(1, self.certificate_.n_iter)

    def _all_scores(self, X: Any, given: Any) -> Floats:
        own = self.sources_.scores(X, given)
        needed = any(one.candidate.kind == "adapt" for one, _ in self._used)
        if not self.companions_.members or not needed:
            return own
        rows = check_rows(self, X, reset=False)
        return np.concatenate([own, self.companions_.scores(rows)], axis=1)

    def _average(self, rows: Any, source_scores: Floats) -> Floats:
        """Averaged probabilities of all classes."""
        parts = [
            w * np.exp(log_probabilities(one.scores(rows, source_scores))) for one, w in self._used
        ]
        return np.asarray(np.sum(parts, axis=0))

    def _scores(self, rows: Any, X: Any, given: Any) -> Floats:
        """Log-odds (two classes) or log-probabilities, centred over the classes."""
        p = self._average(rows, self._all_scores(X, given))
        logs = np.log(np.maximum(p, np.finfo(np.float64).tiny))
        if logs.shape[1] == 2:
            return logs[:, 1:] - logs[:, :1]
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _source_alone(candidates: list[Candidate]) -> int | None:
    alone = [c for c, candidate in enumerate(candidates) if candidate.estimator is None]
    return alone[0] if alone else None


def _class_shares(sources: Sources, source_codes: Ints | None) -> Floats | None:
    """Class proportions of the source rows, or as the first source that knows counted them."""
    k = len(sources.classes)
    if source_codes is not None:
        return np.asarray(np.bincount(source_codes, minlength=k) / len(source_codes))
    for member in sources.members:
        for name in ("class_prior_", "class_count_", "source_class_count_"):
            known = getattr(member.model, name, None)
            if known is not None and np.shape(known) == (k,) and np.sum(known) > 0:
                return np.asarray(known / np.sum(known), dtype=np.float64)
    return None


def _scale_gamma(X: Any) -> float:
    """What gamma="scale" is for these rows; coordinates of their span have another variance."""
    if not X.shape[0]:
        return 1.0
    return float(resolve_kernel("rbf", "scale", 3, 0.0, X).gamma)


def _all_of(models: list[Any]) -> Certificate:
    """The proofs of the models in use together."""
    found = [m.certificate_ for m in models if hasattr(m, "certificate_")]
    if not found:
        return Certificate(objective=0.0, gap=0.0, violation=0.0, converged=True, n_iter=0)
    return combine(tuple(found))
