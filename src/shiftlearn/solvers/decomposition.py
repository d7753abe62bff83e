"""Decomposition: the quadratic program solved a working set at a time.

    min_u  ½ uᵀKu + cᵀu    s.t.  lower <= u <= upper,   Σ_{i in g} u_i = r_g

Each step chooses some hundreds of variables (all that lie inside their box, then the worst
violators of the optimality conditions), solves the problem restricted to them with the compiled
pairwise solver, and updates the gradient g = Ku + c by one product with the columns that moved.
Variables at a bound that cannot be chosen any more are set aside (shrinking); before an answer is
believed the gradient is computed anew, over all variables and in float64, so that neither float32
kernel rows nor shrinking can leave a trace in it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn import _core
from shiftlearn.certificates import Event
from shiftlearn.solvers.optimality import best_gap, dot, intervals, violation

__all__ = ["BoxProblem", "Decomposition", "Options"]

Floats = NDArray[np.float64]
log = logging.getLogger("shiftlearn")

WHOLE = 512  # up to this size the matrix is computed once, in float64
SMALLEST_SET, LARGEST_SET = 512, 8192
STEPS_PER_CALL = 200_000  # keeps one call of compiled code well under half a second


@dataclass(frozen=True, slots=True)
class BoxProblem:
    """The program above; ``groups`` None: one group of all (one total given) or none at all."""

    operator: Any
    linear: Floats
    lower: Floats
    upper: Floats
    groups: NDArray[np.intp] | None
    totals: Floats

    def members(self, g: int) -> Any:
        """An index of the variables of group ``g``."""
        return slice(None) if self.groups is None else self.groups == g


@dataclass(frozen=True, slots=True)
class Options:
    """How far, how long, with how much memory."""

    tol: float
    max_iter: int
    memory: int
    callback: Callable[[Event], bool | None] | None


class Decomposition:
    """The state of a solve: the variables, their gradient, and which of them are active."""

    def __init__(self, problem: BoxProblem, u: Floats, options: Options) -> None:
        self.problem, self.options = problem, options
        self.u, self.g = u, problem.linear.copy()
        self.dtype = np.float32 if options.tol >= 1e-5 else np.float64
        self.steps, self.violation, self.indefinite = 0, math.inf, False
        self.history: list[tuple[int, float, float]] = []
        self._objective, self._least = 0.0, -math.inf  # at u, and a proved bound from below
        self._active: NDArray[np.intp] | None = None  # None: all variables
        self._first_violation = 0.0
        self._stopped = False

    def run(self) -> Decomposition:
        """Solve; afterwards ``u``, ``g`` (exact), ``violation`` and ``history`` hold the answer."""
        n = len(self.u)
        if n <= WHOLE:
            self._solve_whole()
            return self
        self._activate_all(fresh=not self.u.any())
        failures = 0
        while True:
            self._descend()
            before = self.violation
            self._refresh()
            if self.violation <= self.options.tol or self._exhausted():
                return self
            failures += 1
            log.debug("violation %.3g after the full check (%.3g before)", self.violation, before)
            if failures == 4 and self.dtype == np.float32:
                self.dtype = np.float64  # float32 rows do not carry this far

    def _solve_whole(self) -> None:
        """One working set that holds everything."""
        problem, n = self.problem, len(self.u)
        everything = np.arange(n)
        matrix = problem.operator.block(everything, None, np.float64)
        if self.u.any():
            self.g = matrix @ self.u + problem.linear
        order, starts = _by_group(problem.groups, everything, len(problem.totals))
        if order is None:
            self._inner(
                matrix, self.u, self.g, problem.lower, problem.upper, starts, self.options.tol
            )
        else:
            u, g = self.u[order], self.g[order]
            bounds = problem.lower[order], problem.upper[order]
            matrix = np.ascontiguousarray(matrix[np.ix_(order, order)])
            self._inner(matrix, u, g, *bounds, starts, self.options.tol)
            self.u[order], self.g[order] = u, g
        self.g = matrix_product(matrix, self.u, order) + problem.linear
        self._objective = 0.5 * dot(self.u, self.g + problem.linear)
        self._measure(self.u, self.g, problem.lower, problem.upper, problem.groups)
        self._report()

    def _inner(
        self, matrix: Any, u: Floats, g: Floats, low: Floats, high: Floats, starts: Any, tol: float
    ) -> None:
        """Run the compiled solver in slices, so that an interrupt or a callback is heard."""
        while True:
            most = min(STEPS_PER_CALL, self.options.max_iter - self.steps)
            steps, left, indefinite = _core.solve_working_set(
                matrix, u, g, low, high, starts, tol, most
            )
            self.steps += steps
            self.indefinite |= indefinite
            if left <= tol or steps == 0 or self.steps >= self.options.max_iter:
                return

    # -- the active variables ------------------------------------------------------------------

    def _activate_all(self, fresh: bool) -> None:
        p = self.problem
        self._active, self._operator = None, p.operator
        self._u, self._g = self.u, self.g
        self._low, self._high, self._groups = p.lower, p.upper, p.groups
        if not fresh:
            rows = np.flatnonzero(self.u)
            self._g += p.operator.product(rows, self.u[rows], self.dtype)
        self._objective = 0.5 * dot(self.u, self.g + p.linear)

    def _set_aside(self, keep: NDArray[np.bool_]) -> None:
        """Go on with the variables of ``keep`` alone."""
        self._store()
        chosen = np.flatnonzero(keep)
        self._operator = self._operator.restrict(chosen)
        self._active = chosen if self._active is None else self._active[chosen]
        self._u, self._g = self._u[chosen], self._g[chosen]
        self._low, self._high = self._low[chosen], self._high[chosen]
        self._groups = None if self._groups is None else self._groups[chosen]

    def _store(self) -> None:
        if self._active is not None:
            self.u[self._active] = self._u

    def _refresh(self) -> None:
        """All variables active again, their gradient computed anew in float64."""
        self._store()
        p = self.problem
        rows = np.flatnonzero(self.u)
        self.g = p.linear + p.operator.product(rows, self.u[rows], np.float64)
        self._activate_all(fresh=True)
        self._measure(self.u, self.g, p.lower, p.upper, p.groups)
        self._report()

    # -- one pass to optimality on the active variables ----------------------------------------

    def _descend(self) -> None:
        step = 0
        while True:
            ends = self._measure(self._u, self._g, self._low, self._high, self._groups)
            if self.violation <= self.options.tol or self._exhausted():
                return
            if step:
                self._report()
                self._shrink(ends)
            self._improve(ends)
            step += 1

    def _measure(self, u: Floats, g: Floats, low: Floats, high: Floats, groups: Any) -> Floats:
        if not math.isfinite(g.sum()):
            raise ValueError(
                "the kernel values are not finite: the entries of X are too large for "
                f"{np.dtype(self.dtype)}. Scale the columns of X (StandardScaler)."
            )
        ends = intervals(u, g, low, high, groups, len(self.problem.totals))
        self.violation = violation(u, g, low, high, groups, ends)
        return ends

    def _improve(self, ends: Floats) -> None:
        """Solve one working set and bring the gradient up to date."""
        chosen = self._choose(ends)
        order, starts = _by_group(self._groups, chosen, len(self.problem.totals))
        if order is not None:
            chosen = chosen[order]
        matrix = self._operator.block(chosen, chosen, self.dtype)
        before = self._u[chosen]
        u, g = before.copy(), self._g[chosen]
        aim = max(0.03 * self.violation, 0.5 * self.options.tol)
        self._inner(matrix, u, g, self._low[chosen], self._high[chosen], starts, aim)
        moved = np.flatnonzero(u != before)
        # The gradient of variables that are set aside is old, so the objective is carried along.
        self._objective += 0.5 * dot(u - before, self._g[chosen] + g)
        self._u[chosen] = u
        if len(chosen) == len(self._u):  # nobody else has a gradient to bring up to date
            self._g[chosen] = g
        elif len(moved):
            self._g += self._operator.product(chosen[moved], (u - before)[moved], self.dtype)

    def _choose(self, ends: Floats) -> NDArray[np.intp]:
        """The working set: free variables first, then the worst violators of either side."""
        u, g = self._u, self._g
        offset = g - self._middle(ends)
        up, down = u < self._high, u > self._low
        free = np.flatnonzero(up & down)
        size = self._size(len(free))
        if size >= len(u):
            return np.arange(len(u))
        if len(free) > 3 * size // 4:
            free = free[_largest(np.abs(offset[free]), 3 * size // 4)]
        room = (size - len(free)) // 2
        rising = np.flatnonzero(up & ~down & (offset < 0))
        falling = np.flatnonzero(down & ~up & (offset > 0))
        rising = _scattered(rising, -offset, room)
        falling = _scattered(falling, offset, room)
        return np.sort(np.concatenate([free, rising, falling]))

    def _size(self, n_free: int) -> int:
        widest = int(math.sqrt(self.options.memory / 2 / np.dtype(self.dtype).itemsize))
        wanted = SMALLEST_SET
        while wanted < 1.5 * n_free + 256 and wanted < LARGEST_SET:
            wanted *= 2
        return max(64, min(wanted, widest, len(self._u)))

    def _middle(self, ends: Floats) -> Any:
        """B halfway between the ends of each variable's group (0 outside the groups)."""
        if not len(ends):
            return 0.0
        with np.errstate(invalid="ignore"):
            middle = ends.mean(axis=1)
        middle = np.where(
            np.isfinite(middle), middle, np.where(np.isfinite(ends), ends, 0).sum(axis=1)
        )
        if self._groups is None:
            return middle[0]
        return np.append(middle, 0.0)[self._groups]

    def _shrink(self, ends: Floats) -> None:
        """Set aside variables at a bound that lie beyond the extremes of their group."""
        if self._groups is None and len(ends):
            left, right = ends[0, 0], ends[0, 1]
        else:
            left, right = np.append(ends[:, 0], 0.0), np.append(ends[:, 1], 0.0)
            index = self._groups if self._groups is not None else np.full(len(self._u), -1)
            left, right = left[index], right[index]
        low, high = self._u <= self._low, self._u >= self._high
        margin = self.options.tol
        aside = (low & (self._g > left + margin)) | (high & (self._g < right - margin))
        if np.count_nonzero(aside) > 0.2 * len(aside):
            self._set_aside(~aside)

    # -- progress ------------------------------------------------------------------------------

    def _exhausted(self) -> bool:
        return self._stopped or self.steps >= self.options.max_iter

    def _report(self) -> None:
        self.history.append((self.steps, self._objective, self.violation))
        self._first_violation = max(self._first_violation, self.violation)
        log.debug("step %d: violation %.3g", self.steps, self.violation)
        if self.options.callback is not None:
            self._stopped |= bool(self.options.callback(self._event()))

    def _event(self) -> Event:
        span = math.log(max(self._first_violation, self.options.tol) / self.options.tol)
        left = math.log(max(self.violation, self.options.tol) / self.options.tol)
        fraction = 1.0 if span == 0 else 1 - left / span
        return Event("solve", fraction, self._objective, self._proved_gap())

    def _proved_gap(self) -> float:
        """The distance to the best bound that was proved while all variables were active."""
        p = self.problem
        if self._active is None:
            gap = best_gap(self.u, self.g, p.lower, p.upper, p.groups, len(p.totals))
            self._least = max(self._least, self._objective - gap)
        return math.nan if self.indefinite else self._objective - self._least


