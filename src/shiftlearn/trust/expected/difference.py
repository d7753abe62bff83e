"""Difference of confidences (Guillory et al., 2021): the accuracy falls as the confidence does."""

from __future__ import annotations

import numpy as np

from shiftlearn.trust.expected.evidence import Evidence

__all__ = ["estimate"]


def estimate(evidence: Evidence) -> float:
    """Source accuracy plus the change of the mean confidence, in [0, 1]."""
    change = evidence.target.max(axis=1).mean() - evidence.source.max(axis=1).mean()
    return float(np.clip(evidence.accuracy + change, 0.0, 1.0))
