"""The metric of the aligned machines, diagonal plus a few columns in the right basis.

    M = I + μ [ (1 - λ) Σ_r π_r d_r d_rᵀ + λ Σ_r π_r |Δ_r| ],     |Δ| = U |e| Uᵀ where Δ = U e Uᵀ

In the eigenbasis U of the scatter term M is diagonal but for one column for each source, so that
its inverse square root is known in closed form for every (λ, μ) once U is there:

    T = U S (I + P s Pᵀ),   S = (1 + μλ|e|)^{-1/2},   TᵀMT = I,

where P, σ are the left singular vectors and values of V = √(μ(1-λ)) S UᵀD and
s = (1 + σ²)^{-1/2} - 1. The machine in the whitened features Tᵀz is the plain one, and
w = T w̃. With λ = 0 no basis is needed at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from shiftlearn.alignment.terms import Terms

__all__ = ["Spectrum", "Whitening"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Whitening:
    """T in the coordinates of the basis: ``scale`` (S), ``directions`` (P) and ``shrink`` (s)."""

    scale: Floats
    directions: Floats
    shrink: Floats

    def rows(self, rotated: Any) -> Floats:
        """Whitened features of the rows of ZU."""
        rows = np.asarray(rotated * self.scale)
        if self.shrink.any():
            rows += ((rows @ self.directions) * self.shrink) @ self.directions.T
        return rows

    def pull(self, weights: Floats) -> Floats:
        """Uᵀw of the weights w̃ of whitened features."""
        along = self.shrink[:, None] * (self.directions.T @ weights)
        return np.asarray(self.scale[:, None] * (weights + self.directions @ along))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Both terms in the eigenbasis of the scatter term; serves every (λ, μ).

    Attributes
    ----------
    basis : ndarray of shape (D, D) or None
        U; None stands for the identity (no scatter term).
    values : ndarray of shape (D,)
        Eigenvalues of Σ_r π_r |Δ_r|.
    differences : ndarray of shape (D, n_sources)
        √π_r Uᵀd_r.
    parts : tuple of (vectors, eigenvalues)
        Of each Δ_r; of one source they are the basis and its signed values.
    """

    basis: Floats | None
    values: Floats
    differences: Floats
    parts: tuple[tuple[Floats, Floats], ...]
    shares: Floats

    @classmethod
    def of(cls, terms: Terms, *, scatter: bool = True) -> Spectrum:
        """Decompose the terms; without ``scatter`` (λ = 0) the means are all that is used."""
        columns = np.sqrt(terms.shares) * terms.differences
        if not scatter:
            return cls(None, np.zeros(len(columns)), columns, (), terms.shares)
        parts = tuple(_eigh(S) for S in terms.scatters)
        if len(parts) == 1:
            basis, values = parts[0][0], np.abs(parts[0][1])
        else:
            total = sum(
                p * ((U * np.abs(e)) @ U.T) for p, (U, e) in zip(terms.shares, parts, strict=True)
            )
            basis, values = _eigh(np.asarray(total))
        return cls(basis, values.clip(0), basis.T @ columns, parts, terms.shares)

    @classmethod
    def plain(cls, columns: int) -> Spectrum:
        """No terms at all: the metric is the identity."""
        return cls(None, np.zeros(columns), np.zeros((columns, 0)), (), np.zeros(0))

    def whitening(self, balance: float, alignment: float) -> Whitening:
        """T for λ = ``balance`` and μ = ``alignment``."""
        scale = 1.0 / np.sqrt(1.0 + alignment * balance * self.values)
        V = np.sqrt(alignment * (1.0 - balance)) * scale[:, None] * self.differences
        directions, sizes, _ = np.linalg.svd(V, full_matrices=False)
        return Whitening(scale, directions, 1.0 / np.sqrt(1.0 + sizes**2) - 1.0)

    def rotate(self, Z: Any) -> Any:
        """ZU."""
        return Z if self.basis is None else np.asarray(Z @ self.basis)

    def unrotate(self, weights: Floats) -> Floats:
        """U times weights in the basis."""
        return weights if self.basis is None else np.asarray(self.basis @ weights)

    def matrix(self, whitening: Whitening) -> Floats:
        """T itself, D×D."""
        return self.unrotate(whitening.pull(np.eye(len(self.values))))

    def signed_pull(self, r: int, weights: Floats) -> Floats:
        """sgn(Δ_r) w for w = ``weights`` in the original coordinates: Δ_r of it is |Δ_r| w."""
        vectors, values = self.parts[r]
        return np.asarray(vectors @ (np.sign(values)[:, None] * (vectors.T @ weights)))

    @property
    def mmd2(self) -> float:
        """Σ_r π_r ‖d_r‖²."""
        return float((self.differences**2).sum())

    @property
    def scatter_trace(self) -> float:
        """tr Σ_r π_r |Δ_r|."""
        return float(self.values.sum())


def _eigh(S: Floats) -> tuple[Floats, Floats]:
    """Vectors and values."""
    values, vectors = eigh(S, driver="evd", check_finite=False)
    return vectors, values
