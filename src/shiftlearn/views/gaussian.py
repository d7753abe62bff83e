"""Maps that give the source the mean and the covariance of the target.

With Σ̃ = Σ + shrinkage · tr(Σ)/D · I for the covariances of a source s and of the target t,

    T(x) = m_t + A (x - m_s),        A Σ̃_s Aᵀ = Σ̃_t,

    Monge   A = Σ̃_s^{-1/2} (Σ̃_s^{1/2} Σ̃_t Σ̃_s^{1/2})^{1/2} Σ̃_s^{-1/2}, the map between two Gaussians
            that moves the rows least (optimal transport); it is symmetric;
    CORAL   A = Σ̃_t^{1/2} Σ̃_s^{-1/2}, whitening and colouring.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from shiftlearn.parameters import check_number
from shiftlearn.statistics import MomentValues
from shiftlearn.views.base import Affine, DomainView, pooled

__all__ = ["CoralMapper", "MongeMapper"]

Floats = NDArray[np.float64]


class _GaussianMapper(DomainView):
    """Sources onto the pooled target; target rows pass through."""

    shrinkage: float
    _without_target: ClassVar[str] = "maps that change nothing"

    def _check(self) -> None:
        check_number("shrinkage", self.shrinkage, from_zero=True)

    def _maps(self, moments: dict[int, MomentValues]) -> dict[int | None, Affine]:
        target = pooled(moments, target=True)
        if target is None:
            return {}
        sources = {label: m for label, m in moments.items() if label >= 0}
        return {label: self._onto(m, target) for label, m in sources.items()}

    def _onto(self, source: MomentValues, target: MomentValues) -> Affine:
        if min(source.count, target.count) < 2:
            warnings.warn(
                f"{type(self).__name__}: a domain has one row only, which has no covariance; the "
                "mean alone was moved.",
                UserWarning,
                stacklevel=5,
            )
            return source.mean, np.ones_like(source.mean), target.mean
        A = self._matrix(*(_shrunk(m.covariance, self.shrinkage) for m in (source, target)))
        return source.mean, np.ascontiguousarray(A.T), target.mean

    @abstractmethod
    def _matrix(self, source: Floats, target: Floats) -> Floats:
        """A."""


class MongeMapper(_GaussianMapper):
    """Move each source onto the target by the optimal map between two Gaussians.

    With means m, covariances Σ and Σ̃ = Σ + shrinkage · tr(Σ)/D · I,

        T(x) = m_t + A (x - m_s),
        A = Σ̃_s^{-1/2} (Σ̃_s^{1/2} Σ̃_t Σ̃_s^{1/2})^{1/2} Σ̃_s^{-1/2},

    the least movement (in mean square) that gives a source the target's mean and covariance.
    Target rows pass through. A classifier trained on mapped source rows then meets target rows
    as they are. Where the class proportions of the domains differ it moves the wrong classes onto
    each other: look at :class:`PriorShiftCorrector` first if you expect that.

    Parameters
    ----------
    shrinkage : float, default=1.0
        Multiples of the mean eigenvalue added to both covariances; 0 matches the covariances
        exactly, large values move the mean alone.
    features : transformer or None, default=None
        A map in front, fitted on the rows of all domains. None takes dense rows as they are and
        sparse ones through ``TruncatedSVD(200)``.

    Attributes
    ----------
    domains_ : tuple of int
        The domains seen.
    features_ : transformer or None
        The fitted map in front.

    See Also
    --------
    CoralMapper : the same moments by whitening and colouring.

    Examples
    --------
    A classifier behind the map, trained on rows that were moved onto the target:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from shiftlearn import MongeMapper
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> moons = make_rotated_moons(30, random_state=0)
    >>> X, y, domain = moons.data, moons.target, moons.domain
    >>> Z = MongeMapper().fit_transform(X, sample_domain=domain)
    >>> Z.shape == X.shape and bool((Z[domain < 0] == X[domain < 0]).all())
    True
    """

    def __init__(self, shrinkage: float = 1.0, *, features: Any = None) -> None:
        self.shrinkage = shrinkage
        self.features = features

    def _matrix(self, source: Floats, target: Floats) -> Floats:
        root, inverse = _root(source), _root(source, inverse=True)
        A = inverse @ _root(root @ target @ root) @ inverse
        return np.asarray((A + A.T) / 2)


class CoralMapper(_GaussianMapper):
    """Give each source the mean and covariance of the target by whitening and colouring.

    With means m, covariances Σ and Σ̃ = Σ + shrinkage · tr(Σ)/D · I,

        T(x) = m_t + Σ̃_t^{1/2} Σ̃_s^{-1/2} (x - m_s)

    (Sun, Feng and Saenko, *Return of frustratingly easy domain adaptation*, 2016, with the means).
    Target rows pass through.

    Parameters
    ----------
    shrinkage : float, default=1.0
        Multiples of the mean eigenvalue added to both covariances; 0 matches the covariances
        exactly, large values move the mean alone.
    features : transformer or None, default=None
        A map in front, fitted on the rows of all domains. None takes dense rows as they are and
        sparse ones through ``TruncatedSVD(200)``.

    Attributes
    ----------
    domains_ : tuple of int
        The domains seen.
    features_ : transformer or None
        The fitted map in front.

    See Also
    --------
    MongeMapper : the same moments with the least movement.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import CoralMapper
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) @ [[2, 1], [0, 1]]
    >>> domain = np.repeat([0, -1], [50, 60])
    >>> Z = CoralMapper(0.0).fit_transform(np.vstack([source, target]), sample_domain=domain)
    >>> bool(np.allclose(np.cov(Z[:50].T, bias=True), np.cov(target.T, bias=True)))
    True
    """

    def __init__(self, shrinkage: float = 1.0, *, features: Any = None) -> None:
        self.shrinkage = shrinkage
        self.features = features

    def _matrix(self, source: Floats, target: Floats) -> Floats:
        return _root(target) @ _root(source, inverse=True)


def _shrunk(covariance: Floats, shrinkage: float) -> Floats:
    size = covariance.shape[0]
    return np.asarray(covariance + shrinkage * np.trace(covariance) / size * np.eye(size))


def _root(matrix: Floats, *, inverse: bool = False) -> Floats:
    """The symmetric root, or its pseudo-inverse; directions without variance stay without."""
    values, vectors = eigh(matrix)
    kept = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    powers = np.zeros_like(values)
    powers[kept] = values[kept] ** (-0.5 if inverse else 0.5)
    return np.asarray((vectors * powers) @ vectors.T)
