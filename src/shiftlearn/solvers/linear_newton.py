"""Proximal Newton steps for the linear program: few columns, or descent that is slow.

The proximal point iteration a ← argmin f(a) + δ/2 ‖a - ā‖², ā the a before, turns the dual into a
smooth convex problem in w and b,

    min_{w,b}  ½ ‖w‖² - b r + Σ_i ψ_i(z_i),   z_i = b s_i - p_i - s_i <x_i, w>,
    ψ_i(z) = max_{0<=a<=C_i}  a z - ½ D_i a² - ½ δ (a - ā_i)²,
    ψ_i'(z) = a_i(z) = clip((z + δ ā_i) / (D_i + δ), 0, C_i),

solved by semismooth Newton steps with an exact line search; only rows strictly inside their box
enter the second derivatives. δ falls by a factor a round. The program is piecewise quadratic, so
that the rounds converge superlinearly and end once the active set is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftlearn._core import linear_best_alpha, linear_multiplier
from shiftlearn.solvers.linear_state import Floats, Matrix, State

__all__ = ["refine"]

_SHRINK = 0.1
_ROUNDS = 40
_STALLED = 6  # steps without progress from a small gradient: what is left is rounding
_WANDERING = 20  # and from a large one, where full steps change which rows are free
_NEAR = 0.02  # δ of the first round from a good start, in units of the usual one
_DENSE = 2000  # largest system that is factorised


@dataclass(slots=True)
class _Point:
    """(w, b) with everything a Newton step needs at it."""

    w: Floats
    b: float
    u: Floats  # X w
    z: Floats
    a: Floats
    total: Floats  # Σ s_i a_i x_i
    gradient_w: Floats
    gradient_b: float


@dataclass(slots=True)
class _Smooth:
    """The smooth problem of one round: centre ā and δ."""

    state: State
    center: Floats
    delta: float

    @property
    def ridge(self) -> Floats:
        """D + δ."""
        extra = self.state.diagonal
        full = np.full(self.state.matrix.n, self.delta)
        return full if extra is None else full + extra

    def alpha(self, z: Floats, dz: Floats, t: float, out: Floats) -> float:
        """Write a(z + t dz) to ``out``; its inner product with dz."""
        s = self.state
        return linear_best_alpha(
            z, dz, t, self.center, self.delta, s.diagonal, s.upper, out, s.matrix.threads
        )

    def at(self, w: Floats, b: float, u: Floats, near: _Point | None = None) -> _Point:
        """Everything at (w, b); from a point ``near``, only rows whose a changed are touched."""
        s = self.state
        z = s.signs * (b - u) - s.linear
        a = np.empty_like(z)
        self.alpha(z, z, 0.0, a)
        total = s.matrix.combine(s.signs * (a if near is None else a - near.a))
        if near is not None:
            total += near.total
        gradient_b = float(s.signs @ a) - s.total if s.grouped else 0.0
        return _Point(w, b, u, z, a, total, w - total, gradient_b)

    def error(self, point: _Point) -> float:
        """What this round alone leaves violated."""
        return self.delta * float(np.abs(point.a - self.center).max(initial=0.0))

    def best_b(self, u: Floats) -> float:
        """The b that minimises the smooth problem at w, found exactly."""
        s = self.state
        shifted = s.linear - self.delta * self.center
        return linear_multiplier(u, s.signs, shifted, s.upper, self.ridge, s.total)


def refine(state: State, start: tuple[Floats, float] | None = None) -> None:
    """Rounds of the proximal point iteration, until certified or out of steps.

    They begin at the present a, or at a (w, b) that is near the answer already.
    """
    delta, b = _first_delta(state), 0.0 if state.best is None else state.best.multiplier
    w = state.weights()
    if start is not None:
        w, b, delta = *start, _NEAR * delta
    u = state.matrix.products(w)
    largest = float(np.sqrt(state.norms.max(initial=0.0)))
    floor = 1e-13 * max(float(state.norms.mean()), 1e-300)
    for _ in range(_ROUNDS):
        smooth = _Smooth(state, state.alpha.copy(), delta)
        if state.grouped:
            b = smooth.best_b(u)
        point = _minimise(smooth, w, b, u, largest)
        w, b, u = point.w, point.b, point.u
        moved = smooth.error(point)
        state.alpha[:] = point.a
        if not state.report("newton"):
            return
        if moved <= state.tol and state.certify(w, u).certificate.converged:
            return
        delta = max(delta * _SHRINK, floor)
    state.certify(w, u)


def _first_delta(state: State) -> float:
    """Wide enough that the first round sees a smooth problem: about one unit of margin."""
    finite = state.upper[np.isfinite(state.upper) & (state.upper > 0)]
    cost = float(np.median(finite)) if finite.size else 1.0
    scale = float(np.abs(state.linear).mean()) or 1.0
    return max(scale / cost, 1e-2 * float(state.norms.mean()), 1e-12)


def _minimise(smooth: _Smooth, w: Floats, b: float, u: Floats, largest: float) -> _Point:
    """Newton steps until what is left of the gradient is small against the round's own error."""
    state = smooth.state
    point, best, since, patience = smooth.at(w, b, u), np.inf, 0, _WANDERING
    while since < patience and state.iterations < state.max_iter:
        state.iterations += 1
        dw, db = _direction(smooth, point)
        du = state.matrix.products(dw)
        t = _line_search(smooth, point, dw, db, du)
        if t == 0.0:
            return point
        point = smooth.at(point.w + t * dw, point.b + t * db, point.u + t * du, point)
        left = largest * float(np.linalg.norm(point.gradient_w))
        left += smooth.delta * abs(point.gradient_b)
        if left <= 0.05 * max(smooth.error(point), state.tol) or not state.report("newton"):
            return point
        best, since = (left, 0) if left < 0.7 * best else (best, since + 1)
        if best < 1e-6 * largest:
            patience = _STALLED
    return point


