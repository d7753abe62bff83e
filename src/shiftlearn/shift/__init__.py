"""Is there a shift, how large, and where."""

from __future__ import annotations

from shiftlearn.shift.classifier import DomainAUC, domain_auc
from shiftlearn.shift.divergence import feature_jensen_shannon, jensen_shannon
from shiftlearn.shift.mmd import MMDResult, mmd_test
from shiftlearn.shift.weights import effective_sample_size, pareto_k, pareto_verdict

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
