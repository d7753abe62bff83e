"""Directions of descent for Newton's method, from a matrix or from products with it.

Both answer  min_d  gᵀd + ½ dᵀHd : `factored` exactly, by a Cholesky factor, `truncated` by
preconditioned conjugate gradients that stop early, at negative curvature or at a radius
(T. Steihaug, SIAM J. Numer. Anal. 20, 1983).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, eigvalsh

__all__ = ["Factor", "factored", "smallest_eigenvalue", "truncated"]

Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]

_SMALLEST_SIZE = 1e-10


class Factor:
    """A Cholesky factor of a positive definite matrix; raises ``LinAlgError`` where there is none.

    ``flat`` (orthonormal columns, or None) spans directions along which the matrix is zero and
    the gradient too; they are given the matrix's own size, which leaves the solution unmoved.
    """

    def __init__(self, matrix: Floats, flat: Floats | None = None) -> None:
        self._factor = cho_factor(filled(matrix, flat), lower=True, check_finite=False)
        pivots = np.abs(np.diagonal(self._factor[0]))
        if not pivots.min(initial=np.inf) > 1e-9 * pivots.max(initial=0.0):
            raise LinAlgError("numerically singular")

    def solve(self, right: Floats) -> Floats:
        """The solution of ``matrix @ x = right``."""
        return np.asarray(cho_solve(self._factor, right, check_finite=False))


def filled(matrix: Floats, flat: Floats | None) -> Floats:
    """The matrix with its own largest diagonal entry as curvature along the flat directions."""
    if flat is None or flat.shape[1] == 0:
        return matrix
    size = float(np.abs(np.diagonal(matrix)).max(initial=1e-300))
    return matrix + size * (flat @ flat.T)


def factored(
    matrix: Floats,
    gradient: Floats,
    flat: Floats | None,
    majorant: Callable[[], Floats | None],
) -> Floats:
    """The Newton direction; without a factor that of ``majorant()``, or of the sizes
    of the curvatures.
    """
    try:
        return -Factor(matrix, flat).solve(gradient)
    except LinAlgError:
        instead = majorant()
    if instead is None:
        return _by_sizes(filled(matrix, flat), gradient)
    try:
        return -Factor(instead, flat).solve(gradient)
    except LinAlgError:
        return _by_sizes(filled(instead, flat), gradient)


def _by_sizes(matrix: Floats, gradient: Floats) -> Floats:
    """The Newton direction with the sizes of the eigenvalues in their place, none near zero."""
    if not np.all(np.isfinite(matrix)):
        return -gradient
    values, vectors = eigh(matrix, check_finite=False)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, _SMALLEST_SIZE * (sizes.max(initial=0.0) or 1.0))
    return np.asarray(-vectors @ ((vectors.T @ gradient) / sizes))


def truncated(
    product: Map,
    gradient: Floats,
    precondition: Map,
    *,
    enough: Callable[[Floats, float], bool],
    radius: float = np.inf,
    max_steps: int = 1000,
) -> tuple[Floats, float, int]:
    """Steihaug's conjugate gradients.

    ``enough(residual, relative)`` says when to stop: ``residual`` is gradient + H d, ``relative``
    its preconditioned norm over that of the gradient. ``radius`` bounds the preconditioned length
    of d; where the curvature is negative and the radius is infinite, the step along it is as long
    as what was walked before.

    Returns
    -------
    direction : ndarray
        A direction of descent.
    length : float
        Its length in the norm of the preconditioner.
    steps : int
        Products used.
    """
    d, residual = np.zeros_like(gradient), gradient.copy()
    z = precondition(residual)
    search, rz = -z, float(residual @ z)
    first, dd, ds, ss = rz, 0.0, 0.0, rz  # squared lengths of d and search, in the same norm
    for step in range(max_steps):
        if rz <= 0.0 or (step and enough(residual, np.sqrt(rz / first))):
            return d, float(np.sqrt(dd)), step
        curved = product(search)
        curvature = float(search @ curved)
        length = rz / curvature if curvature > 0.0 else np.inf
        if not dd + 2 * length * ds + length**2 * ss < radius**2:
            reach = radius if np.isfinite(radius) else np.sqrt(max(dd, first)) + np.sqrt(dd)
            length = (np.sqrt(max(ds**2 + ss * (reach**2 - dd), 0.0)) - ds) / ss
            return d + length * search, float(reach), step + 1
        d += length * search
        residual += length * curved
        dd, before = dd + 2 * length * ds + length**2 * ss, rz
        z = precondition(residual)
        rz = float(residual @ z)
        beta = rz / before
        search = beta * search - z
        ds, ss = beta * (ds + length * ss), rz + beta**2 * ss
    return d, float(np.sqrt(dd)), max_steps


def smallest_eigenvalue(matrix: Floats, flat: Floats | None) -> float:
    """The smallest eigenvalue, the flat directions left out."""
    return float(eigvalsh(filled(matrix, flat), subset_by_index=[0, 0], check_finite=False)[0])
