"""Newton's method for smooth sums over blocks of rows.

    min_w  F(w) = Σ_blocks f(block; w) + ½ Σ_j λ_j (w_j - c_j)² [+ ½ wᵀMw + qᵀw]

with λ_j >= 0 (0 at unpenalised intercepts). The objective says what one block adds; here is added
up, in the order of the blocks, and stepped. A block's Hessian is a matrix (exact Newton, by
Cholesky) or a product with one (truncated conjugate gradients). Steps are halved until F falls
enough; a value that is infinite or not a number is a rejection. The answer is certified by its
largest gradient entry over max(1, sum of the weights), and by a bound on F - F* where F is convex.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate, Event
from shiftlearn.resources import serial_blas
from shiftlearn.solvers.descent import factored, truncated
from shiftlearn.solvers.smooth import Objective, Partial, Problem, Product, Solution
from shiftlearn.solvers.stationary import curvature_at, gap_at
from shiftlearn.statistics import map_reduce

__all__ = ["Objective", "Partial", "Problem", "Product", "Solution", "solve"]

Floats = NDArray[np.float64]
Callback = Callable[[Event], bool | None]

_ARMIJO = 1e-4
_MOST_HALVINGS = 60
_FEW_HALVINGS = 5
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class _Point:
    """F and its derivatives at one place, the ridge included."""

    parameters: Floats
    value: float
    gradient: Floats
    hessian: Floats | _Products | None


def solve(
    problem: Problem,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Floats | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise ``problem`` until its largest gradient entry is at most ``tol * max(1, weight)``.

    Stops early after ``max_iter`` steps, when ``callback`` returns True, or when F no longer falls
    in float64; the certificate then says what is proved. Bits do not depend on ``n_jobs``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.newton import Objective, Partial, Problem, solve
    >>> class Squares(Objective):  # Σ ½ (x - w)²
    ...     def partial(self, block, w, order=2):
    ...         return Partial(0.5 * np.sum((block - w) ** 2), np.sum(w - block)[None],
    ...                        np.array([[float(len(block))]]))
    >>> solution = solve(Problem(Squares(), [np.array([1.0, 2.0]), np.array([6.0])], np.zeros(1)))
    >>> solution.parameters, solution.certificate.converged
    (array([3.]), True)
    """
    search = _Search(problem, tol, n_jobs)
    point = search.at(_first_parameters(problem, tol, max_iter, start))
    if not math.isfinite(point.value):
        raise ValueError("start has an objective that is not finite; give another start.")
    history = [(0, point.value, search.violation(point))]
    while len(history) <= max_iter and not _told_to_stop(callback, search, history, point):
        moved = search.leave_saddle(point) if search.stationary(point) else search.step(point)
        if moved is None:
            break
        point = moved
        history.append((len(history), point.value, search.violation(point)))
    return search.solution(point, history)


