"""The sums over pairs of rows that all reassignments of the two-sample test are made of.

The problem: for the columns c of C and K the kernel matrix with a zero diagonal, find cᵀKc, cᵀK1
and 1ᵀK1, in memory that does not grow with the square of the rows: K by blocks of rows, or
K = ZZᵀ less its diagonal with explicit features Z, by blocks too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.features import RandomFourier
from shiftlearn.kernels import Kernel
from shiftlearn.shift.rows import is_sparse

__all__ = ["FeatureSums", "KernelSums", "feature_map"]

_FLOAT64_ROWS = 2_000


class KernelSums:
    """cᵀKc, cᵀK1 and 1ᵀK1 for many c, the kernel computed block by block of rows."""

    method = "exact"

    def __init__(self, X: Any, kernel: Kernel, budget: int, n_jobs: int | None) -> None:
        self.X, self.kernel, self.budget, self.n_jobs = X, kernel, budget, n_jobs
        self.n_rows = int(X.shape[0])
        self.dtype: Any = np.float64 if self.n_rows <= _FLOAT64_ROWS else np.float32

    def __call__(
        self, marks: NDArray[np.bool_], share: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return cᵀKc and cᵀK1 for each column c of ``marks - share``, and 1ᵀK1."""
        C = np.subtract(marks, share, dtype=self.dtype)
        a, b, total = np.zeros(C.shape[1]), np.zeros(C.shape[1]), 0.0
        for start, stop in self._blocks(self.n_rows):
            K = self.kernel.block(self.X[start:stop], self.X, self.dtype, self.n_jobs)
            np.fill_diagonal(K[:, start:stop], 0)
            row_sum = K.sum(axis=1, dtype=np.float64)
            a += np.einsum("ij,ij->j", C[start:stop], K @ C, dtype=np.float64)
            b += row_sum @ C[start:stop]
            total += float(row_sum.sum())
        return a, b, total

    def _blocks(self, width: int) -> list[tuple[int, int]]:
        size = int(max(16, self.budget // (4 * 8 * width)))
        return [(i, min(i + size, self.n_rows)) for i in range(0, self.n_rows, size)]


class FeatureSums(KernelSums):
    """The same for K = ZZᵀ: everything follows from ZᵀC, Zᵀ1 and the diagonal."""

    method = "features"

    def __init__(
        self,
        X: Any,
        kernel: Kernel,
        n_features: int,
        budget: int,
        random_state: np.random.RandomState,
    ) -> None:
        self.X, self.budget = X, budget
        self.n_rows = int(X.shape[0])
        self.map, self.width = feature_map(kernel, X, n_features, random_state)

    def __call__(
        self, marks: NDArray[np.bool_], share: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return cᵀKc and cᵀK1 for each column c of ``marks - share``, and 1ᵀK1."""
        count = marks.shape[1]
        ZC, Z1 = np.zeros((self.width, count)), np.zeros(self.width)
        own, own_c, own_cc = 0.0, np.zeros(count), np.zeros(count)  # the diagonal's share
        for start, stop in self._blocks(self.width + count):
            Z = self.map(self.X[start:stop])
            C = np.subtract(marks[start:stop], share, dtype=Z.dtype)
            ZC += Z.T @ C
            Z1 += np.asarray(Z.sum(axis=0, dtype=np.float64)).ravel()
            diagonal = _squared_norms(Z)
            own += float(diagonal.sum())
            own_c += diagonal @ C
            own_cc += diagonal @ C**2
        return (ZC**2).sum(axis=0) - own_cc, Z1 @ ZC - own_c, float(Z1 @ Z1 - own)


def feature_map(
    kernel: Kernel, X: Any, n_features: int, random_state: np.random.RandomState
) -> tuple[Callable[[Any], Any], int]:
    """Features of rows like those of X for a linear, rbf or laplacian kernel, and their number."""
    if kernel.name == "linear":
        return (lambda rows: rows), int(X.shape[1])
    fourier = RandomFourier(
        n_features, kernel=kernel.name, gamma=kernel.gamma, random_state=random_state
    )
    fourier.fit(X[:1].astype(np.float32))
    # A shift changes no kernel value, and the phases of small numbers are exact in float32.
    center = 0.0 if is_sparse(X) else X.mean(axis=0, dtype=np.float64)

    def transform(rows: Any) -> Any:
        moved = rows if is_sparse(rows) else rows - center
        return fourier.transform(moved.astype(np.float32))

    return transform, n_features


def _squared_norms(Z: Any) -> NDArray[np.float64]:
    squares = Z.multiply(Z) if is_sparse(Z) else np.square(Z, dtype=np.float64)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
