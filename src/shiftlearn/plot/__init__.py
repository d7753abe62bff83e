"""Pictures in the form of scikit-learn's Display objects; matplotlib is imported when drawing."""

from __future__ import annotations

from shiftlearn.plot.convergence import ConvergenceDisplay
from shiftlearn.plot.decision import DecisionRegionDisplay
from shiftlearn.plot.labelling import LabellingCurveDisplay
from shiftlearn.plot.offsets import OffsetsDisplay
from shiftlearn.plot.one_class import OneClassDisplay
from shiftlearn.plot.prototypes import PrototypeMapDisplay
from shiftlearn.plot.shift import FeatureShiftDisplay
from shiftlearn.plot.weights import WeightsDisplay

__all__ = [
    "ConvergenceDisplay",
    "DecisionRegionDisplay",
    "FeatureShiftDisplay",
    "LabellingCurveDisplay",
    "OffsetsDisplay",
    "OneClassDisplay",
    "PrototypeMapDisplay",
    "WeightsDisplay",
]
