"""Agreement with a second opinion that has another kind of error.

A logistic regression is fitted on the held-out source rows after they were moved onto the
target (:class:`MongeMapper`, classes weighed by the proportions that are believed). The estimate is
the mean probability that it gives to what the classifier predicts. A second model on unmoved rows
would share the classifier's errors, and agreement with it says little.
"""

from __future__ import annotations

import warnings

import numpy as np

from shiftlearn.trust.expected.evidence import Evidence, Floats
from shiftlearn.trust.members import default_classifier
from shiftlearn.views import MongeMapper

__all__ = ["estimate", "mapped_probabilities"]


def estimate(evidence: Evidence) -> float:
    """Mean probability of the predicted classes; NaN where the rows are not numbers."""
    says = evidence.mapped_model_says
    if says is None:
        return float("nan")
    return float(says[np.arange(len(says)), evidence.predicted].mean())


def mapped_probabilities(evidence: Evidence) -> Floats | None:
    """What the second opinion says of the target rows."""
    if evidence.source_rows is None or len(np.unique(evidence.codes)) < 2:
        return None
    n, m = len(evidence.source), len(evidence.target)
    rows = evidence.rows
    domain = np.repeat([0, -1], [n, m])
    view = MongeMapper()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a single row has no covariance
        view.fit(rows, sample_domain=domain, sample_weight=_weights(evidence))
    moved = view.transform(rows, sample_domain=domain)
    model = default_classifier().fit(moved[:n], evidence.codes)
    out = np.zeros((m, evidence.target.shape[1]))
    out[:, model.classes_] = model.predict_proba(moved[n:])
    return out


def _weights(evidence: Evidence) -> Floats:
    n, m = len(evidence.source), len(evidence.target)
    found = evidence.proportions
    if found is None:
        return np.ones(n + m)
    factors = np.maximum(found.target / found.source, 1e-3)
    return np.concatenate([factors[evidence.codes], np.ones(m)])
