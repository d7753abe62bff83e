"""Gradual self-training: a classifier learns from its own surest predictions on the target.

Round r of R adds, of the target rows that are given class k, the share r·share/R with the largest
probability, so that no class drives another out by being easier, and fits again.

Self-training can run away: classes that it favours grow from round to round. What the domains
support are class shares between those of the source and those that the source model predicts on
the target; a round whose predicted shares leave that range by more than the tolerance is undone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from shiftlearn.domains import DomainClassifierMixin, warn_no_target
from shiftlearn.parameters import check_number
from shiftlearn.views.rows import SourceRows, both_rows, numeric_rows

__all__ = ["SelfTraining", "SelfTrainingAdapter", "fit_codes", "self_train", "surest"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(slots=True)
class SelfTraining:
    """What came out: the model kept, its probabilities on the target, the shares of each round."""

    model: Any
    probabilities: Floats
    shares: list[Floats] = field(default_factory=list)
    reason: str = "all rounds were done"


class SelfTrainingAdapter(DomainClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Train a classifier on the source, then step by step on its surest target predictions.

    With ℓ the estimator's own objective and f_0 its fit on the source rows S, round r = 1..R finds

        f_r = argmin_f  Σ_{i in S} ω_i ℓ(y_i, f(x_i)) + Σ_k Σ_{i in T_k^r} ω_i ℓ(k, f(x_i)),

    where T_k^r are, of the target rows to which f_{r-1} gives class k, the share r·share/R with
    the largest probability. Where the predicted class shares leave the range between those of the
    source and those of f_0 on the target by more than ``tolerance`` (total variation), the round
    is undone and f_{r-1} is kept. Target labels are not read.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Cloned. Linear models with ``warm_start`` start each round from the one before.
    rounds : int, default=5
        R.
    share : float, default=0.8
        Share of each predicted class that the last round adds, in (0, 1].
    tolerance : float, default=0.15
        How far predicted shares may leave what the domains support; 1 never stops.

    Attributes
    ----------
    estimator_ : classifier
        The model kept; its classes are positions in ``classes_``.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the source.
    n_rounds_ : int
        Rounds that were kept.
    shares_ : ndarray of shape (n_rounds done + 1, n_classes)
        Predicted class shares on the target before the first round and after each.
    stop_reason_ : str
        Why it ended, in words.

    See Also
    --------
    MongeMapper : a view in front, in whose space self-training helps more.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import SelfTrainingAdapter
    >>> from shiftlearn.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(random_state=0)
    >>> model = SelfTrainingAdapter(LogisticRegression())
    >>> model = model.fit(data.data, data.target, sample_domain=data.domain)
    >>> model.n_rounds_, model.stop_reason_
    (5, 'all rounds were done')
    """

    def __init__(
        self, estimator: Any, rounds: int = 5, share: float = 0.8, *, tolerance: float = 0.155
    ) -> None:
        self.estimator = estimator
        self.rounds = rounds
        self.share = share
        self.tolerance = tolerance

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> SelfTrainingAdapter:
        """Fit on the source rows, then on the target rows too.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            >= 0 source, < 0 target; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            ω; rows of weight 0 are left out.

        Returns
        -------
        SelfTrainingAdapter
            The fitted classifier. Without target rows it is the estimator on the source.
        """
        self._check()
        rows = both_rows(self, X, y, sample_domain, sample_weight)
        model = fit_codes(clone(self.estimator), rows.source)
        if rows.target.shape[0] == 0:
            warn_no_target("SelfTrainingAdapter", "the estimator on the source rows")
            nothing = np.zeros((0, len(rows.classes)))
            done = SelfTraining(model, nothing, [rows.source.shares], "no target")
        else:
            options = (self.rounds, self.share, self.tolerance, rows.target_weights)
            done = self_train(model, rows.source, rows.target, *options)
        self.classes_ = rows.classes
        self.estimator_ = done.model
        self.shares_ = np.array(done.shares)
        self.stop_reason_ = done.reason
        undone = done.reason.startswith("round")
        self.n_rounds_ = len(done.shares) - 1 - int(undone)
        return self

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of the target.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "estimator_")
        return _probabilities(self.estimator_, numeric_rows(self, X, reset=False))

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the most probable class of each row; the parameters of ``predict_proba``."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check(self) -> None:
        whole = isinstance(self.rounds, int | np.integer) and not isinstance(self.rounds, bool)
        if not whole or self.rounds < 1:
            raise ValueError(f"rounds must be an integer >= 1, got {self.rounds!r}.")
        check_number("share", self.share, upto=1.0)
        check_number("tolerance", self.tolerance, from_zero=True)
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have predict_proba, which {type(self.estimator).__name__} has "
                "not; wrap it in sklearn.calibration.CalibratedClassifierCV."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def self_train(
    model: Any,
    source: SourceRows,
    target: Any,
    rounds: int,
    share: float,
    tolerance: float,
    target_weights: Floats | None = None,
) -> SelfTraining:
    """Do the rounds; ``model`` is fitted on ``source`` and is not changed."""
    weights = np.ones(target.shape[0]) if target_weights is None else target_weights
    found = _probabilities(model, target)
    done = SelfTraining(model, found, [_predicted_shares(found, weights)])
    low = np.minimum(done.shares[0], source.shares)
    high = np.maximum(done.shares[0], source.shares)
    for r in range(1, int(rounds) + 1):
        rows, codes = surest(done.probabilities, share * r / rounds)
        more = _joined(source, target[rows], codes, weights[rows])
        step = fit_codes(_next_of(done.model), more)
        found = _probabilities(step, target)
        done.shares.append(_predicted_shares(found, weights))
        outside = _distance_to(low, high, done.shares[-1])
        if outside > tolerance:
            done.reason = (
                f"round {r} was undone: its predicted class shares leave what the domains support "
                f"by {outside:.2f} (tolerance {tolerance:g})"
            )
            break
        done.model, done.probabilities = step, found
    return done


