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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from shiftlearn.solvers.descent import Factor, filled, smallest_eigenvalue

__all__ = ["curvature_at", "gap_at"]

Floats = NDArray[np.float64]


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

    For products by Lanczos' method, where ``lanczos``; NaN where that does not settle.
    """
    if isinstance(hessian, np.ndarray):
        if not vector:
            return smallest_eigenvalue(hessian, flat), None
        values, vectors = eigh(filled(hessian, flat), subset_by_index=[0, 0])
        return float(values[0]), vectors[:, 0]
    if hessian is None or not lanczos:
        return math.nan, None
    return _by_lanczos(hessian, flat)


def _by_lanczos(product: Any, flat: Floats | None) -> tuple[float, Floats | None]:
    n = len(product.penalty)
    if n < 3:
        matrix = np.column_stack([product(column) for column in np.eye(n)])
        return curvature_at(matrix, flat, vector=True)
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    first = np.random.default_rng(0).normal(size=n)  # any fixed vector; none is special
    if flat is not None:
        first -= flat @ (flat.T @ first)
    try:
        values, vectors = eigsh(operator, k=1, which="SA", v0=first, tol=1e-4, maxiter=20 * n)
    except ArpackError:
        return math.nan, None
    return float(values[0]), vectors[:, 0]