class _Search:
    """The solver's state between steps."""

    def __init__(self, problem: Problem, tol: float, n_jobs: int | None) -> None:
        self.problem = problem
        self.tol = tol
        self.n_jobs = n_jobs
        self.unit = max(1.0, problem.weight)
        self.radius = math.inf
        self.first_violation = math.nan
        self.curvature: tuple[_Point | None, float] = (None, math.nan)
        blocks = problem.blocks
        self.keep = getattr(blocks, "in_memory", isinstance(blocks, (list, tuple)))

    def at(self, parameters: Floats, order: int = 2) -> _Point:
        """F and its derivatives up to ``order``; one pass over the rows."""
        problem, objective = self.problem, self.problem.objective

        def part(block: Any) -> list[Any]:
            with np.errstate(all="ignore"):
                loss, gradient, hessian = objective.partial(block, parameters, order)
            if callable(hessian):
                return [loss, gradient, ([hessian] if self.keep else []), hessian.summary()]
            return [loss, gradient, hessian, None]

        loss, gradient, hessian, summary = map_reduce(part, problem.blocks, _add, self.n_jobs)
        away = parameters - (0.0 if problem.center is None else problem.center)
        value = float(loss + 0.5 * np.sum(problem.penalty * away**2))
        bent = None if problem.metric is None else problem.metric @ parameters
        if bent is not None:
            value += 0.5 * float(parameters @ bent)
        if problem.linear is not None:
            value += float(problem.linear @ parameters)
        if order == 0:
            return _Point(parameters, value, np.empty(0), None)
        gradient = gradient + problem.penalty * away
        if bent is not None:
            gradient += bent
        if problem.linear is not None:
            gradient += problem.linear
        if order == 1:
            return _Point(parameters, value, gradient, None)
        if isinstance(hessian, list):
            return _Point(
                parameters, value, gradient, _Products(self, parameters, hessian, summary)
            )
        hessian[np.diag_indices_from(hessian)] += problem.penalty
        if problem.metric is not None:
            hessian += problem.metric
        return _Point(parameters, value, gradient, hessian)

    def violation(self, point: _Point) -> float:
        worst = float(np.abs(point.gradient).max(initial=0.0)) / self.unit
        return worst if math.isfinite(worst) else math.inf

    def stationary(self, point: _Point) -> bool:
        return self.violation(point) <= self.tol

    def step(self, point: _Point) -> _Point | None:
        """The next point, or None where F cannot be made smaller."""
        if math.isnan(self.first_violation):
            self.first_violation = self.violation(point)
        direction, length = self._direction(point)
        if self.problem.flat is not None:
            direction = direction - self.problem.flat @ (self.problem.flat.T @ direction)
        slope = float(point.gradient @ direction)
        if not (slope < 0.0 and np.all(np.isfinite(direction))):
            direction = -point.gradient / max(1.0, float(np.abs(point.gradient).max()))
            slope, length = float(point.gradient @ direction), math.inf
        moved, fraction = self._backtrack(point, direction, slope)
        self.radius = self._next_radius(length, fraction)
        return moved

    def _direction(self, point: _Point) -> tuple[Floats, float]:
        if not isinstance(point.hessian, _Products):
            assert point.hessian is not None
            majorant = lambda: self._majorant(point)  # noqa: E731
            flat = self.problem.flat
            return factored(point.hessian, point.gradient, flat, majorant), math.inf
        violation = self.violation(point)
        forcing = min(0.25, math.sqrt(violation / self.first_violation))
        near = 0.3 * self.tol * self.unit

        def enough(residual: Floats, relative: float) -> bool:
            return relative <= forcing * 0.4 or float(np.abs(residual).max()) <= near

        with serial_blas():  # sums of vectors: threads cost more than they give
            direction, length, _ = truncated(
                point.hessian,
                point.gradient,
                point.hessian.preconditioner(),
                enough=enough,
                radius=self.radius,
            )
        return direction, length

    def _next_radius(self, length: float, fraction: float) -> float:
        """Half of what was too long; twice and more of what went well."""
        if fraction < 1.0:
            return length * fraction
        return max(self.radius, 4.0 * length) if math.isfinite(self.radius) else math.inf

    def _majorant(self, point: _Point) -> Floats | None:
        problem = self.problem

        def part(block: Any) -> Floats | None:
            with np.errstate(all="ignore"):
                return problem.objective.majorant(block, point.parameters)

        total = map_reduce(part, problem.blocks, _plus, self.n_jobs)
        if total is None:
            return None
        metric = 0.0 if problem.metric is None else problem.metric
        return np.asarray(total + np.diag(problem.penalty) + metric)

    def _backtrack(
        self, point: _Point, direction: Floats, slope: float
    ) -> tuple[_Point | None, float]:
        """Armijo's rule. The full step is evaluated whole, because it is nearly always taken."""
        trial = self.at(point.parameters + direction)
        noise = 16 * _EPS * max(1.0, abs(point.value))
        if trial.value <= point.value + _ARMIJO * slope and self._usable(trial):
            return trial, 1.0
        if abs(trial.value - point.value) <= noise:
            return self._by_gradient(point, direction, trial)
        for halving in range(1, _MOST_HALVINGS):
            fraction = 0.5**halving
            parameters = point.parameters + fraction * direction
            if self.at(parameters, 0).value <= point.value + _ARMIJO * fraction * slope:
                trial = self.at(parameters)
                if self._usable(trial):
                    return trial, fraction
        return None, 0.0

    def _by_gradient(
        self, point: _Point, direction: Floats, trial: _Point
    ) -> tuple[_Point | None, float]:
        """A smaller gradient where F itself cannot tell any more."""
        for halving in range(_FEW_HALVINGS):
            if self._usable(trial) and self.violation(trial) < self.violation(point):
                return trial, 1.0
            trial = self.at(point.parameters + 0.5 ** (halving + 1) * direction)
        return None, 0.0

    @staticmethod
    def _usable(point: _Point) -> bool:
        return math.isfinite(point.value) and bool(np.all(np.isfinite(point.gradient)))

    def leave_saddle(self, point: _Point) -> _Point | None:
        """A lower point along the most negative curvature, None at a second-order point."""
        if self.problem.convex:
            return None
        curvature, vector = curvature_at(point.hessian, self.problem.flat, vector=True)
        self.curvature = (point, curvature)
        if vector is None or not curvature < -1e-7 * self.unit:
            return None
        for halving in range(_MOST_HALVINGS):
            for sign in (1.0, -1.0):
                stride = sign * 0.5**halving
                trial = self.at(point.parameters + stride * vector)
                enough = _ARMIJO * stride**2 * curvature
                if trial.value < point.value + enough and self._usable(trial):
                    return trial
        return None

    def solution(self, point: _Point, history: list[tuple[int, float, float]]) -> Solution:
        problem = self.problem
        known, curvature = self.curvature
        if known is not point:
            curvature = curvature_at(point.hessian, problem.flat, lanczos=not problem.convex)[0]
        certificate = Certificate(
            objective=point.value,
            gap=gap_at(problem, point.gradient, point.hessian, curvature),
            violation=self.violation(point),
            converged=self.stationary(point),
            n_iter=len(history) - 1,
            history=tuple(history),
            curvature=curvature,
        )
        return Solution(point.parameters, point.gradient, certificate)


