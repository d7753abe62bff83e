"""Operators made from other operators: what a solver needs, from what a formulation has.

A formulation may hand over anything with ``shape``, ``diagonal()`` and ``block(rows, columns,
dtype)``; `complete` derives products and restriction from the blocks. Kernels that are scaled by
tasks or extended by a few features keep the compiled products of the kernel underneath.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FromBlocks", "LowRankSum", "TaskScaled", "complete"]

Array = NDArray[Any]


def complete(operator: Any) -> Any:
    """The operator itself, or its blocks wrapped where it has no products of its own."""
    if hasattr(operator, "product") and hasattr(operator, "restrict"):
        return operator
    return FromBlocks(operator)


class FromBlocks:
    """An operator that has only blocks and a diagonal, optionally at some of its rows."""

    def __init__(self, operator: Any, rows: Array | None = None) -> None:
        self._operator, self._rows = operator, rows
        n = operator.shape[0] if rows is None else len(rows)
        self.shape = (n, n)

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal entries."""
        whole: NDArray[np.float64] = self._operator.diagonal()
        return whole if self._rows is None else whole[self._rows]

    def block(self, rows: Array, columns: Array | None = None, dtype: Any = np.float32) -> Array:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        if self._rows is None:
            return np.asarray(self._operator.block(rows, columns, dtype))
        right = self._rows if columns is None else self._rows[columns]
        return np.asarray(self._operator.block(self._rows[rows], right, dtype))

    def product(self, rows: Array, coef: Array, dtype: Any = np.float32) -> NDArray[np.float64]:
        """Columns ``rows`` times ``coef``, some rows at a time."""
        out: NDArray[np.float64] = np.zeros((self.shape[0], *np.shape(coef)[1:]))
        for start in range(0, len(rows), 512):
            part = self.block(rows[start : start + 512], None, dtype)
            out += part.T @ np.asarray(coef[start : start + 512], dtype=np.float64)
        return out

    def restrict(self, rows: Array) -> FromBlocks:
        """The principal submatrix of these rows."""
        return FromBlocks(self._operator, rows if self._rows is None else self._rows[rows])


class TaskScaled:
    """K_ij · table[t_i, t_j]: a kernel whose entries are scaled by the tasks of their rows."""

    def __init__(self, operator: Any, tasks: Array, table: Array) -> None:
        self._operator, self._tasks = complete(operator), np.asarray(tasks)
        self._table = np.asarray(table, dtype=np.float64)
        self.shape = self._operator.shape

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal entries."""
        return np.asarray(self._operator.diagonal() * self._table[self._tasks, self._tasks])

    def block(self, rows: Array, columns: Array | None = None, dtype: Any = np.float32) -> Array:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        right = self._tasks if columns is None else self._tasks[columns]
        block = np.array(self._operator.block(rows, columns, dtype))
        block *= self._table[np.ix_(self._tasks[rows], right)].astype(dtype, copy=False)
        return block

    def product(self, rows: Array, coef: Array, dtype: Any = np.float32) -> NDArray[np.float64]:
        """One product of the kernel for each task that occurs in ``rows``."""
        out = np.zeros(self.shape[0])
        for task in np.unique(self._tasks[rows]):
            own = self._tasks[rows] == task
            out += self._table[self._tasks, task] * self._operator.product(
                rows[own], coef[own], dtype
            )
        return out

    def restrict(self, rows: Array) -> TaskScaled:
        """The principal submatrix of these rows."""
        return TaskScaled(self._operator.restrict(rows), self._tasks[rows], self._table)


class LowRankSum:
    """K + F diag(w) Fᵀ with F of few columns; w is 1 unless said otherwise.

    Learned weights of several sources and penalised constants add columns (w = 1); a metric that
    shrinks a few directions takes them away (w < 0).
    """

    def __init__(self, operator: Any, factor: Array, weights: Array | None = None) -> None:
        self._operator = complete(operator)
        self._factor = np.asarray(factor, dtype=np.float64)
        self._weights = np.ones(self._factor.shape[1]) if weights is None else np.asarray(weights)
        self.shape = self._operator.shape

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal entries."""
        return np.asarray(self._operator.diagonal() + self._factor**2 @ self._weights)

    def block(self, rows: Array, columns: Array | None = None, dtype: Any = np.float32) -> Array:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        right = self._factor if columns is None else self._factor[columns]
        block = np.array(self._operator.block(rows, columns, dtype))
        block += ((self._factor[rows] * self._weights) @ right.T).astype(dtype, copy=False)
        return block

    def product(self, rows: Array, coef: Array, dtype: Any = np.float32) -> NDArray[np.float64]:
        """The kernel's own product and a thin one."""
        inner = self._factor[rows].T @ coef
        inner = (inner.T * self._weights).T
        return np.asarray(self._operator.product(rows, coef, dtype) + self._factor @ inner)

    def restrict(self, rows: Array) -> LowRankSum:
        """The principal submatrix of these rows."""
        return LowRankSum(self._operator.restrict(rows), self._factor[rows], self._weights)
