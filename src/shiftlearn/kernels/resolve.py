"""From the parameters that an estimator has to a kernel whose parameters are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftlearn.kernels.kernel import CODES, Kernel

__all__ = ["resolve_kernel"]


def resolve_kernel(
    kernel: Any = "rbf", gamma: Any = "scale", degree: float = 3, coef0: float = 0.0, X: Any = None
) -> Kernel:
    """A :class:`Kernel` from an estimator's parameters, with "scale" and "auto" made numbers.

    ``gamma="scale"`` is 1 / (d · var(X)) over all entries, "auto" is 1 / d.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel == "precomputed":
        return Kernel("precomputed")
    if not isinstance(kernel, str) or kernel not in CODES:
        names = ", ".join(repr(name) for name in [*CODES, "precomputed"])
        raise ValueError(f"kernel must be one of {names} or a callable, got {kernel!r}.")
    if kernel == "linear":
        return Kernel("linear")
    if kernel == "poly" and not (_finite(degree) and degree >= 0):
        raise ValueError(f"degree must be non-negative, got {degree!r}.")
    if kernel in ("poly", "sigmoid") and not _finite(coef0):
        raise ValueError(f"coef0 must be a finite number, got {coef0!r}.")
    return Kernel(kernel, gamma=_resolve_gamma(gamma, X), degree=degree, coef0=float(coef0))


def _finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


def _resolve_gamma(gamma: Any, X: Any) -> float:
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        if gamma != "scale":
            raise ValueError(f'gamma must be "scale", "auto" or a number, got {gamma!r}.')
        variance = _variance(X)
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    if not (_finite(gamma) and gamma >= 0):
        raise ValueError(f'gamma must be "scale", "auto" or a non-negative number, got {gamma!r}.')
    return float(gamma)


def _variance(X: Any) -> float:
    if isinstance(X, np.ndarray):
        return float(X.var(dtype=np.float64))
    size = float(X.shape[0] * X.shape[1])
    data = X.data.astype(np.float64, copy=False)
    mean = float(data.sum()) / size
    square = float(data @ data) / size
    return square - mean**2 if square > mean**2 else 0.0
