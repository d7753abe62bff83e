"""The rows of ``fit`` for classifiers over views: labelled source, unlabelled target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from shiftlearn.domains import check_two_classes, refuse_device_arrays, split_domains
from shiftlearn.parameters import check_weights

__all__ = ["BothRows", "SourceRows", "both_rows", "numeric_rows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Rows to train on, their class numbers 0..n_classes-1 and their weights."""

    X: Any
    codes: NDArray[np.int64]
    weights: Floats
    n_classes: int

    @property
    def shares(self) -> Floats:
        """Weighted share of each class."""
        counts = np.bincount(self.codes, weights=self.weights, minlength=self.n_classes)
        return np.asarray(counts / counts.sum())


@dataclass(frozen=True, slots=True)
class BothRows:
    """What ``fit`` was given, without rows of weight 0 and without labels of target rows.

    Attributes
    ----------
    source : SourceRows
    target : ndarray or CSR
        May have no rows.
    target_weights : ndarray
    source_domain : ndarray of int
        The domain of each source row.
    classes : ndarray
        Sorted labels of the source.
    """

    source: SourceRows
    target: Any
    target_weights: Floats
    source_domain: NDArray[np.int64]
    classes: NDArray[Any]


def both_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_domain: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> BothRows:
    """Check everything passed to ``fit``; target labels are never read."""
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    X = numeric_rows(estimator, X, reset=True)
    n = X.shape[0]
    weights = check_weights(sample_weight, n)
    split = split_domains(y, sample_domain, n)
    source = np.flatnonzero(split.labelled_source & (weights > 0))
    target = np.flatnonzero(split.domains.target & (weights > 0))
    present, codes = np.unique(split.codes[source], return_inverse=True)
    classes = split.classes[present]
    check_two_classes(classes, name)
    rows = SourceRows(X[source], codes.astype(np.int64), weights[source], len(classes))
    domain = split.domains.sample_domain[source]
    return BothRows(rows, X[target], weights[target], domain, classes)


def numeric_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as finite float32/float64 rows or CSR, compared with those of ``fit`` unless ``reset``."""
    refuse_device_arrays(X, "X")
    kinds = [np.float64, np.float32]
    return validate_data(estimator, X, accept_sparse="csr", dtype=kinds, reset=reset)
