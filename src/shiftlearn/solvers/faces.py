"""The quadratic program by whole faces, for matrices that pairs of variables are too slow for.

    min_a  ½ aᵀQa + pᵀa    s.t.  0 <= a_i <= C_i,   Σ_i a_i = r

Smooth kernels have eigenvalues over sixteen decimal powers, and the pairwise steps of
`solvers.decomposition` need millions of moves for a violation of 1e-7. Here the set of free
variables is guessed and corrected as a whole (block principal pivoting, Júdice and Pires, 1994):
solve the equations of the free variables; those that left their box go to the bound, those at a
bound with a gradient of the wrong sign become free; until nothing changes. Around it stands the
proximal point method,

    a⁺ = argmin  ½ aᵀQa + pᵀa + (δ/2) ‖a - a_k‖²,

which makes every system definite and every step a descent; δ shrinks while the pivoting is
quick and grows where it goes round in circles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from shiftlearn.certificates import Certificate, Event
from shiftlearn.errors import InfeasibleError
from shiftlearn.solvers.optimality import best_gap, dot, intervals, multipliers, violation
from shiftlearn.solvers.qp import Solution

__all__ = ["DenseMatrix", "FactorMatrix", "solve_faces"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Solver = Callable[[Floats], Floats]

_FIRST, _SMALLEST, _LARGEST = 1e-9, 1e-13, 1e2  # δ in units of the mean diagonal
_PATIENCE = 6  # pivots in a row that do not lower the number of wrong variables
_QUICK = 8  # pivots after which δ may shrink
_STEPS = 60
_GATHERED = 128  # rows of a face that are copied together


class Matrix(Protocol):
    """A positive semidefinite matrix that can be applied, and inverted on a face."""

    @property
    def size(self) -> int:
        """Order."""
        ...

    @property
    def scale(self) -> float:
        """Mean of the diagonal."""
        ...

    def product(self, a: Floats) -> Floats:
        """Q a."""
        ...

    def solver(self, free: NDArray[np.intp], shift: float) -> Solver | None:
        """Solve with (Q + shift I) on the rows and columns ``free``; None: not definite."""
        ...


class DenseMatrix:
    """Q itself, in float64."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self._space: Floats = np.empty(0)

    @property
    def size(self) -> int:
        """Order."""
        return len(self.matrix)

    @property
    def scale(self) -> float:
        """Mean of the diagonal."""
        return float(np.diagonal(self.matrix).mean()) or 1.0

    def product(self, a: Floats) -> Floats:
        """Q a."""
        return np.asarray(self.matrix @ a)

    def solver(self, free: NDArray[np.intp], shift: float) -> Solver | None:
        """Solve by Cholesky's factor of the face; a later call writes over the factor."""
        part = self._triangle(free)
        part.flat[:: len(free) + 1] += shift
        return _cholesky(part)

    def _triangle(self, free: NDArray[np.intp]) -> Floats:
        """The lower triangle of the face, in memory that is touched once for all faces."""
        n = len(free)
        if len(self._space) < n * n:
            self._space = np.empty(n * n)
        part = self._space[: n * n].reshape(n, n)
        for start in range(0, n, _GATHERED):
            stop = min(start + _GATHERED, n)
            part[start:stop, :stop] = self.matrix[free[start:stop]].take(free[:stop], axis=1)
        return part


