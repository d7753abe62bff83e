"""Confidence by optimal transport, COT and COTT (Lu et al., 2023).

The target's predictions are carried to the corners of the simplex, as many to each as the class has
share of the source (or of the target, where `find_proportions` believes that shares moved), at
the cost 1 - p_k of sending p to corner k. COT: one minus the mean cost. COTT: the share of target
rows that cost no more than the threshold below which the source has its accuracy.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from shiftlearn.trust.expected.evidence import Evidence, Floats

__all__ = ["estimate", "estimate_thresholded", "transport_costs"]

_ROWS = 1000


def estimate(evidence: Evidence) -> float:
    """COT."""
    return float(1 - evidence.target_costs.mean())


def estimate_thresholded(evidence: Evidence) -> float:
    """COTT."""
    own = transport_costs(evidence.calibrated_source, evidence.shares, evidence.seed)
    threshold = np.quantile(own, evidence.accuracy)
    return float(np.mean(evidence.target_costs <= threshold))


def transport_costs(probabilities: Floats, shares: Floats, seed: int) -> Floats:
    """Cost of each row in the cheapest assignment; at most 1000 rows, drawn."""
    n = len(probabilities)
    if n > _ROWS:
        drawn = np.random.default_rng(seed).choice(n, _ROWS, replace=False)
        probabilities, n = probabilities[drawn], _ROWS
    counts = _whole(shares * n)
    if len(shares) == 2:  # the largest p_1 go to class 1: sorting is the optimum
        to_first = np.argsort(probabilities[:, 1], kind="stable")[: counts[0]]
        chosen = np.ones(n, dtype=int)
        chosen[to_first] = 0
        return np.asarray(1 - probabilities[np.arange(n), chosen])
    places = np.repeat(np.arange(len(shares)), counts)
    cost = 1 - probabilities[:, places]
    rows, columns = linear_sum_assignment(cost)
    return np.asarray(cost[rows, columns])


def _whole(counts: Floats) -> np.ndarray:
    """Whole numbers of the same sum, by largest remainders."""
    floor = np.floor(counts).astype(int)
    missing = round(counts.sum()) - int(floor.sum())
    floor[np.argsort(floor - counts, kind="stable")[:missing]] += 1
    return floor
