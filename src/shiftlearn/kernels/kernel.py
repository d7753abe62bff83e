"""A kernel with its parameters: values, products, diagonal and gradients, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn import _core
from shiftlearn.kernels.packing import dense, dense_product, pack, same_form, squared_norms
from shiftlearn.resources import n_threads

if TYPE_CHECKING:
    from shiftlearn.kernels.operators import KernelOperator, MatrixOperator

__all__ = ["CODES", "Kernel", "blockwise_product"]

Array = NDArray[Any]
CODES = {"linear": 0, "rbf": 1, "poly": 2, "sigmoid": 3, "laplacian": 4}
_TRANSLATION_INVARIANT = ("rbf", "laplacian")
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
        return self.name in CODES and (self.name != "poly" or float(self.degree).is_integer())

    def block(
        self, A: Any, B: Any, dtype: Any = np.float32, n_jobs: int | None = None
    ) -> NDArray[np.floating]:
        """k(a, b) for all rows of A and B, an array of shape (len(A), len(B))."""
        if not self.compiled:
            return self._plain_block(A, B, dtype, n_jobs)
        if not (A.shape[0] and B.shape[0]):
            return np.zeros((A.shape[0], B.shape[0]), dtype=dtype)
        A, B, threads = *same_form(A, B), n_threads(n_jobs)
        center = self.center(B)
        left, right = pack(A, dtype, center, threads), pack(B, dtype, center, threads)
        return self._packed_block(left, right, dtype, threads)

    def product(
        self, A: Any, B: Any, coef: Array, dtype: Any = np.float32, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """K(A, B) @ coef without storing the block; ``coef`` has shape (len(B),) or (len(B), c)."""
        if not self.compiled:
            return blockwise_product(self, A, B, coef, dtype, n_jobs)
        if not (A.shape[0] and B.shape[0]):
            return np.zeros((A.shape[0], *np.shape(coef)[1:]))
        A, B, threads = *same_form(A, B), n_threads(n_jobs)
        center = self.center(B)
        left, right = pack(B, dtype, center, threads), pack(A, dtype, center, threads)
        return self.packed_product(left, right, coef, threads)

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """k(x, x) for each row of X (for "precomputed": the diagonal of the square matrix X)."""
        if self.name in _TRANSLATION_INVARIANT:
            return np.ones(X.shape[0])
        if self.name == "precomputed":
            return np.array(X.diagonal(), dtype=np.float64)
        if self.name == "callable":
            return np.array(
                [
                    float(self._called_block(X[i : i + 1], X[i : i + 1])[0, 0])
                    for i in range(X.shape[0])
                ]
            )
        return self._of_product(squared_norms(X))

    def gradient(self, Z: Any, x: Array) -> NDArray[np.float64]:
        """∇ₓ k(z, x) for each row z of Z at one point x, an array of shape (len(Z), d)."""
        rows = dense(Z)
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
            return self._callable_gradient(coef, dense(Z), dense(X))
        if self.name == "linear":
            return dense_product(coef, Z)
        if self.name == "laplacian":
            return self._laplacian_gradient(coef * self.block(X, Z, np.float64, n_jobs), Z, X)
        values = self.block(X, Z, np.float64, n_jobs)
        if self.name == "rbf":
            weights = coef * self.slopes(values, values)
            own = dense(X) * weights.sum(axis=1)[:, None]
            return np.asarray(dense_product(weights, Z) - own)
        products = Kernel("linear").block(X, Z, np.float64, n_jobs)
        return dense_product(coef * self.slopes(values, products), Z)

    @property
    def of_products(self) -> bool:
        """Whether k(x, z) follows from xᵀz, |x|² and |z|² alone."""
        return self.name in ("linear", "rbf", "poly", "sigmoid")

    def from_products(self, products: Array, left: Array, right: Array) -> NDArray[np.float64]:
        """k(x_i, z_j) from xᵀz (may be written over), |x_i|² and |z_j|²."""
        if self.name != "rbf":
            return self._of_product(products)
        products *= 2.0
        products -= left[:, None]
        products -= right[None, :]
        products *= self.gamma
        return np.asarray(np.exp(np.minimum(products, 0.0, out=products), out=products))

    def slopes(self, values: Array, products: Array) -> NDArray[np.float64]:
        """The numbers s in ∇ₓ k(z, x) = s z (rbf: s (z - x)), from k and xᵀz."""
        if self.name == "rbf":
            return np.asarray(2 * self.gamma * values)
        if self.name == "poly":
            inner = self.gamma * products + self.coef0
            return np.asarray(self.degree * self.gamma * inner ** (self.degree - 1))
        if self.name == "sigmoid":
            return np.asarray(self.gamma * (1 - values**2))
        return np.ones_like(values)

    def operator(self, X: Any, n_jobs: int | None = None) -> KernelOperator | MatrixOperator:
        """K(X, X) as rows on request, for the solvers."""
        from shiftlearn.kernels.operators import KernelOperator, MatrixOperator

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
        _core.kernel_block(*self.code(), left, right, out, threads)
        return out

    def packed_product(
        self, left: Any, right: Any, coef: Array, threads: int
    ) -> NDArray[np.float64]:
        """K(right, left) @ coef of packed rows."""
        weights = np.ascontiguousarray(coef, dtype=np.float64).reshape(left.n, -1)
        out = np.zeros((weights.shape[1], right.n))
        _core.kernel_apply(*self.code(), left, weights, right, out, threads)
        return out[0] if np.ndim(coef) == 1 else out.T

    def code(self) -> tuple[int, float, float, int]:
        """Name and parameters as the compiled core takes them."""
        return CODES[self.name], float(self.gamma), float(self.coef0), int(self.degree)

    def _plain_block(self, A: Any, B: Any, dtype: Any, n_jobs: int | None) -> NDArray[np.floating]:
        if self.name == "poly":  # a fractional degree
            inner = Kernel("linear").block(A, B, dtype, n_jobs)
            return np.asarray(self._power(self.gamma * inner + self.coef0), dtype=dtype)
        if self.name == "precomputed":
            raise ValueError('kernel="precomputed" has no blocks between rows; use operator().')
        return self._called_block(A, B).astype(dtype, copy=False)

    def _called_block(self, A: Any, B: Any) -> NDArray[np.floating]:
        """What the user's function returns for two sets of rows, checked."""
        values: NDArray[np.floating] = np.asarray(self._call(A, B))
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for "
                f"{A.shape[0]} and {B.shape[0]} rows; {(A.shape[0], B.shape[0])} is needed."
            )
        if not np.isfinite(values).all():
            raise ValueError("the kernel function returned NaN or infinity.")
        return values

    def _call(self, A: Any, B: Any) -> ArrayLike:
        assert self.function is not None
        return self.function(A, B)

    def _of_product(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.name == "linear":
            return s
        t = self.gamma * s + self.coef0
        return self._power(t) if self.name == "poly" else np.asarray(np.tanh(t))

    def _power(self, t: NDArray[Any]) -> NDArray[Any]:
        """``t`` to the degree, which is a real number where the degree is whole or t >= 0."""
        if not float(self.degree).is_integer() and t.size and t.min() < 0:
            raise ValueError(
                f"degree={self.degree!r} is not whole, so gamma * <x, z> + coef0 must not be "
                f"negative for any two rows, but it falls to {t.min():.3g}; use a whole degree or "
                "raise coef0."
            )
        return np.asarray(t**self.degree)

    def _laplacian_gradient(self, weights: Array, Z: Any, X: Any) -> NDArray[np.float64]:
        points, rows = dense(X), dense(Z)
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


def blockwise_product(
    kernel: Kernel, A: Any, B: Any, coef: Array, dtype: Any, n_jobs: int | None
) -> NDArray[np.float64]:
    """K(A, B) @ coef from blocks of some rows, for kernels that the core does not know."""
    rows = max(1, (1 << 22) // max(1, B.shape[0]))
    parts = [
        kernel.block(A[start : start + rows], B, dtype, n_jobs) @ np.asarray(coef, dtype=np.float64)
        for start in range(0, A.shape[0], rows)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, *np.shape(coef)[1:]))
