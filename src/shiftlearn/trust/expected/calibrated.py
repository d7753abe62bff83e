"""The mean confidence on the target, after temperature scaling on the source (Guo et al., 2017)."""

from __future__ import annotations

from shiftlearn.trust.expected.evidence import Evidence

__all__ = ["estimate"]


def estimate(evidence: Evidence) -> float:
    """Mean of max_k p_k at the temperature of the least source log loss."""
    return float(evidence.calibrated_target.max(axis=1).mean())
