"""Logistic regression written out row by row, and a dense Newton that knows no blocks."""

from __future__ import annotations

import numpy as np


def scores(W, b, theta, x, offset, shared):
    """W is D×K; for two classes K is 1 and the score of class 0 is zero."""
    s = W.T @ x + b + offset + sum((t * f for t, f in zip(theta, shared)), np.zeros(len(b)))
    return np.concatenate([[0.0], s]) if len(b) == 1 else s


def objective(W, b, theta, X, y, weights, offset, shared, penalty, shared_penalty, shared_center):
    """The objective of `shiftlearn.solvers.logistic`, by a Python loop."""
    total = 0.5 * penalty * np.sum(W**2)
    total += 0.5 * np.sum(shared_penalty * (theta - shared_center) ** 2)
    for i, x in enumerate(X):
        s = scores(W, b, theta, x, offset[i], shared[i])
        top = s.max()
        total += weights[i] * (top + np.log(np.sum(np.exp(s - top))) - s[y[i]])
    return total


def numerical_gradient(function, at, step=1e-6):
    return np.array(
        [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    )
