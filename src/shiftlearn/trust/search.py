"""Choosing among methods without target labels; keeping the source model where that is wiser."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from shiftlearn.domains import DomainClassifierMixin, DomainKFold, warn_no_target
from shiftlearn.machines.base import all_or_nothing
from shiftlearn.trust.candidates import Named, fit_candidate, opinion
from shiftlearn.trust.committee import ShiftCommittee
from shiftlearn.trust.guard import Guard, expected_difference, guard
from shiftlearn.trust.members import Front, default_classifier, unseen_probabilities
from shiftlearn.trust.proportions import Proportions, find_proportions
from shiftlearn.trust.seen import shift_p_value
from shiftlearn.views.rows import BothRows, SourceRows, both_rows, numeric_rows

__all__ = ["ShiftSearchCV"]

Floats = NDArray[np.float64]

_REFERENCE = "source"


@dataclass(frozen=True, slots=True)
class _Field:
    """The fitted candidates, what they say of the target rows, and what is known of the shift."""

    models: dict[str, Any]
    said: dict[str, Floats]
    seconds: dict[str, float]
    p_value: float
    proportions: Proportions | None


class ShiftSearchCV(DomainClassifierMixin, BaseEstimator):
    """Choose a method without target labels; keep the source-only model unless another is credible.

    Each candidate c is compared with the source-only model s by the opinion P̄ of the others,

        Δ_c = mean over target rows of  P̄(c(x) | x) - P̄(s(x) | x),

    the largest Δ is chosen, and the guard decides whether it is believed (see ``guard_``). Target
    labels are never read.

    Parameters
    ----------
    candidates : "default" or list of (name, estimator), default="default"
        "default": :class:`ShiftCommittee` and each of its members. Estimators whose ``fit`` takes
        ``sample_domain`` get both domains, others the source rows. The reference is the candidate
        named "source"; without one a logistic regression on the source rows.
    scoring : "auto" or callable, default="auto"
        "auto": Δ. A callable ``scorer(model, X, y, sample_domain=)`` of :mod:`shiftlearn.metrics`
        chooses by its mean over folds of both domains; the guard is the same.
    guard : bool, default=True
        Whether the source-only model is kept where the chosen one is not credibly better.
    cv : int, default=5
        Folds for a callable ``scoring``.
    random_state : int, RandomState or None, default=None
        Draws folds and bootstrap samples.
    n_jobs : int or None, default=None
        Threads of the committee.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the source.
    best_name_, best_estimator_ : str and fitted classifier
        What predicts.
    candidates_ : dict of fitted classifiers
        All candidates by name, to look at.
    chosen_name_ : str
        What was chosen before the guard was asked.
    guard_ : Guard
        Estimated difference to source-only with its interval, and the verdict in words.
    cv_results_ : dict of lists
        By candidate: name, score, estimated difference and its interval, seconds.

    See Also
    --------
    AccuracyEstimator : what accuracy to expect of the model that was kept.

    Examples
    --------
    >>> from shiftlearn import ShiftSearchCV
    >>> from shiftlearn.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(random_state=0)
    >>> search = ShiftSearchCV(random_state=0)
    >>> search = search.fit(data.data, data.target, sample_domain=data.domain)
    >>> search.best_name_ in search.cv_results_["candidate"]
    True
    """

    def __init__(
        self,
        candidates: Any = "default",
        scoring: Any = "auto",
        guard: bool = True,
        cv: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.guard = guard
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, sample_domain: ArrayLike | None = None) -> ShiftSearchCV:
        """Fit the candidates, choose one, and ask the guard.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            >= 0 source, < 0 target; without it the rows without a label are the target.

        Returns
        -------
        ShiftSearchCV
            The fitted search. Without target rows it is the source-only model.
        """
        with all_or_nothing(self):
            self._check()
            rows = both_rows(self, X, y, sample_domain, None)
            self.classes_ = rows.classes
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            if rows.target.shape[0] == 0:
                warn_no_target("ShiftSearchCV", "the source-only model")
                self._without_target(rows)
            else:
                self._choose(rows, seed)
        return self

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Probabilities by the model that was kept (votes of 0 and 1 where it has none).

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of the target domain.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "best_estimator_")
        return opinion(self.best_estimator_, numeric_rows(self, X, reset=False), self.classes_)

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the class of each row; the parameters of ``predict_proba``."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check(self) -> None:
        if not isinstance(self.guard, bool | np.bool_):
            raise ValueError(f"guard must be True or False, got {self.guard!r}.")
        if self.scoring != "auto" and not callable(self.scoring):
            raise ValueError(
                'scoring must be "auto" or a callable scorer(model, X, y, sample_domain=), got '
                f"{self.scoring!r}."
            )
        if not isinstance(self.cv, int | np.integer) or self.cv < 2:
            raise ValueError(f"cv must be an integer >= 2, got {self.cv!r}.")
        self._listed()

    def _listed(self) -> list[tuple[str, Any]] | None:
        """The user's candidates, the reference first; None where they are the default."""
        if isinstance(self.candidates, str) and self.candidates == "default":
            return None
        good = isinstance(self.candidates, Sequence) and not isinstance(self.candidates, str)
        good = good and all(
            isinstance(pair, Sequence) and len(pair) == 2 and hasattr(pair[1], "fit")
            for pair in self.candidates
        )
        names = [pair[0] for pair in self.candidates] if good else []
        if not names or len(set(names)) < len(names):
            raise ValueError(
                'candidates must be "default" or a list of (name, estimator) with different '
                f"names, got {self.candidates!r}."
            )
        given = dict(self.candidates)
        reference = given.pop(_REFERENCE, None) or default_classifier()
        return [(_REFERENCE, reference), *given.items()]

    def _without_target(self, rows: BothRows) -> None:
        listed = self._listed()
        reference = default_classifier() if listed is None else listed[0][1]
        y, labels, domain = _labels(rows)
        self.best_estimator_ = fit_candidate(reference, rows.source.X, y, labels, domain)
        self.candidates_ = {_REFERENCE: self.best_estimator_}
        self.best_name_ = self.chosen_name_ = _REFERENCE
        self.cv_results_: dict[str, list[Any]] = {"candidate": [_REFERENCE]}
        words = "No reason to adapt: there are no target rows."
        nan = float("nan")
        self.guard_ = Guard(False, nan, nan, nan, nan, nan, None, words)

    def _choose(self, rows: BothRows, seed: int) -> None:
        listed = self._listed()
        field = self._default_field(rows, seed) if listed is None else _fitted(listed, rows, seed)
        scores = self._scores(field, rows, listed, seed)
        others = [name for name in field.models if name != _REFERENCE]
        self.chosen_name_ = max(others, key=scores.__getitem__) if others else _REFERENCE
        chosen, reference = (field.said[n].argmax(1) for n in (self.chosen_name_, _REFERENCE))
        self.guard_ = guard(
            self.chosen_name_, chosen, reference, _opinions(field, self.chosen_name_),
            field.p_value, field.proportions, seed,
        )  # fmt: skip
        keep = self.guard_.adapt or not self.guard
        self.best_name_ = self.chosen_name_ if keep else _REFERENCE
        self.candidates_ = dict(field.models)
        self.best_estimator_ = field.models[self.best_name_]
        self.cv_results_ = _results(field, scores, seed)

    def _default_field(self, rows: BothRows, seed: int) -> _Field:
        """The committee and its members, fitted once."""
        start = time.perf_counter()
        X, (y, _, domain) = _stacked(rows), _labels(rows)
        committee = ShiftCommittee(random_state=seed, n_jobs=self.n_jobs)
        committee.fit(X, y, sample_domain=domain)
        models = {name: Named(m, rows.classes) for name, m in committee.members_}
        models["committee"] = committee
        said = {name: opinion(model, rows.target, rows.classes) for name, model in models.items()}
        seconds = dict.fromkeys(models, time.perf_counter() - start)
        return _Field(models, said, seconds, committee.shift_p_value_, committee.proportions_)

    def _scores(
        self, field: _Field, rows: BothRows, listed: list[tuple[str, Any]] | None, seed: int
    ) -> dict[str, float]:
        if self.scoring == "auto":
            reference = field.said[_REFERENCE].argmax(axis=1)
            return {
                name: expected_difference(
                    said.argmax(axis=1), reference, _opinions(field, name), seed
                )[0]
                for name, said in field.said.items()
            }
        if listed is None:
            listed = [(_REFERENCE, default_classifier()), ("committee", ShiftCommittee())]
        return {**dict.fromkeys(field.models, -np.inf), **self._by_folds(rows, listed, seed)}

    def _by_folds(
        self, rows: BothRows, listed: list[tuple[str, Any]], seed: int
    ) -> dict[str, float]:
        X, (y, labels, domain) = _stacked(rows), _labels(rows)
        whole = np.concatenate([labels, np.full(rows.target.shape[0], None, dtype=object)])
        folds = list(
            DomainKFold(self.cv, shuffle=True, random_state=seed).split(X, y, groups=domain)
        )
        scores: dict[str, float] = {}
        for name, estimator in listed:
            parts = []
            for train, test in folds:
                own = labels[train[domain[train] >= 0]]
                model = fit_candidate(estimator, X[train], y[train], own, domain[train])
                parts.append(
                    float(self.scoring(model, X[test], whole[test], sample_domain=domain[test]))
                )
            scores[name] = float(np.mean(parts))
        return scores