def _direction(smooth: _Smooth, point: _Point) -> tuple[Floats, float]:
    """The Newton step (dw, db), computed in whichever space is smaller."""
    state = smooth.state
    t = np.where((point.a > 0) & (point.a < state.upper), 1.0 / smooth.ridge, 0.0)
    free = np.flatnonzero(t).astype(np.int64)
    if not free.size:
        return -point.gradient_w, 0.0
    if free.size <= min(state.matrix.d, _DENSE):
        return _step_on_rows(state, point, free, t[free])
    return _step_on_columns(state, point, free, t)


def _step_on_columns(
    state: State, point: _Point, free: NDArray[np.int64], t: Floats
) -> tuple[Floats, float]:
    """Eliminate b, which centres the second moments, and solve for dw."""
    h, right = float(t.sum()), -point.gradient_w
    c = state.matrix.combine(t) if state.grouped else np.zeros(state.matrix.d)
    if state.grouped:
        right = right - c * (point.gradient_b / h)
    if state.matrix.d <= _DENSE:
        dw = _equilibrated(_moment(state.matrix, free, t[free]) - np.outer(c, c / h), right)
    else:
        dw = _conjugate(state.matrix, t, c / np.sqrt(h), right)
    return dw, (float(c @ dw) - point.gradient_b) / h if state.grouped else 0.0


def _step_on_rows(
    state: State, point: _Point, free: NDArray[np.int64], t: Floats
) -> tuple[Floats, float]:
    """Solve for the changes v_i = s_i Δa_i of the free rows, the group's sum as a border."""
    matrix, m = state.matrix, free.size
    system = _row_moment(matrix, free)
    system.flat[:: m + 1] += 1.0 / t
    right = matrix.products(point.gradient_w)[free]
    if state.grouped:
        border = float(np.sqrt(system.diagonal().mean()))
        edge = np.full((m, 1), -border)
        system = np.block([[system, edge], [edge.T, np.zeros((1, 1))]])
        v = np.linalg.solve(system, np.append(right, border * point.gradient_b))
    else:
        border, v = 0.0, _equilibrated(system, right)
    scattered = np.zeros(matrix.n)
    scattered[free] = v[:m]
    dw = matrix.combine(scattered) - point.gradient_w
    return dw, float(v[m]) * border if state.grouped else 0.0


