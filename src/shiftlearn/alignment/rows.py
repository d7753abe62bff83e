"""The rows of ``fit`` for methods that learn from labelled source and unlabelled target rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from shiftlearn.domains import split_domains, warn_no_target
from shiftlearn.machines.base import check_rows, check_weights, class_factors, take_rows

__all__ = ["DomainRows", "domain_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class DomainRows:
    """Labelled source rows first, target rows after them; rows of weight 0 are gone.

    Attributes
    ----------
    X : ndarray or CSR
        n source rows and m target rows; of a precomputed kernel rows and columns.
    codes : ndarray of int of shape (n,)
        Class number of each source row.
    classes : ndarray
        The sorted labels.
    weights : ndarray of shape (n + m,)
        sample_weight; ``factors`` of the classes are not in it.
    factors : ndarray of shape (n_classes,)
        Class weights.
    index : ndarray of int of shape (n + m,)
        Positions in the X of ``fit``.
    """

    X: Any
    codes: Ints
    classes: NDArray[Any]
    weights: Floats
    factors: Floats
    index: Ints

    @property
    def n_source(self) -> int:
        """Number n of source rows."""
        return len(self.codes)

    @property
    def n_target(self) -> int:
        """Number m of target rows."""
        return len(self.index) - len(self.codes)

    @property
    def source(self) -> Any:
        """The source rows of X."""
        return self.X if not self.n_target else self.X[: self.n_source]

    @property
    def target(self) -> Any:
        """The target rows of X."""
        return self.X[self.n_source :]

    @property
    def source_weights(self) -> Floats:
        """sample_weight times class weight of the source rows."""
        return np.asarray(self.weights[: self.n_source] * self.factors[self.codes])

    @property
    def class_shares(self) -> Floats:
        """Share of each class in the weight of the source rows."""
        totals = np.bincount(self.codes, weights=self.weights[: self.n_source])
        return np.asarray(totals / totals.sum())


def domain_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    sample_domain: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
) -> DomainRows:
    """Check everything passed to ``fit``; the labels of target rows are never read.

    Warns with `NoTargetWarning` where there is no target row.
    """
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    X = check_rows(estimator, X)
    n = X.shape[0]
    weights = check_weights(sample_weight, n)
    split = split_domains(y, sample_domain, n)
    source = np.flatnonzero(split.labelled_source & (weights > 0))
    target = np.flatnonzero(split.domains.target & (weights > 0))
    present, codes = np.unique(split.codes[source], return_inverse=True)
    classes = split.classes[present]
    _check_classes(name, classes)
    if not len(target):
        warn_no_target(name)
    factors = np.ones(len(classes))
    if class_weight is not None:
        factors = class_factors(class_weight, classes, codes, weights[source])
    used = np.concatenate([source, target])
    if len(used) < n or (np.diff(used) != 1).any():
        X = take_rows(estimator, X, used)
    return DomainRows(X, codes, classes, weights[used], factors, used)


def _check_classes(name: str, classes: NDArray[Any]) -> None:
    if len(classes) >= 2:
        return
    found = f"1 class ({classes.tolist()[0]!r})" if len(classes) else "no class"
    raise ValueError(
        f"{name} needs at least 2 classes: y holds {found} on the rows to train on "
        "(sample_domain >= 0, sample_weight > 0)."
    )
