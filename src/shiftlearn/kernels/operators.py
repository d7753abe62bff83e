"""Kernel matrices as operators: parts on request, for the solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn import _core
from shiftlearn.kernels.kernel import Kernel, blockwise_product
from shiftlearn.kernels.packing import indices, pack
from shiftlearn.resources import n_threads

__all__ = ["KernelOperator", "MatrixOperator"]

Array = NDArray[Any]
_ENTRIES_PER_CALL = 1 << 26  # kernel values in one compiled call: some 0.1 s


class KernelOperator:
    """K(X, X) for the solvers: rows and products on request, nothing stored but the packed data."""

    def __init__(self, kernel: Kernel, X: Any, n_jobs: int | None = None) -> None:
        self.kernel, self.X = kernel, X
        self.shape = (X.shape[0], X.shape[0])
        self._threads = n_threads(n_jobs)
        self._center = kernel.center(X)
        self._packed: dict[str, Any] = {}

    def diagonal(self) -> NDArray[np.float64]:
        """K(x_i, x_i)."""
        return self.kernel.diagonal(self._data())

    def block(
        self,
        rows: Array,
        columns: Array | None = None,
        dtype: Any = np.float32,
        out: Array | None = None,
    ) -> NDArray[np.floating]:
        """K at ``rows`` x ``columns`` (None: all)."""
        if not self.kernel.compiled:
            right = self.X if columns is None else self.X[columns]
            return self.kernel.block(self.X[rows], right, dtype)
        whole = self._rows(dtype)
        left = whole.take(indices(rows), self._threads)
        right = (
            whole
            if columns is None
            else left
            if columns is rows
            else whole.take(indices(columns), self._threads)
        )
        if out is None:
            out = np.empty((left.n, right.n), dtype=dtype)
        _core.kernel_block(*self.kernel.code(), left, right, out, self._threads)
        return out

    def product(self, rows: Array, coef: Array, dtype: Any = np.float32) -> NDArray[np.float64]:
        """K[:, rows] @ coef."""
        if not self.kernel.compiled:
            return blockwise_product(self.kernel, self.X, self.X[rows], coef, dtype, None)
        if dtype == np.float64:
            return self._exact_product(rows, coef)
        whole, chosen = self._rows(dtype), indices(rows)
        step = max(64, _ENTRIES_PER_CALL // max(1, self.shape[0]))
        out: NDArray[np.float64] = np.zeros((self.shape[0], *np.shape(coef)[1:]))
        for start in range(0, len(chosen), step):  # short calls, so that Ctrl-C is heard
            left = whole.take(chosen[start : start + step], self._threads)
            part = coef[start : start + step]
            out += self.kernel.packed_product(left, whole, part, self._threads)
        return out

    def restrict(self, rows: Array) -> KernelOperator:
        """The operator of these rows alone."""
        part = KernelOperator.__new__(KernelOperator)
        part.kernel, part.shape = self.kernel, (len(rows), len(rows))
        part._threads, part._center = self._threads, self._center
        part.X = self.X[rows] if not self.kernel.compiled else _LazyRows(self.X, rows)
        part._packed = {
            key: packed.take(indices(rows), self._threads) for key, packed in self._packed.items()
        }
        return part

    def _data(self) -> Any:
        return self.X.get() if isinstance(self.X, _LazyRows) else self.X

    def _rows(self, dtype: Any) -> Any:
        key = np.dtype(dtype).name
        if key not in self._packed:
            self._packed[key] = pack(self._data(), dtype, self._center, self._threads)
        return self._packed[key]

    def _exact_product(self, rows: Array, coef: Array) -> NDArray[np.float64]:
        """In float64, a slice of the data at a time: the packed copy is never whole."""
        if "float64" in self._packed:
            whole = self._packed["float64"]
            left = whole.take(indices(rows), self._threads)
            return self.kernel.packed_product(left, whole, coef, self._threads)
        data = self._data()
        left = pack(data[rows], np.float64, self._center, self._threads)
        parts = []
        step = max(64, min(8192, _ENTRIES_PER_CALL // max(1, len(rows))))
        for start in range(0, self.shape[0], step):
            right = pack(data[start : start + step], np.float64, self._center, self._threads)
            parts.append(self.kernel.packed_product(left, right, coef, self._threads))
        return np.concatenate(parts)


class _LazyRows:
    """Rows of a matrix that are copied only if somebody needs them."""

    def __init__(self, X: Any, rows: Array) -> None:
        self._source, self._rows = X, rows

    def get(self) -> Any:
        source = self._source.get() if isinstance(self._source, _LazyRows) else self._source
        return source[self._rows]


_PRODUCT_ROWS = 256  # what is gathered stays in the cache


class MatrixOperator:
    """A dense symmetric matrix as an operator: precomputed kernels and made-up Q."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = np.asarray(matrix)
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of the matrix."""
        return np.array(self.matrix.diagonal(), dtype=np.float64)

    def block(
        self,
        rows: Array,
        columns: Array | None = None,
        dtype: Any = np.float32,
        out: Array | None = None,
    ) -> NDArray[np.floating]:
        """The matrix at ``rows`` x ``columns`` (None: all)."""
        part = self.matrix[rows] if columns is None else self.matrix[np.ix_(rows, columns)]
        if out is None:
            return np.asarray(part, dtype=dtype, order="C")
        out[...] = part
        return out

    def product(self, rows: Array, coef: Array, dtype: Any = np.float32) -> NDArray[np.float64]:
        """matrix[:, rows] @ coef (the matrix is symmetric)."""
        coef = np.asarray(coef, dtype=np.float64)
        single = self.matrix.dtype == np.float32 and np.dtype(dtype) == np.float32
        result: NDArray[np.float64] = np.zeros((self.shape[0], *coef.shape[1:]))
        for start in range(0, len(rows), _PRODUCT_ROWS):
            part = self.matrix[rows[start : start + _PRODUCT_ROWS]]
            factor = coef[start : start + _PRODUCT_ROWS]
            result += part.T @ (factor.astype(np.float32) if single else factor)
        return result

    def restrict(self, rows: Array) -> MatrixOperator:
        """The operator of these rows and columns alone."""
        return MatrixOperator(self.matrix[np.ix_(rows, rows)])