def matrix_product(matrix: Any, u: Floats, order: Any) -> Floats:
    """Matrix @ u, for a matrix whose rows and columns stand in ``order`` (None: as they are)."""
    if order is None:
        return np.asarray(matrix @ u)
    out = np.empty_like(u)
    out[order] = matrix @ u[order]
    return out


def _by_group(
    groups: Any, chosen: NDArray[np.intp], n_groups: int
) -> tuple[Any, NDArray[np.int64]]:
    """An order of ``chosen`` by group (None: as it is) and where each group starts."""
    if groups is None:
        return None, np.array([0, len(chosen)] if n_groups else [0], dtype=np.int64)
    own = groups[chosen]
    own = np.where(own < 0, n_groups, own)
    order = None if (own[1:] >= own[:-1]).all() else np.argsort(own, kind="stable")
    ascending = own if order is None else own[order]
    return order, np.searchsorted(ascending, np.arange(n_groups + 1)).astype(np.int64)


def _largest(values: Floats, k: int) -> NDArray[np.intp]:
    """Indices of the k largest values, in no particular order."""
    if k >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - k)[len(values) - k :]


def _scattered(candidates: NDArray[np.intp], score: Floats, k: int) -> NDArray[np.intp]:
    """The k candidates of largest score; among equals a sample spread by a fixed permutation."""
    if k >= len(candidates):
        return candidates
    shuffled = np.random.default_rng(0).permutation(candidates)
    return shuffled[_largest(score[shuffled], k)]
