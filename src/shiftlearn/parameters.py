"""Checks of parameters and weights, for every layer."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite

from shiftlearn.domains.checks import refuse_device_arrays

__all__ = ["check_number", "check_weights"]

Floats = NDArray[np.float64]


def check_number(
    name: str, value: Any, *, above: float = 0.0, upto: float = math.inf, from_zero: bool = False
) -> float:
    """Return ``value`` as a float; it must be a finite number with above < value <= upto.

    ``from_zero`` accepts 0 as well.
    """
    if issubclass(type(value), numbers.Real) and type(value) is not bool:
        number = float(value)
        if math.isfinite(number) and (above < number <= upto or (from_zero and number == 0)):
            return number
    least = ">= 0" if from_zero else f"> {above:g}"
    bound = "" if math.isinf(upto) else f" and <= {upto:g}"
    raise ValueError(f"{name} must be a finite number {least}{bound}, got {value!r}.")


def check_weights(sample_weight: ArrayLike | None, n: int, name: str = "sample_weight") -> Floats:
    """Weights as float64, one for each of n rows: finite, none negative, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    refuse_device_arrays(sample_weight, name)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"{name}.shape == {weights.shape}, expected {(n,)}: one weight for each row of X."
        )
    total = weights.sum()
    if not math.isfinite(total):
        assert_all_finite(weights, input_name=name)
    if n and weights.min() < 0:
        raise ValueError(f"Negative values in {name}: the smallest is {weights.min():g}.")
    if total == 0:
        raise ValueError(
            "Sample weights must contain at least one non-zero number: "
            f"all {n} values of {name} are 0."
        )
    return weights
