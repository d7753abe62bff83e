"""The one quadratic program under every margin machine: its types and its front door.

    min_a  ½ aᵀQa + pᵀa    s.t.  0 <= a_i <= C_i,   for each group g:  Σ_{i in g} s_i a_i = r_g

with Q_ij = s_i s_j K_ij. The solver sees K only as an operator: blocks, products with a few of
its columns, the diagonal. Each variable belongs to one group or to none (group -1).

Inside, the signs are folded into u_i = s_i a_i, which turns the problem into

    min_u  ½ uᵀKu + cᵀu    s.t.  lower <= u <= upper,   Σ_{i in g} u_i = r_g,     c_i = s_i p_i,

so that the kernel is used as it is (`solvers.decomposition` solves that form).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate, Event
from shiftlearn.errors import InfeasibleError
from shiftlearn.resources import memory_budget
from shiftlearn.solvers.decomposition import BoxProblem, Decomposition, Options
from shiftlearn.solvers.operators import complete
from shiftlearn.solvers.optimality import best_gap, dot, intervals, multipliers

__all__ = ["Operator", "Problem", "Solution", "solve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Operator(Protocol):
    """A symmetric n×n matrix that is asked for parts of itself and never stored by the solver.

    Operators may also have ``product(rows, coef, dtype)``, K[:, rows] @ coef without storing the
    block, and ``restrict(rows)``, the principal submatrix; else `solvers.operators` derives them.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        ...

    def diagonal(self) -> Floats:
        """The n diagonal entries."""
        ...

    def block(self, rows: Any, columns: Any = None, dtype: Any = np.float32) -> NDArray[Any]:
        """The entries at ``rows`` × ``columns`` (None: all columns)."""
        ...


@dataclass(frozen=True, slots=True)
class Problem:
    """One instance of the program above; arrays are float64 of length n unless said otherwise.

    ``signs`` (s, +1/-1) defaults to ones, ``groups`` (group of each variable, -1: none) to no
    group, ``totals`` holds r_g. ``convex`` is False where K may be indefinite.
    """

    operator: Operator
    linear: Floats
    upper: Floats
    signs: Floats | None = None
    groups: Ints | None = None
    totals: Floats | None = None
    convex: bool = True


@dataclass(frozen=True, slots=True)
class Solution:
    """``alpha`` (a), ``gradient`` (Qa + p), ``multipliers`` (b_g) and the certificate.

    The optimality conditions read: G_i - b_g s_i >= 0 where a_i = 0, = 0 in between, <= 0 at C_i.
    ``multipliers`` are means over the variables strictly inside their box where there are some,
    else midpoints of ``multiplier_intervals`` (n_groups × 2), the ends of the optimal values.
    """

    alpha: Floats
    gradient: Floats
    multipliers: Floats
    multiplier_intervals: Floats
    certificate: Certificate


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    start: Floats | None = None,
    memory_limit: int | float | str = "auto",
    callback: Callable[[Event], bool | None] | None = None,
) -> Solution:
    """Solve ``problem`` until the largest violation of the optimality conditions is <= ``tol``.

    Parameters
    ----------
    problem : Problem
        What to solve. Threads are those of its operator.
    tol : float
        Largest violation m - M of the optimality conditions; below 1e-5 kernel rows are float64.
    max_iter : int
        Most moves of pairs.
    start : ndarray of shape (n,), optional
        An a to begin with: clipped to the box, sums restored.
    memory_limit : int or "auto"
        Bytes for kernel blocks and kept kernel rows.
    callback : callable, optional
        Called with an :class:`Event`; returning True stops with a certified, feasible answer.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.kernels import MatrixOperator
    >>> from shiftlearn.solvers.qp import Problem, solve
    >>> two = Problem(MatrixOperator(np.eye(2)), linear=-np.ones(2), upper=np.full(2, 0.75))
    >>> solve(two, tol=1e-9).alpha
    array([0.75, 0.75])
    """
    box = _to_box(problem)
    u = _feasible_start(problem, box, start)
    options = Options(tol, max_iter, memory_budget(memory_limit), callback)
    state = Decomposition(box, u, options).run()
    return _solution(problem, box, state, tol)


def _to_box(problem: Problem) -> BoxProblem:
    n = problem.operator.shape[0]
    s = problem.signs
    linear, upper = _vector("linear", problem.linear, n), _vector("upper", problem.upper, n)
    if (upper < 0).any():
        raise ValueError(f"upper must be non-negative, found {upper.min():g}.")
    totals = np.zeros(0) if problem.totals is None else np.asarray(problem.totals, dtype=np.float64)
    groups = problem.groups
    _check_parts(n, s, groups, totals)
    if groups is not None and len(totals) == 1 and not groups.any():
        groups = None  # one group of all
    zeros, operator = np.zeros(n), complete(problem.operator)
    if s is None:
        box = BoxProblem(operator, linear, zeros, upper, groups, totals)
    else:
        low, high = np.where(s > 0, zeros, -upper), np.where(s > 0, upper, zeros)
        box = BoxProblem(operator, s * linear, low, high, groups, totals)
    _check_feasible(box, s)
    return box


