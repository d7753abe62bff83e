"""What a fit leaves for the next one: answers of rows that stay, and their kernel matrix.

After new labels the old rows lead and the new ones follow. The old a, zeros behind it, is feasible
and near the new answer, and the kernel between old rows is what it was: only the new rows' entries
are computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shiftlearn.kernels import MatrixOperator
from shiftlearn.machines.spaces import FeatureSpace, KernelSpace, Options
from shiftlearn.resources import memory_budget

__all__ = ["Kept"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_SPARE = 8  # a kept matrix has room for one eighth more rows


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of a fit, their answers and the space they were solved in.

    ``room`` is a kernel matrix with spare rows, of which ``space`` sees the used part; None where
    no matrix is kept. ``unchanged`` rows lead since the fit whose answers ``alpha`` holds.
    """

    X: Any
    codes: Ints
    space: KernelSpace | FeatureSpace
    room: NDArray[Any] | None = None
    alpha: Floats | None = None
    unchanged: int = 0

    @classmethod
    def after(
        cls,
        former: Kept | None,
        space: KernelSpace | FeatureSpace,
        X: Any,
        codes: Ints,
        options: Options,
    ) -> Kept:
        """What is kept for the rows X, given what the fit before left."""
        unchanged = 0 if former is None else _common(former, X, codes)
        kept = cls(X, codes, space, None, None if former is None else former.alpha, unchanged)
        if isinstance(space, FeatureSpace) or isinstance(space.operator, MatrixOperator):
            return kept
        room = _grown(former, space, unchanged, options)
        if room is None:
            return kept
        n = X.shape[0]
        return replace(
            kept, room=room, space=KernelSpace(space.kernel, MatrixOperator(room[:n, :n]))
        )

    def start(self, shape: tuple[int, int]) -> Floats | None:
        """An a to begin with: the old one where rows are the same, zeros elsewhere."""
        if self.alpha is None or not self.unchanged or self.alpha.shape[1] != shape[1]:
            return None
        start = np.zeros(shape)
        start[: self.unchanged] = self.alpha[: self.unchanged]
        return start


def _common(former: Kept, X: Any, codes: Ints) -> int:
    """How many leading rows are the same, labels included."""
    n = min(former.X.shape[0], X.shape[0])
    if former.X.shape[1] != X.shape[1] or sparse.issparse(X) != sparse.issparse(former.X):
        return 0
    if sparse.issparse(X):
        differs = abs(X[:n] - former.X[:n]).sum(axis=1)
        same = np.asarray(differs).ravel() == 0
    else:
        same = (X[:n] == former.X[:n]).all(axis=1)
    same &= codes[:n] == former.codes[:n]
    return n if same.all() else int(np.argmin(same))


def _grown(
    former: Kept | None, space: KernelSpace, unchanged: int, options: Options
) -> NDArray[Any] | None:
    """The kernel matrix of all rows in a buffer with room; old entries are not computed again."""
    n, dtype = space.operator.shape[0], np.dtype(options.dtype)
    first, room = 0, None
    if former is not None and former.room is not None:
        usable = isinstance(former.space, KernelSpace) and former.space.kernel == space.kernel
        if usable and former.room.dtype == dtype:
            first, room = unchanged, former.room
    if room is None or room.shape[0] < n:
        size = _capacity(n, dtype.itemsize, memory_budget(options.memory_limit) // 2)
        if size is None:
            return None
        larger = np.empty((size, size), dtype=dtype)
        if room is not None:
            larger[:first, :first] = room[:first, :first]
        room = larger
    if first < n:
        fresh = np.arange(first, n)
        block = space.operator.block(fresh, None, options.dtype)
        room[first:n, :n] = block
        room[:first, first:n] = block[:, :first].T
    return room


def _capacity(n: int, itemsize: int, budget: int) -> int | None:
    """Rows to make room for: some more than n, exactly n, or none."""
    for size in (n + n // _SPARE + 64, n):
        if size * size * itemsize <= budget:
            return size
    return None