def _moment(matrix: Matrix, free: NDArray[np.int64], t: Floats) -> Floats:
    """I + Σ_free t_i x_i x_iᵀ."""
    out = np.zeros((matrix.d, matrix.d))
    step = max(256, int(5e8 / matrix.d**2))
    for low in range(0, free.size, step):
        matrix.rows.gram(free, t, out, low, min(free.size, low + step), matrix.threads)
    out += np.tril(out, -1).T
    out.flat[:: matrix.d + 1] += 1.0
    return out


def _row_moment(matrix: Matrix, free: NDArray[np.int64]) -> Floats:
    """<x_i, x_j> over the free rows."""
    out = np.empty((free.size, free.size))
    step = max(32, int(2e8 * matrix.n / (max(matrix.entries, 1.0) * free.size)))
    for low in range(0, free.size, step):
        matrix.rows.row_gram(free, out, low, min(free.size, low + step), matrix.threads)
    return out


def _equilibrated(system: Floats, right: Floats) -> Floats:
    """Solve a positive definite system scaled to a unit diagonal: columns in any units."""
    scale = 1.0 / np.sqrt(np.maximum(system.diagonal(), 1e-300))
    solved = np.linalg.solve(system * scale * scale[:, None], scale * right)
    return np.asarray(scale * solved, dtype=np.float64)


def _conjugate(matrix: Matrix, t: Floats, c: Floats, right: Floats) -> Floats:
    """Conjugate gradients on I + Σ t_i x_i x_iᵀ - c cᵀ, too large to factorise."""
    x, r = np.zeros_like(right), right.copy()
    p, rr = r.copy(), float(r @ r)
    goal = 1e-16 * rr
    for _ in range(500):
        if rr <= goal:
            break
        q = p + matrix.combine(t * matrix.products(p)) - c * float(c @ p)
        step = rr / float(p @ q)
        x += step * p
        r -= step * q
        before, rr = rr, float(r @ r)
        p = r + (rr / before) * p
    return x


def _line_search(smooth: _Smooth, point: _Point, dw: Floats, db: float, du: Floats) -> float:
    """The step at which the derivative along (dw, db) has nearly vanished; it only increases."""
    s = smooth.state
    dz = s.signs * (db - du)
    along, square = float(point.w @ dw) - db * s.total, float(dw @ dw)
    scratch = np.empty_like(dz)

    def slope(t: float) -> float:
        return along + t * square + smooth.alpha(point.z, dz, t, scratch)

    start = slope(0.0)
    if start >= 0.0:
        return 0.0
    low, at_low, high, at_high = 0.0, start, 1.0, slope(1.0)
    while at_high < 0.1 * start and high < 1e10:
        low, at_low, high = high, at_high, 4.0 * high
        at_high = slope(high)
    return _root(slope, low, at_low, high, at_high, 0.1 * abs(start))


def _root(
    slope: object, low: float, at_low: float, high: float, at_high: float, enough: float
) -> float:
    """Illinois iteration on an increasing function with at_low < 0."""
    assert callable(slope)
    side = 0
    for _ in range(40):
        if abs(at_high) <= enough:
            return high
        middle = high - at_high * (high - low) / (at_high - at_low)
        value = float(slope(middle))
        if abs(value) <= enough:
            return middle
        if value < 0:
            low, at_low = middle, value
            at_high, side = (0.5 * at_high if side < 0 else at_high), -1
        else:
            high, at_high = middle, value
            at_low, side = (0.5 * at_low if side > 0 else at_low), 1
    return low
