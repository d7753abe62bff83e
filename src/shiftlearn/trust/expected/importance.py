"""Importance-weighted accuracy: source rows count as they would in the target.

w(x) is the odds of a logistic regression of target against source; each half of the rows is
weighed by the model of the other half, and the largest hundredth of the weights is cut.
"""

from __future__ import annotations

import numpy as np

from shiftlearn.trust.expected.evidence import Evidence, Floats

__all__ = ["estimate"]

_CUT = 0.99


def estimate(evidence: Evidence) -> float:
    """Σ w [y = f(x)] / Σ w over the source rows; NaN where the rows are not numbers."""
    if evidence.source_rows is None or min(len(evidence.source), len(evidence.target)) < 4:
        return float("nan")
    weights = _weights(evidence)
    return float(weights @ evidence.right / weights.sum())


def _weights(evidence: Evidence) -> Floats:
    from shiftlearn.trust.members import default_classifier

    rows = evidence.rows
    n, m = len(evidence.source), len(evidence.target)
    is_target = np.repeat([False, True], [n, m])
    rng = np.random.default_rng(evidence.seed)
    half = np.concatenate([rng.permutation(n) % 2, rng.permutation(m) % 2])
    scores = np.empty(n)
    for side in (0, 1):
        model = default_classifier().fit(rows[half != side], is_target[half != side])
        own = np.flatnonzero(half[:n] == side)
        scores[own] = model.decision_function(rows[own])
    weights = np.exp(np.clip(scores, -8.0, 8.0))
    return np.asarray(np.minimum(weights, np.quantile(weights, _CUT)))
