"""Class proportions that moved: estimated without target labels, and the classifier corrected.

Where p(y) moved and p(x | y) did not,

    p_T(k | x) ∝ p_S(k | x) q_k / π_k,

with the source's proportions π and the target's q (`shiftlearn.covariate.priors`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from shiftlearn.covariate.assumptions import AssumptionTest, compare
from shiftlearn.covariate.handing_over import as_rows, fit_weighted
from shiftlearn.covariate.priors import Calibration, black_box_priors, em_priors, shares
from shiftlearn.domains import (
    DomainClassifierMixin,
    check_two_classes,
    split_domains,
    warn_no_target,
)
from shiftlearn.machines.base import all_or_nothing
from shiftlearn.parameters import check_number, check_weights
from shiftlearn.shift.classifier import domain_scores

__all__ = ["PriorShiftCorrector"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class PriorShiftCorrector(MetaEstimatorMixin, DomainClassifierMixin, BaseEstimator):
    r"""Corrects a classifier for class proportions that moved, without target labels.

    Assumes that p(x | y) is the same in both domains. The target's proportions q are estimated
    from predictions on the target rows, and probabilities become

    .. math:: p_T(k \mid x) \propto p_S(k \mid x)\, \frac{q_k}{\pi_k},

    after a calibration on source rows that the classifier had not seen. Where the inputs moved
    in another way, the correction does harm: ask :meth:`compare_assumptions` first.

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba``; cloned.
    method : {"em", "bbse"}, default="em"
        "em": maximum likelihood on the probabilities (Saerens et al., 2002); "bbse": from the
        confusion matrix of the predicted classes (Lipton et al., 2018).
    cv : int or splitter, default=5
        Folds in which the source rows get their unseen probabilities.
    n_bootstrap : int, default=100
        Draws of both samples for the interval; 0: none.
    level : float, default=0.9
        Confidence of the interval.
    random_state : int, RandomState or None, default=None
        Folds and draws.

    Attributes
    ----------
    target_priors_ : ndarray of shape (n_classes,)
        q.
    target_priors_interval_ : ndarray of shape (n_classes, 2)
        Ends of the bootstrap interval of each.
    source_priors_ : ndarray of shape (n_classes,)
        π.
    class_weights_ : ndarray of shape (n_classes,)
        q / π: weights of the source's classes for training another model.
    calibration_ : Calibration
        Temperature and bias.
    estimator_ : classifier
        Fitted on all labelled source rows.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import PriorShiftCorrector, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> ys, yt = np.repeat([0, 1], [300, 300]), np.repeat([0, 1], [400, 100])
    >>> Xs, Xt = (rng.normal(2.0 * y[:, None]) for y in (ys, yt))
    >>> X, y, sample_domain = stack_domains(Xs, ys, Xt)
    >>> model = PriorShiftCorrector(LogisticRegression(), random_state=0)
    >>> model.fit(X, y, sample_domain=sample_domain).target_priors_.round(1)
    array([0.8, 0.2])
    """

    def __init__(
        self,
        estimator: Any,
        method: str = "em",
        cv: Any = 5,
        *,
        n_bootstrap: int = 100,
        level: float = 0.9,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_bootstrap = n_bootstrap
        self.level = level
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> PriorShiftCorrector:
        """Fit the classifier on the source and estimate the target's proportions.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            Negative for target rows; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Handed to the classifier on source rows; rows of weight 0 are left out. Proportions are
            counts of rows.

        Returns
        -------
        PriorShiftCorrector
            The fitted estimator. Without target rows nothing is corrected.
        """
        with all_or_nothing(self):
            self._check_parameters()
            X = as_rows(X)
            weights = check_weights(sample_weight, _num_samples(X))
            split = split_domains(y, sample_domain, _num_samples(X))
            validate_data(self, X, skip_check_array=True)
            rows = np.flatnonzero(split.labelled_source & (weights > 0))
            present, codes = np.unique(split.codes[rows], return_inverse=True)
            self.classes_ = split.classes[present]
            check_two_classes(self.classes_, type(self).__name__)
            omega = None if sample_weight is None else weights[rows]
            random = check_random_state(self.random_state)
            source = _safe_indexing(X, rows)
            self.estimator_ = self._trained(source, codes, omega)
            self.source_priors_ = shares(codes, len(self.classes_))
            target = np.flatnonzero(split.domains.target)
            if len(target):
                target_rows = _safe_indexing(X, target)
                self._estimate(source, codes, omega, target_rows, random)
            else:
                warn_no_target(type(self).__name__, "the classifier without any correction")
                self._no_correction()
        return self

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Probabilities of the classes in the target.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them; the prediction is that for the target.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        check_is_fitted(self, "estimator_")
        validate_data(self, as_rows(X), skip_check_array=True, reset=False)
        p = self._probabilities(self.estimator_, X)
        if self.calibration_ is None:
            return p
        weighted = self.calibration_.apply(p) * self.class_weights_
        total = weighted.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, weighted / np.where(total > 0, total, 1.0), p))

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """The most probable class of each row in the target.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        p = self.predict_proba(X)
        return np.asarray(self.classes_[p.argmax(axis=1)])

    def compare_assumptions(
        self,
        X: Any,
        y: Any,
        *,
        sample_domain: ArrayLike | None = None,
        classifier: Any = None,
        n_bootstrap: int = 200,
        level: float = 0.05,
    ) -> AssumptionTest:
        """Test whether the target rows agree with "only the class proportions moved".

        Parameters
        ----------
        X, y, sample_domain
            As in ``fit``.
        classifier : classifier or None, default=None
            Tells the domains apart; None: that of :func:`shiftlearn.metrics.domain_auc`.
        n_bootstrap : int, default=200
            Draws under each hypothesis.
        level : float, default=0.05
            A hypothesis with a smaller p-value is refuted.

        Returns
        -------
        AssumptionTest
            p-values and the verdict in words. "Inputs moved" is what remains when the proportions
            do not explain the target rows: without target labels nothing can refute it.
        """
        self._check_parameters()
        X = as_rows(X)
        split = split_domains(y, sample_domain, _num_samples(X))
        rows, target = np.flatnonzero(split.labelled_source), split.domains.target
        if not target.any():
            raise ValueError("sample_domain has no target row (< 0); both domains are needed.")
        check_two_classes(split.classes, type(self).__name__)
        source, moved = _safe_indexing(X, rows), _safe_indexing(X, np.flatnonzero(target))
        codes, random = split.codes[rows], check_random_state(self.random_state)
        self_fitted = clone(self).set_params(n_bootstrap=0)
        self_fitted.classes_ = split.classes
        unseen = self_fitted._unseen(source, codes, None, random)
        model = self_fitted._trained(source, codes, None)
        pooled = np.concatenate([unseen, self_fitted._probabilities(model, moved)])
        estimate = _Estimator(self.method, pooled, codes)
        scores, is_target, _ = domain_scores(
            source, moved, classifier, max_rows=None, random_state=random, n_jobs=1
        )
        return compare(
            scores[~is_target], codes, scores[is_target], estimate, n_bootstrap, level, random
        )

    def _estimate(
        self,
        source: Any,
        codes: Ints,
        omega: Floats | None,
        target: Any,
        random: np.random.RandomState,
    ) -> None:
        m, n = len(codes), _num_samples(target)
        unseen = self._unseen(source, codes, omega, random)
        pooled = np.concatenate([unseen, self._probabilities(self.estimator_, target)])
        estimate = _Estimator(self.method, pooled, codes)
        self.calibration_: Calibration | None = estimate.calibration
        self.target_priors_ = estimate(np.arange(m), m + np.arange(n))
        self.class_weights_ = self.target_priors_ / self.source_priors_
        draws = [
            estimate(_per_class(codes, random), m + random.randint(n, size=n), anew=True)
            for _ in range(int(self.n_bootstrap))
        ]
        tail = 50 * (1 - self.level)
        ends = (
            np.percentile(draws, [tail, 100 - tail], axis=0) if draws else [self.target_priors_] * 2
        )
        self.target_priors_interval_ = np.column_stack(
            [np.minimum(ends[0], self.target_priors_), np.maximum(ends[1], self.target_priors_)]
        )

    def _no_correction(self) -> None:
        self.calibration_ = None
        self.target_priors_ = self.source_priors_
        self.class_weights_ = np.ones(len(self.classes_))
        self.target_priors_interval_ = np.column_stack([self.source_priors_] * 2)

    def _unseen(
        self, source: Any, codes: Ints, omega: Floats | None, random: np.random.RandomState
    ) -> Floats:
        """Probabilities of the source rows from models that were trained on the other folds."""
        p = np.full((len(codes), len(self.classes_)), np.nan)
        for train, test in self._folds(codes, random).split(np.zeros(len(codes)), codes):
            part = None if omega is None else omega[train]
            model = self._trained(_safe_indexing(source, train), codes[train], part)
            p[test] = self._probabilities(model, _safe_indexing(source, test))
        if np.isnan(p).any():
            raise ValueError("cv must put every labelled source row into one test fold.")
        return p

    def _folds(self, codes: Ints, random: np.random.RandomState) -> Any:
        if not isinstance(self.cv, int | np.integer):
            return check_cv(self.cv)
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            label = self.classes_.tolist()[np.bincount(codes).argmin()]
            raise ValueError(
                f"class {label!r} has {fewest} row in the source; at least 2 are needed to find "
                "out how well it is recognised."
            )
        folds = min(int(self.cv), fewest)
        return StratifiedKFold(folds, shuffle=True, random_state=random.randint(2**31 - 1))

    def _trained(self, X: Any, codes: Ints, omega: Floats | None) -> Any:
        return fit_weighted(clone(self.estimator), X, self.classes_[codes], omega, {})

    def _probabilities(self, model: Any, X: Any) -> Floats:
        return np.asarray(model.predict_proba(X), dtype=np.float64)

    def _check_parameters(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(f"estimator must be a classifier, got {self.estimator!r}.")
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have predict_proba, which {type(self.estimator).__name__} has "
                "not; wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        if self.method not in ("em", "bbse"):
            raise ValueError(f'method must be "em" or "bbse", got {self.method!r}.')
        counted = isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool)
        if not (self.cv >= 2 if counted else _splits(self.cv)):
            raise ValueError(f"cv must be an integer >= 2 or a splitter, got {self.cv!r}.")
        check_number("n_bootstrap", self.n_bootstrap, from_zero=True)
        if check_number("level", self.level) >= 1:
            raise ValueError(f"level must lie in (0, 1), got {self.level!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        return tags


def _splits(cv: Any) -> bool:
    if isinstance(cv, str):
        return False
    return hasattr(cv, "__iter__") or (hasattr(cv, "split") and hasattr(cv, "get_n_splits"))


class _Estimator:
    """Proportions of the target from probabilities of source rows (first) and target rows."""

    def __init__(self, method: str, p: Floats, codes: Ints) -> None:
        self._method, self._p, self._codes = method, p, codes
        self.calibration = Calibration.fit(p[: len(codes)], codes)
        self._calibrated = self.calibration.apply(p)
        self._predicted = p.argmax(axis=1)

    def __call__(self, source: Ints, target: Ints, anew: bool = False) -> Floats:
        """q from these rows; ``anew``: calibrated on the drawn source rows."""
        k, codes = self._p.shape[1], self._codes[source]
        if self._method == "bbse":
            return black_box_priors(self._predicted[source], codes, self._predicted[target], k)
        calibrated = self._calibrated[target]
        if anew:
            calibrated = Calibration.fit(self._p[source], codes, 1e-3).apply(self._p[target])
        own = np.maximum(shares(codes, k), 1e-12)
        return em_priors(calibrated, own / own.sum())


def _per_class(codes: Ints, random: np.random.RandomState) -> Ints:
    """Rows drawn with replacement, as many of each class as there are."""
    parts = [np.flatnonzero(codes == c) for c in range(int(codes.max()) + 1)]
    return np.concatenate([random.choice(part, len(part)) for part in parts])
