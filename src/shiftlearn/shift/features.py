"""Features whose inner products are a kernel, for the two-sample test on many rows.

The problem: find z with z(x)ᵀz(x') ≈ k(x, x') and cost linear in the rows. For a kernel of x - x',
Bochner's theorem gives k(x, x') = E cos(ωᵀ(x - x')), ω normal with variance 2γ (rbf) or Cauchy with
scale γ (laplacian); D/2 draws of ω give D features cos(ωᵀx), sin(ωᵀx), scaled so that
z(x)ᵀz(x) = 1. The linear kernel's features are the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.kernels import Kernel
from shiftlearn.shift.rows import is_sparse

__all__ = ["FourierFeatures", "PlainFeatures", "feature_map"]


class PlainFeatures:
    """The columns themselves."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, X: Any) -> Any:
        """Return the features of the rows of X."""
        return X

    def squared_norms(self, Z: Any) -> NDArray[np.float64]:
        """‖z‖² of each row."""
        squares = Z.multiply(Z) if hasattr(Z, "multiply") else np.square(Z, dtype=np.float64)
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


class FourierFeatures:
    """Random cosines and sines of a translation-invariant kernel."""

    def __init__(self, frequencies: NDArray[Any], center: Any = None) -> None:
        self.frequencies, self.center = frequencies, center
        self.width = 2 * frequencies.shape[1]

    def __call__(self, X: Any) -> NDArray[np.float32]:
        """Return the features of the rows of X."""
        rows = X if self.center is None else X - self.center  # small phases are exact phases
        phase = np.asarray(rows @ self.frequencies, dtype=np.float32)
        Z = np.empty((len(phase), self.width), dtype=np.float32)
        half = self.width // 2
        np.cos(phase, out=Z[:, :half])
        np.sin(phase, out=Z[:, half:])
        Z *= np.float32(half**-0.5)
        return Z

    def squared_norms(self, Z: NDArray[np.float32]) -> NDArray[np.float64]:
        """‖z‖² = 1 for each row, by construction."""
        return np.ones(len(Z))


def feature_map(
    kernel: Kernel, X: Any, n_features: int, rng: np.random.RandomState
) -> PlainFeatures | FourierFeatures:
    """About ``n_features`` features, for a linear, rbf or laplacian kernel, of rows like X's."""
    if kernel.name == "linear":
        return PlainFeatures(X.shape[1])
    shape = (X.shape[1], max(1, n_features // 2))
    if kernel.name == "rbf":
        frequencies = rng.standard_normal(shape) * np.sqrt(2 * kernel.gamma)
    else:
        frequencies = rng.standard_cauchy(shape) * kernel.gamma
    center = None if is_sparse(X) else X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    return FourierFeatures(frequencies.astype(X.dtype), center)
