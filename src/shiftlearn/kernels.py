"""Kernels: the one place that computes k(x, z), its blocks, products, diagonal and gradients.

============  =====================================  ==========================================
name          k(x, z)                                gradient with respect to x
============  =====================================  ==========================================
linear        xᵀz                                    z
rbf           exp(-γ |x - z|²)                       2γ (z - x) k
poly          (γ xᵀz + c0)^p                         pγ (γ xᵀz + c0)^(p-1) z
sigmoid       tanh(γ xᵀz + c0)                       γ (1 - k²) z
laplacian     exp(-γ |x - z|₁)                       γ sign(z - x) k
precomputed   the given matrix                       none
a callable    function(X, Z)                         its ``gradient(Z, x)``, else differences
============  =====================================  ==========================================

Named kernels are computed in tiles by the compiled core: the product of a tile, the kernel
function and, where a product with coefficients is wanted, the sum over it, while the tile is in
registers. Dense data of translation-invariant kernels are centred first, because |x|² + |z|² - 2xᵀz
cancels badly far from the origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn import _core
from shiftlearn.resources import n_threads

__all__ = ["Kernel", "KernelOperator", "MatrixOperator", "resolve_kernel"]

Array = NDArray[Any]
_CODES = {"linear": 0, "rbf": 1, "poly": 2, "sigmoid": 3, "laplacian": 4}
_TRANSLATION_INVARIANT = ("rbf", "laplacian")
_ENTRIES_PER_CALL = 1 << 26  # kernel values in one compiled call: some 0.1 s
_POSITIVE = ("linear", "rbf", "laplacian")


@dataclass(frozen=True)
class Kernel:
    """A kernel with all its parameters resolved to numbers."""

    name: str
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0
    function: Callable[..., ArrayLike] | None = None

    @property
    def positive(self) -> bool:
        """Whether the kernel is known to be positive semidefinite (a callable is taken to be)."""
        if self.name == "poly":
            return self.coef0 >= 0 and float(self.degree).is_integer() and self.gamma >= 0
        return self.name in _POSITIVE or self.name in ("callable", "precomputed")

    @property
    def compiled(self) -> bool:
        """Whether the compiled core computes this kernel."""
        return self.name in _CODES and (self.name != "poly" or float(self.degree).is_integer())

    def block(
        self, A: Any, B: Any, dtype: Any = np.float32, n_jobs: int | None = None
    ) -> NDArray[np.floating]:
        """k(a, b) for all rows of A and B, an array of shape (len(A), len(B))."""
        if not self.compiled:
            return self._plain_block(A, B, dtype, n_jobs)
        threads = n_threads(n_jobs)
        center = self.center(B)
        left, right = pack(A, dtype, center, threads), pack(B, dtype, center, threads)
        return self._packed_block(left, right, dtype, threads)

    def product(
        self, A: Any, B: Any, coef: Array, dtype: Any = np.float32, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """K(A, B) @ coef without storing the block; ``coef`` has shape (len(B),) or (len(B), c)."""
        if not self.compiled:
            return _blockwise_product(self, A, B, coef, dtype, n_jobs)
        threads = n_threads(n_jobs)
        center = self.center(B)
        left, right = pack(B, dtype, center, threads), pack(A, dtype, center, threads)
        return self._packed_product(left, right, coef, threads)

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """k(x, x) for each row of X (for "precomputed": the diagonal of the square matrix X)."""
        if self.name in _TRANSLATION_INVARIANT:
            return np.ones(X.shape[0])
        if self.name == "precomputed":
            return np.array(X.diagonal(), dtype=np.float64)
        if self.name == "callable":
            return np.array(
                [
                    float(np.squeeze(self._call(X[i : i + 1], X[i : i + 1])))
                    for i in range(X.shape[0])
                ]
            )
        return self._of_product(_squared_norms(X))

    def gradient(self, Z: Any, x: Array) -> NDArray[np.float64]:
        """∇ₓ k(z, x) for each row z of Z at one point x, an array of shape (len(Z), d)."""
        rows = _dense(Z)
        point = np.asarray(x, dtype=np.float64).reshape(1, -1)
        return np.stack([self.weighted_gradient(np.eye(1), z[None, :], point)[0] for z in rows])

    def weighted_gradient(
        self, coef: Array, Z: Any, X: Any, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """u_i = Σ_j coef_ij ∇ₓ k(z_j, x) at x = x_i, an array of shape (len(X), d).

        ``coef`` has shape (len(X), len(Z)). One matrix product of that size, except for laplacian.
        """
        coef = np.asarray(coef, dtype=np.float64)
        if self.name == "precomputed":
            raise ValueError(
                'kernel="precomputed" has no gradient: the rows themselves are not known.'
            )
        if self.name == "callable":
            return self._callable_gradient(coef, _dense(Z), _dense(X))
        if self.name == "linear":
            return _dense_product(coef, Z)
        if self.name == "laplacian":
            return self._laplacian_gradient(coef * self.block(X, Z, np.float64, n_jobs), Z, X)
        values = self.block(X, Z, np.float64, n_jobs)
        if self.name == "rbf":
            weights = coef * values
            own = _dense(X) * weights.sum(axis=1)[:, None]
            return np.asarray(2 * self.gamma * (_dense_product(weights, Z) - own))
        if self.name == "sigmoid":
            return _dense_product(coef * (self.gamma * (1 - values**2)), Z)
        inner = self.gamma * Kernel("linear").block(X, Z, np.float64, n_jobs) + self.coef0
        return _dense_product(coef * (self.degree * self.gamma * inner ** (self.degree - 1)), Z)

    def operator(self, X: Any, n_jobs: int | None = None) -> KernelOperator | MatrixOperator:
        """K(X, X) as rows on request, for the solvers."""
        if self.name == "precomputed":
            return MatrixOperator(X)
        return KernelOperator(self, X, n_jobs)

    def center(self, X: Any) -> NDArray[np.float64] | None:
        """The point that dense rows are moved to the origin by, None where it does not matter."""
        if self.name not in _TRANSLATION_INVARIANT or not isinstance(X, np.ndarray) or not len(X):
            return None
        mean: NDArray[np.float64] = X.mean(axis=0, dtype=np.float64)
        return mean

    def _packed_block(
        self, left: Any, right: Any, dtype: Any, threads: int
    ) -> NDArray[np.floating]:
        out = np.empty((left.n, right.n), dtype=dtype)
        _core.kernel_block(*self._code(), left, right, out, threads)
        return out

    def _packed_product(
        self, left: Any, right: Any, coef: Array, threads: int
    ) -> NDArray[np.float64]:
        weights = np.ascontiguousarray(coef, dtype=np.float64).reshape(left.n, -1)
        out = np.zeros((weights.shape[1], right.n))
        _core.kernel_apply(*self._code(), left, weights, right, out, threads)
        return out[0] if np.ndim(coef) == 1 else out.T

    def _code(self) -> tuple[int, float, float, int]:
        return _CODES[self.name], float(self.gamma), float(self.coef0), int(self.degree)

    def _plain_block(self, A: Any, B: Any, dtype: Any, n_jobs: int | None) -> NDArray[np.floating]:
        if self.name == "poly":  # a fractional degree
            inner = Kernel("linear").block(A, B, dtype, n_jobs)
            return np.asarray((self.gamma * inner + self.coef0) ** self.degree, dtype=dtype)
        if self.name == "precomputed":
            raise ValueError('kernel="precomputed" has no blocks between rows; use operator().')
        values: NDArray[np.floating] = np.asarray(self._call(A, B))
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for "
                f"{A.shape[0]} and {B.shape[0]} rows; {(A.shape[0], B.shape[0])} is needed."
            )
        return values.astype(dtype, copy=False)

    def _call(self, A: Any, B: Any) -> ArrayLike:
        assert self.function is not None
        return self.function(A, B)

    def _of_product(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.name == "linear":
            return s
        t = self.gamma * s + self.coef0
        return np.asarray(t**self.degree if self.name == "poly" else np.tanh(t))

    def _laplacian_gradient(self, weights: Array, Z: Any, X: Any) -> NDArray[np.float64]:
        points, rows = _dense(X), _dense(Z)
        out = np.empty(points.shape)
        for k in range(points.shape[1]):  # feature by feature: no n x m x d array
            signs = np.sign(rows[None, :, k] - points[:, k, None])
            out[:, k] = self.gamma * np.einsum("ij,ij->i", weights, signs)
        return out

    def _callable_gradient(self, coef: Array, Z: Array, X: Array) -> NDArray[np.float64]:
        exact = getattr(self.function, "gradient", None)
        if exact is not None:
            return np.stack([c @ np.asarray(exact(Z, x)) for c, x in zip(coef, X, strict=True)])
        out = np.empty(X.shape)
        for k in range(X.shape[1]):
            step = 6e-6 * np.maximum(1.0, np.abs(X[:, k]))
            ahead, behind = X.copy(), X.copy()
            ahead[:, k] += step
            behind[:, k] -= step
            change = np.asarray(self._call(ahead, Z)) - np.asarray(self._call(behind, Z))
            out[:, k] = np.einsum("ij,ij->i", coef, change) / (2 * step)
        return out


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
        return self.kernel.diagonal(self.X)

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
        left = whole.take(_indices(rows), self._threads)
        right = (
            whole
            if columns is None
            else left
            if columns is rows
            else whole.take(_indices(columns), self._threads)
        )
        if out is None:
            out = np.empty((left.n, right.n), dtype=dtype)
        _core.kernel_block(*self.kernel._code(), left, right, out, self._threads)
        return out

    def product(self, rows: Array, coef: Array, dtype: Any = np.float32) -> NDArray[np.float64]:
        """K[:, rows] @ coef."""
        if not self.kernel.compiled:
            return _blockwise_product(self.kernel, self.X, self.X[rows], coef, dtype, None)
        if dtype == np.float64:
            return self._exact_product(rows, coef)
        whole, indices = self._rows(dtype), _indices(rows)
        step = max(64, _ENTRIES_PER_CALL // max(1, self.shape[0]))
        out: NDArray[np.float64] = np.zeros((self.shape[0], *np.shape(coef)[1:]))
        for start in range(0, len(indices), step):  # short calls, so that Ctrl-C is heard
            left = whole.take(indices[start : start + step], self._threads)
            part = coef[start : start + step]
            out += self.kernel._packed_product(left, whole, part, self._threads)
        return out

    def restrict(self, rows: Array) -> KernelOperator:
        """The operator of these rows alone."""
        part = KernelOperator.__new__(KernelOperator)
        part.kernel, part.shape = self.kernel, (len(rows), len(rows))
        part._threads, part._center = self._threads, self._center
        part.X = self.X[rows] if not self.kernel.compiled else _LazyRows(self.X, rows)
        part._packed = {
            key: packed.take(_indices(rows), self._threads) for key, packed in self._packed.items()
        }
        return part

    def _rows(self, dtype: Any) -> Any:
        key = np.dtype(dtype).name
        if key not in self._packed:
            data = self.X.get() if isinstance(self.X, _LazyRows) else self.X
            self._packed[key] = pack(data, dtype, self._center, self._threads)
        return self._packed[key]

    def _exact_product(self, rows: Array, coef: Array) -> NDArray[np.float64]:
        """In float64, a slice of the data at a time: the packed copy is never whole."""
        if "float64" in self._packed:
            whole = self._packed["float64"]
            left = whole.take(_indices(rows), self._threads)
            return self.kernel._packed_product(left, whole, coef, self._threads)
        data = self.X.get() if isinstance(self.X, _LazyRows) else self.X
        left = pack(data[rows], np.float64, self._center, self._threads)
        parts = []
        step = max(64, min(8192, _ENTRIES_PER_CALL // max(1, len(rows))))
        for start in range(0, self.shape[0], step):
            right = pack(data[start : start + step], np.float64, self._center, self._threads)
            parts.append(self.kernel._packed_product(left, right, coef, self._threads))
        return np.concatenate(parts)


class _LazyRows:
    """Rows of a matrix that are copied only if somebody needs them."""

    def __init__(self, X: Any, rows: Array) -> None:
        self._source, self._rows = X, rows

    def get(self) -> Any:
        source = self._source.get() if isinstance(self._source, _LazyRows) else self._source
        return source[self._rows]


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
        result: NDArray[np.float64] = np.zeros((self.shape[0], *np.shape(coef)[1:]))
        for start in range(0, len(rows), 1024):
            part = self.matrix[rows[start : start + 1024]]
            result += part.T @ np.asarray(coef[start : start + 1024], dtype=np.float64)
        return result

    def restrict(self, rows: Array) -> MatrixOperator:
        """The operator of these rows and columns alone."""
        return MatrixOperator(self.matrix[np.ix_(rows, rows)])


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
    if kernel not in _CODES:
        names = ", ".join(repr(name) for name in [*_CODES, "precomputed"])
        raise ValueError(f"kernel must be one of {names} or a callable, got {kernel!r}.")
    if kernel == "linear":
        return Kernel("linear")
    if kernel == "poly" and not degree >= 0:
        raise ValueError(f"degree must be non-negative, got {degree!r}.")
    return Kernel(kernel, gamma=_resolve_gamma(gamma, X), degree=degree, coef0=float(coef0))


def _resolve_gamma(gamma: Any, X: Any) -> float:
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        if gamma != "scale":
            raise ValueError(f'gamma must be "scale", "auto" or a number, got {gamma!r}.')
        variance = _variance(X)
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    if not (isinstance(gamma, int | float | np.number) and gamma >= 0 and np.isfinite(gamma)):
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


def pack(X: Any, dtype: Any, center: Array | None, threads: int) -> Any:
    """Rows in the form the compiled tiles read, float32 or float64, moved by ``center``."""
    make = _core.pack32 if np.dtype(dtype) == np.float32 else _core.pack64
    if isinstance(X, np.ndarray):
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        return make(X, center, threads)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if X.data.dtype in (np.float32, np.float64) else X.data.astype(np.float64)
    return make(values, X.indices, X.indptr, X.shape[1])


def _blockwise_product(
    kernel: Kernel, A: Any, B: Any, coef: Array, dtype: Any, n_jobs: int | None
) -> NDArray[np.float64]:
    rows = max(1, (1 << 22) // max(1, B.shape[0]))
    parts = [
        kernel.block(A[start : start + rows], B, dtype, n_jobs) @ np.asarray(coef, dtype=np.float64)
        for start in range(0, A.shape[0], rows)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, *np.shape(coef)[1:]))


def _indices(rows: Array) -> NDArray[np.int64]:
    return np.ascontiguousarray(rows, dtype=np.int64)


def _squared_norms(X: Any) -> NDArray[np.float64]:
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    squares = X.multiply(X).sum(axis=1)
    return np.asarray(squares, dtype=np.float64).ravel()


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _dense_product(weights: Array, Z: Any) -> NDArray[np.float64]:
    return np.asarray((Z.T @ weights.T).T if hasattr(Z, "toarray") else weights @ Z)
