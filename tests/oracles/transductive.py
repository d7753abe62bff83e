"""Transductive machines solved plainly: an interior point for given labels, every labelling tried.

½‖w‖² + Σ c_i max(0, 1 - y_i f(x_i))
"""

from itertools import combinations

import numpy as np

from oracles.qp import solve_plain
from shiftlearn.kernels import MatrixOperator
from shiftlearn.machines.formulations import hinge


def hinge_value(K, signs, costs):
    """Smallest value of the objective for given labels."""
    full, alpha, _multipliers = solve_plain(hinge(MatrixOperator(K), signs, costs))
    return -full.objective(alpha)


def best_labels(K, signs, m, n_positive, C, C_target):
    """The least value over all labellings of the last m rows with ``n_positive`` positives."""
    costs = np.concatenate([np.full(len(signs), C), np.full(m, C_target)])
    best, chosen = np.inf, None
    for positives in combinations(range(m), n_positive):
        labels = np.full(m, -1.0)
        labels[list(positives)] = 1.0
        value = hinge_value(K, np.concatenate([signs, labels]), costs)
        if value < best:
            best, chosen = value, labels
    return best, chosen


def improving_pairs(signs, scores, low, high):
    """Pairs whose exchange lowers the objective at fixed scores, by trying every pair."""
    slack, other = np.maximum(0, 1 - signs * scores), np.maximum(0, 1 + signs * scores)
    return [
        (j, k)
        for j in np.flatnonzero(signs > 0)
        for k in np.flatnonzero(signs < 0)
        if min(slack[j], slack[k]) > 0
        and slack[j] + slack[k] > 2
        and high * slack[j] + low * slack[k] > low * other[j] + high * other[k] + 1e-9
    ]
