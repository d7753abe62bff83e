"""What every estimator of a density ratio shares: two checked samples in, weights in logs out.

The problem: from m rows of p_S and n rows of p_T find w(x) ≈ p_T(x) / p_S(x). Averages over the
source, weighted by w, are then averages over the target:

    E_T g = E_S w g,    in particular E_S w = 1.

Weights are kept as logarithms, because ratios of densities span hundreds of decimal powers.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from shiftlearn.covariate.streamed_ratios import either_streams
from shiftlearn.domains import refuse_device_arrays
from shiftlearn.domains.stack import match_columns
from shiftlearn.errors import NoOverlapWarning
from shiftlearn.machines.base import all_or_nothing
from shiftlearn.parameters import check_number
from shiftlearn.shift import effective_sample_size, pareto_k, pareto_verdict
from shiftlearn.statistics import by_blocks, is_stream

__all__ = ["PointwiseRatio", "RatioEstimator", "clipped"]

Floats = NDArray[np.float64]

_FLOATS = (np.float64, np.float32)
_SMALLEST_MEAN = 0.01  # the mean weight estimates E_S w = 1
_SMALLEST_SHARE = 0.02  # of the rows that the weighted rows are worth


class RatioEstimator(BaseEstimator):
    """Base of the estimators; a subclass has ``_fit(X_source, X_target) -> log weights``."""

    def fit(self, X_source: Any, X_target: Any) -> Any:
        """Estimate the weights of the source rows.

        Parameters
        ----------
        X_source : array-like or CSR of shape (m, n_features)
            Rows of the source. LogisticRatio and SelectionBiasRatio take two :class:`Blocks` too.
        X_target : array-like or CSR of shape (n, n_features)
            Rows of the target. Frames are matched by column name.

        Returns
        -------
        RatioEstimator
            The fitted estimator.
        """
        with all_or_nothing(self):
            if either_streams(X_source, X_target):
                self._fit_streams(X_source, X_target)
                return self
            source, target = self._check_samples(X_source, X_target)
            self._adopt(self._fit(source, target))
        self._warn_if_collapsed()
        return self

    def _fit(self, source: Any, target: Any) -> Floats:
        raise NotImplementedError

    def _fit_streams(self, X_source: Any, X_target: Any) -> None:
        raise TypeError(
            f"X_source: {type(self).__name__} cannot be fitted from blocks; it needs all rows in "
            "memory. LogisticRatio and SelectionBiasRatio take blocks."
        )

    @property
    def weights_normalized_(self) -> Floats:
        """The weights divided by their mean (zeros where all of them are zero)."""
        check_is_fitted(self, "log_weights_")
        largest = float(self.log_weights_.max())
        if largest == -math.inf:
            return np.zeros(len(self.log_weights_))
        relative = np.exp(self.log_weights_ - largest)
        return np.asarray(relative / relative.mean())

    def _adopt(self, log_weights: Floats) -> None:
        self.log_weights_ = log_weights
        with np.errstate(under="ignore", over="ignore"):
            self.weights_ = np.exp(log_weights)
        relative = self.weights_normalized_
        empty = not relative.any()
        self.effective_sample_size_ = 0.0 if empty else effective_sample_size(relative)
        self.pareto_k_ = math.nan if empty else pareto_k(relative)
        reason = self._collapse()
        self.verdict_ = f"useless: {reason}" if reason else self._tail_in_words()

    def _warn_if_collapsed(self) -> None:
        reason = self._collapse()
        if reason:
            warnings.warn(
                f"{type(self).__name__}: {reason}; labels of the source say little about the "
                "target.",
                NoOverlapWarning,
                stacklevel=3,
            )

    def _collapse(self) -> str:
        """What is wrong with the weights, in words; empty where nothing is."""
        m, mean, size = len(self.weights_), self.weights_.mean(), self.effective_sample_size_
        if not mean >= _SMALLEST_MEAN:
            return (
                f"the mean weight of the {m} source rows is {mean:.3g} instead of 1, because "
                "hardly any of them lies where the target rows are"
            )
        if size < min(m, max(2.0, _SMALLEST_SHARE * m)):
            return f"the {m} source rows are worth only {size:.1f} equally weighted ones"
        return ""

    def _tail_in_words(self) -> str:
        m, k, size = len(self.weights_), self.pareto_k_, self.effective_sample_size_
        return f"{pareto_verdict(k, m)} (Pareto k {k:.2f}, {m} rows worth {size:.1f})"

    def _check_samples(self, X_source: Any, X_target: Any) -> tuple[Any, Any]:
        for name, X in (("X_source", X_source), ("X_target", X_target)):
            _refuse_missing(name, X)
        if hasattr(X_source, "columns") and hasattr(X_target, "columns"):
            X_source, X_target = match_columns({"X_source": X_source, "X_target": X_target})
        source, target = _rows("X_source", X_source), _rows("X_target", X_target)
        if source.shape[1] != target.shape[1]:
            raise ValueError(
                "X_source and X_target must have the same columns, got "
                f"{source.shape[1]} and {target.shape[1]} of them."
            )
        validate_data(self, X_source, skip_check_array=True)
        return _alike(source, target)


class PointwiseRatio(RatioEstimator):
    """Base of those that know the ratio at any row: ``_log_ratio(rows) -> log weights``."""

    def log_weights(self, X: Any) -> Floats:
        """Logarithm of the estimated ratio at each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            log w(x).
        """
        check_is_fitted(self, "verdict_")
        if is_stream(X):
            return cast(Floats, by_blocks(self.log_weights, X))
        refuse_device_arrays(X, "X")
        rows = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, order="C", reset=False)
        return self._log_ratio(rows)

    def weights(self, X: Any) -> Floats:
        """The estimated ratio at each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            w(x) >= 0.
        """
        if is_stream(X):
            return cast(Floats, by_blocks(self.weights, X))
        with np.errstate(under="ignore", over="ignore"):
            return np.asarray(np.exp(self.log_weights(X)))

    def _log_ratio(self, rows: Any) -> Floats:
        raise NotImplementedError


def clipped(log_weights: Floats, clip_weights: float | None) -> Floats:
    """Log weights of which none is above log ``clip_weights``."""
    if clip_weights is None:
        return log_weights
    return np.minimum(log_weights, math.log(check_number("clip_weights", clip_weights)))


def _refuse_missing(name: str, X: Any) -> None:
    if X is None:
        raise ValueError(f"{name} is None; rows of both domains are needed.")
    refuse_device_arrays(X, name)
    if hasattr(X, "shape") and len(X.shape) and _num_samples(X) == 0:
        raise ValueError(f"{name} has no rows (0 sample(s)); at least 1 is needed.")


def _rows(name: str, X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=_FLOATS, order="C", input_name=name)


def _alike(source: Any, target: Any) -> tuple[Any, Any]:
    """Both dense or both CSR."""
    from scipy import sparse

    if sparse.issparse(source) == sparse.issparse(target):
        return source, target
    return sparse.csr_array(source), sparse.csr_array(target)
