"""Low-rank factors of kernel matrices by Cholesky's method with pivots.

    K ≈ R Rᵀ,   trace(K - R Rᵀ) <= tol · trace(K),   R of shape (n, r)

The residual K - R Rᵀ is positive semidefinite, so its trace bounds every norm of it. A pivot is the
row of the largest residual, or one drawn with probability proportional to the residual (Chen,
Epperly, Tropp and Webber, "Randomly pivoted Cholesky", 2023), which outliers cannot mislead. Rows
are taken some at a time, so that the work is matrix products; of those taken together, only the
ones that still carry a residual of their own become pivots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from shiftlearn.resources import memory_budget

__all__ = ["LowRank", "pivoted_cholesky"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_TOGETHER = 32
_KEEP = 0.1  # of the largest residual of the rows taken together
_NOISE = 8 * float(np.finfo(np.float64).eps)


class Matrix(Protocol):
    """A symmetric matrix that is asked for rows."""

    shape: tuple[int, int]

    def diagonal(self) -> Floats:
        """The diagonal entries."""
        ...

    def block(self, rows: Any, columns: Any = None, dtype: Any = ...) -> Any:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        ...


@dataclass(frozen=True, slots=True)
class LowRank:
    """``factor`` (R, n×r), ``pivots`` (r row indices), ``residual``: trace(K - RRᵀ) / trace(K)."""

    factor: Floats
    pivots: Ints
    residual: float


def pivoted_cholesky(
    matrix: Matrix | Floats,
    *,
    tol: float = 1e-12,
    max_rank: int | None = None,
    memory_limit: int | float | str = "auto",
    random_state: np.random.RandomState | None = None,
) -> LowRank:
    """Factor a positive semidefinite matrix, given whole or as an operator.

    Parameters
    ----------
    matrix : ndarray or operator
        For a kernel: ``kernel.operator(X)``.
    tol : float
        Stop when the trace of the residual is at most ``tol`` times the trace.
    max_rank : int, optional
        Most columns of R; besides, R takes at most ``memory_limit`` bytes. Where either stops the
        work, ``residual`` of the result is larger than ``tol``.
    random_state : RandomState, optional
        Draw the pivots; None takes the largest residuals.

    Returns
    -------
    LowRank

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.features import pivoted_cholesky
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> low = pivoted_cholesky(X @ X.T)
    >>> low.factor.shape, bool(np.allclose(low.factor @ low.factor.T, X @ X.T))
    ((6, 2), True)
    """
    operator = _Dense(matrix) if isinstance(matrix, np.ndarray) else matrix
    n = operator.shape[0]
    diagonal = np.array(operator.diagonal(), dtype=np.float64)
    _check(operator, diagonal, tol, max_rank)
    budget = memory_budget(memory_limit)
    most = max(1, min(n if max_rank is None else max_rank, budget // (8 * n)))
    if random_state is None and 2 * 8 * n * n <= budget:
        return _whole(operator, diagonal, tol, most)
    return _by_rows(operator, diagonal, tol, most, random_state)


def _whole(operator: Matrix, diagonal: Floats, tol: float, most: int) -> LowRank:
    """LAPACK's routine on the matrix itself, cut where the tolerance is met."""
    n = len(diagonal)
    matrix = np.array(operator.block(np.arange(n), None, np.float64), dtype=np.float64, order="F")
    factor, order, rank, _ = lapack.dpstrf(matrix, lower=1, overwrite_a=1, tol=-1.0)
    rank = min(int(rank), most)
    factor, order = np.tril(factor)[:, :rank], np.asarray(order, dtype=np.intp) - 1
    rank = _enough_columns(np.einsum("ij,ij->j", factor, factor), diagonal.sum(), tol)
    R = np.empty((n, rank))
    R[order] = factor[:, :rank]
    return LowRank(R, order[:rank], _residual(diagonal, R))


