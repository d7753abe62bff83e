"""How many rows importance weights leave, and how heavy their tail is.

The problem: an average Σ w_i g(x_i) / Σ w_i with weights from a density ratio has the variance of
an average over (Σ w)² / Σ w² rows; whether it has a variance at all depends on the shape k of the
weights' tail, P(w > u + z | w > u) ≈ (1 + k z / σ)^(-1/k), which is finite for k < 1/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["effective_sample_size", "pareto_k", "pareto_verdict"]

_SMALLEST_TAIL = 5


def effective_sample_size(weights: Any) -> float:
    r"""Return the number of equally weighted rows that the weighted rows are worth.

    .. math:: n_\text{eff} = \Big(\sum_i w_i\Big)^2 \Big/ \sum_i w_i^2,

    n for equal weights, 1 where one row has all the weight.

    Parameters
    ----------
    weights : array-like of shape (n,)
        Non-negative, not all zero.

    Returns
    -------
    float
        In [1, n]; the same for ``c * weights``.

    Examples
    --------
    >>> effective_sample_size([1.0, 1.0, 1.0, 1.0])
    4.0
    >>> effective_sample_size([1.0, 0.0])
    1.0
    """
    w = _check_weights(weights)
    return float(w.sum() ** 2 / (w @ w))


def pareto_k(weights: Any) -> float:
    r"""Estimate the tail shape k of importance weights by a generalised Pareto fit.

    The largest :math:`M = \lfloor\min(n/5,\, 3\sqrt n)\rfloor` weights,
    less the largest weight below them, are taken as draws from the density

    .. math:: p(z) = \frac1\sigma\Big(1 + k\frac z\sigma\Big)^{-1/k-1},

    whose k is estimated by the posterior mean of Zhang and Stephens (2009) and drawn towards 1/2
    with the weight of ten rows, as in Pareto-smoothed importance sampling (Vehtari et al., 2024).

    Parameters
    ----------
    weights : array-like of shape (n,)
        Non-negative, not all zero.

    Returns
    -------
    float
        k < 1/2: the variance of the weights is finite; k < 0.7: weighted averages are still of
        use; above, few rows decide everything; k >= 1: not even the mean exists. NaN with
        fewer than 25 weights (or too few distinct large ones), -inf where the largest weights are
        all equal, as equal or clipped weights are: there is no tail.

    See Also
    --------
    pareto_verdict : the same in words.

    References
    ----------
    J. Zhang and M. A. Stephens, "A new and efficient estimation method for the generalized Pareto
    distribution", Technometrics 51 (2009). A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry,
    "Pareto smoothed importance sampling", Journal of Machine Learning Research 25 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> u = (np.arange(10_000) + 0.5) / 10_000
    >>> round(pareto_k(u**-0.3), 1), round(pareto_k(u**-0.9), 1)
    (0.3, 0.9)
    """
    w = np.sort(_check_weights(weights))
    size = int(min(len(w) / 5, 3 * np.sqrt(len(w))))
    if size < _SMALLEST_TAIL:
        return float("nan")
    excess = w[-size:] - w[-size - 1]
    excess = excess[excess > 0]  # ties with the threshold say nothing about the tail
    if len(excess) == 0:
        return float("-inf")
    if len(excess) < _SMALLEST_TAIL:
        return float("nan")
    return _generalised_pareto_shape(excess)


def pareto_verdict(k: float, n: int) -> str:
    """Say in words what the tail shape of n weights means for averages that use them.

    Examples
    --------
    >>> pareto_verdict(0.3, 1000)
    'reliable: the weights have a finite variance'
    """
    limit = min(1 - 1 / np.log10(max(n, 2)), 0.7)
    if np.isnan(k):
        return "unknown: too few distinct weights to see their tail"
    if k < min(limit, 0.5):
        return "reliable: the weights have a finite variance"
    if k < limit:
        return "usable: the weights have a heavy tail, weighted averages converge slowly"
    if k < 1:
        return "unreliable: a few rows carry most of the weight"
    return "useless: the tail of the weights has no mean"


def _generalised_pareto_shape(z: NDArray[np.float64]) -> float:
    """Posterior mean of the shape over a grid of b = -k/σ, with the profile likelihood."""
    n = len(z)
    m = 30 + int(np.sqrt(n))
    quartile = z[int(n / 4 + 0.5) - 1]
    grid = 1 / z[-1] + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    shape = np.array([np.mean(np.log1p(-b * z)) for b in grid])
    log_likelihood = n * (np.log(-grid / shape) - shape - 1)
    posterior = np.exp(log_likelihood - log_likelihood.max())
    b = grid @ posterior / posterior.sum()
    k = np.mean(np.log1p(-b * z))
    return float((n * k + 10 * 0.5) / (n + 10))


def _check_weights(weights: Any) -> NDArray[np.float64]:
    """Weights divided by the largest, so that no square overflows."""
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or len(w) == 0:
        raise ValueError(f"weights must be a non-empty 1d array, got shape {w.shape}.")
    if not np.all(np.isfinite(w)) or np.any(w < 0):
        wrong = w[~(np.isfinite(w) & (w >= 0))][0]
        raise ValueError(f"weights must be finite and non-negative, got {wrong!r}.")
    if not np.any(w > 0):
        raise ValueError("weights are all zero; at least one positive weight is needed.")
    return np.asarray(w / w.max())
