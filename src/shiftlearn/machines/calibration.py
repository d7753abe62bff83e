"""Probabilities of a margin machine: a sigmoid on scores that the machine gave to unseen rows.

A machine's scores on its own training rows are too good. So the rows are cut into folds, each is
scored by a machine trained on the others, and p_k(f) = 1 / (1 + exp(A_k f + B_k)) is fitted to all
of those scores (Platt), one for each class against the rest, normalised over the classes. The
machine that predicts is trained on all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from shiftlearn.solvers.platt import PlattSigmoids, fit_platt

__all__ = ["CrossFittedPlatt", "fit_weighted"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class CrossFittedPlatt(BaseEstimator):
    """A classifier with ``decision_function``, and sigmoids cross-fitted on its training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import SVC
    >>> X, codes = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
    >>> model = CrossFittedPlatt(SVC(kernel="linear"), n_splits=3).fit(X, codes)
    >>> model.predict_proba(np.array([[0.0], [11.0]])).argmax(axis=1)
    array([0, 1])
    """

    def __init__(self, estimator: Any, n_splits: int = 5) -> None:
        self.estimator = estimator
        self.n_splits = n_splits

    def fit(self, X: Any, codes: Ints, sample_weight: Floats | None = None) -> CrossFittedPlatt:
        """Fit on rows with class numbers 0, ..., k-1, all of them present."""
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight
        scores = self._unseen_scores(X, codes, weights)
        self.model_ = fit_weighted(clone(self.estimator), X, codes, weights)
        if scores is None:  # a class of one row: there are only the rows themselves
            scores = _scores(self.model_, X)
        positive = codes == 1 if scores.ndim == 1 else codes[:, None] == np.arange(scores.shape[1])
        fitted = fit_platt(scores, positive, sample_weight=weights, n_jobs=1)
        self.sigmoids_: PlattSigmoids = fitted.rising()
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, one column each."""
        p = self.sigmoids_.probability(_scores(self.model_, X))
        if p.ndim == 1:
            return np.column_stack([1 - p, p])
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def _unseen_scores(self, X: Any, codes: Ints, weights: Floats) -> Floats | None:
        n_splits = min(self.n_splits, int(np.bincount(codes).min()))
        if n_splits < 2:
            return None
        folds = StratifiedKFold(n_splits).split(np.zeros(len(codes)), codes)
        parts = []
        for train, test in folds:
            model = fit_weighted(clone(self.estimator), X[train], codes[train], weights[train])
            parts.append((test, _scores(model, X[test])))
        order = np.argsort(np.concatenate([test for test, _ in parts]))
        return np.asarray(np.concatenate([scores for _, scores in parts])[order])


def fit_weighted(estimator: Any, X: Any, codes: Ints, weights: Floats) -> Any:
    """Fit, with the weights where the estimator takes them and they differ."""
    if has_fit_parameter(estimator, "sample_weight") and (weights != weights[0]).any():
        return estimator.fit(X, codes, sample_weight=weights)
    return estimator.fit(X, codes)


def _scores(model: Any, X: Any) -> Floats:
    return np.asarray(model.decision_function(X), dtype=np.float64)
