"""Where an aligned machine lives: rows and terms prepared once, then a space for each (λ, μ).

Two frames answer alike.

*Explicit*: all rows have coordinates Z (raw columns, a feature map, or a factor K = ZZᵀ of the
kernel), the scatter terms are decomposed exactly, and the plain machine is solved on whitened rows.

*Low rank* (`shiftlearn.alignment.lowrank`): the metric is I + FFᵀ with few columns F that are known
through the kernel only: the mean terms alone (λ = 0), or with the largest eigenpairs of the
scatter term where a full decomposition would be too large.

``frame.at(balance, alignment)`` is an `AlignedSpace`: the space that solvers are given, and the way
back from dual variables to a decision function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shiftlearn.alignment.metric import Spectrum, Whitening
from shiftlearn.alignment.strength import covariance_size
from shiftlearn.alignment.terms import Contrasts
from shiftlearn.kernels import Kernel, MatrixOperator
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.machines.spaces import FeatureSpace, KernelSpace, Options, Space
from shiftlearn.resources import memory_budget

__all__ = [
    "AlignedSpace",
    "CoefficientChart",
    "ExplicitFrame",
    "Frame",
    "LinearChart",
    "RkhsChart",
    "Scores",
    "expansion",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Scores = Expansion | LinearScores

_SMALL = 1000  # up to so many rows a Gram matrix is cheaper than sweeps over the rows


class AlignedSpace(Protocol):
    """The machine's space at one (λ, μ)."""

    alignment: float

    def variance(self, weights: Floats) -> float:
        """tr(TᵀΣT): the variance of the labelled rows, counted ``weights`` times, in the metric."""
        ...

    def space(self, options: Options) -> Space:
        """The labelled rows as the solver of hinge machines sees them."""
        ...

    @property
    def gram(self) -> Any:
        """The operator of inner products between labelled rows."""
        ...

    @property
    def whitened(self) -> Floats | None:
        """The labelled rows in whitened coordinates, where these are fewer than the rows."""
        ...

    def values(self, coef: Floats) -> Floats:
        """f - b at the labelled rows, for dual coefficients y_i a_i (one column a problem)."""
        ...

    def terms(self, coef: Floats) -> tuple[Floats, Floats]:
        """Σ_r π_r (wᵀd_r)² and Σ_r π_r wᵀ|Δ_r|w of each problem."""
        ...

    def slack(self, coef: Floats) -> Floats:
        """What a truncated spectrum may hide of each problem's objective (0 where it is whole)."""
        ...

    def scores(self, coef: Floats, intercept: Floats) -> Scores:
        """The decision functions."""
        ...


class Frame(Protocol):
    """Everything that does not depend on (λ, μ)."""

    spectrum: Any

    def covariance_size(self, weights: Floats) -> float:
        """‖Σ‖_F of the labelled rows, counted ``weights`` times, without any metric."""
        ...

    def at(self, balance: float, alignment: float) -> AlignedSpace:
        """The space at λ = ``balance``, μ = ``alignment``."""
        ...


class Chart(Protocol):
    """From w (or dual coefficients) to a decision function of the user's rows."""

    def scores(self, aligned: ExplicitSpace, coef: Floats, intercept: Floats) -> Scores:
        """The decision functions."""
        ...


@dataclass
class ExplicitFrame:
    """Coordinates of the labelled rows and the spectrum of the terms.

    ``root`` (A) is the map that makes Aᵀz of the coordinates z the features of the problem, None
    where they are these features.
    """

    rows: Any
    spectrum: Spectrum
    chart: Chart
    root: Floats | None = None

    @cached_property
    def rotated(self) -> Any:
        """The labelled rows in the eigenbasis of the scatter term."""
        if self.root is None:
            return self.spectrum.rotate(self.rows)
        return np.asarray(self.rows @ self.spectrum.rotate(self.root))

    def covariance_size(self, weights: Floats) -> float:
        """‖Σ‖_F of the labelled rows."""
        return covariance_size(self.rotated, weights)

    def at(self, balance: float, alignment: float) -> ExplicitSpace:
        """The space at λ = ``balance``, μ = ``alignment``."""
        whitening = self.spectrum.whitening(balance, alignment)
        return ExplicitSpace(self, whitening, balance, alignment)


