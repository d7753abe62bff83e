"""The convention on domains and labels that every estimator of the library shares.

One concatenated ``X`` and ``y``, and ``sample_domain`` with one integer a row: ``>= 0`` is a source
row, ``< 0`` a target row, different values are different domains. A row without a label carries
a mark in ``y`` (None, NaN or pandas' NA).
"""

from __future__ import annotations

from shiftlearn.domains.checks import (
    check_predict_domain,
    check_sample_domain,
    check_two_classes,
    refuse_device_arrays,
    warn_no_target,
)
from shiftlearn.domains.labels import encode_labels, label_array, minus_one_marks, unlabelled
from shiftlearn.domains.resolve import (
    Domains,
    DomainSplit,
    LabelledRows,
    find_domains,
    labelled_rows,
    split_domains,
)
from shiftlearn.domains.routing import DomainClassifierMixin, labelled_accuracy
from shiftlearn.domains.splitters import DomainKFold, SourceTargetSplit
from shiftlearn.domains.stack import stack_domains

__all__ = [
    "DomainClassifierMixin",
    "DomainKFold",
    "DomainSplit",
    "Domains",
    "LabelledRows",
    "SourceTargetSplit",
    "check_predict_domain",
    "check_sample_domain",
    "check_two_classes",
    "encode_labels",
    "find_domains",
    "label_array",
    "labelled_accuracy",
    "labelled_rows",
    "minus_one_marks",
    "refuse_device_arrays",
    "split_domains",
    "stack_domains",
    "unlabelled",
    "warn_no_target",
]
