"""Slow, independent answers to one small hinge problem.

min_a  ½ aᵀQa + pᵀa,   0 <= a_i <= C_i,   Q_ij = s_i s_j K_ij,   [ Σ_i s_i a_i = 0 ]
"""

from __future__ import annotations

import itertools

import numpy as np


def by_enumeration(K, s, p, C, intercept, slack=1e-9):
    """Try every division of the variables into at 0, at C and free; exact up to linear algebra.

    The first division whose linear system is solved by a point that meets all conditions is
    optimal, for the problem is convex. Returns (a, objective). For up to six variables. Raises
    ArithmeticError where rounding leaves no division that meets the conditions.
    """
    n = len(s)
    Q = np.outer(s, s) * K
    for where in itertools.product((0, 1, 2), repeat=n):
        at = np.array(where, dtype=int)
        free = np.flatnonzero(at == 2)
        a = np.where(at == 1, C, 0.0)
        a, nu = _solve_free(Q, s, p, a, free, intercept)
        if a is not None and _is_optimal(Q, s, p, C, a, nu, intercept, slack):
            return a, 0.5 * a @ Q @ a + p @ a
    raise ArithmeticError("no division of the variables satisfies the optimality conditions")


def _solve_free(Q, s, p, a, free, intercept):
    k = len(free)
    system = np.zeros((k + intercept, k + intercept))
    system[:k, :k] = Q[np.ix_(free, free)]
    right = -(p[free] + Q[free] @ a)
    if intercept:
        system[:k, k] = system[k, :k] = -s[free]
        right = np.append(right, s @ a)
    solution = np.linalg.lstsq(system, right, rcond=1e-12)[0] if len(right) else np.empty(0)
    scale = 1.0 + np.abs(right).max(initial=0.0)
    if len(right) and np.abs(system @ solution - right).max() > 1e-10 * scale:
        return None, None
    result = a.copy()
    result[free] = solution[:k]
    return result, None if not intercept or k == 0 else solution[k]


def _is_optimal(Q, s, p, C, a, nu, intercept, slack):
    if (a < -slack).any() or (a > C + slack * (1 + C)).any():
        return False
    if intercept and abs(s @ a) > slack * (1 + np.abs(a).sum()):
        return False
    low, high = interval(Q, s, p, C, np.clip(a, 0, C), slack)
    if intercept:
        return low <= high + slack * (1 + abs(high))
    gradient = Q @ a + p
    grows = (gradient >= -slack) | (a >= C - slack)
    shrinks = (gradient <= slack) | (a <= slack)
    return bool((grows & shrinks).all())


def interval(Q, s, p, C, a, slack=0.0):
    """The optimal intercepts [max over U of g, min over L of g] at an optimal a, row by row."""
    g = -s * (Q @ a + p)
    low, high = -np.inf, np.inf
    for i in range(len(s)):
        if C[i] == 0:
            continue
        below, above = a[i] < C[i] - slack, a[i] > slack
        if (s[i] > 0 and below) or (s[i] < 0 and above):
            low = max(low, g[i])
        if (s[i] < 0 and below) or (s[i] > 0 and above):
            high = min(high, g[i])
    return low, high


def intercept_of(K, s, p, C, a, slack=1e-9):
    """Mean of g over the free rows, else the midpoint, else the finite end nearest to zero."""
    Q = np.outer(s, s) * K
    g = -s * (Q @ a + p)
    free = [g[i] for i in range(len(s)) if slack < a[i] < C[i] - slack]
    if free:
        return float(np.mean(free))
    low, high = interval(Q, s, p, C, a, slack)
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return float(np.clip(0.0, low, high))


def by_interior_point(K, s, p, C, intercept):
    """Clarabel's answer (a, objective) for up to a few hundred variables."""
    import clarabel
    from scipy import sparse

    n = len(s)
    Q = np.outer(s, s) * K
    rows = [sparse.eye(n), -sparse.eye(n)]
    right = [C, np.zeros(n)]
    cones = [clarabel.NonnegativeConeT(2 * n)]
    if intercept:
        rows.insert(0, sparse.csc_matrix(s[None, :]))
        right.insert(0, np.zeros(1))
        cones.insert(0, clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(Q)), p, sparse.csc_matrix(sparse.vstack(rows)),
        np.concatenate(right), cones, settings,
    )  # fmt: skip
    a = np.clip(np.array(solver.solve().x), 0.0, C)
    return a, 0.5 * a @ Q @ a + p @ a
