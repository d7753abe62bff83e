"""What can be proved at a nearly stationary point of a smooth function.

Two bounds on F(w) - F*, for convex F with gradient g and Hessian H at w:

* every parameter penalised by λ_j > 0:  Σ_j g_j² / (2 λ_j)  (strong convexity, by coordinates);
* third derivatives bounded by R, |D³F[u, u, v]| <= R ‖v‖ D²F[u, u]: with the Newton decrement
  ν² = gᵀH⁻¹g, the smallest eigenvalue m of H and κ = νR/√m < 1, F is coercive and

      F(w) - F* <= ν² · (-log(1 - κ)) / κ.

  Proof: along Δ = w* - w the curvature falls at most like exp(-R‖Δ‖t), so
  -gᵀΔ >= ‖Δ‖_H² (1 - exp(-S)) / S with S = R‖Δ‖ <= R‖Δ‖_H/√m. With -gᵀΔ <= ν‖Δ‖_H this gives
  1 - exp(-S) <= κ, ‖Δ‖_H <= νS/(1 - exp(-S)) <= -ν log(1 - κ)/κ, and F(w) - F* <= -gᵀΔ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, eigh_tridiagonal

from shiftlearn.solvers.descent import Factor, filled, smallest_eigenvalue

__all__ = ["curvature_at", "gap_at"]

Floats = NDArray[np.float64]

_LARGE = 256
_LANCZOS_STEPS = 60
_LANCZOS_TOL = 1e-3


def gap_at(problem: Any, gradient: Floats, hessian: Any, curvature: float) -> float:
    """The better of the two bounds; infinite where neither holds, NaN where F is not convex."""
    if not problem.convex:
        return math.nan
    bounds = [math.inf]
    if np.all(problem.penalty > 0):
        bounds.append(float(np.sum(gradient**2 / (2.0 * problem.penalty))))
    if isinstance(hessian, np.ndarray) and curvature > 0 and math.isfinite(problem.drift):
        bounds.append(_decrement_bound(problem, gradient, hessian, curvature))
    return min(bounds)


def _decrement_bound(problem: Any, gradient: Floats, hessian: Floats, curvature: float) -> float:
    try:
        step = Factor(hessian, problem.flat).solve(gradient)
    except LinAlgError:
        return math.inf
    squared = max(0.0, float(gradient @ step))
    kappa = math.sqrt(squared / curvature) * problem.drift
    if not kappa < 1.0:
        return math.inf
    return squared * (-math.log1p(-kappa) / kappa if kappa > 1e-12 else 1.0)


def curvature_at(
    hessian: Any, flat: Floats | None, *, vector: bool = False, lanczos: bool = True
) -> tuple[float, Floats | None]:
    """The smallest eigenvalue of the Hessian (flat directions left out) and its vector.

    For products by Lanczos' method, where ``lanczos``: then an upper bound of it.
    """
    if isinstance(hessian, np.ndarray):
        if len(hessian) > _LARGE:
            return _by_inverse(hessian, flat)
        if not vector:
            return smallest_eigenvalue(hessian, flat), None
        values, vectors = eigh(filled(hessian, flat), subset_by_index=[0, 0])
        return float(values[0]), vectors[:, 0]
    if hessian is None or not lanczos:
        return math.nan, None
    n = len(hessian.penalty)
    if n < 3:
        matrix = np.column_stack([hessian(column) for column in np.eye(n)])
        return curvature_at(matrix, flat, vector=True)
    return _by_lanczos(hessian, n, flat)


def _by_inverse(hessian: Floats, flat: Floats | None) -> tuple[float, Floats | None]:
    """The same through a Cholesky factor: the largest eigenvalue of the inverse soon settles."""
    try:
        factor = Factor(hessian, flat)
    except LinAlgError:
        values, vectors = eigh(filled(hessian, flat), subset_by_index=[0, 0])
        return float(values[0]), vectors[:, 0]
    value, vector = _by_lanczos(lambda right: -factor.solve(right), len(hessian), None)
    return -1.0 / value, vector


def _by_lanczos(
    product: Callable[[Floats], Floats], n: int, flat: Floats | None
) -> tuple[float, Floats]:
    """The smallest Ritz value, not below the smallest eigenvalue, and its vector.

    Directions of negative curvature that stand out are found in a few products. Where none does,
    the smallest eigenvalues lie close together at the penalty and would never settle: the number of
    products is bounded, and each direction is kept orthogonal to all before it.
    """
    basis = np.empty((min(n, _LANCZOS_STEPS), n))
    diagonal: list[float] = []
    beside: list[float] = []
    following = np.random.default_rng(0).normal(size=n)  # any fixed vector; none is special
    for step in range(len(basis)):
        following = _orthogonal(following, basis[:step], flat)
        length = float(np.linalg.norm(following))
        if step:
            beside.append(length)
            values, vectors = eigh_tridiagonal(diagonal, beside[:-1])
            if length * abs(vectors[-1, 0]) <= _LANCZOS_TOL * abs(values[0]):
                break
        basis[step] = following / length
        following = product(basis[step])
        diagonal.append(float(basis[step] @ following))
    values, vectors = eigh_tridiagonal(diagonal, beside[: len(diagonal) - 1])
    vector = vectors[:, 0] @ basis[: len(diagonal)]
    return float(values[0]), vector / np.linalg.norm(vector)


def _orthogonal(vector: Floats, basis: Floats, flat: Floats | None) -> Floats:
    """The part of a vector outside the rows of ``basis`` and the flat directions."""
    for _ in range(2):  # once is not enough in floating point, twice is
        vector = vector - (vector @ basis.T) @ basis
        if flat is not None:
            vector = vector - flat @ (flat.T @ vector)
    return vector
