"""Measures of shift under one name; a façade, which no module of the library imports."""

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

__all__ = [
    "DomainAUC",
    "MMDResult",
    "domain_auc",
    "effective_sample_size",
    "feature_jensen_shannon",
    "jensen_shannon",
    "mmd_test",
    "pareto_k",
    "pareto_verdict",
]
