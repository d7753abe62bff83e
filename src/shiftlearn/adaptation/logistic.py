"""Adaptation with the logistic loss and a learned trust in the source.

Adapt-SVM's idea (J. Yang, R. Yan, A. G. Hauptmann, "Adapting SVM Classifiers to Data with Shifted
Distributions", 2007) with another loss. With ℓ the multinomial logistic loss, costs
c_i = C · ω_i / mean ‖x‖², and f'_m the log-probabilities of source m centred over the classes (the
log-odds for two classes),

    min_{W, b, θ}  Σ_i c_i ℓ(y_i, Σ_m θ_m f'_m(x_i) + Wᵀx_i + b) + ½‖W‖² + (B/2)‖θ - θ0‖²,

θ0 = 1/n_sources. The problem is smooth and convex: Newton's method ends in a certificate. W lies in
the span of the few rows, so that with more columns than rows the problem is solved in as many
coordinates as there are rows, exactly.

b moves only classes that have a row, and their sum is 0 where some class has none: without that the
loss would fall for ever as the classes not yet seen vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import qr
from scipy.special import expit, softmax

from shiftlearn.adaptation.base import Adapter
from shiftlearn.adaptation.rows import AdaptationRows, class_costs
from shiftlearn.adaptation.sources import Sources
from shiftlearn.adaptation.streaming import contrasts, open_adaptation
from shiftlearn.certificates import Certificate, Event, warn_unless_converged
from shiftlearn.kernels import Kernel
from shiftlearn.machines.base import check_number, progress, warn_scales
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.machines.spaces import FeatureSpace
from shiftlearn.solvers.logistic import LogisticSolution, solve_logistic
from shiftlearn.statistics import Stream

__all__ = ["AdaptLogisticRegression", "reduced_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_TRANSFORMS = (None, "logit", "scale")
_REDUCED_WORK = 1 << 30  # rows² x active columns that are worth factoring


class AdaptLogisticRegression(Adapter):
    """Logistic regression adapted from an existing classifier, with a learned trust in it.

    Minimises, with the multinomial logistic loss ℓ, ω_i = sample_weight_i · class_weight(y_i) and
    f' the log-probabilities of the source centred over the classes,

        C Σ_i ω_i ℓ(y_i, θ f'(x_i) + Wᵀx_i + b) + ½‖W‖² + (B/2)(θ - 1)².

    C is divided by the mean of ‖x‖² over the rows of ``fit``, so that it does not depend on units.
    No row of the source's training data is needed. Without a source it is plain penalised logistic
    regression.

    Parameters
    ----------
    source : classifier, callable or list of those, default=None
        What to adapt: a fitted classifier of any library with ``predict_proba`` or
        ``decision_function``, or a function that returns log-odds (two classes) or one score for
        each class. A classifier that is not fitted is cloned and fitted on the source rows of
        ``fit``; None stands for the same logistic regression where there are source rows.
    C : float, default=10.0
        Cost of the loss, in units of the mean of ‖x‖².
    trust : "learned", float or array of shape (n_sources,), default="learned"
        θ; learned around θ0 = 1/n_sources, or fixed.
    trust_penalty : float, default=1.0
        B.
    source_transform : {None, "logit", "scale"} or callable, default=None
        What is done to the source's scores: None centres them over the classes only; "logit"
        takes the log-odds of each class; "scale" divides by the median size on the rows of ``fit``.
    fit_intercept : bool, default=True
        Whether b is there; it is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs.
    features : transformer or None, default=None
        A feature map, fitted on the labelled rows; W acts on its features.
    warm_start : bool, default=False
        Start ``fit`` from the former answer.
    tol : float, default=1e-6
        Largest gradient entry over max(1, sum of the costs).
    max_iter : int, default=100
        Most Newton steps.
    memory_limit : int or "auto", default="auto"
        Bytes for blocks of rows.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the rows and of the sources together.
    trust_ : ndarray of shape (n_sources,)
        θ.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        W, the change (of the features, with ``features``).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    features_ : transformer
        The fitted feature map, with ``features``.
    certificate_ : Certificate
        ``gap`` bounds the distance of the objective from its minimum.
    n_iter_ : int
        Newton steps.

    See Also
    --------
    AdaptSVC : the published method, with the hinge loss and kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import AdaptLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> old = LogisticRegression().fit(X, X[:, 0] > 0)
    >>> X_new = X + [1.0, 0.0]  # the boundary has moved to 1
    >>> model = AdaptLogisticRegression(old).fit(X_new[:20], X_new[:20, 0] > 1)
    >>> bool(model.score(X_new, X_new[:, 0] > 1) > old.score(X_new, X_new[:, 0] > 1) + 0.2)
    True
    """

    _reading: ClassVar[str] = "log"

    def __init__(
        self,
        source: Any = None,
        *,
        C: float = 10.0,
        trust: ArrayLike | str = "learned",
        trust_penalty: float = 1.0,
        source_transform: Callable[..., ArrayLike] | str | None = None,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        features: Any = None,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.source = source
        self.C = C
        self.trust = trust
        self.trust_penalty = trust_penalty
        self.source_transform = source_transform
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.features = features
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def predict_proba(
        self,
        X: Any,
        *,
        sample_domain: ArrayLike | None = None,
        allow_source: bool = True,
        source_scores: Any = None,
    ) -> Floats:
        """Probabilities of the classes.

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
        scores = self.decision_function(X, source_scores=source_scores)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def predict_log_proba(
        self,
        X: Any,
        *,
        sample_domain: ArrayLike | None = None,
        allow_source: bool = True,
        source_scores: Any = None,
    ) -> Floats:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X, sample_domain, allow_source, source_scores
            As in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms.
        """
        scores = self.decision_function(X, source_scores=source_scores)
        if scores.ndim == 1:
            return np.stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)], axis=1)
        top = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(top - np.log(np.exp(top).sum(axis=1, keepdims=True)))

    def _check_parameters(self) -> None:
        for name in ("C", "trust_penalty", "tol", "max_iter"):
            check_number(name, getattr(self, name))
        if not callable(self.source_transform) and self.source_transform not in _TRANSFORMS:
            raise ValueError(
                'source_transform must be None, "logit", "scale" or a callable, got '
                f"{self.source_transform!r}."
            )

    def _default_source(self) -> AdaptLogisticRegression:
        return AdaptLogisticRegression(
            C=self.C, features=self.features, tol=self.tol, max_iter=self.max_iter,
            memory_limit=self.memory_limit, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _learn(self, rows: AdaptationRows, codes: Ints, sources: Sources, scores: Floats) -> None:
        n = rows.X.shape[0]
        if n:
            warn_scales(rows.X)
        theta = self._trust_of(sources)
        space = FeatureSpace.of(self.features if n else None, rows.X)
        weights = class_costs(self.class_weight, sources.classes, codes, rows.weights)
        task = _Task(_reduced(space.Z, rows.weights), codes, scores, sources.n_columns)
        former = vars(self).get("_former") if self.warm_start else None
        if n == 0:
            answer = _nothing(task, theta)
        else:
            answer = self._solve(task, self.C / task.rows.unit * weights, theta, former)
        self.coef_ = task.rows.expand(answer.coef)
        self.intercept_ = answer.intercept
        self.trust_ = answer.shared if theta is None else theta
        self.certificate_ = answer.certificate
        self.n_iter_ = max(1, answer.certificate.n_iter)
        self._former = (self.coef_, self.intercept_, self.trust_)
        self._change = LinearScores(self.coef_, self.intercept_, space.features)
        if space.features is not None:
            self.features_ = space.features

    def _fit_stream(self, stream: Stream) -> None:
        """Fit from blocks of labelled target rows; the source has to be fitted."""
        self._check_parameters()
        task = open_adaptation(self, stream, self._reading)
        self.coef_, self.intercept_, self.trust_, answer = task.solve(
            C=float(self.C), theta=self._trust_of(task.sources),
            trust_penalty=float(self.trust_penalty), fit_intercept=self.fit_intercept,
            tol=self.tol, max_iter=int(self.max_iter), n_jobs=self.n_jobs,
            callback=progress(self.callback, self.verbose, type(self).__name__),
        )  # fmt: skip
        self.certificate_ = answer.certificate
        self.n_iter_ = max(1, answer.certificate.n_iter)
        self._former = (self.coef_, self.intercept_, self.trust_)
        self._change = LinearScores(self.coef_, self.intercept_, task.features)
        if task.features is not None:
            self.features_ = task.features
        self.classes_, self.sources_ = task.sources.classes, task.sources
        self.target_class_count_ = task.counts
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _trust_of(self, sources: Sources) -> Floats | None:
        """The fixed weights of the sources; None where they are learned."""
        count = len(sources.members)
        if isinstance(self.trust, str):
            if self.trust != "learned":
                raise ValueError(f'trust must be "learned" or numbers, got {self.trust!r}.')
            return None
        if sources.chained:
            return np.ones(count)
        given = np.asarray(self.trust, dtype=np.float64)
        given = np.full(count, float(given)) if given.ndim == 0 else given
        if given.shape != (count,) or not np.isfinite(given).all():
            raise ValueError(
                f"trust must be one finite number for each of the {count} sources, got "
                f"{self.trust!r}."
            )
        return given

    def _solve(
        self, task: _Task, costs: Floats, theta: Floats | None, former: Any
    ) -> LogisticSolution:
        """Newton's method on the reduced rows."""
        n_sources = task.scores.shape[1]
        shared = task.scores if theta is None and n_sources else None
        offset = None if theta is None else np.einsum("nmc,m->nc", task.scores, theta)
        moves = task.contrasts() if self.fit_intercept else None
        free = 0 if moves is None else moves.shape[0]
        centers = np.full(n_sources if shared is not None else 0, 1.0 / max(1, n_sources))
        penalties = np.full(len(centers), float(self.trust_penalty))
        if moves is not None and free:
            fixed = np.broadcast_to(moves, (len(costs), *moves.shape))
            shared = fixed if shared is None else np.concatenate([shared, fixed], axis=1)
        answer = solve_logistic(
            task.rows.Z,
            task.codes,
            n_classes=max(2, task.n_columns),
            penalty=1.0,
            sample_weight=costs,
            offset=offset,
            shared=shared,
            shared_penalty=np.concatenate([penalties, np.zeros(free)]),
            shared_center=np.concatenate([centers, np.zeros(free)]),
            fit_intercept=self.fit_intercept and moves is None,
            memory_limit=self.memory_limit,
            tol=self.tol,
            max_iter=int(self.max_iter),
            start=None if moves is not None else task.start(former, self.fit_intercept),
            n_jobs=self.n_jobs,
            callback=progress(self.callback, self.verbose, type(self).__name__),
        )
        if moves is None:
            return answer
        levels = answer.shared[len(centers) :] @ moves
        return LogisticSolution(
            answer.coef, levels, answer.shared[: len(centers)], answer.parameters,
            answer.certificate,
        )  # fmt: skip

    def _scores(self, rows: Any, X: Any, given: Any) -> Floats:
        source = self.sources_.scores(X, given)
        return np.asarray(
            self._change.values(rows, self.n_jobs) + np.einsum("nmc,m->nc", source, self.trust_)
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows in the coordinates that the problem is solved in.

    ``basis`` (active columns x coordinates, orthonormal) and ``active`` lead back: None, None where
    the coordinates are the columns themselves. ``unit`` is the weighted mean of ‖x‖².
    """

    Z: Any
    n_columns: int
    unit: float
    basis: Floats | None = None
    active: Ints | None = None

    def expand(self, coef: Floats) -> Floats:
        """Weights of all columns from those of the coordinates."""
        if self.basis is None:
            return coef
        whole = np.zeros((coef.shape[0], self.n_columns))
        whole[:, slice(None) if self.active is None else self.active] = coef @ self.basis.T
        return whole

    def shrink(self, coef: Floats) -> Floats:
        """The part of weights of all columns that the rows see."""
        if self.basis is None:
            return coef
        return np.asarray(coef[:, slice(None) if self.active is None else self.active] @ self.basis)


@dataclass(frozen=True, slots=True)
class _Task:
    """Rows, class numbers and source scores (n, n_sources, n_columns)."""

    rows: _Rows
    codes: Ints
    scores: Floats
    n_columns: int

    def contrasts(self) -> Floats | None:
        """Orthonormal directions in which intercepts may move; None where all may."""
        return contrasts(np.unique(self.codes), max(2, self.n_columns))

    def start(self, former: Any, fit_intercept: bool) -> Floats | None:
        """A former answer as parameters of this problem, where the shapes agree."""
        if former is None:
            return None
        coef, intercept, trust = former
        shapes = (coef.shape[1], coef.shape[0], len(trust))
        if shapes != (self.rows.n_columns, self.n_columns, self.scores.shape[1]):
            return None
        parts = [self.rows.shrink(coef).T.ravel()]
        if fit_intercept:
            parts.append(intercept)
        return np.concatenate([*parts, trust])


def reduced_rows(X: Any, weights: Floats) -> Any:
    """Rows in coordinates of their span, where those are fewer: inner products stay."""
    return _reduced(X, weights).Z


def _reduced(Z: Any, weights: Floats) -> _Rows:
    """The rows in an orthonormal basis of their span, where that is smaller."""
    n, d = Z.shape
    unit = float(np.average(Kernel("linear").diagonal(Z), weights=weights)) if n else 1.0
    unit = unit if unit > 0 else 1.0
    active = None
    if sparse.issparse(Z):
        active = np.unique(Z.indices)
        d = len(active)
    if n == 0 or n >= d or n * n * d > _REDUCED_WORK:
        return _Rows(Z, Z.shape[1], unit)
    dense = Z if active is None else Z[:, active].toarray()
    basis, triangle = qr(np.asarray(dense, dtype=np.float64).T, mode="economic", check_finite=False)
    return _Rows(np.ascontiguousarray(triangle.T), Z.shape[1], unit, basis, active)


def _nothing(task: _Task, theta: Floats | None) -> LogisticSolution:
    """The answer of no rows: the source as it is."""
    k, m = task.n_columns, task.scores.shape[1]
    done = Certificate(objective=0.0, gap=0.0, violation=0.0, converged=True, n_iter=0)
    trust = np.full(m, 1.0 / max(1, m)) if theta is None else theta
    return LogisticSolution(
        np.zeros((k, task.rows.Z.shape[1])), np.zeros(k), trust, np.empty(0), done
    )
