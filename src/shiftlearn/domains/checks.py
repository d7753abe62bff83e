"""Checks of domain labels and classes, with messages that say what was found and what is needed.

The problem: ``sample_domain`` is an integer a row, but arrives as a scalar, a list, a column of a
frame, or wrongly as booleans or of another length.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.errors import NoTargetWarning

__all__ = [
    "check_predict_domain",
    "check_sample_domain",
    "check_two_classes",
    "refuse_device_arrays",
    "warn_no_target",
]

_TO_HOST = {"torch": ".cpu().numpy()", "cupy": ".get()", "cupyx": ".get()"}


def check_sample_domain(
    sample_domain: Any, n_rows: int, name: str = "sample_domain"
) -> NDArray[np.int64]:
    """Return ``sample_domain`` as one int64 a row; a scalar stands for all rows.

    Examples
    --------
    >>> check_sample_domain(-1, 3)
    array([-1, -1, -1])
    >>> check_sample_domain([0, 0, -2], 3)
    array([ 0,  0, -2])
    """
    refuse_device_arrays(sample_domain, name)
    array = np.asarray(sample_domain)
    if array.ndim == 0:
        array = np.broadcast_to(array, (n_rows,))
    if array.ndim != 1:
        raise ValueError(
            f"{name} must hold one integer a row, got an array of shape {array.shape}."
        )
    if len(array) != n_rows:
        raise ValueError(f"{name} has {len(array)} entries, but X has {n_rows} rows.")
    return _integers(array, name)


def _integers(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    advice = f"{name} must hold integers: >= 0 for source rows, < 0 for target rows"
    if array.dtype == object:
        array = np.array(array.tolist())
    if array.dtype.kind == "b":
        raise ValueError(f"{advice}; got booleans, which would all be source rows.")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{advice}; got values of type {array.dtype}.")
    if array.dtype.kind == "f" and not np.all(array == np.floor(array)):
        wrong = array[~(array == np.floor(array))][0]
        raise ValueError(f"{advice}; got {wrong!r}.")
    return array.astype(np.int64)  # a copy, so that nobody can change it behind a fitted model


def check_predict_domain(
    sample_domain: Any, n_rows: int, known: Collection[int], default: int
) -> NDArray[np.int64]:
    """Domain of each row at prediction, for methods whose answer depends on it.

    Parameters
    ----------
    sample_domain : array-like of int, int or None
        None means ``default`` for every row.
    n_rows : int
    known : collection of int
        Labels seen by ``fit``.
    default : int
        The label that a row has where nothing is said.

    Examples
    --------
    >>> check_predict_domain(None, 2, {0, -1}, default=-1)
    array([-1, -1])
    """
    if sample_domain is None:
        return np.full(n_rows, default, dtype=np.int64)
    domains = check_sample_domain(sample_domain, n_rows)
    unknown = sorted(set(np.unique(domains).tolist()) - set(known))
    if unknown:
        raise ValueError(
            f"sample_domain holds the domains {unknown}, unknown to this model; it was fitted on "
            f"{sorted(known)}."
        )
    return domains


def check_two_classes(classes: NDArray[Any], name: str) -> None:
    """Raise unless there are at least two classes to tell apart."""
    if len(classes) < 2:
        found = f"only class {classes[0]!r}" if len(classes) else "no label"
        raise ValueError(
            f"{name} can't train when only one class is present: y has {found} on the rows used "
            "for training; at least 2 classes are needed."
        )


def warn_no_target(name: str, instead: str = "the plain machine on the source rows") -> None:
    """Warn that there were no target rows, and say what was fitted instead."""
    warnings.warn(
        f"{name} was given no target rows, so it fitted {instead}. Target rows have "
        "sample_domain < 0; stack_domains(Xs, ys, Xt) builds X, y and sample_domain.",
        NoTargetWarning,
        stacklevel=3,
    )


def refuse_device_arrays(array: Any, name: str) -> None:
    """Raise for torch and CuPy arrays, naming the call that brings them to the host."""
    library = type(array).__module__.partition(".")[0]
    if library in _TO_HOST:
        raise TypeError(
            f"{name} is a {library} array, which is not supported; pass {name}{_TO_HOST[library]}."
        )
