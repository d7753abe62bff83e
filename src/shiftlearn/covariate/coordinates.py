"""The rows as points of an explicit space, and the way back to a function of the user's rows.

The objective is written for rows z with linear scores. It is the same problem, with the same
objective and the same decision values, for

* the rows themselves, or the features of a map;
* dense rows with more columns than rows: coordinates in their span (X = Z Qᵀ, Q orthonormal);
* a kernel: a factor K = R Rᵀ of its matrix over all rows, pivoted Cholesky, whose row for a new x
  is L⁻¹ k(P, x), with P the pivot rows and L the factor's rows there; or, where the kernel is not
  positive semidefinite, the positive part of its spectrum.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh, qr, solve_triangular

from shiftlearn.covariate.rows import ShiftRows
from shiftlearn.features import pivoted_cholesky, resolve_features
from shiftlearn.kernels import Kernel, resolve_kernel
from shiftlearn.machines.base import warn_scales
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.machines.spaces import check_gram
from shiftlearn.resources import memory_budget

__all__ = ["Coordinates", "KernelChart", "LinearChart", "coordinates_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_RESIDUAL = 1e-12
_COARSE = 1e-6  # a factor that leaves more of the trace is an approximation worth a word
_CHECKED_ROWS = 64


@dataclass(frozen=True, slots=True)
class LinearChart:
    """Linear functions of X or of features of X; ``basis`` leads back from the span of the rows."""

    features: Any = None
    basis: Floats | None = None

    def scores(self, weights: Floats, intercept: Floats) -> LinearScores:
        """The functions, one for each row of ``weights``."""
        coef = weights if self.basis is None else weights @ self.basis.T
        return LinearScores(np.ascontiguousarray(coef), intercept, self.features)


@dataclass(frozen=True, slots=True)
class KernelChart:
    """Kernel sums over some rows; ``root`` turns weights into their coefficients."""

    kernel: Kernel
    support: Any
    index: Ints
    root: Floats
    n_columns: int
    triangular: bool

    def scores(self, weights: Floats, intercept: Floats) -> Expansion:
        """The functions, one for each row of ``weights``."""
        if self.triangular:
            coef = solve_triangular(self.root, weights.T, lower=True, trans="T")
        else:
            coef = self.root @ weights.T
        return Expansion(
            self.kernel,
            self.support,
            self.index,
            np.ascontiguousarray(coef),
            intercept,
            n_columns=self.n_columns,
            dtype=np.float64,
        )


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The rows Z, their chart, and what of the trace of K the factor leaves out (0: nothing)."""

    Z: Any
    chart: LinearChart | KernelChart
    residual: float = 0.0


def coordinates_of(estimator: Any, rows: ShiftRows) -> Coordinates:
    """The coordinates that an estimator's ``features``, ``kernel`` and ``solver`` ask for."""
    features = resolve_features(estimator.features, rows.X)
    if features is not None:
        return Coordinates(_float64(features.transform(rows.X)), LinearChart(features))
    if isinstance(estimator.kernel, str) and estimator.kernel == "linear":
        warn_scales(rows.X)
        return _linear(rows.X, estimator.solver == "auto", estimator.memory_limit)
    return _kernel(estimator, rows)


def _float64(Z: Any) -> Any:
    if sparse.issparse(Z):
        return sparse.csr_array(Z)
    return np.ascontiguousarray(Z, dtype=np.float64)


def _linear(X: Any, reduce: bool, memory_limit: int | float | str) -> Coordinates:
    n, d = X.shape
    if sparse.issparse(X):
        return Coordinates(X, LinearChart())
    X = np.ascontiguousarray(X, dtype=np.float64)
    if not (reduce and d > n and 3 * 8 * n * d <= memory_budget(memory_limit)):
        return Coordinates(X, LinearChart())
    basis, triangle = qr(X.T, mode="economic", check_finite=False)
    return Coordinates(np.ascontiguousarray(triangle.T), LinearChart(None, basis))


def _kernel(estimator: Any, rows: ShiftRows) -> Coordinates:
    kernel = resolve_kernel(
        estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0, rows.X
    )
    if kernel.name == "precomputed":
        check_gram(rows.X)
    operator = kernel.operator(rows.X, estimator.n_jobs)
    if not kernel.positive or operator.diagonal().min() < 0:
        return _spectral(estimator, kernel, operator, rows)
    low = pivoted_cholesky(operator, tol=_RESIDUAL, memory_limit=estimator.memory_limit)
    if kernel.name in ("precomputed", "callable") and not _reproduces(operator, low.factor):
        return _spectral(estimator, kernel, operator, rows)
    if low.residual > _COARSE:
        _warn_coarse(low.residual, low.factor.shape[1], len(rows.index))
    lower = np.tril(low.factor[low.pivots])
    chart = _chart(estimator, kernel, rows, low.pivots, lower, triangular=True)
    return Coordinates(low.factor, chart, low.residual)


def _chart(
    estimator: Any, kernel: Kernel, rows: ShiftRows, chosen: Ints, root: Floats, *, triangular: bool
) -> KernelChart:
    support = None if kernel.name == "precomputed" else rows.X[chosen]
    columns = int(estimator.n_features_in_)
    return KernelChart(kernel, support, rows.index[chosen], root, columns, triangular)


def _reproduces(operator: Any, factor: Floats) -> bool:
    """Whether R Rᵀ is K on some rows: it is not where K has negative eigenvalues."""
    n = factor.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, _CHECKED_ROWS)).astype(np.intp))
    block = operator.block(some, None, np.float64)
    away = np.abs(block - factor[some] @ factor.T).max()
    # A residual of trace δ leaves entries of up to δ; a factor cut short by memory is no proof.
    slack = np.einsum("ij,ij->i", factor, factor)
    cut = np.maximum(operator.diagonal() - slack, 0.0).max()
    return bool(away <= cut + 1e-7 * max(np.abs(block).max(), 1e-300))


def _spectral(estimator: Any, kernel: Kernel, operator: Any, rows: ShiftRows) -> Coordinates:
    """The positive part of an indefinite kernel: K U Λ^(-1/2) over its positive eigenvalues."""
    n = len(rows.index)
    values, vectors = eigh(operator.block(np.arange(n), None, np.float64))
    keep = values > _RESIDUAL * max(values[-1], 0.0)
    if not keep.any():
        raise ValueError(
            f"kernel={kernel.name!r} has no positive eigenvalue on these rows; use another kernel."
        )
    root = vectors[:, keep] / np.sqrt(values[keep])
    negative = float(-values[values < 0].sum() / np.abs(values).sum())
    if negative > _COARSE:
        warnings.warn(
            f"The kernel is not positive semidefinite ({negative:.2g} of its spectrum is "
            "negative): its positive part is used.",
            UserWarning,
            stacklevel=5,
        )
    chart = _chart(estimator, kernel, rows, np.arange(n), root, triangular=False)
    return Coordinates(vectors[:, keep] * np.sqrt(values[keep]), chart)


def _warn_coarse(residual: float, rank: int, n: int) -> None:
    warnings.warn(
        f"The factor of the kernel matrix of {n} rows was stopped by memory_limit at rank {rank}; "
        f"it leaves {residual:.2g} of the trace. Raise memory_limit, take a smoother kernel "
        "(smaller gamma), or features=Nystroem(...).",
        UserWarning,
        stacklevel=5,
    )
