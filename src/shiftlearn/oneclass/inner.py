"""Inner products of rows, and the linear operator that needs nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.kernels import Kernel
from shiftlearn.resources import memory_budget

__all__ = ["Inner", "LinearOperator", "by_weights"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_LINEAR = Kernel("linear")


class Inner:
    """x_i · x_j, stored where that fits into half of ``memory_limit``, else on request."""

    def __init__(
        self,
        X: Any,
        n_jobs: int | None = None,
        memory_limit: int | float | str = "auto",
        *,
        store: bool = False,
    ) -> None:
        self.X = X
        self.norms = _LINEAR.diagonal(X)
        self._operator = _LINEAR.operator(X, n_jobs)
        n = X.shape[0]
        affordable = store and 8 * n * n <= memory_budget(memory_limit) // 2
        self._stored = self._products(np.arange(n), None) if affordable else None

    def block(self, rows: Any, columns: Ints | None = None) -> Floats:
        """The products of ``rows`` with ``columns`` (None: all); a copy."""
        if self._stored is None:
            return self._products(rows, columns)
        # Rows of the result lie one after the other, as the compiled solver reads them.
        return np.array(
            self._stored[rows] if columns is None else self._stored[np.ix_(rows, columns)],
            order="C",
        )

    def _products(self, rows: Any, columns: Ints | None) -> Floats:
        if isinstance(self.X, np.ndarray):
            right = self.X if columns is None else self.X[columns]
            return np.asarray(self.X[rows] @ right.T, dtype=np.float64)
        return np.asarray(self._operator.block(rows, columns, np.float64), dtype=np.float64)


class LinearOperator:
    """X̄X̄ᵀ of rows x̄ = x + B Y with few directions Y; products go by way of Σ_j c_j x̄_j."""

    def __init__(self, inner: Inner, mix: Floats, directions: Floats, rows: Any = None) -> None:
        self._inner, self._mix, self._directions = inner, mix, directions
        self._rows = np.arange(inner.X.shape[0]) if rows is None else rows
        self.shape = (len(self._rows), len(self._rows))
        self._cross = dense_rows(inner.X[self._rows] @ directions.T)
        self._square = directions @ directions.T

    def diagonal(self) -> Floats:
        """‖x̄‖²."""
        thin = 2 * self._cross + self._mix @ self._square
        return np.asarray(self._inner.norms[self._rows] + np.einsum("ij,ij->i", thin, self._mix))

    def block(self, rows: Ints, columns: Ints | None = None, dtype: Any = np.float32) -> Any:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        right = slice(None) if columns is None else columns
        out = self._inner.block(self._rows[rows], self._rows[right])
        mix = self._mix[rows]
        out += (self._cross[rows] + mix @ self._square) @ self._mix[right].T
        out += mix @ self._cross[right].T
        return out.astype(dtype, copy=False)

    def product(self, rows: Ints, coef: Floats, dtype: Any = np.float32) -> Floats:
        """Columns ``rows`` times ``coef``: one weight vector and its scores."""
        X = self._inner.X
        w = np.asarray(X[self._rows[rows]].T @ coef, dtype=np.float64)
        w += self._directions.T @ (self._mix[rows].T @ coef)
        scores = np.asarray(X @ w, dtype=np.float64)[self._rows]
        return scores + self._mix @ (self._directions @ w)

    def restrict(self, rows: Ints) -> LinearOperator:
        """The principal submatrix of these rows."""
        return LinearOperator(self._inner, self._mix[rows], self._directions, self._rows[rows])


def by_weights(X: Any, n_jobs: int | None = None) -> LinearOperator:
    """XXᵀ of plain rows."""
    return LinearOperator(Inner(X, n_jobs), np.zeros((X.shape[0], 0)), np.zeros((0, X.shape[1])))


def dense_rows(product: Any) -> Floats:
    """A product with a sparse or dense factor as an array."""
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, np.float64)
