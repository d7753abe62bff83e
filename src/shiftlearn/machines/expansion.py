"""Decision functions: sums of kernels over support vectors, or linear functions of features.

    f_k(x) = Σ_j coef_jk k(s_j, x) + b_k        or        f_k(x) = wₖᵀ z(x) + b_k

One-vs-one machines keep their support vectors by class: a support vector takes part in the
problems of its own class only, so that m - 1 of the m (m - 1) / 2 sums need it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shiftlearn.kernels import Kernel
from shiftlearn.machines.multiclass import pairwise_scores

__all__ = ["Expansion", "LinearScores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_BLOCK_ENTRIES = 1 << 26  # kernel values between two looks at Ctrl-C
_FILLED_ENTRIES = 1 << 22  # sparse rows for dense support vectors are filled in at this size


@dataclass(frozen=True, slots=True)
class Expansion:
    """Kernel sums over support vectors, all problems at once.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with numbers for its parameters.
    support : ndarray, CSR or None
        The support vectors; None for a precomputed kernel.
    index : ndarray of int
        Their positions in the X of ``fit``.
    coef : ndarray of shape (n_support, c)
        Coefficients, c = n_classes - 1 where ``starts`` is given.
    intercept : ndarray of shape (n_problems,)
        b.
    starts : ndarray of shape (n_classes + 1,) or None
        One-vs-one: where the support vectors of each class begin.
    n_columns : int
        Rows of the X of ``fit``: the columns of a full precomputed matrix.
    dtype : type
        Precision of the kernel values; sums are float64.
    """

    kernel: Kernel
    support: Any
    index: Ints
    coef: Floats
    intercept: Floats
    starts: Ints | None = None
    n_columns: int = 0
    dtype: type = np.float32

    def values(self, X: Any, n_jobs: int | None = None) -> Floats:
        """Decision values at the rows of X, one column for each problem."""
        if self.kernel.name == "precomputed":
            X = self._own_columns(X)
        if self.starts is None:
            return np.asarray(self._sum(X, slice(None), n_jobs) + self.intercept)
        ends = zip(self.starts[:-1], self.starts[1:], strict=True)
        parts = [self._sum(X, slice(int(a), int(b)), n_jobs) for a, b in ends]
        return np.asarray(pairwise_scores(parts) + self.intercept)

    def _sum(self, X: Any, part: slice, n_jobs: int | None) -> Floats:
        coef = self.coef[part]
        if not coef.shape[0]:
            return np.zeros((X.shape[0], coef.shape[1]))
        if self.kernel.name == "precomputed":
            return np.asarray(X[:, part] @ coef)
        support = self.support[part]
        blocks = [
            self.kernel.product(block, support, coef, self.dtype, n_jobs)
            for block in _same_kind(X, support)
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _own_columns(self, X: Any) -> Any:
        """The support columns of a precomputed matrix, from all columns or from these alone."""
        if X.shape[1] == len(self.index) != self.n_columns:  # given in ascending order
            return X[:, np.argsort(np.argsort(self.index))]
        return X[:, self.index]


def _same_kind(X: Any, support: Any) -> Iterable[Any]:
    """X in blocks that are short to work on, each dense or CSR like the support vectors."""
    fill = sparse.issparse(X) and not sparse.issparse(support)
    thin = sparse.issparse(support) and not sparse.issparse(X)
    rows = max(64, _BLOCK_ENTRIES // max(1, support.shape[0]))
    if fill:
        rows = min(rows, max(1, _FILLED_ENTRIES // max(1, X.shape[1])))
    if rows >= X.shape[0] and not (fill or thin):
        return [X]
    blocks = [X[start : start + rows] for start in range(0, max(1, X.shape[0]), rows)]
    if fill:
        return (block.toarray() for block in blocks)
    return [sparse.csr_array(block) for block in blocks] if thin else blocks


@dataclass(frozen=True, slots=True)
class LinearScores:
    """Linear functions of X, or of a fitted feature map of X."""

    coef: Floats
    intercept: Floats
    features: Any = None

    def values(self, X: Any, n_jobs: int | None = None) -> Floats:
        """Decision values at the rows of X, one column for each problem."""
        Z = X if self.features is None else self.features.transform(X)
        scores = Z @ self.coef.T
        dense = scores.toarray() if sparse.issparse(scores) else scores
        return np.asarray(dense + self.intercept, dtype=np.float64)
