"""The two terms that tell domains apart: difference of means and difference of second moments.

With z_i the rows in some feature space, source r with normalised weights p_r and the target with q,

    d_r = Σ_i p_ri z_i - Σ_i q_i z_i,       Δ_r = Σ_i p_ri z_i z_iᵀ - Σ_i q_i z_i z_iᵀ.

Both are linear in the *contrast* g_r = p_r - q, one number a row: d_r = Zᵀg_r and
Δ_r = Zᵀ diag(g_r) Z, in an explicit space as in that of a kernel, where gᵀKg = ‖d‖² is the squared
maximum mean discrepancy. Centred second moments subtract each domain's own mean:
diag(g) - p pᵀ + q qᵀ in place of diag(g).

`contrasts` makes the numbers g of rows that are at hand; `DomainMoments` adds up the moments of
rows that come in blocks, whichever domains they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.statistics import Moments, MomentValues, map_reduce, row_blocks

__all__ = ["Contrasts", "DomainMoments", "Terms", "contrasts"]

Floats = NDArray[np.float64]

_TARGET = -1  # all target domains together
_TALL = 4  # rows per column from which blocks go to threads of their own


@dataclass(frozen=True, slots=True)
class Contrasts:
    """How rows add up to the differences between each source and the target.

    Attributes
    ----------
    weights : ndarray of shape (n_rows, n_sources)
        Column r is g_r: positive and of sum 1 on source r, negative and of sum -1 on the target.
    shares : ndarray of shape (n_sources,)
        π_r, the part of each source; they sum to one.
    centered : bool
        Whether second moments are taken about each domain's mean.
    """

    weights: Floats
    shares: Floats
    centered: bool = False

    def scatter(self, r: int, values: Floats) -> Floats:
        """H_r ``values``, with Δ_r = ZᵀH_r Z; ``values`` has one row for each row of the data."""
        g = self.weights[:, r]
        out = g[:, None] * values if values.ndim == 2 else g * values
        if self.centered:
            for side in (g.clip(0), (-g).clip(0)):
                sign = 1.0 if g @ side < 0 else -1.0
                out += sign * np.multiply.outer(side, side @ values)
        return np.asarray(out)


def contrasts(
    sample_domain: NDArray[np.int64],
    weights: Floats | None = None,
    *,
    sources: str = "separate",
    centered: bool = False,
) -> Contrasts:
    """The contrasts of rows with domains ``sample_domain`` (>= 0 source, < 0 target, pooled).

    ``weights`` (default: ones) count rows within their domain; ``sources`` "pooled" takes all
    sources as one, "separate" gives one term for each, with parts π_r by their total weights.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.alignment.terms import contrasts
    >>> contrasts(np.array([0, 0, -1])).weights.ravel()
    array([ 0.5,  0.5, -1. ])
    """
    domain = _grouped(sample_domain, sources)
    w = np.ones(len(domain)) if weights is None else weights
    labels = np.unique(domain[domain >= 0])
    target = np.where(domain < 0, w, 0.0)
    parts = np.where(domain[:, None] == labels, w[:, None], 0.0)
    totals = parts.sum(axis=0)
    return Contrasts(
        parts / totals - (target / target.sum())[:, None], totals / totals.sum(), centered
    )


@dataclass(frozen=True, slots=True)
class Terms:
    """Differences of the moments in an explicit space.

    Attributes
    ----------
    differences : ndarray of shape (D, n_sources)
        d_r.
    scatters : tuple of ndarray of shape (D, D)
        Δ_r.
    shares : ndarray of shape (n_sources,)
        π_r.
    second_moment : ndarray of shape (D, D)
        ZᵀZ over all rows.
    """

    differences: Floats
    scatters: tuple[Floats, ...]
    shares: Floats
    second_moment: Floats

    def mapped(self, A: Floats) -> Terms:
        """The terms of the features Aᵀz."""
        return Terms(
            A.T @ self.differences,
            tuple(_symmetric(A.T @ S @ A) for S in self.scatters),
            self.shares,
            _symmetric(A.T @ self.second_moment @ A),
        )


class DomainMoments:
    """Running moments of the rows of each domain.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.alignment.terms import DomainMoments
    >>> Z = np.array([[1.0], [3.0], [5.0]])
    >>> terms = DomainMoments().update(Z, np.array([0, 0, -1])).terms()
    >>> terms.differences, terms.scatters[0]
    (array([[-3.]]), array([[-20.]]))
    """

    def __init__(self) -> None:
        self.domains: dict[int, Moments] = {}

    @classmethod
    def of(
        cls,
        Z: Any,
        sample_domain: NDArray[np.int64],
        weights: Floats | None = None,
        *,
        n_jobs: int | None = None,
    ) -> DomainMoments:
        """The moments of rows at hand."""
        if Z.shape[0] < _TALL * Z.shape[1]:
            return cls().update(Z, sample_domain, weights)
        return map_reduce(
            lambda block: cls().update(*block),
            row_blocks(Z, sample_domain, weights),
            cls.merge,
            n_jobs,
        )

    def update(
        self, block: Any, sample_domain: NDArray[np.int64], weights: Floats | None = None
    ) -> DomainMoments:
        """Add rows; returns itself."""
        for label in np.unique(sample_domain).tolist():
            own = sample_domain == label
            part = block if own.all() else block[own]
            w = None if weights is None else weights[own]
            self.domains.setdefault(label, Moments()).update(part, w)
        return self

    def merge(self, other: DomainMoments) -> DomainMoments:
        """Add the rows that ``other`` has seen; returns itself."""
        for label, moments in other.domains.items():
            self.domains.setdefault(label, Moments()).merge(moments)
        return self

    def copy(self) -> DomainMoments:
        """The same sums, independent of these."""
        return DomainMoments().merge(self)

    def source_covariance_size(self) -> float:
        """‖Σ‖_F of the rows of all sources together."""
        source = Moments()
        for label, moments in sorted(self.domains.items()):
            if label >= 0:
                source.merge(moments)
        return float(np.linalg.norm(source.finish().covariance))

    @property
    def has_source(self) -> bool:
        """Whether a source row was seen."""
        return any(label >= 0 for label in self.domains)

    @property
    def has_target(self) -> bool:
        """Whether a target row was seen."""
        return any(label < 0 for label in self.domains)

    def terms(self, *, sources: str = "separate", centered: bool = False) -> Terms:
        """The differences between each source and the target."""
        values = self._pooled(sources)
        target = values.pop(_TARGET)
        far = _second(target, centered)
        return Terms(
            np.stack([source.mean - target.mean for source in values.values()], axis=1),
            tuple(_second(source, centered) - far for source in values.values()),
            _shares(list(values.values())),
            np.asarray(sum(v.weight * _second(v, False) for v in (*values.values(), target))),
        )

    def _pooled(self, sources: str) -> dict[int, MomentValues]:
        """Values of each source and, last, of the target."""
        pooled: dict[int, Moments] = {}
        for label in sorted(self.domains, key=lambda label: (label < 0, label)):
            key = int(_grouped(np.array([label]), sources)[0])
            pooled.setdefault(key, Moments()).merge(self.domains[label])
        return {key: moments.finish() for key, moments in pooled.items()}


def _grouped(sample_domain: NDArray[np.int64], sources: str) -> NDArray[np.int64]:
    """All targets as one domain and, where ``sources`` is "pooled", all sources as one."""
    if sources not in ("separate", "pooled"):
        raise ValueError(f'sources must be "separate" or "pooled", got {sources!r}.')
    source = np.zeros_like(sample_domain) if sources == "pooled" else sample_domain
    return np.where(sample_domain < 0, _TARGET, source)


def _second(values: MomentValues, centered: bool) -> Floats:
    if centered:
        return values.covariance
    return np.asarray(values.covariance + np.outer(values.mean, values.mean))


def _shares(sources: list[MomentValues]) -> Floats:
    weights = np.array([source.weight for source in sources])
    return np.asarray(weights / weights.sum())


def _symmetric(S: Floats) -> Floats:
    return np.asarray(0.5 * (S + S.T))