def surest(probabilities: Floats, share: float) -> tuple[Ints, Ints]:
    """Row numbers and predicted classes of the surest rows, the same share of each class."""
    predicted, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    chosen = []
    for k in np.unique(predicted):
        rows = np.flatnonzero(predicted == k)
        order = np.argsort(-sure[rows], kind="stable")
        chosen.append(rows[order[: int(np.ceil(share * len(rows)))]])
    rows = np.concatenate(chosen)
    return rows, predicted[rows]


def fit_codes(model: Any, rows: SourceRows) -> Any:
    """Fit, with weights where they differ from 1."""
    if (rows.weights == 1).all():
        return model.fit(rows.X, rows.codes)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but the estimator {type(model).__name__} takes none."
        )
    return model.fit(rows.X, rows.codes, sample_weight=rows.weights)


def _next_of(model: Any) -> Any:
    """An unfitted copy that starts where the model is, if it is a linear one that can."""
    copy = clone(model)
    if "warm_start" in copy.get_params(deep=False) and hasattr(model, "coef_"):
        copy.coef_, copy.intercept_ = np.array(model.coef_), np.array(model.intercept_)
        copy.classes_ = model.classes_
        copy.set_params(warm_start=True)
    return copy


def _distance_to(low: Floats, high: Floats, shares: Floats) -> float:
    """Total variation between ``shares`` and the nearest shares between ``low`` and ``high``."""
    above, below = (shares - high).clip(0).sum(), (low - shares).clip(0).sum()
    return float(max(above, below))


def _probabilities(model: Any, X: Any) -> Floats:
    return np.asarray(model.predict_proba(X), dtype=np.float64)


def _predicted_shares(probabilities: Floats, weights: Floats) -> Floats:
    counts = np.bincount(
        probabilities.argmax(axis=1), weights=weights, minlength=probabilities.shape[1]
    )
    return np.asarray(counts / counts.sum())


def _joined(source: SourceRows, X: Any, codes: Ints, weights: Floats) -> SourceRows:
    both = [source.X, X]
    return SourceRows(
        sparse.vstack(both, format="csr") if sparse.issparse(X) else np.vstack(both),
        np.concatenate([source.codes, codes]),
        np.concatenate([source.weights, weights]),
        source.n_classes,
    )
