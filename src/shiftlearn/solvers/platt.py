"""Platt's sigmoid: probabilities from scores.

    p(f) = 1 / (1 + exp(A f + B)),
    min_{A,B}  -Σ_i ω_i [τ_i log p(f_i) + (1 - τ_i) log(1 - p(f_i))]

with Platt's targets τ = (N₊ + 1)/(N₊ + 2) on positives and 1/(N₋ + 2) on negatives, N₊ and N₋ their
weights ω added up, so that a minimiser exists even where the scores separate the classes. Newton's
method with backtracking from A = 0, B = log((N₋ + 1)/(N₊ + 1)), after Lin, Lin and Weng, *A note on
Platt's probabilistic outputs for support vector machines* (2007); for many score vectors at once,
each for itself: the answer does not depend on the others or on ``n_jobs``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from shiftlearn import _core
from shiftlearn.resources import n_threads

__all__ = ["PlattSigmoids", "fit_platt", "fit_platt_batch"]

Floats = NDArray[np.float64]

_TOL = 1e-9
_MAX_ITER = 100


@dataclass(frozen=True, slots=True)
class PlattSigmoids:
    """Fitted sigmoids, one for each score vector.

    Attributes
    ----------
    slope, offset : ndarray, shape (m,)
        A and B; shape () where one score vector was given.
    mean_target : ndarray
        Σ ω_i τ_i / Σ ω_i (1/2 without entries).
    violation : ndarray
        Largest entry of the gradient in (A, B), with respect to centred scores of size one, over
        max(1, Σ ω_i).
    n_iter : ndarray of int64
        Newton steps.
    converged : ndarray of bool
        Whether the violation is at most 1e-9.
    """

    slope: Floats
    offset: Floats
    mean_target: Floats
    violation: Floats
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]

    def probability(self, scores: ArrayLike) -> Floats:
        """Return p(f); the last axis of ``scores`` runs over the sigmoids where there are many."""
        answer: Floats = expit(-(self.slope * np.asarray(scores, dtype=np.float64) + self.offset))
        return answer

    def rising(self) -> PlattSigmoids:
        """Return the same with constants, the mean of the targets, for sigmoids that fall (A > 0).

        A score that ranks the classes the wrong way round on its own rows says nothing.
        """
        falls = self.slope > 0
        flat = np.log((1 - self.mean_target) / self.mean_target)
        return PlattSigmoids(
            np.where(falls, 0.0, self.slope), np.where(falls, flat, self.offset),
            self.mean_target, self.violation, self.n_iter, self.converged,
        )  # fmt: skip


def fit_platt(
    scores: ArrayLike,
    positive: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> PlattSigmoids:
    """Fit one sigmoid to a score vector, or one to each column of a matrix of scores.

    Parameters
    ----------
    scores : array-like, shape (n,) or (n, m)
        f.
    positive : array-like of bool, shape (n,) or (n, m)
        Which rows are positive; one vector serves all columns.
    sample_weight : array-like, shape (n,), optional
        ω, none negative.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    PlattSigmoids

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.platt import fit_platt
    >>> sigmoid = fit_platt([-2.0, -1.0, 1.0, 2.0], [False, False, True, True])
    >>> sigmoid.probability([-2.0, 0.0, 2.0]).round(3)
    array([0.206, 0.5  , 0.794])
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim not in (1, 2):
        raise ValueError(f"scores must have shape (n,) or (n, m), got {table.shape}.")
    n, m = table.shape[0], 1 if table.ndim == 1 else table.shape[1]
    marks = _marks(positive)
    if marks.shape not in ((n,), table.shape):
        raise ValueError(f"positive must have shape ({n},) or {table.shape}, got {marks.shape}.")
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weights.shape}.")
    every = marks if marks.ndim == table.ndim else np.repeat(marks[:, None], m, axis=1)
    fitted = fit_platt_batch(
        np.arange(m + 1) * n, table.T.ravel(), every.T.ravel(),
        weights=np.tile(weights, m), n_jobs=n_jobs,
    )  # fmt: skip
    return fitted if table.ndim == 2 else _only(fitted)