class _Products:
    """The Hessian of F through products: those of the blocks kept, or made again for a stream."""

    def __init__(
        self, search: _Search, parameters: Floats, parts: list[Product], summary: Floats
    ) -> None:
        self._search = search
        self._parameters = parameters
        self._parts = parts
        self._summary = summary
        self.penalty = search.problem.penalty

    def __call__(self, direction: Floats) -> Floats:
        search, problem = self._search, self._search.problem
        blocks: Iterable[Any] = self._parts if search.keep else problem.blocks

        def part(block: Any) -> Floats:
            with np.errstate(all="ignore"):
                if search.keep:
                    return np.asarray(block(direction))
                hessian = problem.objective.partial(block, self._parameters, 2).hessian
                assert callable(hessian)
                return np.asarray(hessian(direction))

        total: Floats = map_reduce(part, blocks, np.add, search.n_jobs)
        if problem.metric is not None:
            total += problem.metric @ direction
        return total + problem.penalty * direction

    def preconditioner(self) -> Callable[[Floats], Floats]:
        problem = self._search.problem
        return problem.objective.preconditioner(self._summary, problem.penalty)


def _add(total: list[Any], part: list[Any]) -> list[Any]:
    return [_plus(a, b) for a, b in zip(total, part)]


def _plus(a: Any, b: Any) -> Any:
    """``a + b``; arrays are added in place (each part is a fresh array), None stays None."""
    if a is None or b is None:
        return None
    if isinstance(a, (np.ndarray, list)):
        a += b
        return a
    return a + b


def _first_parameters(problem: Problem, tol: float, max_iter: int, start: Floats | None) -> Floats:
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    if max_iter < 0:
        raise ValueError(f"max_iter must not be negative, got {max_iter!r}.")
    penalty = problem.penalty
    if penalty.ndim != 1 or not np.all(np.isfinite(penalty)) or np.any(penalty < 0):
        raise ValueError("penalty must be a vector of finite numbers that are not negative.")
    for name, vector in (("center", problem.center), ("start", start)):
        if vector is not None and vector.shape != penalty.shape:
            raise ValueError(f"{name} has shape {vector.shape}, penalty has {penalty.shape}.")
    if start is None:
        start = np.zeros_like(penalty) if problem.center is None else problem.center
    return np.array(start, dtype=np.float64)


def _told_to_stop(
    callback: Callback | None,
    search: _Search,
    history: list[tuple[int, float, float]],
    point: _Point,
) -> bool:
    """Whether the callback wants an end; it is told of progress in powers of ten."""
    if callback is None:
        return False
    first, now = history[0][2], max(search.violation(point), search.tol)
    whole = math.log(max(first / search.tol, 1.0 + 1e-12))
    fraction = min(1.0, max(0.0, math.log(max(first, search.tol) / now) / whole))
    gap = gap_at(search.problem, point.gradient, None, math.nan)
    return bool(callback(Event("newton", fraction, point.value, gap)))
