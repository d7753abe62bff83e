"""The general quadratic program solved slowly and plainly: an interior point on the dense matrix.

    min_a  ½ aᵀQa + pᵀa    s.t.  0 <= a_i <= C_i,   for each group g:  Σ_{i in g} s_i a_i = r_g

Nothing here is shared with the library's solver but the problem type.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Plain:
    """A problem with every array filled in."""

    Q: np.ndarray
    p: np.ndarray
    upper: np.ndarray
    signs: np.ndarray
    groups: np.ndarray
    totals: np.ndarray

    def objective(self, a):
        return float(0.5 * a @ self.Q @ a + self.p @ a)

    def gap(self, a, multipliers):
        """The proved bound of any feasible a and any multipliers."""
        pull = np.append(multipliers, 0.0)[self.groups] * self.signs
        slope = self.Q @ a + self.p - pull
        return float(a @ slope.clip(0) + (self.upper - a) @ (-slope).clip(0))

    def violation(self, a, multipliers):
        """Largest violation of the optimality conditions."""
        pull = np.append(multipliers, 0.0)[self.groups] * self.signs
        slope = self.Q @ a + self.p - pull
        down = np.where(a > 0, slope, 0).max(initial=0)
        return max(down, np.where(a < self.upper, -slope, 0).max(initial=0))

    def infeasibility(self, a):
        """Largest violation of the box and of the sums."""
        sums = np.zeros(len(self.totals) + 1)
        np.add.at(sums, self.groups, self.signs * a)
        off = np.abs(sums[:-1] - self.totals).max(initial=0.0)
        return max(float(-a.min()), float((a - self.upper).max()), float(off))


def plain(problem):
    """The dense form of a ``Problem``."""
    n = len(problem.linear)
    signs = np.ones(n) if problem.signs is None else problem.signs
    K = problem.operator.block(np.arange(n), None, np.float64)
    totals = np.empty(0) if problem.totals is None else problem.totals
    default = np.full(n, 0 if len(totals) else -1)
    return Plain(
        Q=signs[:, None] * K * signs,
        p=problem.linear,
        upper=problem.upper,
        signs=signs,
        groups=default if problem.groups is None else problem.groups,
        totals=totals,
    )


def solve_plain(problem):
    """Return the dense problem, a near-exact a, and the multipliers of the groups.

    The interior point works best in units near the size of the answer, which is not known: it is
    run in several, and the answer that proves the smallest gap is returned.
    """
    full = plain(problem)
    fixed = _fixed(full)
    answers = [_attempt(full, fixed, share) for share in (1.0, 1e-2, 1e-4)]
    best, multipliers = min(answers, key=lambda answer: full.gap(*answer))
    return full, best, multipliers


def _attempt(full, fixed, share):
    free = np.flatnonzero(np.isnan(fixed))
    a = np.where(np.isnan(fixed), 0.0, fixed)
    multipliers = np.zeros(len(full.totals))
    if free.size:
        unit = np.minimum(full.upper[free], share * full.upper.max())
        a[free], multipliers = _interior(full, a, free, unit)
    a = a.clip(0, full.upper)
    pulls = full.signs * (full.Q @ a + full.p)
    for g, total in enumerate(full.totals):
        rows = (full.groups == g) & (full.upper > 0)
        if rows.any() and not np.isnan(fixed[rows]).any():  # held at an edge: any b beyond holds it
            at_top = total >= (full.signs * full.upper)[rows & (full.signs > 0)].sum() * (1 - 1e-9)
            multipliers[g] = pulls[rows].max() if at_top else pulls[rows].min()
    return a, multipliers


def _fixed(full):
    """Values forced by an empty box or by a group at the edge of feasibility; NaN elsewhere."""
    fixed = np.where(full.upper == 0, 0.0, np.nan)
    for g, total in enumerate(full.totals):
        rows = full.groups == g
        high = np.where(rows & (full.signs > 0), full.upper, 0.0)
        low = np.where(rows & (full.signs < 0), full.upper, 0.0)
        slack = 1e-9 * max(high.sum(), low.sum())
        if total >= high.sum() - slack:
            fixed[rows] = high[rows]
        elif total <= slack - low.sum():
            fixed[rows] = low[rows]
    return fixed


def _interior(full, a, free, unit):
    """Clarabel on the free variables, measured in the given units."""
    Q = full.Q[np.ix_(free, free)] * np.outer(unit, unit)
    p = unit * (full.p[free] + full.Q[free] @ a)
    size = max(np.abs(Q).max(), np.abs(p).max(), 1e-300)
    taking = [g for g in range(len(full.totals)) if (full.groups[free] == g).any()]
    rows = [np.where(full.groups[free] == g, full.signs[free] * unit, 0.0) for g in taking]
    sums = [full.totals[g] - (full.signs * a)[full.groups == g].sum() for g in taking]
    norms = np.array([np.abs(row).max() for row in rows]).reshape(-1, 1)
    E = np.array(rows).reshape(len(rows), len(free)) / (norms if rows else 1.0)
    eye = sparse.identity(len(free))
    A = sparse.vstack([sparse.csc_matrix(E), eye, -eye]).tocsc()
    b = np.concatenate(
        [np.array(sums) / norms.ravel(), full.upper[free] / unit, np.zeros(len(free))]
    )
    cones = [clarabel.ZeroConeT(len(rows)), clarabel.NonnegativeConeT(2 * len(free))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix(Q / size)).tocsc(), p / size, A, b, cones, settings
    )
    answer = solver.solve()
    multipliers = np.zeros(len(full.totals))
    multipliers[taking] = -np.array(answer.z)[: len(rows)] * size / norms.ravel()
    return np.array(answer.x) * unit, multipliers