def fit_platt_batch(
    indptr: ArrayLike,
    scores: ArrayLike,
    positive: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> PlattSigmoids:
    """Fit one sigmoid to each of many score vectors of different lengths.

    Parameters
    ----------
    indptr : array-like of int, shape (m + 1,)
        Vector b owns the entries ``indptr[b]:indptr[b + 1]`` of the flat arrays.
    scores, positive, weights : array-like, flat
        f, which entries are positive, and ω (1 by default).
    n_jobs : int, optional
        Threads.

    Returns
    -------
    PlattSigmoids

    Examples
    --------
    >>> from shiftlearn.solvers.platt import fit_platt_batch
    >>> fitted = fit_platt_batch([0, 2, 5], [1.0, -1.0, 1.0, -1.0, -1.0], [1, 0, 1, 0, 0])
    >>> fitted.probability([1.0, 1.0]).round(3)
    array([0.667, 0.667])
    """
    values = _finite(scores, "scores")
    starts = _starts(indptr, len(values))
    marks = _marks(positive)
    omega = np.ones(len(values)) if weights is None else _finite(weights, "weights")
    for name, flat in (("positive", marks), ("weights", omega)):
        if flat.shape != values.shape:
            raise ValueError(f"{name} must have shape {values.shape}, got {flat.shape}.")
    if (omega < 0).any():
        raise ValueError(f"weights must not be negative, got {omega.min()}.")
    m = len(starts) - 1
    answer, n_iter = np.empty((3, m)), np.empty(m, dtype=np.int64)
    _core.fit_platt(
        starts, values, np.ascontiguousarray(marks, dtype=np.uint8), omega, _TOL, _MAX_ITER,
        answer, n_iter, n_threads(n_jobs),
    )  # fmt: skip
    slope, offset, violation = answer
    mean = _mean_target(starts, marks, omega)
    return PlattSigmoids(slope, offset, mean, violation, n_iter, violation <= _TOL)


def _mean_target(starts: NDArray[np.int64], marks: NDArray[np.bool_], omega: Floats) -> Floats:
    m = len(starts) - 1
    owner = np.repeat(np.arange(m), np.diff(starts))
    total = np.bincount(owner, weights=omega, minlength=m)
    plus = np.bincount(owner, weights=omega * marks, minlength=m)
    minus = total - plus
    hoped = plus * (plus + 1) / (plus + 2) + minus / (minus + 2)
    mean: Floats = np.divide(hoped, total, out=np.full(m, 0.5), where=total > 0)
    return mean


def _only(fitted: PlattSigmoids) -> PlattSigmoids:
    """The first sigmoid, with arrays of shape ()."""
    return PlattSigmoids(
        fitted.slope[0, ...], fitted.offset[0, ...], fitted.mean_target[0, ...],
        fitted.violation[0, ...], fitted.n_iter[0, ...], fitted.converged[0, ...],
    )  # fmt: skip


def _finite(values: ArrayLike, name: str) -> Floats:
    flat = np.ascontiguousarray(values, dtype=np.float64)
    if flat.ndim != 1:
        raise ValueError(f"{name} must be a flat array, got shape {flat.shape}.")
    if not np.isfinite(flat).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return flat


def _marks(positive: ArrayLike) -> NDArray[np.bool_]:
    marks = np.asarray(positive)
    if marks.dtype != np.bool_ and not np.isin(marks, (0, 1)).all():
        found: Any = np.unique(marks)[:4].tolist()
        raise ValueError(f"positive must hold True and False (or 1 and 0), found {found}.")
    return marks.astype(np.bool_)


def _starts(indptr: ArrayLike, total: int) -> NDArray[np.int64]:
    starts = np.asarray(indptr)
    good = starts.ndim == 1 and len(starts) > 0 and starts.dtype.kind in "iu"
    if not good or starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 0).any():
        raise ValueError(
            f"indptr must rise from 0 to the length of scores ({total}), got {indptr!r}."
        )
    return np.ascontiguousarray(starts, dtype=np.int64)
