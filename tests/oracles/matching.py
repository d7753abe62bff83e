"""Kernel mean matching by a general solver of quadratic programs."""

import warnings

import cvxpy as cp
import numpy as np


def kernel_mean_matching(K, kappa, B, eps):
    """(weights, ½ βᵀKβ - κᵀβ), with K given as a matrix."""
    m = len(kappa)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    beta = cp.Variable(m)
    objective = 0.5 * cp.sum_squares(root.T @ beta) - kappa @ beta
    bounds = [beta >= 0, beta <= B, cp.sum(beta) >= m * (1 - eps), cp.sum(beta) <= m * (1 + eps)]
    problem = cp.Problem(cp.Minimize(objective), bounds)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")  # asked for more than 1e-8
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-11, tol_feas=1e-10)
    answer = np.asarray(beta.value)
    return answer, 0.5 * answer @ K @ answer - kappa @ answer


def rbf(A, B, gamma):
    """Pair by pair."""
    return np.array([[np.exp(-gamma * np.sum((a - b) ** 2)) for b in B] for a in A])
