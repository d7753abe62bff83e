"""What every estimator shares: checked rows, encoded labels, costs per row, all-or-nothing fits.

A machine minimises  Ω(f) + Σ_i c_i ℓ(y_i, f(x_i))  over the rows of the source domain. This module
turns what the user passed to ``fit`` into the rows x_i, the class numbers of y_i and the weights
that make the costs c_i = C · sample_weight_i · class_weight(y_i); rows of weight 0 are gone.

Small fits must not pay for checks they pass: arrays that are plainly right take a short path, and
everything else goes through scikit-learn's ``validate_data``, whose messages users know.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from shiftlearn.certificates import Event
from shiftlearn.domains import labelled_rows, refuse_device_arrays
from shiftlearn.errors import ScaleWarning
from shiftlearn.parameters import check_number, check_weights
from shiftlearn.statistics.streamed import StreamedMethods

__all__ = [
    "Machine",
    "TrainingRows",
    "all_or_nothing",
    "check_number",
    "check_predict_rows",
    "check_rows",
    "check_weights",
    "class_factors",
    "progress",
    "refuse_device_arrays",
    "training_rows",
    "warn_scales",
]

logger = logging.getLogger("shiftlearn")

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Rows = Any  # ndarray or CSR, float32 or float64
Callback = Callable[[Event], bool | None]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_SCALE_RATIO = 1e3
_SCALE_ROWS = 1000
_PREDICT_REQUEST = {"sample_domain": True, "allow_source": True}


class Machine(StreamedMethods, BaseEstimator):
    """Base of the estimators: tags, metadata requests and the short representation.

    ``sample_domain`` is requested by ``fit`` from the start, so that it reaches the machine
    through pipelines and searches with metadata routing.
    """

    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"sample_domain": True}
    __metadata_request__predict: ClassVar[Mapping[str, bool]] = _PREDICT_REQUEST
    __metadata_request__decision_function: ClassVar[Mapping[str, bool]] = _PREDICT_REQUEST

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = getattr(self, "kernel", None) == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """The rows that a machine is trained on, after domains and zero weights.

    Attributes
    ----------
    X : ndarray or CSR, float32 or float64
        The rows; of a precomputed kernel the rows and columns.
    codes : ndarray of int
        Class number of each row, an index into ``classes``.
    classes : ndarray
        The sorted labels.
    weights : ndarray of float64
        sample_weight · class_weight, all positive.
    index : ndarray of int or None
        Their positions in the X of ``fit``; None where all rows are used.
    """

    X: Rows
    codes: Ints
    classes: NDArray[Any]
    weights: Floats
    index: Ints | None

    def positions(self, rows: Ints) -> Ints:
        """Positions in the X of ``fit`` of the given training rows."""
        return rows if self.index is None else self.index[rows]

    def by_class(self, estimator: BaseEstimator) -> TrainingRows:
        """The same rows with those of each class next to each other."""
        if (np.diff(self.codes) >= 0).all():
            return self
        order = np.argsort(self.codes, kind="stable")
        return TrainingRows(
            take_rows(estimator, self.X, order), self.codes[order], self.classes,
            self.weights[order], self.positions(order),
        )  # fmt: skip


def training_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    sample_domain: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    n_classes: int = 2,
) -> TrainingRows:
    """Check everything passed to the ``fit`` of a classifier and keep the source rows.

    Raises ``ValueError`` where fewer than ``n_classes`` classes remain.
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    X = check_rows(estimator, X)
    weights = check_weights(sample_weight, X.shape[0])
    classes, codes, keep = _visible_labels(y, sample_domain, X.shape[0])
    if sample_weight is not None:
        classes, codes, keep = _without_zero_weights(classes, codes, keep, weights)
    if keep is not None:
        X, weights = take_rows(estimator, X, keep), weights[keep]
    if classes.shape[0] < n_classes:
        raise ValueError(
            f"y holds {classes.shape[0]} class ({classes.tolist()[0]!r}) on the rows to train on "
            "(sample_domain >= 0, sample_weight > 0); at least "
            f"{n_classes} classes are needed."
        )
    if class_weight is not None:
        weights = weights * class_factors(class_weight, classes, codes, weights)[codes]
    return TrainingRows(X, codes, classes, weights, keep)


def check_rows(estimator: BaseEstimator, X: Any, *, reset: bool = True) -> Rows:
    """Return X as a finite float32/float64 C-ordered array or CSR matrix.

    ``reset`` True (in ``fit``) sets ``n_features_in_`` and ``feature_names_in_``; otherwise X is
    compared with them.
    """
    if _plainly_right(X) and _names_fit(estimator, X, reset):
        return np.ascontiguousarray(X)
    refuse_device_arrays(X, "X")
    kinds = False if getattr(estimator, "kernel", None) == "precomputed" else "csr"
    X = validate_data(estimator, X, accept_sparse=kinds, dtype=_FLOATS, order="C", reset=reset)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_predict_rows(estimator: BaseEstimator, X: Any, n_support: int | None = None) -> Rows:
    """Check rows to predict; ``n_support`` columns are accepted too (precomputed kernels)."""
    if n_support is None or getattr(X, "ndim", 0) != 2 or X.shape[1] != n_support:
        return check_rows(estimator, X, reset=False)
    refuse_device_arrays(X, "X")
    return check_array(X, dtype=_FLOATS, order="C", estimator=estimator, input_name="X")


