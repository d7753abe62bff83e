"""Regularised least squares with an unpenalised intercept, for all right-hand sides at once.

    min_{W, b}  ½ Σ_k ‖w_k‖² + ½ Σ_i c_i ‖y_i - Wᵀφ(x_i) - b‖²

*In the space of a kernel* its conditions are  W = Σ_i φ(x_i) a_iᵀ,  1ᵀA = 0 and

    (K + diag(1/c)) A + 1 bᵀ = Y:

one Cholesky factor H of the bracket serves all columns of Y. With η = H⁻¹1 and N = H⁻¹Y,
b = 1ᵀN / 1ᵀη and A = N - ηb. For any A with 1ᵀA = 0 and any b the distance between primal and
dual value is exactly ½ Σ_i c_i ‖r_i‖², r = Y - KA - 1bᵀ - A/c: the residual is the proof.

*In an explicit space* with fewer columns than rows the normal equations in W are smaller; the
objective is 1-strongly convex in W, so that ½ ‖its gradient‖² bounds the distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from shiftlearn.certificates import Certificate
from shiftlearn.resources import memory_budget
from shiftlearn.solvers.operators import complete
from shiftlearn.statistics import MomentValues

__all__ = ["LeastSquares", "solve_dual", "solve_moments", "solve_primal"]

Floats = NDArray[np.float64]

_REFINEMENTS = 20


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """``dual`` (A, n×k), ``intercept`` (b), ``weights`` (W, d×k; None in a kernel's space)."""

    dual: Floats
    intercept: Floats
    weights: Floats | None
    certificate: Certificate


def solve_dual(
    operator: Any,
    Y: Floats,
    costs: Floats,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    memory_limit: int | float | str = "auto",
    convex: bool = True,
) -> LeastSquares:
    """Solve in the space of a kernel with one factorisation.

    The matrix is held in float64 where ``memory_limit`` allows it, else in float32, and the answer
    is refined with float64 products; ``ValueError`` where neither fits.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.kernels import MatrixOperator
    >>> from shiftlearn.solvers.least_squares import solve_dual
    >>> answer = solve_dual(MatrixOperator(np.eye(2)), np.array([[1.0], [-1.0]]), np.ones(2))
    >>> answer.dual.ravel()
    array([ 0.5, -0.5])
    """
    operator, n = complete(operator), operator.shape[0]
    dtype = _matrix_dtype(n, memory_limit)
    factor, definite = _factor(operator, costs, dtype)
    dual, intercept = np.zeros_like(Y), np.zeros(Y.shape[1])
    residual, product = Y, np.zeros_like(Y)
    eta = factor(np.ones((n, 1)))
    violation, steps = math.inf, 0
    while steps < _REFINEMENTS:
        step, shift = _bordered(factor, eta, residual, fit_intercept)
        trial, moved = dual + step, intercept + shift
        if fit_intercept:
            trial -= trial.mean(axis=0)
        image = operator.product(np.arange(n), trial, np.float64)
        rest = Y - image - moved - trial / costs[:, None]
        worst = float(np.abs(rest).max())
        if not worst < violation:
            break
        steps += 1
        dual, intercept, product, residual, violation = trial, moved, image, rest, worst
        if violation <= 1e-3 * tol:
            break
    convex = convex and definite
    certificate = _dual_certificate(dual, product, residual, costs, tol, steps, convex)
    return LeastSquares(dual, intercept, None, certificate)


def solve_primal(
    Z: Any, Y: Floats, costs: Floats, *, fit_intercept: bool = True, tol: float = 1e-6
) -> LeastSquares:
    """Solve in the explicit space of the rows of Z (dense or CSR) by the normal equations."""
    total = costs.sum()
    mean = np.zeros(Z.shape[1])
    if fit_intercept:
        mean = np.asarray(Z.T @ costs, dtype=np.float64).ravel() / total
    center = (costs @ Y) / total if fit_intercept else np.zeros(Y.shape[1])
    normal, cross = _normal_equations(Z, Y - center, costs, mean)
    factor = linalg.cho_factor(normal, lower=True, check_finite=False)
    weights = np.zeros_like(cross)
    gradient = -cross
    violation, steps = math.inf, 0
    for _ in range(3):
        trial = weights - linalg.cho_solve(factor, gradient, check_finite=False)
        residual, slope = _primal_gradient(Z, Y - center, costs, mean, trial)
        worst = float(np.abs(slope).max(initial=0.0))
        if not worst < violation:
            break
        steps += 1
        weights, gradient, violation, rest = trial, slope, worst, residual
        if violation <= 1e-3 * tol:
            break
    objective = 0.5 * float((weights**2).sum()) + 0.5 * float(costs @ (rest**2).sum(axis=1))
    gap = 0.5 * float((gradient**2).sum())
    scale = max(1.0, float(np.abs(cross).max(initial=0.0)))
    relative = violation / scale
    certificate = Certificate(objective, gap, relative, relative <= tol, steps)
    intercept = np.asarray(center - mean @ weights)
    return LeastSquares(costs[:, None] * rest, intercept, weights, certificate)


def solve_moments(
    moments: MomentValues,
    n_columns: int,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    metric: Floats | None = None,
) -> LeastSquares:
    """Solve from the moments of the rows (z, y), weights c, in one pass: no row is seen here.

    ``n_columns`` is the width of z; ``metric`` is M in ½ Σ w_kᵀMw_k, the identity unless given.
    """
    scatter, mean = moments.scatter, moments.mean
    if not fit_intercept:
        scatter = scatter + moments.weight * np.outer(mean, mean)
    at = slice(0, n_columns)
    normal, cross = scatter[at, at].copy(), scatter[at, n_columns:]
    bend = np.eye(n_columns) if metric is None else metric
    normal += bend
    weights = linalg.solve(normal, cross, assume_a="pos", check_finite=False)
    gradient = normal @ weights - cross
    rest = np.trace(scatter[n_columns:, n_columns:]) - 2 * np.sum(cross * weights)
    objective = 0.5 * float(np.sum(weights * (normal @ weights)) + rest)
    least = 1.0 if metric is None else float(linalg.eigvalsh(metric, subset_by_index=[0, 0])[0])
    gap = 0.5 * float((gradient**2).sum()) / least if least > 0 else math.inf
    violation = float(np.abs(gradient).max(initial=0.0))
    relative = violation / max(1.0, float(np.abs(cross).max(initial=0.0)))
    intercept = mean[n_columns:] - mean[at] @ weights
    if not fit_intercept:
        intercept = np.zeros(cross.shape[1])
    certificate = Certificate(objective, gap, relative, relative <= tol, 1)
    return LeastSquares(np.empty((0, cross.shape[1])), intercept, weights, certificate)


def _matrix_dtype(n: int, memory_limit: int | float | str) -> type:
    budget = memory_budget(memory_limit)
    for dtype in (np.float64, np.float32):
        if n * n * np.dtype(dtype).itemsize <= budget:
            return dtype
    raise ValueError(
        f"the exact form needs a matrix of {n} x {n} numbers, {4 * n * n / 2**30:.1f} GiB in "
        f"float32, and memory_limit allows {budget / 2**30:.2f} GiB. Raise memory_limit, use "
        "features=Nystroem(...), or kernel='linear' with fewer columns than rows."
    )


def _factor(operator: Any, costs: Floats, dtype: type) -> tuple[Any, bool]:
    """A function that solves with K + diag(1/c), and whether that matrix is positive definite."""
    matrix = _bracket(operator, costs, dtype)
    try:
        # The matrix is symmetric: its transpose is the same one in LAPACK's order, not copied.
        cholesky = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return _indefinite_factor(_bracket(operator, costs, dtype)), False

    def solve(right: Floats) -> Floats:
        return np.asarray(linalg.cho_solve(cholesky, right, check_finite=False), dtype=np.float64)

    return solve, True


def _indefinite_factor(matrix: NDArray[Any]) -> Any:
    """LU instead of Cholesky, for kernels that are not positive."""
    factor = linalg.lu_factor(matrix.T, overwrite_a=True, check_finite=False)

    def solve(right: Floats) -> Floats:
        return np.asarray(linalg.lu_solve(factor, right, check_finite=False), dtype=np.float64)

    return solve


def _bracket(operator: Any, costs: Floats, dtype: type) -> NDArray[Any]:
    """K + diag(1/c), filled by blocks of rows so that it can be interrupted."""
    n = operator.shape[0]
    matrix: NDArray[Any] = np.empty((n, n), dtype=dtype)
    for rows in _blocks(n, 1024):
        matrix[rows] = operator.block(np.arange(rows.start, rows.stop), None, dtype)
    matrix.flat[:: n + 1] += 1.0 / costs
    return matrix


def _bordered(
    factor: Any, eta: Floats, right: Floats, fit_intercept: bool
) -> tuple[Floats, Floats]:
    """Solve the system with the border of ones."""
    nu = factor(right)
    if not fit_intercept:
        return nu, np.zeros(right.shape[1])
    shift = nu.sum(axis=0) / eta.sum()
    return nu - eta * shift, shift


def _dual_certificate(
    dual: Floats,
    product: Floats,
    residual: Floats,
    costs: Floats,
    tol: float,
    steps: int,
    convex: bool,
) -> Certificate:
    slack = dual / costs[:, None] + residual
    objective = 0.5 * float((dual * product).sum()) + 0.5 * float(costs @ (slack**2).sum(axis=1))
    gap = 0.5 * float(costs @ (residual**2).sum(axis=1)) if convex else math.nan
    violation = float(np.abs(residual).max())
    return Certificate(objective, gap, violation, convex and violation <= tol, max(1, steps))


def _normal_equations(Z: Any, Y: Floats, costs: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """(Z - m)ᵀ diag(c) (Z - m) + I and (Z - m)ᵀ diag(c) Y, summed over blocks of rows."""
    d = Z.shape[1]
    normal, cross = np.eye(d), np.zeros((d, Y.shape[1]))
    for rows in _blocks(Z.shape[0], max(256, (1 << 22) // max(1, d))):
        block, c = Z[rows], costs[rows, None]
        if sparse.issparse(block):
            weighted = block.multiply(c).tocsr()
            normal += (block.T @ weighted).toarray()
            cross += weighted.T @ Y[rows]
        else:
            moved = block - mean
            normal += moved.T @ (moved * c)
            cross += moved.T @ (c * Y[rows])
    if sparse.issparse(Z):  # rows that must not be filled in are centred afterwards
        normal -= costs.sum() * np.outer(mean, mean)
        cross -= np.outer(mean, costs @ Y)
    return normal, cross


def _primal_gradient(
    Z: Any, Y: Floats, costs: Floats, mean: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Residuals with the best intercept, and the gradient in W."""
    residual = np.asarray(Y - (Z @ weights - mean @ weights), dtype=np.float64)
    pull = costs[:, None] * residual
    slope = weights - (np.asarray(Z.T @ pull, dtype=np.float64) - np.outer(mean, pull.sum(axis=0)))
    return residual, slope


def _blocks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(n, start + size)) for start in range(0, n, size))