def _stacked(rows: BothRows) -> Any:
    from scipy import sparse

    both = [rows.source.X, rows.target]
    return sparse.vstack(both, format="csr") if sparse.issparse(both[0]) else np.vstack(both)


def _labels(rows: BothRows) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """y with None on the target rows, the labels of the source rows, the domains."""
    labels = rows.classes[rows.source.codes]
    m = rows.target.shape[0]
    y = np.concatenate([labels.astype(object), np.full(m, None, dtype=object)])
    domain = np.concatenate([rows.source_domain, np.full(m, -1)]).astype(np.int64)
    return (y if m else labels), labels, domain


def _fitted(listed: list[tuple[str, Any]], rows: BothRows, seed: int) -> _Field:
    """The user's candidates, each fitted once on everything."""
    X, (y, labels, domain) = _stacked(rows), _labels(rows)
    models, seconds = {}, {}
    for name, estimator in listed:
        start = time.perf_counter()
        models[name] = fit_candidate(estimator, X, y, labels, domain)
        seconds[name] = time.perf_counter() - start
    said = {name: opinion(model, rows.target, rows.classes) for name, model in models.items()}
    front = Front.of(rows, seed)
    source, target = front(rows.source.X), front(rows.target)
    p_value = shift_p_value(source, target, seed)
    return _Field(models, said, seconds, p_value, _proportions(rows.source, source, target, said))


