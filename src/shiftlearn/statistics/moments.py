"""Weight, mean and scatter of rows that come in blocks.

    W = Σ w_i,   m = Σ w_i x_i / W,   S = Σ w_i (x_i - m)(x_i - m)ᵀ

Blocks are centred on their own mean, and two sets A, B of rows merge without cancellation,

    S = S_A + S_B + (W_A W_B / W) (m_A - m_B)(m_A - m_B)ᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.statistics.checkpoint import recorded

__all__ = ["MomentValues", "Moments"]

Floats = NDArray[np.float64]

_DENSE_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class MomentValues:
    """What `Moments.finish` returns.

    Attributes
    ----------
    count : int
        Rows with a positive weight.
    weight : float
        Sum of the weights.
    mean : ndarray of shape (D,)
    scatter : ndarray of shape (D, D), or (D,) where only the diagonal was asked for
    """

    count: int
    weight: float
    mean: Floats
    scatter: Floats

    @property
    def covariance(self) -> Floats:
        """``scatter / weight``."""
        return self.scatter / self.weight


@recorded
class Moments:
    """Running weight, mean and scatter of rows, in float64.

    Parameters
    ----------
    diagonal : bool, default=False
        Keep only the diagonal of the scatter: the sums of squares of each column about its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.statistics import Moments
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]])
    >>> values = Moments().update(X[:1]).update(X[1:]).finish()
    >>> values.mean, values.scatter
    (array([2., 2.]), array([[8., 6.],
           [6., 6.]]))
    """

    def __init__(self, *, diagonal: bool = False) -> None:
        self.diagonal = diagonal
        self._count = 0
        self._weight = 0.0
        self._mean: Floats | None = None
        self._scatter: Floats | None = None

    def update(self, block: Any, weights: Any = None) -> Moments:
        """Add the rows of ``block`` (dense or CSR), each ``weights`` times; returns itself."""
        if len(getattr(block, "shape", ())) != 2:
            raise ValueError("block must be a matrix of shape (rows, columns).")
        w = _checked_weights(weights, block.shape[0])
        for part, part_weights in _parts(block, w, self.diagonal):
            self._add(part, part_weights)
        return self

    def merge(self, other: Moments) -> Moments:
        """Add the rows that ``other`` has seen; returns itself."""
        if other.diagonal != self.diagonal:
            raise ValueError("other must keep the same part of the scatter (diagonal=).")
        if other._mean is not None and other._scatter is not None:
            self._join(other._count, other._weight, other._mean, other._scatter.copy())
        return self

    def finish(self) -> MomentValues:
        """The values so far. Raises where no row had a positive weight."""
        if self._mean is None or self._scatter is None:
            raise ValueError("Moments saw no row with a positive weight.")
        return MomentValues(self._count, self._weight, self._mean.copy(), self._scatter.copy())

    def _add(self, block: Any, w: Floats) -> None:
        total = float(w.sum())
        if total <= 0.0:
            return
        mean = np.asarray(w @ block, dtype=np.float64).ravel() / total
        if hasattr(block, "indptr"):
            scatter = _sparse_squares(block, w, mean, total)
        else:
            # A second, tiny correction of the mean makes columns far from 0 as exact as others.
            centred = block - mean
            drift = w @ centred / total
            mean += drift
            centred -= drift
            centred *= np.sqrt(w)[:, None]
            scatter = (
                np.einsum("ij,ij->j", centred, centred) if self.diagonal else (centred.T @ centred)
            )
        self._join(int(np.count_nonzero(w)), total, mean, scatter)

    def _join(self, count: int, weight: float, mean: Floats, scatter: Floats) -> None:
        """Chan's rule. ``scatter`` is taken over."""
        if self._mean is None or self._scatter is None:
            self._count, self._weight = count, weight
            self._mean, self._scatter = mean.copy(), scatter
            return
        if mean.shape != self._mean.shape:
            raise ValueError(f"block has {len(mean)} columns, blocks before {len(self._mean)}.")
        total = self._weight + weight
        delta = mean - self._mean
        factor = self._weight * weight / total
        self._scatter += scatter
        self._scatter += factor * (delta**2 if self.diagonal else np.outer(delta, delta))
        self._mean += delta * (weight / total)
        self._count += count
        self._weight = total


def _checked_weights(weights: Any, n: int) -> Floats:
    if weights is None:
        return np.ones(n)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"weights has shape {w.shape}; the block has {n} rows.")
    if not np.all(np.isfinite(w)) or (n and w.min() < 0):
        raise ValueError("weights must be finite and not negative.")
    return w


def _parts(block: Any, w: Floats, diagonal: bool) -> Any:
    """Float64 pieces of the block; sparse rows become dense at most D rows (or 2 MiB) at a time."""
    sparse = hasattr(block, "tocsr")
    block = block.tocsr() if sparse else np.asarray(block)
    if diagonal and sparse:
        return [(block, w)]
    columns = max(1, block.shape[1])
    rows = max(columns, _DENSE_BYTES // (8 * columns), 1)
    cuts = range(0, block.shape[0], rows)
    pieces = ((block[i : i + rows], w[i : i + rows]) for i in cuts)
    return (
        (np.asarray(piece.toarray() if sparse else piece, dtype=np.float64), piece_w)
        for piece, piece_w in pieces
    )


def _sparse_squares(block: Any, w: Floats, mean: Floats, total: float) -> Floats:
    """Σ w (x - m)² by columns: stored entries one by one, the zeros together."""
    columns = block.shape[1]
    entry_weights = np.repeat(w, np.diff(block.indptr))
    stored = np.bincount(block.indices, weights=entry_weights, minlength=columns)
    away = block.data.astype(np.float64) - mean[block.indices]
    squares = np.bincount(block.indices, weights=entry_weights * away**2, minlength=columns)
    return np.asarray(squares + np.maximum(total - stored, 0.0) * mean**2)
