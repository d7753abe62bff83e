"""Labels of any type: which rows have one, and which integer stands for it.

The problem: given y with values in a set of classes and marks on the rows without a label, find
the sorted classes c_0 < ... < c_(k-1) and codes j with y_i = c_(j_i), j_i = -1 where y_i was not
read. Labels that came through an object array (because None had to fit in) get the plain dtype
back: strings, integers, floats, booleans.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.domains.checks import refuse_device_arrays
from shiftlearn.errors import MissingLabelWarning

__all__ = ["encode_labels", "label_array", "minus_one_marks", "plain_labels", "unlabelled"]


def label_array(y: Any, n_rows: int | None = None, name: str = "y") -> NDArray[Any]:
    """Return ``y`` as a one-dimensional array that still tells a missing label from a label.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        NumPy, pandas, polars or a sequence, with labels of any one type.
    n_rows : int, optional
        The number of rows that is needed.
    name : str
        The argument's name, for the messages.

    Returns
    -------
    ndarray of shape (n_rows,)
        A view of the input where possible; never written to.

    Examples
    --------
    >>> label_array(["a", None, "b"])
    array(['a', None, 'b'], dtype=object)
    """
    if y is None:
        raise ValueError(
            f"This estimator requires {name} to be passed, but the target {name} is None."
        )
    refuse_device_arrays(y, name)
    array = _flat(_convert(y), name)
    if n_rows is not None and len(array) != n_rows:
        raise ValueError(f"{name} has {len(array)} labels, but X has {n_rows} rows.")
    return array


def _convert(y: Any) -> NDArray[Any]:
    if hasattr(y, "null_count") and hasattr(y, "to_list"):  # polars makes None a float NaN
        return np.array(y.to_list(), dtype=object) if _has_nulls(y) else np.asarray(y.to_numpy())
    if hasattr(y, "isna") and not isinstance(getattr(y, "dtype", None), np.dtype):
        return np.asarray(y.to_numpy(dtype=object))  # pandas makes NA a float NaN
    array = np.asarray(y)
    if array.dtype.kind in "US" and isinstance(y, list | tuple) and not _all_text(y):
        return _object_array(y)  # NumPy would spell a NaN or a number among strings out
    return array


def _has_nulls(series: Any) -> bool:
    return bool(series.null_count())


def _all_text(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str | bytes) for value in values)


def _object_array(values: Iterable[Any]) -> NDArray[Any]:
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _flat(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected. Please change the "
            f"shape of {name} to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        return array.ravel()
    if array.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {array.shape} instead."
        )
    return array


def unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the rows marked as unlabelled: NaN, None or pandas' NA.

    Only float and object arrays can carry such a mark; in all others every row has a label.

    Examples
    --------
    >>> unlabelled(np.array([1.0, np.nan]))
    array([False,  True])
    """
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    return np.fromiter(map(_is_mark, y), dtype=bool, count=len(y))


def _is_mark(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")  # pandas, without importing it


def minus_one_marks(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the rows where -1 stands for "no label", as skada writes it.

    That reading is taken only in an integer array that holds at least two other classes, all
    >= 0, and only where ``sample_domain`` is absent; it is announced by a warning. In {-1, +1} both
    are ordinary labels.

    Examples
    --------
    >>> minus_one_marks(np.array([-1, 1, 1]))
    array([False, False, False])
    """
    marks = np.zeros(len(y), dtype=bool)
    if y.dtype.kind != "i" or not np.any(y == -1):
        return marks
    others = np.unique(y[y != -1])
    if len(others) < 2 or others[0] < 0:
        return marks
    warnings.warn(
        "y holds -1 beside two or more classes >= 0, so the rows with -1 were taken as unlabelled "
        "target rows. Pass sample_domain (>= 0 source, < 0 target) to say so; with it, -1 is an "
        "ordinary label.",
        MissingLabelWarning,
        stacklevel=4,
    )
    return np.asarray(y == -1)


def encode_labels(
    y: NDArray[Any], rows: NDArray[np.bool_], name: str = "y"
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Codes and sorted classes of the labels in ``rows``; no other label is looked at.

    Parameters
    ----------
    y : ndarray of shape (n,)
    rows : ndarray of bool of shape (n,)
        The rows whose labels are read; each must have one.
    name : str
        The argument's name, for the messages.

    Returns
    -------
    codes : ndarray of int64 of shape (n,)
        ``y[i] == classes[codes[i]]`` in ``rows``, -1 elsewhere.
    classes : ndarray of shape (k,)
        Sorted, in the labels' plain dtype.

    Examples
    --------
    >>> y = np.array(["b", "a", None], dtype=object)
    >>> encode_labels(y, np.array([True, True, False]))
    (array([ 1,  0, -1]), array(['a', 'b'], dtype='<U1'))
    """
    labels = plain_labels(y[rows], name)
    if labels.dtype.kind == "f":
        _check_discrete(labels, name)
    classes, inverse = np.unique(labels, return_inverse=True)
    codes = np.full(len(y), -1, dtype=np.int64)
    codes[rows] = inverse
    return codes, classes


def _check_discrete(labels: NDArray[Any], name: str) -> None:
    if not np.all(np.isfinite(labels)):
        raise ValueError(f"Input {name} contains infinity; class labels must be finite.")
    if np.any(labels != np.floor(labels)):
        raise ValueError(
            f"Unknown label type: continuous. {name} holds the number "
            f"{labels[labels != np.floor(labels)][0]!r}; a classifier needs classes."
        )


def plain_labels(labels: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Labels of an object array, none of them a mark, in the dtype they would have had alone.

    Examples
    --------
    >>> plain_labels(np.array([1, 2], dtype=object))
    array([1, 2])
    """
    if labels.dtype != object or not len(labels):
        return labels
    kinds = {_kind(kind) for kind in set(map(type, labels))}
    if kinds == {"integer", "float"}:
        return _integers_if_whole(labels)
    if len(kinds) > 1:
        raise ValueError(
            f"{name} mixes labels of several types ({', '.join(sorted(kinds))}); give all labels "
            "one type."
        )
    if kinds & {"text", "bytes", "integer", "float", "boolean"}:
        return np.array(labels.tolist())
    return _check_sortable(labels, name)


def _kind(kind: type) -> str:
    families: list[tuple[str, Any]] = [
        ("text", str),
        ("bytes", bytes),
        ("boolean", bool | np.bool_),
        ("integer", int | np.integer),
        ("float", float | np.floating),
    ]
    return next((word for word, family in families if issubclass(kind, family)), kind.__name__)


def _integers_if_whole(labels: NDArray[Any]) -> NDArray[Any]:
    numbers = np.array(labels.tolist(), dtype=np.float64)
    whole = np.all(np.isfinite(numbers)) and np.all(numbers == np.floor(numbers))
    return numbers.astype(np.int64) if whole else numbers


def _check_sortable(labels: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        labels[0] < labels[0]  # noqa: B015
    except TypeError:
        raise ValueError(
            f"{name} holds labels of type {type(labels[0]).__name__}, which have no order; use "
            "strings or integers."
        ) from None
    return labels