class FactorMatrix:
    """Q = Z Zᵀ + diag(ridge) with Z of few columns."""

    def __init__(self, factor: Floats, ridge: Floats) -> None:
        self.factor, self.ridge = factor, ridge

    @property
    def size(self) -> int:
        """Order."""
        return len(self.factor)

    @property
    def scale(self) -> float:
        """Mean of the diagonal."""
        squares = np.einsum("ij,ij->", self.factor, self.factor)
        return float(squares + self.ridge.sum()) / self.size or 1.0

    def product(self, a: Floats) -> Floats:
        """Q a."""
        return np.asarray(self.factor @ (self.factor.T @ a) + self.ridge * a)

    def solver(self, free: NDArray[np.intp], shift: float) -> Solver | None:
        """Solve by the identity of Woodbury, with a system of as many columns as Z has."""
        Z, inverse = self.factor[free], 1.0 / (self.ridge[free] + shift)
        inner = np.asarray((Z * inverse[:, None]).T @ Z)
        inner.flat[:: len(inner) + 1] += 1.0
        small = _cholesky(inner)
        if small is None:
            return None

        def rough(right: Floats) -> Floats:
            first = (right.T * inverse).T
            return np.asarray(first - ((Z @ small(Z.T @ first)).T * inverse).T)

        def solve(right: Floats) -> Floats:
            answer = rough(right)  # the identity loses the digits by which ridge and Z Zᵀ differ
            left = right - Z @ (Z.T @ answer) - (answer.T / inverse).T
            return answer + rough(left)

        return solve


