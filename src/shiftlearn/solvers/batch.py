"""Thousands of small hinge problems at once.

Each problem b of a batch has its own few rows of one table X and is solved for itself:

    min_a  ½ aᵀQa + pᵀa    s.t.  0 <= a_i <= C_i    [ and Σ_i s_i a_i = 0 with an intercept ]

with Q_ij = s_i s_j k(x_i, x_j). The Gram matrix is built where it is used (float64, at most a few
hundred rows), so nothing but the answer leaves the processor's cache. The answer to a problem
depends on that problem alone: not on the others in the batch, their order, or ``n_jobs``. Dense
and sparse rows give the same bits.

The decision function of problem b is f(x) = Σ_i s_i a_i k(x_i, x) + intercept_b. With
F_i = -s_i (Qa + p)_i (for p = -1: s_i minus the score without intercept) every intercept between
the largest F_i of a variable that can grow in s_i a_i and the smallest of one that can shrink is
optimal. The rule: the mean of F over the free variables (0 < a_i < C_i); without one the middle of
the interval; where the interval has one end only (one class), its point nearest to zero. Variables
with C_i = 0 do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from shiftlearn import _core
from shiftlearn.certificates import Certificate
from shiftlearn.resources import n_threads

__all__ = ["BatchProblem", "BatchSolution", "solve_batch", "solve_shared"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_KERNELS = {"linear": 0, "rbf": 1, "poly": 2, "sigmoid": 3, "precomputed": 4}
_SHARED = 5


@dataclass(frozen=True, slots=True)
class BatchProblem:
    """Problems of different sizes, one after the other in flat arrays.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_problems + 1,)
        Problem b owns the entries ``indptr[b]:indptr[b + 1]`` of the other arrays.
    rows : ndarray of int64
        Rows of X; a row may occur in many problems, and twice in one.
    signs : ndarray of float64
        s, each +1 or -1.
    upper : ndarray of float64
        C, finite and not negative.
    linear : ndarray of float64
        p; -1 everywhere for the support vector classifier.

    Examples
    --------
    >>> from shiftlearn.solvers.batch import BatchProblem
    >>> problem = BatchProblem.from_lists([[0, 1], [0, 2, 1]], [[1, -1], [1, 1, -1]], upper=10.0)
    >>> problem.indptr.tolist()
    [0, 2, 5]
    """

    indptr: Ints
    rows: Ints
    signs: Floats
    upper: Floats
    linear: Floats

    @classmethod
    def from_arrays(
        cls,
        indptr: ArrayLike,
        rows: ArrayLike,
        signs: ArrayLike,
        upper: ArrayLike = 1.0,
        linear: ArrayLike = -1.0,
    ) -> BatchProblem:
        """Check flat arrays and make a batch of them; ``upper`` and ``linear`` may be numbers."""
        flat_rows = _integers(rows, "rows")
        total = len(flat_rows)
        return cls(
            indptr=_starts(indptr, total),
            rows=flat_rows,
            signs=_signs(signs, (total,)),
            upper=_upper(upper, (total,)),
            linear=_finite(linear, "linear", (total,)),
        )

    @classmethod
    def from_lists(
        cls,
        rows: Sequence[ArrayLike],
        signs: Sequence[ArrayLike],
        upper: ArrayLike | Sequence[ArrayLike] = 1.0,
        linear: ArrayLike | Sequence[ArrayLike] = -1.0,
    ) -> BatchProblem:
        """Make a batch of one list per problem; ``upper`` and ``linear`` may be numbers."""
        lengths = [len(np.atleast_1d(np.asarray(r))) for r in rows]
        return cls.from_arrays(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            _joined(rows, "rows", lengths).astype(np.int64),
            _joined(signs, "signs", lengths),
            upper if np.isscalar(upper) else _joined(upper, "upper", lengths),
            linear if np.isscalar(linear) else _joined(linear, "linear", lengths),
        )

    def __len__(self) -> int:
        return len(self.indptr) - 1


@dataclass(frozen=True, slots=True)
class BatchSolution:
    """The answers and, problem by problem, their proof.

    Attributes
    ----------
    indptr : ndarray, shape (n_problems + 1,)
        Problem b owns ``alpha[indptr[b]:indptr[b + 1]]``.
    alpha, signs : ndarray
        a and s, flat.
    intercept : ndarray, shape (n_problems,)
        By the rule at the top of the module; 0 without an intercept.
    objective, violation, gap : ndarray, shape (n_problems,)
        Objective; largest violation of the optimality conditions; proved bound on the distance of
        the objective from its optimum, to float64 rounding (NaN for kernels that are not convex).
    n_iter : ndarray of int64, shape (n_problems,)
        Steps along two variables (and the few along many that replace a crawl).
    converged : ndarray of bool, shape (n_problems,)
        Whether the violation is at most ``tol``.
    coef : ndarray, shape (n_problems, n_features), or None
        w = Σ_i s_i a_i x_i where it was asked for.
    """

    indptr: Ints
    alpha: Floats
    signs: Floats
    intercept: Floats
    objective: Floats
    violation: Floats
    gap: Floats
    n_iter: Ints
    converged: NDArray[np.bool_]
    coef: Floats | None = None

    def __len__(self) -> int:
        return len(self.intercept)

    @property
    def dual_coef(self) -> Floats:
        """The coefficients s_i a_i of the kernel expansion, flat."""
        return self.signs * self.alpha

    def alpha_of(self, problem: int) -> Floats:
        """The a of one problem."""
        return self.alpha[self.indptr[problem] : self.indptr[problem + 1]]

    def columns(self, flat: Floats | None = None) -> Floats:
        """``alpha`` (or another flat array) as a matrix, one column a problem; sizes must agree."""
        values = self.alpha if flat is None else flat
        return np.ascontiguousarray(values.reshape(len(self), -1).T)

    def certificate_of(self, problem: int) -> Certificate:
        """What is proved about one problem."""
        return Certificate(
            objective=float(self.objective[problem]),
            gap=float(self.gap[problem]),
            violation=float(self.violation[problem]),
            converged=bool(self.converged[problem]),
            n_iter=int(self.n_iter[problem]),
        )

    @property
    def certificate(self) -> Certificate:
        """All problems as one: sums of objectives and gaps, the largest violation."""
        return Certificate(
            objective=float(self.objective.sum()),
            gap=float(self.gap.sum()),
            violation=float(self.violation.max(initial=0.0)),
            converged=bool(self.converged.all()),
            n_iter=int(self.n_iter.sum()),
        )


def solve_batch(
    X: Any,
    problem: BatchProblem,
    *,
    kernel: str = "linear",
    gamma: float = 1.0,
    degree: float = 3.0,
    coef0: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    start: ArrayLike | None = None,
    return_coef: bool = False,
    n_jobs: int | None = None,
) -> BatchSolution:
    """Solve every problem of a batch over the rows of one table.

    Each problem is min ½ aᵀQa + pᵀa over 0 <= a_i <= C_i (and Σ s_i a_i = 0 with
    ``fit_intercept``), Q_ij = s_i s_j k(x_i, x_j).

    Parameters
    ----------
    X : array or CSR matrix, shape (n_rows, n_features)
        float32 or float64; all sums are in float64. For ``kernel="precomputed"`` the dense Gram
        matrix of all rows.
    problem : BatchProblem
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"}
        With ``gamma``, ``degree`` and ``coef0`` as in :class:`shiftlearn.kernels.Kernel`, numbers.
    tol : float
        Largest violation of the optimality conditions; 1e-8 and less work.
    max_iter : int
        Steps a problem may take.
    start : array, optional
        A flat alpha to begin with; clipped to the box, and with an intercept the larger of the two
        signed sums is scaled down.
    return_coef : bool
        Also return w = Σ s_i a_i x_i (linear kernel).
    n_jobs : int, optional
        Threads. Each holds the Gram matrix of one problem, 8·size² bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.batch import BatchProblem, solve_batch
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> problem = BatchProblem.from_lists([[0, 1], [0, 2]], [[1, -1], [1, -1]], upper=100.0)
    >>> solution = solve_batch(X, problem, return_coef=True)
    >>> solution.alpha.tolist(), solution.intercept.tolist()
    ([0.5, 0.5, 0.125, 0.125], [1.0, 1.0])
    """
    if kernel not in _KERNELS:
        raise ValueError(f"kernel must be one of {sorted(_KERNELS)}, got {kernel!r}.")
    if return_coef and kernel != "linear":
        raise ValueError(f"return_coef=True needs kernel='linear', got kernel={kernel!r}.")
    rows = _table(X, square=kernel == "precomputed")
    if len(problem.rows) and not 0 <= problem.rows.min() <= problem.rows.max() < rows.shape[0]:
        raise ValueError(
            f"rows must lie in 0..{rows.shape[0] - 1} (the rows of X), "
            f"got {problem.rows.min()}..{problem.rows.max()}."
        )
    for name, value in (("gamma", gamma), ("degree", degree), ("coef0", coef0)):
        _finite(value, name, ())
    if kernel == "rbf" and gamma < 0:
        raise ValueError(f"gamma must not be negative for kernel='rbf', got {gamma!r}.")
    convex = kernel != "sigmoid"
    parameters = (_KERNELS[kernel], float(gamma), float(degree), float(coef0))
    return _run(
        rows, problem, parameters, fit_intercept, tol, max_iter, start, return_coef, n_jobs, convex
    )


def solve_shared(
    K: ArrayLike,
    signs: ArrayLike,
    *,
    upper: ArrayLike = 1.0,
    linear: ArrayLike = -1.0,
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    start: ArrayLike | None = None,
    convex: bool = True,
    n_jobs: int | None = None,
) -> BatchSolution:
    """Solve many problems on the same rows, with one Gram matrix for all of them.

    Column c of ``signs`` (n × m), ``upper`` and ``linear`` (numbers, n × 1, 1 × m or n × m) is one
    problem: min ½ aᵀQa + pᵀa over 0 <= a_i <= C_i (and Σ s_i a_i = 0 with ``fit_intercept``),
    Q_ij = s_i s_j K_ij. A row stays out of a problem where its ``upper`` is 0. ``start`` is n × m.
    ``convex=False`` says that K may be indefinite: the gap is then NaN.

    Returns
    -------
    BatchSolution
        ``solution.columns()`` is alpha as an n × m matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.batch import solve_shared
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> S = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> solution = solve_shared(X @ X.T, S, upper=100.0)
    >>> (X.T @ solution.columns(solution.dual_coef)).round(6).tolist()
    [[-2.0, -1.0]]
    """
    gram = np.asarray(K)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(f"K must be a square matrix, got shape {gram.shape}.")
    n = gram.shape[0]
    sign = np.asarray(signs)
    if sign.ndim != 2 or sign.shape[0] != n:
        raise ValueError(f"signs must have one row per row of K, ({n}, m); got {sign.shape}.")
    shape = (n, sign.shape[1])
    problem = BatchProblem(
        indptr=np.arange(shape[1] + 1, dtype=np.int64) * n,
        rows=np.empty(0, dtype=np.int64),
        signs=_flat(_signs(sign, shape)),
        upper=_flat(_upper(upper, shape)),
        linear=_flat(_finite(linear, "linear", shape)),
    )
    first = None if start is None else _flat(_finite(start, "start", shape))
    parameters = (_SHARED, 1.0, 1.0, 0.0)
    return _run(
        _padded(gram),
        problem,
        parameters,
        fit_intercept,
        tol,
        max_iter,
        first,
        False,
        n_jobs,
        convex,
    )


def _run(
    rows: Any,
    problem: BatchProblem,
    parameters: tuple[int, float, float, float],
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    start: ArrayLike | None,
    return_coef: bool,
    n_jobs: int | None,
    convex: bool,
) -> BatchSolution:
    """Allocate the answer, call the compiled solver, judge convergence."""
    if not tol >= 0:
        raise ValueError(f"tol must be a number >= 0, got {tol!r}.")
    if max_iter < 0:
        raise ValueError(f"max_iter must not be negative, got {max_iter!r}.")
    m, total = len(problem), len(problem.signs)
    first = None if start is None else _finite(start, "start", (total,))
    alpha, figures, n_iter = np.empty(total), np.empty((4, m)), np.empty(m, dtype=np.int64)
    coef = np.empty((m, rows.shape[1])) if return_coef else None
    values, columns, pointers = _parts(rows)
    _core.solve_batch(
        values, columns, pointers, rows.shape[1], *parameters,
        problem.indptr, problem.rows, problem.signs, problem.upper, problem.linear, first,
        float(tol), int(max_iter), bool(fit_intercept),
        alpha, figures, n_iter, coef, n_threads(n_jobs),
    )  # fmt: skip
    intercept, objective, violation, gap = figures
    if not convex:
        gap = np.full(m, np.nan)
    converged = (violation <= tol) & np.isfinite(gap)
    return BatchSolution(
        indptr=problem.indptr,
        alpha=alpha,
        signs=problem.signs,
        intercept=intercept,
        objective=objective,
        violation=violation,
        gap=gap,
        n_iter=n_iter,
        converged=converged,
        coef=coef,
    )


def _table(X: Any, square: bool) -> Any:
    """X as C-ordered float32/float64 rows or as CSR with sorted columns, finite."""
    table: Any
    if issparse(X):
        if square:
            raise TypeError("X must be a dense Gram matrix for kernel='precomputed', got sparse.")
        table = csr_matrix(X) if X.format != "csr" else X
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        values = table.data
    else:
        table = values = np.ascontiguousarray(_floating(X))
        if table.ndim != 2:
            raise ValueError(f"X must have two dimensions, got shape {table.shape}.")
    if square and table.shape[0] != table.shape[1]:
        raise ValueError(f"X must be a square Gram matrix, got shape {table.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity; the batch solver needs finite numbers.")
    return table


def _floating(X: Any) -> NDArray[np.floating[Any]]:
    table = np.asarray(X)
    if table.dtype in (np.float32, np.float64):
        return table
    if table.dtype.kind not in "biuf":
        raise TypeError(f"X must hold real numbers, got dtype {table.dtype}.")
    return table.astype(np.float64)


def _parts(rows: Any) -> tuple[Any, Any, Any]:
    """Values, columns and row pointers as the compiled solver takes them."""
    if not issparse(rows):
        return rows, None, None
    values = rows.data if rows.data.dtype in (np.float32, np.float64) else rows.data.astype(float)
    wide = np.int64 if rows.indices.dtype == np.int64 else np.int32
    columns = np.ascontiguousarray(rows.indices, dtype=wide)
    return np.ascontiguousarray(values), columns, rows.indptr.astype(np.int64)


def _padded(gram: NDArray[Any]) -> Floats:
    """A float64 copy of K whose rows have a multiple of eight entries, zeros behind."""
    n = gram.shape[0]
    padded = np.zeros((n, -(-max(n, 1) // 8) * 8))
    padded[:, :n] = gram
    if not np.isfinite(padded).all():
        raise ValueError("K contains NaN or infinity; the batch solver needs finite numbers.")
    return padded


def _flat(columns: Floats) -> Floats:
    return np.ascontiguousarray(columns.T).ravel()


def _joined(parts: Any, name: str, lengths: list[int]) -> NDArray[Any]:
    arrays = [np.atleast_1d(np.asarray(part)) for part in parts]
    if [len(a) for a in arrays] != lengths:
        raise ValueError(f"{name} must hold one list per problem, as long as that of rows.")
    return np.concatenate([*arrays, np.empty(0)])


def _integers(values: ArrayLike, name: str) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(
            f"{name} must be a flat array of integers, got {array.dtype} of shape {array.shape}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def _starts(values: ArrayLike, total: int) -> Ints:
    starts = _integers(values, "indptr")
    good = len(starts) > 0 and starts[0] == 0 and starts[-1] == total
    if not good or (np.diff(starts) < 0).any():
        raise ValueError(f"indptr must rise from 0 to the length of rows ({total}), got {starts}.")
    return starts


def _finite(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.ndim == len(shape) == 2:
        stretched = tuple(have if have != 1 else want for have, want in zip(array.shape, shape))
        array = np.broadcast_to(array, shape) if stretched in ((), shape) else array
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return np.ascontiguousarray(array)


def _signs(values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    signs = _finite(values, "signs", shape)
    if not (np.abs(signs) == 1.0).all():
        raise ValueError("signs must be +1 or -1 everywhere.")
    return signs


def _upper(values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    upper = _finite(values, "upper", shape)
    if (upper < 0).any():
        raise ValueError(f"upper must not be negative, got {upper.min()}.")
    return upper
