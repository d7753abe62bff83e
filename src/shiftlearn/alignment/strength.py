"""How strongly to align, and what an error costs: numbers, or rules that mean the same everywhere.

The terms of the metric grow with the number of rows (form="coef"), with the norm of the features
(form="rkhs") and with the units of the columns; so does what a given C means, because alignment
shrinks the features that the margin lives in. The rules measure both against the data:

    alignment="auto":   μ = a / ‖Σ‖_F,
    C="auto":           C = c / tr(Tᵀ Σ T),

with Σ the covariance of the labelled rows in the features of the problem and T the whitening of the
metric at that μ, so that tr(TᵀΣT) is the variance of the whitened rows. Multiplying the features
by a number, or entering every row twice, then changes nothing. a = 10 and c = 3 were chosen on
generated shifts and on bundled tables with made shifts; the guide says what was tried.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.base import check_number

__all__ = ["AUTO", "Strength", "check_strength", "covariance_size", "kernel_covariance_size"]

Floats = NDArray[np.float64]

AUTO = "auto"
_ALIGNMENT = 10.0  # a
_COST = 3.0  # c
_BLOCK = 512


@dataclass(frozen=True)
class Strength:
    """λ, μ, and the costs of source and (None: unread) target labels; None stands for a rule."""

    balance: float
    alignment: float | None
    C: float | None
    C_target: float | None

    @property
    def scatter(self) -> bool:
        """Whether second moments are needed."""
        return self.balance > 0 and self.alignment != 0.0

    def resolved_alignment(self, size: float | None) -> float:
        """μ, with ``size`` = ‖Σ‖_F (None: there is nothing to align)."""
        if self.alignment is not None:
            return self.alignment
        return 0.0 if size is None else _ALIGNMENT / size if size > 0 else _ALIGNMENT

    def resolved_cost(self, variance: float) -> float:
        """C, with ``variance`` that of the whitened rows."""
        if self.C is not None:
            return self.C
        return _COST / variance if variance > 0 else _COST


def check_strength(estimator: Any) -> Strength:
    """The checked numbers of an aligned machine."""
    e = estimator
    C_target = None if e.C_target is None else check_number("C_target", e.C_target)
    return Strength(
        between("balance", e.balance, 1.0),
        None if e.alignment == AUTO else between("alignment", e.alignment, math.inf),
        None if e.C == AUTO else check_number("C", e.C),
        C_target,
    )


def between(name: str, value: Any, most: float) -> float:
    """A finite number with 0 <= value <= most."""
    if issubclass(type(value), numbers.Real) and type(value) is not bool:
        number = float(value)
        if math.isfinite(number) and 0.0 <= number <= most:
            return number
    bound = "" if math.isinf(most) else f" and <= {most:g}"
    rule = ', or "auto"' if name == "alignment" else ""
    raise ValueError(f"{name} must be a finite number >= 0{bound}{rule}, got {value!r}.")


def covariance_size(Z: Any, weights: Floats) -> float:
    """‖Σ‖_F of rows Z that count ``weights``."""
    p = weights / weights.sum()
    if Z.shape[1] > Z.shape[0]:
        products = Z @ Z.T
        return kernel_covariance_size(
            np.asarray(products.toarray() if hasattr(products, "toarray") else products), p
        )
    mean = np.asarray(p @ Z).ravel()
    if (p == p[0]).all():
        second = (Z.T @ Z) * p[0]  # no copy of the rows, and a symmetric product for BLAS
    else:
        scaled = Z.multiply(p[:, None]).tocsr() if hasattr(Z, "multiply") else p[:, None] * Z
        second = Z.T @ scaled
    second = second.toarray() if hasattr(second, "toarray") else np.asarray(second)
    return float(np.linalg.norm(second - np.outer(mean, mean)))


def kernel_covariance_size(K: Any, weights: Floats) -> float:
    """The same from the inner products K of the rows, an array or an operator.

    ‖Σ‖²_F = Σ_ij p_i p_j K_ij² - 2 Σ_i p_i r_i² + s²  with  r = Kp, s = pᵀKp.
    """
    p = weights / weights.sum()
    squares, r = 0.0, np.empty(len(p))
    for start in range(0, len(p), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(p)))
        block = K[rows] if isinstance(K, np.ndarray) else K.block(rows, None, np.float64)
        r[rows] = block @ p
        squares += float(p[rows] @ (block**2 @ p))
    s = float(p @ r)
    return float(np.sqrt(max(0.0, squares - 2 * float(p @ r**2) + s * s)))
