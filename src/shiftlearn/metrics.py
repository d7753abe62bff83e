"""Measures of shift, and scores without target labels; a façade that no module of ours imports."""

from __future__ import annotations

from shiftlearn.shift import (
    DomainAUC,
    MMDResult,
    domain_auc,
    effective_sample_size,
    feature_jensen_shannon,
    jensen_shannon,
    mmd_test,
    pareto_k,
    pareto_verdict,
)
from shiftlearn.trust.scorers import (
    CircularValidationScorer,
    DeepEmbeddedScorer,
    ImportanceWeightedScorer,
    PredictionEntropyScorer,
    ScoreEstimate,
    SoftNeighborhoodDensityScorer,
)

__all__ = [
    "CircularValidationScorer",
    "DeepEmbeddedScorer",
    "DomainAUC",
    "ImportanceWeightedScorer",
    "MMDResult",
    "PredictionEntropyScorer",
    "ScoreEstimate",
    "SoftNeighborhoodDensityScorer",
    "domain_auc",
    "effective_sample_size",
    "feature_jensen_shannon",
    "jensen_shannon",
    "mmd_test",
    "pareto_k",
    "pareto_verdict",
]