def _by_rows(
    operator: Matrix,
    diagonal: Floats,
    tol: float,
    most: int,
    random_state: np.random.RandomState | None,
) -> LowRank:
    n, trace = len(diagonal), float(diagonal.sum())
    columns = np.empty((min(most, 4 * _TOGETHER), n))
    pivots: list[int] = []
    left = diagonal.copy()
    while len(pivots) < most and left.sum() > tol * trace:
        wanted = min(_TOGETHER, most - len(pivots))
        rows = _candidates(left, wanted, random_state)
        rows, fresh = _new_columns(operator, columns[: len(pivots)], rows, diagonal.max())
        if not len(rows):
            break
        k = len(pivots)
        columns = _grown(columns, k + len(rows), most)
        columns[k : k + len(rows)] = fresh
        pivots.extend(rows)
        left -= np.einsum("ij,ij->j", fresh, fresh)
        left[pivots] = 0.0
        np.maximum(left, 0.0, out=left)
    R = columns[: len(pivots)].T
    rank = _enough_columns(np.einsum("ij,ij->j", R, R), trace, tol)
    R = np.ascontiguousarray(R[:, :rank])
    return LowRank(R, np.array(pivots[:rank], dtype=np.intp), _residual(diagonal, R))


def _candidates(left: Floats, wanted: int, random_state: np.random.RandomState | None) -> Ints:
    """Rows with much residual, the most first."""
    if random_state is None:
        rows = np.argpartition(left, -wanted)[-wanted:]
    else:
        rows = np.unique(random_state.choice(len(left), wanted, p=left / left.sum()))
    return rows[np.argsort(-left[rows], kind="stable")]


def _new_columns(operator: Matrix, columns: Floats, rows: Ints, size: float) -> tuple[Ints, Floats]:
    """Which of the rows become pivots, and their columns of R (as rows)."""
    residual = np.array(operator.block(rows, None, np.float64), dtype=np.float64)
    residual -= columns[:, rows].T @ columns
    inner = residual[:, rows]
    factor, order, rank, _ = lapack.dpstrf(np.asfortranarray(inner), lower=1, tol=0.0)
    strengths = np.diagonal(factor)[: int(rank)] ** 2
    if not len(strengths):
        return rows[:0], residual[:0]
    strong = (strengths > _KEEP * strengths[0]) & (strengths > _NOISE * size)
    keep = np.asarray(order[: int(rank)][strong], dtype=np.intp) - 1
    lower = np.tril(factor)[: len(keep), : len(keep)]
    return rows[keep], solve_triangular(lower, residual[keep], lower=True)


def _grown(columns: Floats, needed: int, most: int) -> Floats:
    if needed <= len(columns):
        return columns
    larger = np.empty((min(max(needed, 2 * len(columns)), most), columns.shape[1]))
    larger[: len(columns)] = columns
    return larger


def _enough_columns(squares: Floats, trace: float, tol: float) -> int:
    """The fewest leading columns whose squares leave at most tol of the trace."""
    left = 1.0 - np.cumsum(squares) / trace if trace > 0 else np.zeros(len(squares))
    met = np.flatnonzero(left <= tol)
    return int(met[0]) + 1 if len(met) else len(squares)


def _residual(diagonal: Floats, R: Floats) -> float:
    trace = float(diagonal.sum())
    left = np.maximum(diagonal - np.einsum("ij,ij->i", R, R), 0.0).sum()
    return float(left) / trace if trace > 0 else 0.0


def _check(operator: Matrix, diagonal: Floats, tol: float, max_rank: int | None) -> None:
    if operator.shape[0] != operator.shape[1] or operator.shape[0] == 0:
        raise ValueError(f"matrix must be square and not empty, got shape {operator.shape}.")
    if not np.all(np.isfinite(diagonal)) or diagonal.min() < 0:
        raise ValueError("matrix must be positive semidefinite; its diagonal is not.")
    if not 0 <= tol < 1:
        raise ValueError(f"tol must lie in [0, 1), got {tol!r}.")
    if max_rank is not None and max_rank < 1:
        raise ValueError(f"max_rank must be at least 1, got {max_rank!r}.")


class _Dense:
    """An ndarray as an operator."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        self.shape = (matrix.shape[0], matrix.shape[1] if matrix.ndim > 1 else 0)

    def diagonal(self) -> Floats:
        return np.array(self._matrix.diagonal(), dtype=np.float64)

    def block(self, rows: Any, columns: Any = None, dtype: Any = np.float64) -> Any:
        part = self._matrix[rows] if columns is None else self._matrix[np.ix_(rows, columns)]
        return np.asarray(part, dtype=dtype)
