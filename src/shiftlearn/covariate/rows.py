"""The rows of ``fit`` for covariate shift: source rows first, target rows behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from shiftlearn.domains import check_two_classes, split_domains, warn_no_target
from shiftlearn.machines.base import check_rows, check_weights, class_factors, take_rows

__all__ = ["ShiftRows", "shift_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ShiftRows:
    """Rows, labels and both kinds of weights.

    Attributes
    ----------
    X : ndarray or CSR
        m source rows (those without a label among them) and n target rows; of a precomputed kernel
        rows and columns.
    codes : ndarray of int of shape (m + n,)
        Class number; 0 on rows without a label.
    classes : ndarray
        The sorted labels.
    omega : ndarray of shape (m + n,)
        ω: sample_weight · class_weight of labelled source rows, 0 elsewhere.
    domain_weights : ndarray of shape (m + n,)
        Weights of the domain losses.
    n_source : int
        m.
    index : ndarray of int of shape (m + n,)
        Positions in the X of ``fit``.
    """

    X: Any
    codes: Ints
    classes: NDArray[Any]
    omega: Floats
    domain_weights: Floats
    n_source: int
    index: Ints

    @property
    def n_target(self) -> int:
        """Number n of target rows."""
        return len(self.index) - self.n_source

    @property
    def source(self) -> NDArray[np.bool_]:
        """Which rows are source rows."""
        return np.arange(len(self.index)) < self.n_source

    @property
    def odds(self) -> float:
        """Weight of the source over weight of the target, m/n without weights."""
        weights = self.domain_weights
        return float(weights[: self.n_source].sum() / weights[self.n_source :].sum())


def shift_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    sample_domain: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    domain_weight: ArrayLike | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
) -> ShiftRows:
    """Check everything passed to ``fit``; the labels of target rows are never read.

    Warns with `NoTargetWarning` where there is no target row; then only labelled rows of positive
    weight are kept.
    """
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    X = check_rows(estimator, X)
    n = X.shape[0]
    split = split_domains(y, sample_domain, n)
    labelled = split.labelled_source
    omega = np.where(labelled, _label_weights(sample_weight, n, labelled), 0.0)
    weights = check_weights(domain_weight, n, "domain_weight")
    source, target = np.flatnonzero(split.domains.source), np.flatnonzero(split.domains.target)
    if not len(target):
        warn_no_target(name, "logistic regression on the source rows")
        source = np.flatnonzero(omega > 0)
    _check_domain_weights(weights, source, target)
    present, found = np.unique(split.codes[omega > 0], return_inverse=True)
    check_two_classes(split.classes[present], name)
    codes = np.zeros(n, dtype=np.intp)
    codes[omega > 0] = found
    if class_weight is not None:
        factors = class_factors(class_weight, split.classes[present], found, omega[omega > 0])
        omega = omega * factors[codes]
    used = np.concatenate([source, target])
    if len(used) < n or (np.diff(used) != 1).any():
        X = take_rows(estimator, X, used)
    return ShiftRows(
        X, codes[used], split.classes[present], omega[used], weights[used], len(source), used
    )


def _label_weights(sample_weight: ArrayLike | None, n: int, labelled: NDArray[np.bool_]) -> Floats:
    weights = check_weights(sample_weight, n)
    if not weights[labelled].any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number on the labelled source rows."
        )
    return weights


def _check_domain_weights(weights: Floats, source: Ints, target: Ints) -> None:
    for rows, kind in ((source, "source"), (target, "target")):
        if len(rows) and not weights[rows].any():
            raise ValueError(
                f"domain_weight is 0 on all {len(rows)} {kind} rows; at least one must count."
            )
