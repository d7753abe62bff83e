"""The rows an existing model is adapted on: the labelled target rows, and the source rows beside.

In a plain ``fit(X, y)`` all rows are target rows. With ``sample_domain`` the target rows (< 0) that
have a label are the rows to learn from; labelled source rows (>= 0) serve only to fit sources that
are not fitted yet. Sources see the rows as the user passed them, a data frame as a data frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from shiftlearn.domains import split_domains
from shiftlearn.machines.base import check_rows, check_weights, class_factors, take_rows

__all__ = ["AdaptationRows", "adaptation_rows", "class_costs", "final_classes", "take_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class AdaptationRows:
    """What the labelled target rows are.

    Attributes
    ----------
    X : ndarray or CSR
        The rows, checked.
    raw : object
        The same rows as they were passed.
    labels : ndarray
        Their labels.
    weights : ndarray of float64
        ``sample_weight``, all positive.
    index : ndarray of int or None
        Their positions in the X of ``fit``; None where all rows are used.
    source_X, source_y : object
        The labelled source rows as they were passed, None where there are none.
    """

    X: Any
    raw: Any
    labels: NDArray[Any]
    weights: Floats
    index: Ints | None
    source_X: Any = None
    source_y: NDArray[Any] | None = None

    def positions(self, rows: Ints) -> Ints:
        """Positions in the X of ``fit`` of the given rows."""
        return rows if self.index is None else self.index[rows]


def adaptation_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_domain: Any,
    sample_weight: Any,
    *,
    reset: bool = True,
) -> AdaptationRows:
    """Check everything passed to ``fit`` and split it; ``reset`` as in `check_rows`."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    rows = _check_rows_or_none(estimator, X, reset)
    n = rows.shape[0]
    weights = np.empty(0) if n == 0 else check_weights(sample_weight, n)
    plain = type(y) is np.ndarray and y.shape == (n,) and y.dtype.kind in "biuU"
    if plain and sample_domain is None and weights.all():
        return AdaptationRows(rows, X, y, weights, None)
    split = split_domains(y, sample_domain, n, target_labels="use", plain_rows="target")
    keep = np.flatnonzero(split.labelled_target & (weights > 0))
    source = np.flatnonzero(split.labelled_source)
    labels = split.classes[split.codes[keep]]
    if keep.size == n:
        return AdaptationRows(rows, X, labels, weights, None)
    return AdaptationRows(
        take_rows(estimator, rows, keep), _safe_indexing(X, keep), labels, weights[keep], keep,
        _safe_indexing(X, source) if source.size else None,
        split.classes[split.codes[source]] if source.size else None,
    )  # fmt: skip


def final_classes(
    labels: NDArray[Any], known: list[NDArray[Any] | None], declared: Any, names: list[str]
) -> NDArray[Any]:
    """The sorted classes of the labels, the sources and those declared; at least two."""
    classes = np.unique(labels)
    for own, name in zip(known, names, strict=True):
        if own is not None:
            classes = _united(classes, own, labels, name)
    if declared is not None:
        classes = _united(classes, np.asarray(declared), labels[:0], "classes")
    if len(classes) < 2:
        found = f"only one class, {classes.tolist()[0]!r}," if len(classes) else "no label"
        raise ValueError(
            f"y has {found} on the rows to adapt on, and no source names two classes; at least "
            "2 classes are needed. Give a fitted source with classes_, or partial_fit(classes=...)."
        )
    return classes


def _united(
    classes: NDArray[Any], own: NDArray[Any], labels: NDArray[Any], name: str
) -> NDArray[Any]:
    numbers = [kind in "biuf" for kind in (classes.dtype.kind, own.dtype.kind)]
    mixed = classes.size and own.size and numbers[0] != numbers[1]
    if mixed or (labels.size and not np.isin(labels, own).any()):
        raise ValueError(
            f"{name} knows the classes {own.tolist()}, but y holds {np.unique(labels).tolist()}: "
            "they have none in common. Give y the labels that the source was trained with."
        )
    return np.unique(np.concatenate([classes, own])) if classes.size else np.unique(own)


def class_costs(
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    codes: Ints,
    weights: Floats,
) -> Floats:
    """``weights`` times the factor of each row's class; "balanced" over the classes present."""
    if class_weight is None or not len(codes):
        return weights
    if not isinstance(class_weight, str):
        return weights * class_factors(class_weight, classes, codes, weights)[codes]
    present, own = np.unique(codes, return_inverse=True)
    return weights * class_factors(class_weight, classes[present], own, weights)[own]


def take_scores(scores: Any, index: Ints | None) -> Any:
    """The rows ``index`` of ``source_scores``: an array, or a list of arrays."""
    if scores is None or index is None:
        return scores
    if isinstance(scores, (list, tuple)) and len(scores) and np.ndim(scores[0]) > 0:
        return [np.asarray(table)[index] for table in scores]
    return np.asarray(scores)[index]


def _check_rows_or_none(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """X checked; zero rows are legal here."""
    shape: Any = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0 and getattr(estimator, "source", None) is not None:
        return validate_data(estimator, X, ensure_min_samples=0, dtype=np.float64, reset=reset)
    return check_rows(estimator, X, reset=reset)
