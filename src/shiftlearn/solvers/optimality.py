"""Optimality conditions of the quadratic program in the form of `solvers.decomposition`.

With h_i = g_i - b_{g(i)} (b = 0 outside the groups), u is optimal iff some b gives h_i >= 0 where
u_i < upper_i and h_i <= 0 where u_i > lower_i. For every b

    f(u) - f* <= Σ_i (u_i - lower_i) max(h_i, 0) + (upper_i - u_i) max(-h_i, 0),

a convex piecewise linear function of each b_g, minimised here exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_gap", "dot", "intervals", "multipliers", "violation"]

Floats = NDArray[np.float64]
Groups = NDArray[np.intp] | None


def dot(a: Floats, b: Floats) -> float:
    """Σ a_i b_i without BLAS, whose threads cost far more than a vector of this length."""
    return float(np.einsum("i,i->", a, b))


def intervals(
    u: Floats, g: Floats, low: Floats, high: Floats, groups: Groups, n_groups: int
) -> Floats:
    """For each group (max g over u > low, min g over u < high): the ends of the optimal b.

    At an optimum the first is not above the second; before, the difference is the violation.
    """
    ends = np.empty((n_groups, 2))
    down, up = np.where(u > low, g, -np.inf), np.where(u < high, g, np.inf)
    if n_groups and groups is None:
        ends[0] = down.max(initial=-np.inf), up.min(initial=np.inf)
        return ends
    for k in range(n_groups):
        members = groups == k
        ends[k] = down[members].max(initial=-np.inf), up[members].min(initial=np.inf)
    return ends


def violation(
    u: Floats, g: Floats, low: Floats, high: Floats, groups: Groups, ends: Floats
) -> float:
    """The largest violation: of a pair in a group, or of a variable outside all groups."""
    with np.errstate(invalid="ignore"):
        worst = float(np.max(ends[:, 0] - ends[:, 1], initial=0.0))
    if groups is None and len(ends):
        return worst
    alone = np.ones(len(u), dtype=bool) if groups is None else groups < 0
    if not alone.any():
        return worst
    up = -g[alone & (u < high)].min(initial=0.0)
    down = g[alone & (u > low)].max(initial=0.0)
    return max(worst, float(up), float(down))


def multipliers(
    u: Floats, g: Floats, low: Floats, high: Floats, groups: Groups, ends: Floats
) -> Floats:
    """B of each group: the mean of g over free variables, else the middle of the interval.

    Where one end is infinite the finite one, where both are 0.
    """
    b = np.empty(len(ends))
    free = (u > low) & (u < high)
    for k, (left, right) in enumerate(ends):
        inside = free if groups is None else free & (groups == k)
        if inside.any():
            b[k] = g[inside].mean()
        elif np.isfinite(left) and np.isfinite(right):
            b[k] = (left + right) / 2
        else:
            b[k] = left if np.isfinite(left) else right if np.isfinite(right) else 0.0
    return b


def best_gap(
    u: Floats, g: Floats, low: Floats, high: Floats, groups: Groups, n_groups: int
) -> float:
    """The bound above at the b that makes it smallest."""
    if groups is None:
        above, below = u - low, high - u
        h = g - _best_multiplier(above, below, g) if n_groups else g
        return _gap(above, below, h)
    total = 0.0
    left = np.ones(len(u), dtype=bool)
    for k in range(n_groups):
        members = groups == k
        left[members] = False
        above, below = u[members] - low[members], high[members] - u[members]
        b = _best_multiplier(above, below, g[members])
        total += _gap(above, below, g[members] - b)
    return total + _gap(u[left] - low[left], high[left] - u[left], g[left])


def _gap(above: Floats, below: Floats, h: Floats) -> float:
    """Σ above_i max(h_i, 0) + below_i max(-h_i, 0)."""
    return dot(np.where(h > 0, above, -below), h)


def _best_multiplier(above: Floats, below: Floats, g: Floats) -> float:
    """Minimise Σ above_i max(g_i - b, 0) + below_i max(b - g_i, 0) over b: a weighted median."""
    if not len(g):
        return 0.0
    order = np.argsort(g)
    slope = np.cumsum((above + below)[order]) - above.sum()  # right of each g
    at = min(int(np.searchsorted(slope, 0.0)), len(g) - 1)
    return float(g[order[at]])
