"""Rows in the units in which prototype machines are trained.

Each column is moved and stretched: x' = (x - shift) · factor. Distances, the half-space test and a
machine with a free intercept do not change when a column is moved, so a column that holds 0 within
its range is only stretched: its zeros stay zeros and sparse rows stay sparse. A column without 0
in its range has no zeros to lose and is moved, which keeps its digits. Dense and sparse rows give
the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Columns", "Table"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as the compiled loops take them: float64, C-ordered or CSR with sorted columns."""

    matrix: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def parts(self) -> tuple[Any, Any, Any, int]:
        """Values, columns, row pointers (None for dense rows) and the number of columns."""
        x = self.matrix
        if not sparse.issparse(x):
            return x, None, None, x.shape[1]
        return x.data, x.indices, x.indptr.astype(np.int64), x.shape[1]

    def take(self, rows: Ints) -> Table:
        """The given rows."""
        return Table(self.matrix[rows])


@dataclass(frozen=True, slots=True)
class Columns:
    """What is done to each column."""

    shift: Floats
    factor: Floats

    @classmethod
    def of(cls, X: Any, scale: str | None) -> Columns:
        """Learn from training rows: "range" gives every column the range 2, "standard" variance 1.

        Constant columns become 0.
        """
        d = X.shape[1]
        low, high = _extent(X)
        if scale == "standard":
            centre, size = _moments(X, low, high)
        else:
            centre, size = low + (high - low) / 2, (high - low) / 2
        factor = np.divide(1.0, size, out=np.zeros(d), where=(high > low) & (size > 0))
        if scale is None:
            factor = np.ones(d)
        apart = (low > 0) | (high < 0)
        return cls(np.where(apart, centre, 0.0), factor)

    def apply(self, X: Any) -> Table:
        """Rows in the new units; sparse rows must have entries in every column that is moved."""
        if not sparse.issparse(X):
            return Table(np.ascontiguousarray((X.astype(np.float64) - self.shift) * self.factor))
        values = (X.data.astype(np.float64) - self.shift[X.indices]) * self.factor[X.indices]
        return Table(_csr(values, X))

    def unscaled(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """The same linear functions of the rows as they were given."""
        raw = coef * self.factor
        return raw, intercept - raw @ self.shift

    def without_shift(self, X: Any, coef: Floats, intercept: Floats) -> tuple[Table, Floats]:
        """Stretched rows, and the intercepts that make up for columns not moved (sparse rows)."""
        if not sparse.issparse(X):
            return self.apply(X), intercept
        values = X.data.astype(np.float64) * self.factor[X.indices]
        return Table(_csr(values, X)), intercept - coef @ (self.shift * self.factor)


def _csr(values: Floats, like: Any) -> Any:
    indices = np.ascontiguousarray(like.indices, dtype=np.int32)
    return sparse.csr_matrix((values, indices, like.indptr), shape=like.shape)


def _extent(X: Any) -> tuple[Floats, Floats]:
    if not sparse.issparse(X):
        return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return tuple(np.asarray(e.todense(), dtype=np.float64).ravel() for e in (low, high))  # type: ignore[return-value]


def _moments(X: Any, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation, rounded to single precision: any way of adding up agrees."""
    n = X.shape[0]
    middle = low + (high - low) / 2
    if sparse.issparse(X):
        away = sparse.csc_matrix(X, dtype=np.float64)
        counts = np.diff(away.indptr)
        away.data = away.data - np.repeat(middle, counts)
        empty = n - counts
        total = np.asarray(away.sum(axis=0)).ravel() - empty * middle
        squares = np.asarray(away.multiply(away).sum(axis=0)).ravel() + empty * middle**2
    else:
        away = X.astype(np.float64) - middle
        total, squares = away.sum(axis=0), (away * away).sum(axis=0)
    spread = np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0.0))
    mean = middle + total / n
    return mean.astype(np.float32).astype(np.float64), spread.astype(np.float32).astype(np.float64)
