"""Hinge machines over streams of rows: smoothed, solved by Newton's method, certified by the dual.

    min_{w, b}  P = ½ wᵀMw + βb + Σ_i c_i max(0, t_i),      t_i = e - s_i (wᵀz_i + b)

(SVC: e = 1, β = 0; one class: e = 0, s = 1, b = -ρ, β = νΣc.) The hinge is replaced by

    ℓ_h(t) = 0 (t <= 0),  t²/2h (0 < t < h),  t - h/2 (t >= h),      0 <= max(0, t) - ℓ_h(t) <= h/2,

whose slope a_i = c_i clip(t_i/h, 0, 1) is a point of the dual box; only rows with 0 < t_i < h enter
the Hessian. The dual value of any a in the box with Σ s_i a_i = β is

    D(a) = e Σ a_i - ½ vᵀM⁻¹v,      v = Σ a_i s_i z_i,

so P(w, b) - D(a) is a proved gap. One pass gives P, and D of the a that is there with its sum put
right (the larger side made smaller; for one class, all made smaller or moved towards c). h is made
smaller until the gap is small: at the optimum of ℓ_h it is Σ c_i t_i (1 - t_i/h) <= h/4 Σ c_i over
the rows between 0 and h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from shiftlearn.certificates import Certificate, Event
from shiftlearn.solvers import newton
from shiftlearn.solvers.smooth import Objective, Partial
from shiftlearn.statistics import map_reduce

__all__ = ["HingeProblem", "HingeSolution", "SmoothHinge", "solve_hinge", "solve_widths"]

Floats = NDArray[np.float64]

_SHRINK = 0.2
_LEVELS = 12


@dataclass(frozen=True, slots=True)
class HingeProblem:
    """One instance of the program above.

    ``blocks`` holds tuples (Z, s, c); ``metric`` is M, None for the identity; ``pull`` is β, None
    where there is no b; ``margin`` is e; ``weight`` is Σ c_i.
    """

    blocks: Any
    n_columns: int
    weight: float
    metric: Floats | None = None
    pull: float | None = 0.0
    margin: float = 1.0
    width: float = 2.0  # the first h; above the margin every row bends at w = 0


@dataclass(frozen=True, slots=True)
class HingeSolution:
    """``weights`` (w), ``intercept`` (b) and the certificate of the hinge problem itself.

    ``objective`` is -D, the dual's value as `solvers.qp` reports it; the violation is the gap over
    |P|.
    """

    weights: Floats
    intercept: float
    certificate: Certificate


class SmoothHinge(Objective):
    """Σ c_i ℓ_h(t_i) of a block, for parameters (w, b) or w alone."""

    def __init__(self, width: float, margin: float, intercept: bool) -> None:
        self.width, self.margin, self.intercept = width, margin, intercept

    def partial(self, block: Any, parameters: Floats, order: int = 2) -> Partial:
        """Loss, gradient and the Hessian of the rows between 0 and h."""
        Z, s, c = block
        t = self.margin - s * self.scores(Z, parameters)
        a = c * np.clip(t / self.width, 0.0, 1.0)
        bent = a * np.minimum(t, self.width) / 2 + a * np.maximum(t - self.width, 0.0)
        loss = float(bent.sum())
        if order == 0:
            return Partial(loss, None, None)
        gradient = -self._pull(Z, a * s)
        if order == 1:
            return Partial(loss, gradient, None)
        between = np.flatnonzero((t > 0) & (t < self.width))
        return Partial(loss, gradient, self._curvature(Z[between], c[between] / self.width))

    def majorant(self, block: Any, parameters: Floats) -> Floats:
        """All rows as if they lay between 0 and h: asked for where none does and b is free."""
        Z, _, c = block
        return self._curvature(Z, c / self.width)

    def scores(self, Z: Any, parameters: Floats) -> Floats:
        """wᵀz + b of each row."""
        if not self.intercept:
            return np.asarray(Z @ parameters, dtype=np.float64)
        return np.asarray(Z @ parameters[:-1] + parameters[-1], dtype=np.float64)

    def _pull(self, Z: Any, a: Floats) -> Floats:
        pulled = np.asarray(Z.T @ a, dtype=np.float64)
        return np.append(pulled, a.sum()) if self.intercept else pulled

    def _curvature(self, Z: Any, bends: Floats) -> Floats:
        """Σ bend · (z, 1)(z, 1)ᵀ, the large product in the dtype of the points."""
        size = Z.shape[1] + self.intercept
        hessian = np.zeros((size, size))
        if len(bends):
            rows = Z.toarray() if hasattr(Z, "indptr") else Z
            rows = rows * np.sqrt(bends).astype(rows.dtype)[:, None]
            hessian[: Z.shape[1], : Z.shape[1]] = rows.T @ rows
        if self.intercept:
            hessian[-1, :-1] = hessian[:-1, -1] = Z.T @ bends
            hessian[-1, -1] = bends.sum()
        return hessian


def solve_hinge(
    problem: HingeProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    start: Floats | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Event], bool | None] | None = None,
) -> HingeSolution:
    """Solve until the proved gap is at most ``tol`` times the objective.

    ``max_iter`` bounds the Newton steps of all levels together.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.smooth_hinge import HingeProblem, solve_hinge
    >>> Z, s = np.array([[-1.0], [1.0], [3.0]]), np.array([-1.0, 1.0, 1.0])
    >>> fit = solve_hinge(HingeProblem([(Z, s, np.ones(3))], 1, 3.0), tol=1e-6)
    >>> fit.weights.round(3), fit.certificate.gap < 1e-6
    (array([1.]), True)
    """
    intercept = problem.pull is not None
    bound = _Bound(problem, n_jobs)

    def at_width(width: float) -> newton.Problem:
        return _smooth(problem, SmoothHinge(width, problem.margin, intercept))

    parameters, certificate = solve_widths(
        at_width, bound.at, np.zeros(problem.n_columns + intercept) if start is None else start,
        problem.width, tol=tol, max_iter=max_iter, n_jobs=n_jobs, callback=callback,
    )  # fmt: skip
    weights = parameters[:-1] if intercept else parameters
    return HingeSolution(weights, float(parameters[-1]) if intercept else 0.0, certificate)


def solve_widths(
    at_width: Callable[[float], newton.Problem],
    bound: Callable[[Any, Floats], tuple[float, float]],
    start: Floats,
    width: float,
    *,
    tol: float,
    max_iter: int,
    precision: float = 1e-2,
    n_jobs: int | None = None,
    callback: Callable[[Event], bool | None] | None = None,
) -> tuple[Floats, Certificate]:
    """Smaller and smaller h until the gap is proved small; the point of the smallest gap.

    ``at_width`` gives the smoothed problem of an h, ``bound`` P and the gap at a point (of its
    objective and parameters), ``precision`` times ``tol`` the tolerance of the Newton steps.
    """
    first, parameters, steps, history = width, start, 0, []
    best: tuple[float, float, Floats] | None = None
    for _ in range(_LEVELS):
        problem = at_width(width)
        answer = newton.solve(
            problem, tol=precision * tol, max_iter=max_iter - steps, start=parameters,
            n_jobs=n_jobs,
        )  # fmt: skip
        parameters, steps = answer.parameters, steps + answer.certificate.n_iter
        value, gap = bound(problem.objective, parameters)
        history.append((steps, gap - value, gap))
        if best is None or gap < best[1]:
            best = value, gap, parameters
        done = gap <= tol * max(abs(value), 1e-12)
        stopped = callback is not None and callback(_event(width, first, value, gap))
        if done or stopped or steps >= max_iter:
            break
        width *= _SHRINK
    assert best is not None
    value, gap, parameters = best
    relative = gap / max(abs(value), 1e-12)
    done = relative <= tol
    return parameters, Certificate(gap - value, gap, relative, done, steps, tuple(history))


def _smooth(problem: HingeProblem, objective: SmoothHinge) -> newton.Problem:
    """The smoothed problem for Newton's method; βb goes in as the ridge's linear part."""
    size = problem.n_columns
    penalty = np.ones(size) if problem.metric is None else np.zeros(size)
    metric, linear = problem.metric, None
    if problem.pull is not None:
        penalty = np.append(penalty, 0.0)
        linear = np.append(np.zeros(size), problem.pull)
        if metric is not None:
            metric = np.pad(metric, (0, 1))
    return newton.Problem(
        objective, problem.blocks, penalty, weight=problem.weight, metric=metric, linear=linear
    )


@dataclass(slots=True)
class _Bound:
    """The gap at a point, one pass each."""

    problem: HingeProblem
    n_jobs: int | None
    _factor: Any = None

    def at(self, objective: SmoothHinge, parameters: Floats) -> tuple[float, float]:
        """P at the parameters, and P - D of the dual point that they suggest."""
        problem = self.problem

        def part(block: Any) -> list[Any]:
            return _sums(objective, block, parameters)

        total = map_reduce(part, problem.blocks, _add, self.n_jobs)
        w = parameters[:-1] if objective.intercept else parameters
        norm = w @ w if problem.metric is None else w @ (problem.metric @ w)
        value = 0.5 * float(norm) + float(total[0])
        if problem.pull is not None:
            value += problem.pull * float(parameters[-1])
        dual = max(self._dual(v, size) for v, size in _feasible(total, problem.pull))
        return value, max(0.0, value - dual)

    def _dual(self, v: Floats, size: float) -> float:
        problem = self.problem
        if problem.metric is None:
            return problem.margin * size - 0.5 * float(v @ v)
        if self._factor is None:
            self._factor = cho_factor(problem.metric, lower=True)
        return problem.margin * size - 0.5 * float(v @ cho_solve(self._factor, v))


def _sums(objective: SmoothHinge, block: Any, parameters: Floats) -> list[Any]:
    """Hinge loss; then Σa, Σaz, Σc, Σcz of each side (+, -)."""
    Z, s, c = block
    t = objective.margin - s * objective.scores(Z, parameters)
    a = c * np.clip(t / objective.width, 0.0, 1.0)
    sums: list[Any] = [float(c @ np.maximum(t, 0.0))]
    for side in (s > 0, s < 0):
        inside, cost = np.where(side, a, 0.0), np.where(side, c, 0.0)
        sums += [float(inside.sum()), np.asarray(Z.T @ inside, dtype=np.float64)]
        sums += [float(cost.sum()), np.asarray(Z.T @ cost, dtype=np.float64)]
    return sums


def _add(a: list[Any], b: list[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _feasible(total: list[Any], pull: float | None) -> list[tuple[Floats, float]]:
    """Points of the dual with the right sum: (v, Σa) of each."""
    _, up, v_up, most_up, c_up, down, v_down, most_down, c_down = total
    if pull is None:
        return [(v_up - v_down, up + down)]
    excess = up - down - pull
    points = []
    side = (up, v_up) if excess > 0 else (down, v_down)
    if side[0] > abs(excess):  # the larger side made smaller
        share = 1.0 - abs(excess) / side[0]
        k_up, k_down = (share, 1.0) if excess > 0 else (1.0, share)
        points.append((k_up * v_up - k_down * v_down, k_up * up + k_down * down))
    room = most_down - down if excess > 0 else most_up - up
    if room > abs(excess):  # the smaller side moved towards its costs
        share = abs(excess) / room
        if excess > 0:
            v = v_up - v_down - share * (c_down - v_down)
        else:
            v = v_up - v_down + share * (c_up - v_up)
        points.append((v, up + down + abs(excess)))
    if not points:  # nothing to keep of it: the zero of the dual, feasible for β = 0
        points.append((np.zeros_like(v_up), 0.0))
    return points


def _event(width: float, first: float, value: float, gap: float) -> Event:
    done = math.log(first / width) / (-math.log(_SHRINK) * _LEVELS)
    return Event("smooth", min(1.0, done), value, gap)
