"""Ratio estimators as loops, and by a general optimiser."""

import math

import numpy as np
from scipy.optimize import minimize


def logistic_domain_model(Xs, Xt, C):
    """(v, v0) of the penalised domain model by BFGS."""
    X = np.column_stack([np.r_[Xs, Xt], np.ones(len(Xs) + len(Xt))])
    sign = np.r_[np.ones(len(Xs)), -np.ones(len(Xt))]

    def objective(v):
        t = X @ v
        value = np.logaddexp(0, -sign * t).sum() + v[:-1] @ v[:-1] / (2 * C)
        pull = -sign / (1 + np.exp(sign * t))
        return value, X.T @ pull + np.r_[v[:-1] / C, 0.0]

    found = minimize(objective, np.zeros(X.shape[1]), jac=True, method="BFGS", tol=1e-9)
    return found.x[:-1], found.x[-1]


def kernel_density(x, sample):
    """Of one point, with Silverman's widths."""
    n, d = sample.shape
    h = sample.std(axis=0, ddof=1) * (4 / ((d + 2) * n)) ** (1 / (d + 4))
    total = 0.0
    for row in sample:
        density = 1.0
        for k in range(d):
            z = (x[k] - row[k]) / h[k]
            density *= math.exp(-0.5 * z * z) / (h[k] * math.sqrt(2 * math.pi))
        total += density
    return total / n


def basis(X, centers, gamma):
    return np.array([[math.exp(-gamma * np.sum((x - c) ** 2)) for c in centers] for x in X])


def least_squares(Xs, Xt, centers, gamma, penalty, relative=0.0):
    """α of uLSIF from sums over rows."""
    b = len(centers)
    H, h = np.zeros((b, b)), np.zeros(b)
    for row in basis(Xs, centers, gamma):
        H += (1 - relative) * np.outer(row, row) / len(Xs)
    for row in basis(Xt, centers, gamma):
        H += relative * np.outer(row, row) / len(Xt)
        h += row / len(Xt)
    return np.maximum(np.linalg.solve(H + penalty * np.eye(b), h), 0.0)


def kullback_leibler(Xs, Xt, centers, gamma):
    """The maximal mean log ratio of KLIEP by cvxpy."""
    import cvxpy as cp

    S, T = basis(Xs, centers, gamma), basis(Xt, centers, gamma)
    alpha = cp.Variable(len(centers), nonneg=True)
    problem = cp.Problem(
        cp.Maximize(cp.sum(cp.log(T @ alpha)) / len(T)), [S.mean(axis=0) @ alpha == 1]
    )
    problem.solve(solver=cp.CLARABEL)
    return problem.value
