"""The density ratio as a ratio of two kernel density estimates.

    log p̂(x) = log Σ_j exp(-½ Σ_k ((x_k - x_jk) / h_k)²) - log N - Σ_k log h_k - (d/2) log 2π

with Silverman's bandwidths h_k = σ̂_k (4 / ((d + 2) N))^(1/(d+4)), for each sample its own.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from shiftlearn.covariate.ratios import PointwiseRatio
from shiftlearn.kernels.packing import dense

__all__ = ["KDERatio"]

Floats = NDArray[np.float64]

_MANY_COLUMNS = 10
_VALUES_PER_BLOCK = 1 << 22


class KDERatio(PointwiseRatio):
    r"""Density ratio from one kernel density estimate for each domain.

    .. math:: w(x) = \frac{\frac1n \sum_{j=1}^n \prod_k h^T_k{}^{-1}
              \exp\big(-\tfrac12 ((x_k - x^T_{jk})/h^T_k)^2\big)}
              {\frac1m \sum_{i=1}^m \prod_k h^S_k{}^{-1}
              \exp\big(-\tfrac12 ((x_k - x^S_{ik})/h^S_k)^2\big)},

    with Silverman's rule for the widths of each sample, in logarithms throughout; a source row's
    own kernel counts. Columns that are constant in either sample are left out. Unreliable beyond
    some ten columns, and says so.

    Parameters
    ----------
    bandwidth_scale : float, default=1.0
        Factor on Silverman's widths.

    Attributes
    ----------
    weights_, log_weights_ : ndarray of shape (m,)
        Weights of the source rows of ``fit``.
    weights_normalized_, effective_sample_size_, pareto_k_, verdict_
        As in :class:`LogisticRatio`.
    columns_ : ndarray of int
        The columns that are not constant.
    bandwidths_ : tuple of two ndarrays
        Widths of source and target, one a column of ``columns_``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import KDERatio
    >>> rng = np.random.default_rng(0)
    >>> ratio = KDERatio().fit(rng.normal(size=(3000, 1)), rng.normal(1, size=(3000, 1)))
    >>> ratio.weights([[0.5]]).round(1)
    array([1.])
    """

    def __init__(self, bandwidth_scale: float = 1.0) -> None:
        self.bandwidth_scale = bandwidth_scale

    def _fit(self, source: Any, target: Any) -> Floats:
        from shiftlearn.parameters import check_number

        scale = check_number("bandwidth_scale", self.bandwidth_scale)
        samples = dense(source), dense(target)
        for name, rows in zip(("X_source", "X_target"), samples):
            if len(rows) < 2:
                raise ValueError(f"{name} has 1 row; a standard deviation needs at least 2.")
        moves = [rows.max(axis=0) > rows.min(axis=0) for rows in samples]
        self.columns_ = np.flatnonzero(moves[0] & moves[1])
        self._warn_of_columns()
        self._samples = tuple(rows[:, self.columns_] for rows in samples)
        self.bandwidths_ = tuple(scale * _silverman(rows) for rows in self._samples)
        return self._log_ratio(samples[0])

    def _log_ratio(self, rows: Any) -> Floats:
        x = dense(rows)[:, self.columns_]
        of_source, of_target = (
            _log_density(x, sample, h) for sample, h in zip(self._samples, self.bandwidths_)
        )
        both = np.isneginf(of_source) & np.isneginf(of_target)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(both, 0.0, of_target - of_source))

    def _warn_of_columns(self) -> None:
        d = len(self.columns_)
        if d > _MANY_COLUMNS:
            warnings.warn(
                f"KDERatio: kernel densities in {d} columns are unreliable, weights will be near 0 "
                "or very large. Use LogisticRatio or KernelMeanMatching, or fewer columns.",
                UserWarning,
                stacklevel=4,
            )


def _silverman(rows: Floats) -> Floats:
    n, d = rows.shape
    return np.asarray(rows.std(axis=0, ddof=1) * (4.0 / ((d + 2) * n)) ** (1.0 / (d + 4)))


def _log_density(x: Floats, sample: Floats, h: Floats) -> Floats:
    """log p̂ at the rows x, some of them at a time."""
    n, d = sample.shape
    constant = math.log(n) + float(np.log(h).sum()) + 0.5 * d * math.log(2 * math.pi)
    out, scaled = np.empty(len(x)), sample / h
    step = max(1, _VALUES_PER_BLOCK // n)
    for start in range(0, len(x), step):
        out[start : start + step] = logsumexp(
            _exponents(x[start : start + step] / h, scaled), axis=1
        )
    return np.asarray(out - constant)


def _exponents(a: Floats, b: Floats) -> Floats:
    """-½ ‖a_i - b_j‖² from differences: no digits are lost far from the origin."""
    out = np.zeros((len(a), len(b)))
    for k in range(a.shape[1]):
        out -= 0.5 * (a[:, k, None] - b[None, :, k]) ** 2
    return out