def _proportions(
    source: SourceRows, dense: Any, target: Any, said: dict[str, Floats]
) -> Proportions | None:
    unseen = unseen_probabilities(None, source, 0)
    if unseen is None:
        return None
    found = said[_REFERENCE].mean(axis=0)
    return find_proportions(dense, source.codes, source.weights, unseen, target, found)


def _opinions(field: _Field, name: str) -> Floats:
    """Mean probabilities of the candidates other than this one and the reference.

    Where there is no other, those of this one and the reference.
    """
    others = [said for key, said in field.said.items() if key not in (name, _REFERENCE)]
    if not others:
        others = [field.said[name], field.said[_REFERENCE]]
    return np.asarray(np.mean(others, axis=0))


def _results(field: _Field, scores: dict[str, float], seed: int) -> dict[str, list[Any]]:
    reference = field.said[_REFERENCE].argmax(axis=1)
    found = [
        expected_difference(said.argmax(axis=1), reference, _opinions(field, name), seed)
        for name, said in field.said.items()
    ]
    return {
        "candidate": list(field.models),
        "score": [scores[name] for name in field.models],
        "difference": [f[0] for f in found],
        "difference_low": [f[1] for f in found],
        "difference_high": [f[2] for f in found],
        "seconds": [field.seconds[name] for name in field.models],
    }