def _cholesky(matrix: Floats) -> Solver | None:
    """Solve with the factor of a C-ordered matrix, which is overwritten."""
    factor, info = lapack.dpotrf(matrix.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        return None
    return lambda right: np.asarray(lapack.dpotrs(factor, right, lower=0)[0])


@dataclass(slots=True)
class _Point:
    """Variables, which of them are free and which lie at their upper bound."""

    a: Floats
    free: Mask
    full: Mask


def solve_faces(
    matrix: Matrix,
    linear: Floats,
    upper: Floats,
    total: float,
    *,
    start: Floats,
    tol: float = 1e-7,
    max_iter: int = 500,
    callback: Callable[[Event], bool | None] | None = None,
) -> Solution:
    """Solve the program of this module until the largest violation is at most ``tol``.

    Parameters
    ----------
    matrix : DenseMatrix or FactorMatrix
    linear, upper : ndarray of shape (n,)
        p and C.
    total : float
        r.
    start : ndarray of shape (n,)
        A feasible a, the first proximal centre.
    max_iter : int
        Most pivots.

    Returns
    -------
    Solution
        With one multiplier, that of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.faces import DenseMatrix, solve_faces
    >>> two = DenseMatrix(np.eye(2))
    >>> found = solve_faces(two, -np.array([1.0, 3.0]), np.ones(2), 1.0, start=np.array([0.5, 0.5]))
    >>> found.alpha.round(6) + 0.0, found.certificate.converged
    (array([0., 1.]), True)
    """
    if not 0.0 <= total <= upper.sum() * (1 + 1e-12):
        raise InfeasibleError(f"the variables sum to between 0 and {upper.sum():g}, not {total:g}.")
    point = _Point(start.copy(), (start > 0) & (start < upper), start >= upper)
    state = _Progress(matrix, linear, upper, tol)
    state.measure(point)
    delta = _FIRST * matrix.scale
    for _ in range(_STEPS):
        if state.violation <= tol or state.pivots >= max_iter:
            break
        found, pivots = _proximal_step(matrix, linear, upper, total, point, delta, 0.1 * tol)
        state.pivots += pivots
        if found is None:
            delta *= 30.0
            if delta > _LARGEST * matrix.scale:
                break
            continue
        point = found
        state.measure(point)
        if state.stalled():
            break
        if callback is not None and callback(state.event()):
            break
        if pivots <= _QUICK:
            delta = max(delta * 0.03, _SMALLEST * matrix.scale)
    return state.solution(point)


def _proximal_step(
    matrix: Matrix,
    linear: Floats,
    upper: Floats,
    total: float,
    point: _Point,
    delta: float,
    tol: float,
) -> tuple[_Point | None, int]:
    """Pivot to the proximal point of ``point``; None where it does not arrive. And the pivots."""
    free, full = point.free.copy(), point.full.copy()
    if not free.any():
        free[np.argmax(upper)], full[np.argmax(upper)] = True, False
    fewest, patience, pivots = len(linear) + 1, _PATIENCE, 0
    while patience >= 0:
        pivots += 1
        a = _on_face(matrix, linear, upper, total, point.a, delta, free, full)
        if a is None:
            return None, pivots
        values, g = a
        slack = 1e-10 * np.maximum(1.0, upper)
        low, high = free & (values < -slack), free & (values > upper + slack)
        rise, fall = ~free & ~full & (g < -tol), full & (g > tol)
        wrong = int(np.count_nonzero(low | high | rise | fall))
        if wrong == 0:
            return _Point(_within(values, upper, free, total), free, full), pivots
        patience = _PATIENCE if wrong < fewest else patience - 1
        fewest = min(fewest, wrong)
        free = (free & ~low & ~high) | rise | fall
        full = (full | high) & ~fall
        if not free.any():  # the sum needs one: that which left its box by the least
            beyond = np.where(low | high, np.maximum(-values, values - upper), np.inf)
            least = int(np.argmin(beyond))
            free[least], full[least] = True, False
    return None, pivots


def _on_face(
    matrix: Matrix,
    linear: Floats,
    upper: Floats,
    total: float,
    center: Floats,
    delta: float,
    free: Mask,
    full: Mask,
) -> tuple[Floats, Floats] | None:
    """The minimiser with these free variables, and the gradient less the sum's multiplier."""
    chosen = np.flatnonzero(free)
    solve = matrix.solver(chosen, delta)
    if solve is None:
        return None
    a = np.where(full, upper, 0.0)
    right = delta * center - linear
    if full.any():
        right = right - matrix.product(a)
    answers = solve(np.column_stack([right[chosen], np.ones(len(chosen))]))
    b = (total - a.sum() - answers[:, 0].sum()) / answers[:, 1].sum()
    a[chosen] = answers[:, 0] + b * answers[:, 1]
    g = matrix.product(a) + linear + delta * (a - center) - b
    return (a, g) if np.all(np.isfinite(g)) else None


def _within(a: Floats, upper: Floats, free: Mask, total: float) -> Floats:
    """The values inside their box, rounding of the sum given to the variable with most room."""
    a = np.clip(a, 0.0, upper)
    room = np.where(free, np.minimum(a, upper - a), -1.0)
    most = int(np.argmax(room))
    a[most] = np.clip(a[most] + total - a.sum(), 0.0, upper[most])
    return a


class _Progress:
    """Gradient, violation and history of the program itself (without the proximal term)."""

    def __init__(self, matrix: Matrix, linear: Floats, upper: Floats, tol: float) -> None:
        self.matrix, self.linear, self.upper, self.tol = matrix, linear, upper, tol
        self.low = np.zeros(len(linear))
        self.pivots = 0
        self.history: list[tuple[int, float, float]] = []

    def measure(self, point: _Point) -> None:
        """Compute the exact gradient at a point."""
        self.a, self.g = point.a, self.matrix.product(point.a) + self.linear
        self.ends = intervals(self.a, self.g, self.low, self.upper, None, 1)
        self.violation = violation(self.a, self.g, self.low, self.upper, None, self.ends)
        self.objective = 0.5 * dot(self.a, self.g + self.linear)
        self.history.append((self.pivots, self.objective, self.violation))

    def stalled(self) -> bool:
        """Whether four steps in a row brought nothing: rounding is all that is left."""
        recent = [violation for _, _, violation in self.history[-5:]]
        return len(recent) == 5 and min(recent[1:]) >= recent[0]

    def gap(self) -> float:
        """The proved bound on the distance from the optimum."""
        return best_gap(self.a, self.g, self.low, self.upper, None, 1)

    def event(self) -> Event:
        """What a callback is told."""
        first = max(self.history[0][2], self.tol)
        span = math.log(first / self.tol) or 1.0
        left = math.log(max(self.violation, self.tol) / self.tol)
        return Event("faces", 1 - left / span, self.objective, self.gap())

    def solution(self, point: _Point) -> Solution:
        """The answer with its certificate."""
        certificate = Certificate(
            self.objective,
            self.gap(),
            self.violation,
            self.violation <= self.tol,
            self.pivots,
            tuple(self.history),
        )
        b: Any = multipliers(self.a, self.g, self.low, self.upper, None, self.ends)
        return Solution(point.a, self.g, b, self.ends, certificate)
