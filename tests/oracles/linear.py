"""Slow, plain, independent solutions of the linear program: cvxpy with Clarabel, dense algebra."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

_TIGHT = {
    "tol_gap_abs": 1e-11,
    "tol_gap_rel": 1e-11,
    "tol_feas": 1e-11,
    "reduced_tol_gap_abs": 1e-8,
    "reduced_tol_gap_rel": 1e-8,
}


def dual_optimum(X, linear, upper, signs=None, total=None, diagonal=None):
    """Optimal value of min ½‖Σ s_i a_i x_i‖² + ½ Σ D_i a_i² + pᵀa over the box and the sum."""
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)
    n = len(X)
    signs = np.ones(n) if signs is None else signs
    a = cp.Variable(n)
    value = 0.5 * cp.sum_squares(X.T @ cp.multiply(signs, a)) + linear @ a
    if diagonal is not None:
        value += 0.5 * cp.sum(cp.multiply(diagonal, cp.square(a)))
    finite = np.isfinite(upper)
    constraints = [a >= 0]
    if finite.any():
        constraints.append(a[np.flatnonzero(finite)] <= upper[finite])
    if total is not None:
        constraints.append(signs @ a == total)
    return cp.Problem(cp.Minimize(value), constraints).solve(solver=cp.CLARABEL, **_TIGHT)


def hinge_machine(X, y, costs, fit_intercept=True, squared=False):
    """(objective, w, b) of the primal machine min ½‖w‖² + Σ C_i loss(1 - y_i (w·x_i + b))."""
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    margin = 1 - cp.multiply(y, X @ w + (b if fit_intercept else 0.0))
    loss = cp.square(cp.pos(margin)) if squared else cp.pos(margin)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + costs @ loss))
    value = problem.solve(solver=cp.CLARABEL, **_TIGHT)
    return value, w.value, float(b.value) if fit_intercept else 0.0


def primal_value(X, y, costs, w, b, squared=False):
    """The primal objective at (w, b), by its formula."""
    loss = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return 0.5 * float(w @ w) + float(costs @ (loss**2 if squared else loss))


def intercept_interval(X, y, costs, w):
    """Ends of the set of b that minimise the primal hinge objective at w, by trying every kink."""
    kinks = y - X @ w
    kinks = kinks[costs > 0]
    values = np.array([primal_value(X, y, costs, w, b) for b in kinks])
    best = kinks[values <= values.min() + 1e-9 * max(1.0, abs(values.min()))]
    return best.min(), best.max()
