"""The accuracy on held-out source rows: right where nothing moved, far too high elsewhere."""

from __future__ import annotations

from shiftlearn.trust.expected.evidence import Evidence

__all__ = ["estimate"]


def estimate(evidence: Evidence) -> float:
    """Mean of [y = f(x)] over the source rows."""
    return evidence.accuracy
