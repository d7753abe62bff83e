"""Corrected rows that are combinations of the observed ones: nothing but inner products is needed.

A gradient of a kernel of xᵀz is a combination of x and the support rows, so that every corrected
row stays in the span of the data,

    x̄_i = a_i x_i + Σ_b B_ib x_b,

with b over the rows that were support vectors in some round. All kernels then follow from XXᵀ:
sparse rows with more columns than rows are never filled in, and a round costs products of order n.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.kernels import Kernel
from shiftlearn.machines.expansion import Expansion
from shiftlearn.oneclass.inner import Inner, dense_rows
from shiftlearn.oneclass.rows import Frame, Model, Pull

__all__ = ["Span", "SpanScores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_VANISHED = 1e-7  # a length comes from its square here: where u cancels, half the digits are left
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Span:
    """Rows a x + B X[basis]; ``cross`` is X X[basis]ᵀ."""

    kernel: Kernel
    inner: Inner
    frame: Frame
    scale: Floats
    basis: Ints
    mix: Floats
    cross: Floats
    norms: Floats

    @classmethod
    def of(cls, kernel: Kernel, X: Any, frame: Frame) -> Span:
        """The rows where they were observed."""
        inner = Inner(X, frame.n_jobs, frame.memory_limit, store=True)
        return cls.observed(kernel, inner, frame)

    @classmethod
    def observed(cls, kernel: Kernel, inner: Inner, frame: Frame) -> Span:
        """The same from inner products that are known."""
        n, none = len(inner.norms), np.zeros((len(inner.norms), 0))
        return cls(kernel, inner, frame, np.ones(n), np.zeros(0, np.intp), none, none, inner.norms)

    @property
    def positive(self) -> bool:
        """That of the kernel."""
        return self.kernel.positive

    def operator(self) -> SpanOperator:
        """K of the corrected rows."""
        return SpanOperator(self)

    def products(self, rows: Ints, columns: Ints | None) -> Floats:
        """x̄_i · x̄_j for ``rows`` × ``columns`` (None: all)."""
        right: Any = slice(None) if columns is None else columns
        out = self.inner.block(rows, columns)
        if not len(self.basis):
            return out
        out *= self.scale[rows, None]
        out *= self.scale[right]
        square = self.cross[self.basis]
        left = self.scale[rows, None] * self.cross[rows] + self.mix[rows] @ square
        out += left @ self.mix[right].T
        out += self.mix[rows] @ (self.scale[right, None] * self.cross[right]).T
        return out

    def observed_products(self, rows: slice | Ints, columns: Ints) -> Floats:
        """x_i · x̄_j."""
        chosen = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        out = self.inner.block(chosen, columns)
        if len(self.basis):
            out *= self.scale[columns]
            out += self.cross[rows] @ self.mix[columns].T
        return out

    def pull(self, model: Model) -> Pull:
        """u_i = Σ_j W_ij x̄_j - own_i x_i, as W and own."""
        support, n = model.support, len(self.scale)
        weights, own, norms = np.empty((n, len(support))), np.zeros(n), np.empty(n)
        square, sizes = self.products(support, support), np.sqrt(self.norms[support])
        for task, rows in self.frame.chunks(2 * len(support)):
            products = self.observed_products(rows, support)
            W = self._slopes(products, rows, support) * model.coef[task]
            weights[rows] = W
            own[rows] = W.sum(axis=1) if self.kernel.name == "rbf" else 0.0
            norms[rows] = self._lengths(W, own[rows], products, rows, square, sizes)
        return Pull(norms, (support, weights, own))

    def moved(self, pull: Pull, lengths: Floats) -> Span:
        """The rows at their observed places plus ``lengths`` along the pull."""
        support, weights, own = pull.parts
        steps = pull.steps(lengths)
        basis = np.union1d(self.basis, support)
        W = steps[:, None] * weights
        mix = np.zeros((len(steps), len(basis)))
        mix[:, np.searchsorted(basis, support)] = W * self.scale[support]
        mix[:, np.searchsorted(basis, self.basis)] += W @ self.mix[support]
        return self._at(1.0 - steps * own, basis, mix)

    def keeping(self, old: Span, keep: NDArray[np.bool_]) -> Span:
        """These rows, but where ``keep`` says so those of ``old``; this basis holds the old one."""
        before = np.zeros_like(self.mix)
        before[:, np.searchsorted(self.basis, old.basis)] = old.mix
        mix = np.where(keep[:, None], before, self.mix)
        return self._at(np.where(keep, old.scale, self.scale), self.basis, mix)

    def observed_scores(self, model: Model) -> Floats:
        """Each row's own score at its observed place."""
        scores = np.empty(len(self.scale))
        for task, rows in self.frame.chunks(2 * len(model.support)):
            scores[rows] = self.observed_values(rows, model.support) @ model.coef[task]
        return scores

    def observed_values(self, rows: slice | Ints, support: Ints) -> Floats:
        """k(x_i, x̄_j)."""
        products = self.observed_products(rows, support)
        return self.kernel.from_products(products, self.inner.norms[rows], self.norms[support])

    def scores_at(self, model: Model, other: Span) -> Floats:
        """The same at the corrected places of ``other``, whose basis holds this one."""
        scores, support = np.empty(len(self.scale)), model.support
        own = np.zeros((len(support), len(other.basis)))
        own[:, np.searchsorted(other.basis, self.basis)] = self.mix[support]
        square = other.cross[other.basis]
        for task, rows in self.frame.chunks(2 * len(support)):
            out = self.inner.block(np.arange(rows.start, rows.stop), support)
            out *= other.scale[rows, None] * self.scale[support]
            left = other.scale[rows, None] * other.cross[rows] + other.mix[rows] @ square
            out += left @ own.T
            out += other.mix[rows] @ (self.scale[support, None] * other.cross[support]).T
            values = self.kernel.from_products(out, other.norms[rows], self.norms[support])
            scores[rows] = values @ model.coef[task]
        return scores

    def scorer(self, model: Model) -> Any:
        """The decision function of all tasks."""
        coef, none = np.ascontiguousarray(model.coef.T), np.zeros(len(model.coef))
        if isinstance(self.inner.X, np.ndarray):
            index = self.frame.tasks.index[model.support]
            return Expansion(
                self.kernel, self.support(model.support), index, coef, none, dtype=self.frame.dtype
            )
        used, weights = self._combination(model.support)
        return SpanScores(self.kernel, self.inner.X[used], weights, self.norms[model.support], coef)

    def support(self, rows: Ints) -> Any:
        """The corrected rows ``rows``: dense where the observed ones are, else sparse."""
        used, weights = self._combination(rows)
        if isinstance(self.inner.X, np.ndarray):
            return np.asarray(weights @ self.inner.X[used], dtype=np.float64)
        from scipy import sparse

        return sparse.csr_array(sparse.csr_array(weights) @ self.inner.X[used])

    def displaced(self) -> Combinations:
        """a, B and the observed rows."""
        return Combinations(self.inner.X, self.scale, self.basis, self.mix)

    def _combination(self, rows: Ints) -> tuple[Ints, Floats]:
        """The observed rows that ``rows`` are made of, and with which weights."""
        used = np.union1d(self.basis, rows)
        weights = np.zeros((len(rows), len(used)))
        weights[:, np.searchsorted(used, self.basis)] = self.mix[rows]
        weights[np.arange(len(rows)), np.searchsorted(used, rows)] += self.scale[rows]
        return used, weights

    def _at(self, scale: Floats, basis: Ints, mix: Floats) -> Span:
        new = np.searchsorted(self.basis, basis)
        same = len(basis) == len(self.basis) and bool((new == np.arange(len(basis))).all())
        cross = self.cross if same else self.inner.block(np.arange(len(scale)), basis)
        low = np.einsum("ij,ij->i", 2 * scale[:, None] * cross + mix @ cross[basis], mix)
        norms = np.maximum(scale**2 * self.inner.norms + low, 0.0)
        return replace(self, scale=scale, basis=basis, mix=mix, cross=cross, norms=norms)

    def _slopes(self, products: Floats, rows: slice, support: Ints) -> Floats:
        values = self.kernel.from_products(
            products.copy(), self.inner.norms[rows], self.norms[support]
        )
        return self.kernel.slopes(values, products)

    def _lengths(
        self, W: Floats, own: Floats, products: Floats, rows: slice, square: Floats, sizes: Floats
    ) -> Floats:
        """‖u‖, 0 where it is rounding."""
        squares = own**2 * self.inner.norms[rows] - 2 * own * np.einsum("ij,ij->i", W, products)
        squares += np.einsum("ij,ij->i", W @ square, W)
        norms = np.sqrt(np.maximum(squares, 0.0))
        whole = np.abs(own) * np.sqrt(self.inner.norms[rows]) + np.abs(W) @ sizes
        return np.where(norms <= _VANISHED * whole, 0.0, norms)


