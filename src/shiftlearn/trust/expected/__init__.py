"""Estimators of the accuracy on unlabelled rows, one a module: evidence in, accuracy out.

Each exports ``estimate(evidence) -> float`` in [0, 1], NaN where it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable

from shiftlearn.trust.expected import (
    agreement,
    calibrated,
    difference,
    importance,
    thresholded,
    transport,
    validation,
)
from shiftlearn.trust.expected.evidence import Evidence

__all__ = ["ESTIMATORS", "Evidence"]

ESTIMATORS: dict[str, Callable[[Evidence], float]] = {
    "validation": validation.estimate,
    "thresholded": thresholded.estimate,
    "transport": transport.estimate,
    "transport-thresholded": transport.estimate_thresholded,
    "calibrated": calibrated.estimate,
    "difference": difference.estimate,
    "agreement": agreement.estimate,
    "importance": importance.estimate,
}
