"""Pictures in the form of scikit-learn's Display objects; matplotlib is imported when drawing."""

from __future__ import annotations

from shiftlearn.plot.decision import DecisionRegionDisplay
from shiftlearn.plot.one_class import OneClassDisplay
from shiftlearn.plot.prototypes import PrototypeMapDisplay

__all__ = ["DecisionRegionDisplay", "OneClassDisplay", "PrototypeMapDisplay"]
