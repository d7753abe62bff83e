"""Aligned machines whose metric is known through the kernel: M = I + FFᵀ with few columns F.

    G = zᵀM⁻¹z = zᵀz - (zᵀF) (I + FᵀF)⁻¹ (Fᵀz)

(Sherman, Morrison, Woodbury), so that nothing larger than the Gram matrix of the labelled rows is
needed. In the space of the kernel z_i = φ(x_i) and F = ΦᵀB; in the empirical kernel map z_i = k_i,
a column of K, and F itself has one entry a row. The columns are √(μ(1-λ)π_r) d_r and
√(μλ|e_i|) u_i, with (e_i, u_i) the largest eigenpairs of the scatter term, found by block Lanczos.

Eigenvalues of modulus at most ``cut`` are left out: w keeps too small an objective by no more than
½ μλ cut ‖w_⊥‖², with w_⊥ the part of w outside the kept directions. The certificate says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, eigh, solve_triangular

from shiftlearn.alignment.frames import Scores, expansion
from shiftlearn.alignment.strength import kernel_covariance_size
from shiftlearn.alignment.terms import Contrasts
from shiftlearn.kernels import Kernel, MatrixOperator
from shiftlearn.machines.spaces import KernelSpace, Options, Space
from shiftlearn.resources import memory_budget
from shiftlearn.solvers.operators import LowRankSum

__all__ = ["Columns", "LowRankFrame", "low_rank_frame"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Linear = Callable[[Floats], Floats]

_BLOCK = 64  # vectors that Lanczos moves together
_CONVERGED = 1e-5  # residual of a kept eigenpair, in units of the largest eigenvalue
_NOTHING = 1e-14  # of the square of a block: what is left of it is no new direction
_STORED = 8000  # rows up to which the Gram matrix is stored


@dataclass(frozen=True)
class Columns:
    """F before its scaling by (λ, μ): the mean columns first, then eigenvectors.

    ``coefficients`` (B, or F in the empirical map), ``images`` (FᵀZ at all rows), ``inner`` (FᵀF),
    ``n_means``, ``values`` (|e| of the eigenvectors), ``cut``: what is at most left out.
    """

    coefficients: Floats
    images: Floats
    inner: Floats
    n_means: int
    values: Floats
    cut: float = 0.0

    @property
    def mmd2(self) -> float:
        """Σ_r π_r ‖d_r‖²."""
        return float(np.trace(self.inner[: self.n_means, : self.n_means]))

    @property
    def scatter_trace(self) -> float:
        """The part of tr Σ_r π_r |Δ_r| that is kept."""
        return float(self.values.sum())


@dataclass
class LowRankFrame:
    """Kernel, columns and Gram matrix of the labelled rows."""

    kernel: Kernel
    X: Any
    labelled: Ints
    base: Any
    spread: Linear
    spectrum: Columns
    features: Any = None

    def at(self, balance: float, alignment: float) -> LowRankSpace:
        """The space at λ = ``balance``, μ = ``alignment``."""
        columns = self.spectrum
        squares = np.concatenate(
            [
                np.full(columns.n_means, alignment * (1.0 - balance)),
                alignment * balance * columns.values,
            ]
        )
        scale = np.sqrt(squares)
        inner = np.eye(len(scale)) + scale[:, None] * columns.inner * scale
        lower = cho_factor(inner, lower=True)[0]
        middle = scale[:, None] * solve_triangular(lower, np.eye(len(scale)), lower=True).T
        return LowRankSpace(self, middle, squares, alignment * balance * columns.cut, alignment)

    def covariance_size(self, weights: Floats) -> float:
        """‖Σ‖_F of the labelled rows."""
        return kernel_covariance_size(self.base, weights)


@dataclass
class LowRankSpace:
    """The labelled rows through G = zᵀz - (zᵀF)(I + FᵀF)⁻¹(Fᵀz)."""

    frame: LowRankFrame
    middle: Floats
    squares: Floats
    cut: float
    alignment: float

    @cached_property
    def factor(self) -> Floats:
        """What is taken away from the Gram matrix, as a factor."""
        return np.asarray(self.frame.spectrum.images[self.frame.labelled] @ self.middle)

    def variance(self, weights: Floats) -> float:
        """tr(TᵀΣT)."""
        p = weights / weights.sum()
        return float(p @ self.gram.diagonal() - p @ self.values(p[:, None])[:, 0])

    def space(self, options: Options) -> Space:
        """The Gram matrix, stored where it is small."""
        n = len(self.frame.labelled)
        if n <= _STORED and 8 * n * n <= memory_budget(options.memory_limit) // 2:
            return KernelSpace(Kernel("precomputed"), self._stored)
        return KernelSpace(Kernel("precomputed"), self.gram)

    @cached_property
    def _stored(self) -> MatrixOperator:
        everything = np.arange(len(self.frame.labelled))
        return MatrixOperator(self.gram.block(everything, None, np.float64))

    @cached_property
    def gram(self) -> Any:
        """The operator G."""
        if not self.factor.any():
            return self.frame.base
        return LowRankSum(self.frame.base, self.factor, np.full(self.factor.shape[1], -1.0))

    @property
    def whitened(self) -> Floats | None:
        """There are no coordinates."""
        return None

    def values(self, coef: Floats) -> Floats:
        """F - b at the labelled rows."""
        return np.asarray(self.gram.product(np.arange(len(coef)), coef, np.float64))

    def along(self, coef: Floats) -> Floats:
        """Fᵀw before scaling."""
        columns = self.frame.spectrum
        straight = columns.images[self.frame.labelled].T @ coef
        return np.asarray(straight - columns.inner @ self.middle @ (self.factor.T @ coef))

    def terms(self, coef: Floats) -> tuple[Floats, Floats]:
        """The mean and (kept) scatter terms at the solution."""
        columns = self.frame.spectrum
        squares = self.along(coef) ** 2
        means, rest = squares[: columns.n_means], squares[columns.n_means :]
        return means.sum(axis=0), np.asarray(columns.values @ rest)

    def slack(self, coef: Floats) -> Floats:
        """½ μλ cut ‖w_⊥‖²."""
        if self.cut == 0.0:
            return np.zeros(coef.shape[1])
        squares = self.along(coef) ** 2
        whole = (coef * self.values(coef)).sum(axis=0) - self.squares @ squares
        columns = self.frame.spectrum
        if columns.n_means == 1:  # the directions of one source are orthonormal
            whole = whole - squares[1:].sum(axis=0)
        return np.asarray(0.5 * self.cut * whole.clip(0))

    def scores(self, coef: Floats, intercept: Floats) -> Scores:
        """The decision functions."""
        frame = self.frame
        beta = frame.spread(coef)
        if self.factor.any():
            beta = beta - frame.spectrum.coefficients @ (self.middle @ (self.factor.T @ coef))
        return expansion(frame.kernel, frame.X, beta, intercept, frame.features)


def low_rank_frame(
    kernel: Kernel,
    X: Any,
    labelled: Ints,
    contrasts: Contrasts | None,
    *,
    form: str,
    rank: int,
    scale: Floats | None = None,
    n_jobs: int | None = None,
    features: Any = None,
    random_state: int = 0,
) -> LowRankFrame:
    """Prepare the frame; ``rank`` eigenpairs of the scatter term (0: the mean terms alone).

    ``scale`` multiplies the columns of the empirical kernel map.
    """
    operator = kernel.operator(X, n_jobs)
    multiply = _multiply(kernel, X, operator)
    n_rows = X.shape[0]

    def scattered(coef: Floats) -> Floats:
        out = np.zeros((n_rows, coef.shape[1]))
        out[labelled] = coef
        return out

    if form == "rkhs":
        base = operator.restrict(labelled)
        spread: Linear = scattered
        columns = _kernel_columns(multiply, contrasts, n_rows, rank, random_state)
    else:
        S = np.ones((n_rows, 1)) if scale is None else scale[:, None]
        base = _squared(operator, labelled, S)
        spread = lambda coef: S**2 * multiply(scattered(coef))  # noqa: E731
        columns = _empirical_columns(multiply, contrasts, S, rank, random_state)
    return LowRankFrame(kernel, X, labelled, base, spread, columns, features)


def _multiply(kernel: Kernel, X: Any, operator: Any) -> Linear:
    """V to KV in float64."""
    if kernel.name == "linear":
        Z = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        return lambda V: np.asarray(Z @ (Z.T @ V))
    everything = np.arange(X.shape[0])
    return lambda V: np.asarray(operator.product(everything, V, np.float64))


def _squared(operator: Any, labelled: Ints, S: Floats) -> MatrixOperator:
    """K_lᵀS²K_l: the Gram matrix of the labelled rows in the empirical kernel map."""
    n, total = len(labelled), operator.shape[0]
    out = np.zeros((n, n))
    step = max(256, (1 << 25) // max(1, n))
    for start in range(0, total, step):
        rows = np.arange(start, min(start + step, total))
        block = S[rows] * operator.block(rows, labelled, np.float64)
        out += block.T @ block
    return MatrixOperator(out)


def _kernel_columns(
    multiply: Linear, contrasts: Contrasts | None, n: int, rank: int, seed: int
) -> Columns:
    """Columns F = ΦᵀB in the space of the kernel."""
    means = _mean_coefficients(contrasts, n)
    pairs = _scatter_pairs(
        contrasts, lambda r: lambda V, KV: _scatter(contrasts, r, KV), multiply, n, rank, seed
    )
    coefficients = np.hstack([means, pairs.vectors])
    images = multiply(coefficients) if coefficients.shape[1] else np.zeros((n, 0))
    inner = coefficients.T @ images
    inner = 0.5 * (inner + inner.T)
    return Columns(coefficients, images, inner, means.shape[1], pairs.values, pairs.cut)


def _empirical_columns(
    multiply: Linear, contrasts: Contrasts | None, S: Floats, rank: int, seed: int
) -> Columns:
    """Columns F with one entry a row, in the empirical kernel map with columns scaled by S."""
    n = len(S)
    means = _mean_coefficients(contrasts, n)
    means = S * multiply(means) if means.shape[1] else means
    pairs = _scatter_pairs(
        contrasts, lambda r: lambda V, _: S * multiply(_scatter(contrasts, r, multiply(S * V))),
        None, n, rank, seed,
    )  # fmt: skip
    directions = np.hstack([means, pairs.vectors])
    images = multiply(S * directions) if directions.shape[1] else np.zeros((n, 0))
    inner = directions.T @ directions
    return Columns(S * directions, images, inner, means.shape[1], pairs.values, pairs.cut)


@dataclass(frozen=True)
class _Pairs:
    """Eigenvectors, moduli of the eigenvalues, bound on those left out."""

    vectors: Floats
    values: Floats
    cut: float


def _scatter_pairs(
    contrasts: Contrasts | None,
    step: Callable[[int], Callable[[Floats, Floats], Floats]],
    metric: Linear | None,
    n: int,
    rank: int,
    seed: int,
) -> _Pairs:
    """The largest eigenpairs of each source's scatter term, in parts π_r."""
    if not rank or contrasts is None:
        return _Pairs(np.zeros((n, 0)), np.zeros(0), 0.0)
    found = [_extreme(step(r), metric, n, rank, seed) for r in range(len(contrasts.shares))]
    parts = list(zip(contrasts.shares, found, strict=True))
    return _Pairs(
        np.hstack([pairs.vectors for pairs in found]),
        np.concatenate([share * pairs.values for share, pairs in parts]),
        float(sum(share * pairs.cut for share, pairs in parts)),
    )