@dataclass
class ExplicitSpace:
    """The labelled rows in whitened coordinates: the machine is the plain one there."""

    frame: ExplicitFrame
    whitening: Whitening
    balance: float
    alignment: float

    @cached_property
    def rows(self) -> Any:
        """The whitened rows; sparse rows that nothing moves stay as they are."""
        rotated = self.frame.rotated
        trivial = (self.whitening.scale == 1.0).all() and not self.whitening.shrink.any()
        if trivial:
            return rotated
        dense = rotated.toarray() if sparse.issparse(rotated) else rotated
        return self.whitening.rows(dense)

    def variance(self, weights: Floats) -> float:
        """tr(TᵀΣT)."""
        p = weights / weights.sum()
        mean = np.asarray(p @ self.rows).ravel()
        return float(p @ Kernel("linear").diagonal(self.rows) - mean @ mean)

    def space(self, options: Options) -> Space:
        """A Gram matrix where the rows are few or narrow it is not, else the rows themselves."""
        n, d = self.rows.shape
        fits = 8 * n * n <= memory_budget(options.memory_limit) // 2
        if fits and n <= max(_SMALL, d):
            return KernelSpace(Kernel("precomputed"), self.gram)
        return FeatureSpace(self.rows)

    @cached_property
    def gram(self) -> Any:
        """Inner products of the whitened rows, computed at once."""
        products = self.rows @ self.rows.T
        return MatrixOperator(products.toarray() if sparse.issparse(products) else products)

    @property
    def whitened(self) -> Floats | None:
        """The whitened rows where they are narrow."""
        return self.rows if self.rows.shape[1] < self.rows.shape[0] else None

    def values(self, coef: Floats) -> Floats:
        """F - b at the labelled rows."""
        return np.asarray(self.rows @ (self.rows.T @ coef))

    def rotated_weights(self, coef: Floats) -> Floats:
        """Uᵀw."""
        return self.whitening.pull(np.asarray(self.rows.T @ coef))

    def weights(self, coef: Floats) -> Floats:
        """w, one column a problem."""
        return self.frame.spectrum.unrotate(self.rotated_weights(coef))

    def terms(self, coef: Floats) -> tuple[Floats, Floats]:
        """The mean and scatter terms at the solution."""
        turned, spectrum = self.rotated_weights(coef), self.frame.spectrum
        mean = ((spectrum.differences.T @ turned) ** 2).sum(axis=0)
        return mean, np.asarray(spectrum.values @ turned**2)

    def slack(self, coef: Floats) -> Floats:
        """The spectrum is whole."""
        return np.zeros(coef.shape[1])

    def scores(self, coef: Floats, intercept: Floats) -> Scores:
        """The decision functions."""
        return self.frame.chart.scores(self, coef, intercept)


@dataclass(frozen=True)
class LinearChart:
    """Decision functions that are linear in X or in a fitted feature map of X."""

    features: Any = None

    def scores(self, aligned: ExplicitSpace, coef: Floats, intercept: Floats) -> Scores:
        """``w`` brought back to the coordinates of the rows."""
        weights, root = aligned.weights(coef), aligned.frame.root
        weights = weights if root is None else root @ weights
        return LinearScores(weights.T, intercept, self.features)


@dataclass(frozen=True)
class CoefficientChart:
    """f(x) = k_xᵀβ with β = S Q w, Q an orthonormal basis of the range of SK (None: identity).

    S = diag(``scale``) (None: identity) are the weights of the columns of K in the map.
    """

    kernel: Kernel
    X: Any
    basis: Floats | None
    scale: Floats | None = None
    features: Any = None

    def scores(self, aligned: ExplicitSpace, coef: Floats, intercept: Floats) -> Scores:
        """Β from w."""
        weights = aligned.weights(coef)
        beta = weights if self.basis is None else self.basis @ weights
        beta = beta if self.scale is None else self.scale[:, None] * beta
        return expansion(self.kernel, self.X, beta, intercept, self.features)


@dataclass(frozen=True)
class RkhsChart:
    """f(x) = k_xᵀβ with β read off the optimality condition, which divides by nothing small:

    w = Zᵀc - μ(1-λ) Σ π d (dᵀw) - μλ Σ π |Δ|w,   d = Zᵀg,   |Δ|w = ZᵀH Z sgn(Δ)w.
    """

    kernel: Kernel
    X: Any
    Z: Floats
    labelled: Ints
    contrasts: Contrasts | None
    features: Any = None

    def scores(self, aligned: ExplicitSpace, coef: Floats, intercept: Floats) -> Scores:
        """Β from w and the dual coefficients."""
        beta = np.zeros((self.Z.shape[0], coef.shape[1]))
        beta[self.labelled] = coef
        if self.contrasts is not None and aligned.alignment > 0:
            beta -= aligned.alignment * self._pull(aligned, coef)
        return expansion(self.kernel, self.X, beta, intercept, self.features)

    def _pull(self, aligned: ExplicitSpace, coef: Floats) -> Floats:
        assert self.contrasts is not None
        spectrum, balance = aligned.frame.spectrum, aligned.balance
        shares = self.contrasts.shares
        turned = aligned.rotated_weights(coef)
        along = np.sqrt(shares)[:, None] * (spectrum.differences.T @ turned)
        pull = (1.0 - balance) * (self.contrasts.weights @ along)
        if balance > 0:
            w = spectrum.unrotate(turned)
            for r, share in enumerate(shares):
                image = self.Z @ spectrum.signed_pull(r, w)
                pull += balance * share * self.contrasts.scatter(r, image)
        return np.asarray(pull)


def expansion(
    kernel: Kernel, X: Any, beta: Floats, intercept: Floats, features: Any = None
) -> Scores:
    """f(x) = Σ_j β_j k(x_j, x) + b; linear kernels become linear functions."""
    if kernel.name == "linear":
        return LinearScores(np.asarray(X.T @ beta).T, intercept, features)
    used = np.flatnonzero(beta.any(axis=1))
    known = None if kernel.name == "precomputed" else X[used]
    return Expansion(
        kernel, known, used, beta[used], intercept, n_columns=X.shape[0], dtype=np.float64
    )
