"""Adaptation problems solved slowly and plainly, by interior points on the printed primal and dual.

Nothing here is shared with the library: kernels are formed entry by entry in float64, labels are
±1, the source is an array of scores.
"""

import clarabel  # noqa: F401  (the solver cvxpy is told to use)
import cvxpy as cp
import numpy as np

SOLVER = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def gram(X, Z, gamma=None):
    """The linear kernel, or with ``gamma`` the Gaussian one."""
    X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    if gamma is None:
        return X @ Z.T
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def root(K):
    """R with K = R Rᵀ."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(values.clip(0))


def primal(K, y, scores, costs, *, intercept=False, penalty=None, center=None):
    """min ½‖Δβ‖² + (B/2)‖θ - θ0‖² + Σ c hinge over the rows; K on the rows, scores (n, M).

    Returns the value, f on the rows, θ and b.
    """
    scores = scores.reshape(len(y), -1)
    m = scores.shape[1]
    center = np.full(m, 1 / max(m, 1)) if center is None else center
    R = root(K)
    beta, b, theta = cp.Variable(R.shape[1]), cp.Variable(), cp.Variable(max(m, 1))
    f = R @ beta + (b if intercept else 0)
    cost = 0.5 * cp.sum_squares(beta)
    if penalty is None:
        f = f + scores @ center
    else:
        f = f + scores @ theta
        cost = cost + 0.5 * penalty * cp.sum_squares(theta - center)
    problem = cp.Problem(cp.Minimize(cost + costs @ cp.pos(1 - cp.multiply(y, f))))
    problem.solve(**SOLVER)
    found = center if penalty is None else theta.value
    return problem.value, np.asarray(f.value), found, float(b.value or 0) if intercept else 0.0


def dual(K, y, scores, costs):
    """The printed dual without intercept: max Σ (1 - λ_i) a_i - ½ aᵀQa, 0 <= a <= C."""
    a = cp.Variable(len(y))
    R = root(K) * y[:, None]
    value = (1 - y * scores) @ a - 0.5 * cp.sum_squares(R.T @ a)
    problem = cp.Problem(cp.Maximize(value), [a >= 0, a <= costs])
    problem.solve(**SOLVER)
    return problem.value, a.value


def logistic(X, codes, scores, costs, n_classes, *, penalty=1.0, center=None, intercept=True):
    """min Σ c ℓ(y, Σ θ_m f'_m + Wᵀx + b) + ½‖W‖² + (B/2)‖θ - θ0‖² as a cone program.

    ``scores`` (n, M, K) with K = 1 for two classes. Returns the value and the scores on the rows.
    """
    n, m, k = scores.shape
    center = np.full(m, 1 / max(m, 1)) if center is None else center
    W, b, theta = cp.Variable((X.shape[1], k)), cp.Variable((1, k)), cp.Variable(max(m, 1))
    f = X @ W
    if intercept:
        f = f + np.ones((n, 1)) @ b
    for one in range(m):
        f = f + theta[one] * scores[:, one]
    if k == 1:
        signs = np.where(codes == 1, 1.0, -1.0)
        losses = cp.logistic(-cp.multiply(signs, f[:, 0]))
    else:
        hot = np.eye(n_classes)[codes]
        losses = cp.log_sum_exp(f, axis=1) - cp.sum(cp.multiply(hot, f), axis=1)
    ridge = 0.5 * cp.sum_squares(W)
    if m:
        ridge = ridge + 0.5 * penalty * cp.sum_squares(theta - center)
    problem = cp.Problem(cp.Minimize(costs @ losses + ridge))
    problem.solve(**{**SOLVER, "tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9})
    return problem.value, np.asarray(f.value), theta.value if m else np.empty(0)
