"""Checks of parameters that only this room has."""

from __future__ import annotations

import math
import numbers
import sys
from typing import Any

__all__ = ["is_real", "is_whole", "not_negative", "one_of", "whole_number"]


def is_real(value: Any) -> bool:
    """Whether it is a number, and not a truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number by its type."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of the known words."""
    if not (isinstance(value, str) and value in known):
        words = ", ".join(f'"{word}"' for word in known)
        raise ValueError(f"{name} must be one of {words}, got {value!r}.")


def whole_number(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an int that is at least ``least``."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}.")
    return int(value)


def not_negative(name: str, value: Any, upto: float = sys.float_info.max) -> float:
    """Return ``value`` as a float >= 0, finite unless ``upto`` is infinite."""
    if not (is_real(value) and 0 <= value <= upto):
        finite = "" if upto == math.inf else "finite "
        raise ValueError(f"{name} must be a {finite}number >= 0, got {value!r}.")
    return float(value)