def _scatter(contrasts: Contrasts | None, r: int, values: Floats) -> Floats:
    assert contrasts is not None
    return contrasts.scatter(r, values)


def _mean_coefficients(contrasts: Contrasts | None, n: int) -> Floats:
    if contrasts is None:
        return np.zeros((n, 0))
    return np.asarray(np.sqrt(contrasts.shares) * contrasts.weights)


def _extreme(
    step: Callable[[Floats, Floats], Floats], metric: Linear | None, n: int, rank: int, seed: int
) -> _Pairs:
    """The largest eigenpairs by block Lanczos.

    ``step(V, GV)`` is the operator, selfadjoint in the inner product of the ``metric`` G (None: I).
    All vectors are kept and orthogonalised twice, because the whole outer spectrum is wanted.
    """
    width = min(_BLOCK, rank + 8, n)
    most = min(n, 3 * rank + 8 * width)
    V, GV, SV = np.zeros((n, 0)), np.zeros((n, 0)), np.zeros((n, 0))
    block = np.random.default_rng(seed).standard_normal((n, width))
    while V.shape[1] < most:
        block, image = _orthonormal(block, V, GV, metric)
        if not block.shape[1]:
            break
        V, GV = np.hstack([V, block]), np.hstack([GV, image])
        moved = step(block, image)
        SV = np.hstack([SV, moved])
        block = moved
    small = GV.T @ SV
    values, turns = eigh(0.5 * (small + small.T))
    rest = SV[:, -width:] - V @ (GV.T @ SV[:, -width:])
    sizes = _norms(rest, metric, turns[-rest.shape[1] :]) if V.shape[1] < n else 0.0 * values
    kept = np.flatnonzero(sizes <= _CONVERGED * np.abs(values).max())
    kept = kept[np.argsort(-np.abs(values[kept]))][:rank]
    left = np.setdiff1d(np.arange(len(values)), kept)
    cut = float((np.abs(values[left]) + sizes[left]).max(initial=0.0))
    return _Pairs(V @ turns[:, kept], np.abs(values[kept]), cut)


def _orthonormal(
    block: Floats, V: Floats, GV: Floats, metric: Linear | None
) -> tuple[Floats, Floats]:
    """The block made orthonormal to V and in itself, and its image under the metric."""
    for _ in range(2):
        along = GV.T @ block
        block = block - V @ along
        image = block if metric is None else metric(block)
        squares, turns = eigh(block.T @ image)
        size = max(1e-300, float((along**2).sum()) + squares.max(initial=0.0))
        keep = squares > _NOTHING * size
        turns = turns[:, keep] / np.sqrt(squares[keep])
        block, image = block @ turns, image @ turns
    return block, image


def _norms(rest: Floats, metric: Linear | None, turns: Floats) -> Floats:
    """Norms of rest @ turns, column by column."""
    image = rest if metric is None else metric(rest)
    squares = rest.T @ image
    return np.asarray(np.sqrt(np.einsum("ij,ik,kj->j", turns, squares, turns).clip(0)))