def _check_parts(n: int, signs: Floats | None, groups: Ints | None, totals: Floats) -> None:
    if not np.isfinite(totals).all():
        raise ValueError("totals must be finite.")
    for name, values in (("signs", signs), ("groups", groups)):
        if values is not None and values.shape != (n,):
            raise ValueError(f"{name} must have shape ({n},), got {values.shape}.")
    if signs is not None and not (np.abs(signs) == 1).all():
        raise ValueError("signs must be +1 or -1.")
    if groups is not None and n and not (groups.min() >= -1 and groups.max() < len(totals)):
        raise ValueError(
            f"groups must be -1 (none) or the number of one of {len(totals)} totals, found "
            f"{groups.min()} to {groups.max()}."
        )


def _vector(name: str, values: Floats, n: int) -> Floats:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    return values


def _check_feasible(box: BoxProblem, signs: Floats | None) -> None:
    for g, total in enumerate(box.totals):
        members = box.members(g)
        low, high = box.lower[members].sum(), box.upper[members].sum()
        slack = 1e-9 * max(1.0, abs(total), high - low)
        if low - slack <= total <= high + slack:
            continue
        count = len(box.lower[members])
        s = np.ones(count) if signs is None else signs[members]
        movable = np.count_nonzero(s * total > 0)
        remedy = (
            f"the smallest admissible cost is {abs(total) / movable:g} for each of the {movable} "
            "that move that way"
            if movable
            else "no cost is large enough, for none of them moves that way"
        )
        raise InfeasibleError(
            f"group {g}: its {count} variables can only sum to between {low:g} and {high:g}, but "
            f"{total:g} is needed; {remedy}."
        )


def _feasible_start(problem: Problem, box: BoxProblem, start: Floats | None) -> Floats:
    if start is None:
        u = np.zeros(len(box.linear))
    else:
        u = _vector("start", start, len(box.linear))
        u = np.clip(u if problem.signs is None else problem.signs * u, box.lower, box.upper)
    for g, total in enumerate(box.totals):
        members = box.members(g)
        u[members] = _with_sum(
            u[members], box.lower[members], box.upper[members], total, box, members
        )
    return u


def _with_sum(
    u: Floats, low: Floats, high: Floats, total: float, box: BoxProblem, members: Any
) -> Floats:
    """Move u as little as its zeros allow so that its sum is ``total``."""
    excess = u.sum() - total
    if abs(excess) <= 1e-12 * max(1.0, abs(total), np.abs(u).sum()):
        return u
    if excess > 0:
        u = _give(u, u - np.clip(low, 0, None).clip(None, u), excess)
        return _give(u, u - low, u.sum() - total)
    if excess < 0:
        u = -_give(-u, np.clip(high, None, 0).clip(u, None) - u, -excess)
        return _fill(u, high, total - u.sum(), box, members)
    return u


def _give(u: Floats, room: Floats, amount: float) -> Floats:
    """U minus ``amount`` (or as much as there is room for), in proportion to ``room``."""
    available = room.sum()
    if amount <= 0 or available <= 0:
        return u
    return np.asarray(u - room * min(1.0, amount / available))


def _fill(u: Floats, high: Floats, amount: float, box: BoxProblem, members: Any) -> Floats:
    """Raise variables to their bound, those with the smallest estimated gradient first."""
    if amount <= 0:
        return u
    order = np.argsort(_estimated_gradient(box, members), kind="stable")
    room = (high - u)[order]
    before = np.cumsum(room) - room
    u = u.copy()
    u[order] += np.clip(amount - before, 0.0, room)
    return u


def _estimated_gradient(box: BoxProblem, members: Any) -> Floats:
    """The gradient where all of the group share the sum equally, from a sample of its rows."""
    indices = np.arange(len(box.linear))[members]
    sample = indices[:: max(1, len(indices) // 256)]
    scores = box.operator.product(sample, np.full(len(sample), 1.0 / len(sample)))
    return np.asarray(scores[indices] + box.linear[indices])


def _solution(problem: Problem, box: BoxProblem, state: Decomposition, tol: float) -> Solution:
    u, g = state.u, state.g
    convex = problem.convex and not state.indefinite
    gap = best_gap(u, g, box.lower, box.upper, box.groups, len(box.totals)) if convex else math.nan
    objective = 0.5 * dot(u, g + box.linear)
    converged = convex and state.violation <= tol
    certificate = Certificate(
        objective, gap, state.violation, converged, state.steps, tuple(state.history)
    )
    ends = intervals(u, g, box.lower, box.upper, box.groups, len(box.totals))
    b = multipliers(u, g, box.lower, box.upper, box.groups, ends)
    if problem.signs is None:
        return Solution(u, g, b, ends, certificate)
    return Solution(np.abs(u), problem.signs * g, b, ends, certificate)