def take_rows(estimator: BaseEstimator, X: Rows, rows: Ints) -> Rows:
    """The given rows of X; of a precomputed kernel the columns too."""
    if getattr(estimator, "kernel", None) == "precomputed" and X.shape[0] == X.shape[1]:
        return X[np.ix_(rows, rows)]
    return X[rows]


def class_factors(
    class_weight: Mapping[Any, float] | str, classes: NDArray[Any], codes: Ints, weights: Floats
) -> Floats:
    """One positive factor per class; "balanced" gives every class the same total weight."""
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f'class_weight must be None, "balanced" or a dict, got {class_weight!r}.'
            )
        totals = np.bincount(codes, weights=weights, minlength=len(classes))
        balanced: Floats = weights.sum() / (len(classes) * totals)
        return balanced
    labels = classes.tolist()
    missing = [label for label in labels if label not in class_weight]
    if missing and len(labels) - len(missing) != len(class_weight):
        unknown = [key for key in class_weight if key not in labels]
        raise ValueError(f"class_weight names {unknown}, which are not among the classes {labels}.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    if not (np.isfinite(factors).all() and factors.min() > 0):
        raise ValueError(f"class_weight must hold positive numbers, got {dict(class_weight)}.")
    return factors


def warn_scales(X: Rows) -> None:
    """Warn once where the ranges of the columns differ by more than a factor of 1000.

    At most 1000 evenly spaced rows are looked at; constant columns are left out.
    """
    sample = X[:: -(-X.shape[0] // _SCALE_ROWS)] if X.shape[0] > _SCALE_ROWS else X
    if sparse.issparse(sample):
        ranges = abs(sample).max(axis=0).toarray().ravel()
    else:
        ranges = sample.max(axis=0) - sample.min(axis=0)
    largest = ranges.max()
    moving = ranges > 0
    smallest = ranges.min() if moving.all() else ranges.min(initial=largest, where=moving)
    if largest > _SCALE_RATIO * smallest:
        warnings.warn(
            f"The columns of X lie on scales that differ by a factor of {largest / smallest:.3g} "
            f"(column {int(ranges.argmax())} has range {largest:.3g}, another {smallest:.3g}): the "
            "largest decide the answer and fitting is slow. Scale the columns, for example with "
            "sklearn.preprocessing.StandardScaler.",
            ScaleWarning,
            stacklevel=3,
        )


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Give the estimator its former state back when the block fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def progress(callback: Callback | None, verbose: int, name: str) -> Callback | None:
    """The callback of a solver: logs events where ``verbose`` and asks the user's callback."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be None or callable, got {callback!r}.")
    if not verbose:
        return callback
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())

    def report(event: Event) -> bool | None:
        logger.info(
            "%s: %s %3.0f %%, objective %.6g, gap %.3g",
            name, event.phase, 100 * event.fraction, event.objective, event.gap,
        )  # fmt: skip
        return None if callback is None else callback(event)

    return report


def _plainly_right(X: Any) -> bool:
    """A finite, non-empty float matrix of NumPy itself."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in _FLOATS
        and X.size > 0
        and math.isfinite(X.sum())
    )


def _names_fit(estimator: BaseEstimator, X: NDArray[Any], reset: bool) -> bool:
    """Do what ``validate_data`` does for an array without column names, if it would pass."""
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return True
    state = vars(estimator)
    return "feature_names_in_" not in state and state.get("n_features_in_") == X.shape[1]


def _visible_labels(
    y: Any, sample_domain: ArrayLike | None, n: int
) -> tuple[NDArray[Any], Ints, Ints | None]:
    """Classes, class numbers and positions (None: all) of the source rows with a label."""
    plain = type(y) is np.ndarray and y.shape == (n,) and y.dtype.kind in "biuU"
    if plain and sample_domain is None:
        classes, codes = np.unique(y, return_inverse=True)
        return classes, codes, None
    refuse_device_arrays(y, "y")
    found = labelled_rows(y, sample_domain, n)
    if found.complete:
        return found.classes, found.codes, None
    if sample_domain is None:
        raise ValueError(
            f"Input y contains NaN: {n - len(found.rows)} of the {n} rows have no label. Leave "
            "them out, or give rows of the target domain a negative sample_domain."
        )
    return found.classes, found.codes, found.rows


def _without_zero_weights(
    classes: NDArray[Any], codes: Ints, rows: Ints | None, weights: Floats
) -> tuple[NDArray[Any], Ints, Ints | None]:
    """The same for rows of positive weight alone; classes without such a row are gone."""
    kept = np.flatnonzero(weights if rows is None else weights[rows])
    if not kept.size:
        raise ValueError("sample_weight is 0 on all rows to train on (sample_domain >= 0).")
    if kept.size == codes.shape[0]:
        return classes, codes, rows
    present, codes = np.unique(codes[kept], return_inverse=True)
    return classes[present], codes, kept if rows is None else rows[kept]
