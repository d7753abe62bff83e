"""Average thresholded confidence (Garg et al., 2022), with negative entropy as the confidence.

The threshold t is where the share of source rows with s(x) >= t is the accuracy there; the estimate
is the share of target rows with s(x) >= t.
"""

from __future__ import annotations

import numpy as np

from shiftlearn.trust.expected.evidence import Evidence, Floats

__all__ = ["estimate"]


def estimate(evidence: Evidence) -> float:
    """Share of target rows above the threshold."""
    threshold = np.quantile(negative_entropy(evidence.source), 1 - evidence.accuracy)
    return float(np.mean(negative_entropy(evidence.target) >= threshold))


def negative_entropy(probabilities: Floats) -> Floats:
    """Σ_k p_k log p_k, row by row."""
    p = np.maximum(probabilities, 1e-12)
    return np.asarray((p * np.log(p)).sum(axis=1))
