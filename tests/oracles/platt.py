"""Platt's sigmoid by a general minimiser in long arithmetic, entry by entry."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize


def targets(positive, weights):
    plus = sum(w for y, w in zip(positive, weights) if y)
    minus = sum(w for y, w in zip(positive, weights) if not y)
    high, low = (plus + 1) / (plus + 2), 1 / (minus + 2)
    return [high if y else low for y in positive], math.log((minus + 1) / (plus + 1))


def objective(a, b, scores, positive, weights):
    total = 0.0
    for f, t, w in zip(scores, targets(positive, weights)[0], weights):
        z = a * f + b
        log_p = -math.log1p(math.exp(z)) if z < 0 else -z - math.log1p(math.exp(-z))
        total -= w * (t * log_p + (1 - t) * (z + log_p))
    return total


def gradient(a, b, scores, positive, weights):
    g = np.zeros(2)
    for f, t, w in zip(scores, targets(positive, weights)[0], weights):
        z = a * f + b
        p = 1 / (1 + math.exp(z)) if z < 0 else math.exp(-z) / (1 + math.exp(-z))
        g += w * (t - p) * np.array([f, 1.0])
    return g


def fit(scores, positive, weights):
    """(A, B) by a quasi-Newton method from the paper's start, then plain Newton steps."""
    scores, weights = np.asarray(scores, float), np.asarray(weights, float)
    start = np.array([0.0, targets(positive, weights)[1]])
    x = minimize(
        lambda ab: objective(*ab, scores, positive, weights),
        start,
        jac=lambda ab: gradient(*ab, scores, positive, weights),
        method="BFGS",
    ).x
    for _ in range(5):
        p = 1 / (1 + np.exp(x[0] * scores + x[1]))
        design = np.column_stack([scores, np.ones(len(scores))])
        hessian = design.T @ (design * (weights * p * (1 - p))[:, None])
        x = x - np.linalg.lstsq(hessian, gradient(*x, scores, positive, weights), rcond=1e-13)[0]
    return x