class SpanOperator:
    """The kernel of corrected rows, block by block."""

    def __init__(self, rows: Span) -> None:
        self._rows = rows
        self.shape = (len(rows.scale), len(rows.scale))

    def diagonal(self) -> Floats:
        """k(x̄, x̄)."""
        if self._rows.kernel.name == "rbf":
            return np.ones(self.shape[0])
        return self._rows.kernel.from_products(self._rows.norms.copy(), *2 * [np.zeros(0)])

    def block(self, rows: Ints, columns: Ints | None = None, dtype: Any = np.float32) -> Any:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        norms = self._rows.norms
        values = self._rows.kernel.from_products(
            self._rows.products(rows, columns),
            norms[rows],
            norms if columns is None else norms[columns],
        )
        return values.astype(dtype, copy=False)


@dataclass(frozen=True, slots=True)
class SpanScores:
    """Kernel sums over support rows that are combinations of sparse rows ``X``."""

    kernel: Kernel
    X: Any
    weights: Floats
    norms: Floats
    coef: Floats

    def values(self, X: Any, n_jobs: int | None = None) -> Floats:
        """The scores of the rows of X, one column a task."""
        parts = [self._part(block, n_jobs) for block in self._blocks(X)]
        return np.concatenate(parts) if parts else np.zeros((0, self.coef.shape[1]))

    def _part(self, X: Any, n_jobs: int | None) -> Floats:
        linear = Kernel("linear")
        products = linear.block(X, self.X, np.float64, n_jobs) @ self.weights.T
        values = self.kernel.from_products(products, linear.diagonal(X), self.norms)
        return np.asarray(values @ self.coef)

    def _blocks(self, X: Any) -> Iterable[Any]:
        rows = max(64, _BLOCK // max(1, self.X.shape[0]))
        return (X[start : start + rows] for start in range(0, X.shape[0], rows))


@dataclass(frozen=True, slots=True)
class Combinations:
    """Displacements (a - 1) x + B X[basis]."""

    X: Any
    scale: Floats
    basis: Ints
    mix: Floats

    def displacements(self) -> Floats:
        """Δx, filled in."""
        observed = dense_rows(self.X)
        return (self.scale - 1.0)[:, None] * observed + self.mix @ observed[self.basis]
