"""Aligned least squares, and the whitening alone, from sums over blocks of rows.

In explicit features everything the problem needs is a sum over rows: the moments of each domain,

    n_d,  mean_d,  scatter_d,

which give the terms d and Δ, and the joint moments of features and codes of the labelled rows,
weighted by their costs, which give the normal equations. Both are `Moments`: blocks in any order
and of any size give the same answer, and memory is that of one block and a few D×D matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from shiftlearn.alignment.metric import Spectrum, Whitening
from shiftlearn.alignment.prepare import symmetric_root
from shiftlearn.alignment.terms import DomainMoments, Terms
from shiftlearn.certificates import Certificate
from shiftlearn.domains import find_domains, split_domains
from shiftlearn.domains.labels import label_array
from shiftlearn.statistics import Moments, MomentValues

__all__ = ["Metric", "Stream", "StreamedSquares", "block_labels", "metric_of", "solve_squares"]

Floats = NDArray[np.float64]
_REFINEMENTS = 3


@dataclass(frozen=True)
class Metric:
    """The terms of a stream decomposed: ``spectrum`` in the coordinates Aᵀz, A = ``root``."""

    spectrum: Spectrum
    root: Floats | None

    def matrix(self, whitening: Whitening) -> Floats:
        """T with TᵀMT = I in the features themselves."""
        T = self.spectrum.matrix(whitening)
        return T if self.root is None else np.asarray(self.root @ T)


def metric_of(
    moments: DomainMoments, columns: int, *, form: str, scatter: bool, sources: str, centered: bool
) -> Metric:
    """The metric of the rows seen so far; the identity until both domains were seen."""
    if not (moments.has_source and moments.has_target):
        return Metric(Spectrum.plain(columns), None)
    terms: Terms = moments.terms(sources=sources, centered=centered)
    root = symmetric_root(terms.second_moment) if form == "coef" else None
    if root is not None:
        terms = terms.mapped(root)
    return Metric(Spectrum.of(terms, scatter=scatter), root)


class StreamedSquares:
    """Joint moments of the features and codes of labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.alignment.streaming import StreamedSquares
    >>> sums = StreamedSquares(2).update(np.eye(3), np.array([0, 1, 1]), np.ones(3))
    >>> sums.moments.finish().weight
    3.0
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.moments = Moments()
        self.seen = np.zeros(n_classes, dtype=bool)

    @property
    def n_outputs(self) -> int:
        """Columns of the codes: one for two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    def codes(self, classes: NDArray[np.intp]) -> Floats:
        """±1 for two classes, else one-hot."""
        if self.n_classes == 2:
            return np.where(classes == 1, 1.0, -1.0)[:, None]
        return np.eye(self.n_classes)[classes]

    def update(self, Z: Any, classes: NDArray[np.intp], weights: Floats) -> StreamedSquares:
        """Add labelled rows; returns itself."""
        codes = self.codes(classes)
        thin = sparse.issparse(Z)
        both = sparse.hstack([Z, codes], format="csr") if thin else np.hstack([Z, codes])
        self.moments.update(both, weights)
        self.seen[classes] = True
        return self

    def merge(self, other: StreamedSquares) -> StreamedSquares:
        """Add the rows that ``other`` has seen; returns itself."""
        self.moments.merge(other.moments)
        self.seen |= other.seen
        return self


@dataclass(frozen=True)
class Stream:
    """All that is kept of rows seen so far: ``source`` and ``target`` are the labelled ones."""

    features: Any
    classes: NDArray[Any]
    moments: DomainMoments
    source: StreamedSquares
    target: StreamedSquares

    @classmethod
    def empty(cls, features: Any, classes: NDArray[Any]) -> Stream:
        """Nothing seen yet."""
        k = len(classes)
        return cls(features, classes, DomainMoments(), StreamedSquares(k), StreamedSquares(k))

    def copy(self) -> Stream:
        """The same sums, independent of these."""
        other = Stream.empty(self.features, self.classes)
        other.moments.merge(self.moments)
        other.source.merge(self.source)
        other.target.merge(self.target)
        return other

    @property
    def solvable(self) -> bool:
        """Whether labelled rows of two classes were seen."""
        return int((self.source.seen | self.target.seen).sum()) >= 2

    @property
    def covariance(self) -> Floats:
        """Σ of the labelled rows."""
        both = StreamedSquares(len(self.classes)).merge(self.source).merge(self.target)
        k = both.n_outputs
        return np.asarray(both.moments.finish().covariance[:-k, :-k])

    def costed(self, C: float, C_target: float | None) -> MomentValues:
        """The joint moments with source rows counted C times, target rows C_target times."""
        parts = [(self.source, C), (self.target, C if C_target is None else C_target)]
        known = [(sums.moments.finish(), cost) for sums, cost in parts if sums.seen.any()]
        weights = np.array([cost * values.weight for values, cost in known])
        mean = np.asarray(weights @ np.stack([values.mean for values, _ in known]) / weights.sum())
        scatter = np.zeros((len(mean), len(mean)))
        for (values, cost), weight in zip(known, weights, strict=True):
            away = values.mean - mean
            scatter += cost * values.scatter + weight * np.outer(away, away)
        count = sum(values.count for values, _ in known)
        return MomentValues(count, float(weights.sum()), mean, scatter)


@dataclass(frozen=True)
class BlockLabels:
    """Domains and class numbers (-1: none that may be read) of the rows of a block."""

    domain: NDArray[np.int64]
    codes: NDArray[np.intp]
    classes: NDArray[Any]


def block_labels(
    y: Any,
    classes: Any,
    known: NDArray[Any] | None,
    sample_domain: Any,
    n: int,
    *,
    use_target: bool,
) -> BlockLabels:
    """Class numbers of a block among the classes declared, known, or found in it."""
    declared = None if classes is None else np.unique(label_array(classes))
    if known is None and declared is not None and len(declared) < 2:
        raise ValueError(f"classes must hold at least 2 labels, got {declared.tolist()}.")
    if known is not None and declared is not None and not np.array_equal(known, declared):
        raise ValueError(
            f"classes is {declared.tolist()}, but the first call of partial_fit had "
            f"{known.tolist()}."
        )
    wanted = declared if known is None else known
    domain = find_domains(y, sample_domain, n).sample_domain
    if (not use_target and not (domain >= 0).any()) or y is None:
        return BlockLabels(domain, np.full(n, -1), _some(wanted, domain))
    split = split_domains(y, sample_domain, n, target_labels="use" if use_target else "ignore")
    if wanted is None:
        wanted = split.classes
        if len(wanted) < 2:
            raise ValueError(
                f"y holds {len(wanted)} class in the first block; give partial_fit all labels in "
                "classes."
            )
    unknown = np.setdiff1d(split.classes, wanted)
    if len(unknown):
        raise ValueError(
            f"y holds {unknown.tolist()}, not among the classes {wanted.tolist()} of the first "
            "call."
        )
    place = np.append(np.searchsorted(wanted, split.classes), -1)  # code -1 finds the last
    return BlockLabels(domain, place[split.codes], wanted)


def _some(classes: NDArray[Any] | None, domain: NDArray[np.int64]) -> NDArray[Any]:
    if classes is not None and (domain < 0).all():
        return classes
    if classes is None:
        raise ValueError(
            "The first block holds no label; give partial_fit all labels in classes, or begin with "
            "labelled source rows."
        )
    raise ValueError("y is None, but sample_domain has source rows in the block; they need labels.")


@dataclass(frozen=True)
class StreamedAnswer:
    """w̃ in whitened features, w in the features, b and the proof."""

    turned: Floats
    weights: Floats
    intercept: Floats
    certificate: Certificate


def solve_squares(values: MomentValues, n_outputs: int, T: Floats, tol: float) -> StreamedAnswer:
    """min ½‖w̃‖² + ½ Σ c_i ‖y_i - w̃ᵀTᵀz_i - b‖², by its normal equations.

    ``values`` are the joint moments of z and y weighted by c. The objective is 1-strongly convex in
    w̃, so that ½‖gradient‖² bounds the distance.
    """
    k, scatter, mean = n_outputs, values.scatter, values.mean
    cross = T.T @ scatter[:-k, -k:]
    system = T.T @ scatter[:-k, :-k] @ T + np.eye(T.shape[1])
    factor = linalg.cho_factor(system, lower=True, check_finite=False)
    turned = np.zeros_like(cross)
    gradient = -cross
    for _ in range(_REFINEMENTS):
        turned = turned - linalg.cho_solve(factor, gradient, check_finite=False)
        gradient = system @ turned - cross
    objective = 0.5 * float((turned * (system @ turned)).sum() - 2 * (turned * cross).sum())
    objective += 0.5 * float(np.trace(scatter[-k:, -k:]))
    violation = float(np.abs(gradient).max(initial=0.0))
    relative = violation / max(1.0, float(np.abs(cross).max(initial=0.0)))
    gap = 0.5 * float((gradient**2).sum())
    proof = Certificate(objective, gap, relative, relative <= tol, _REFINEMENTS)
    weights = np.asarray(T @ turned)
    return StreamedAnswer(turned, weights, np.asarray(mean[-k:] - mean[:-k] @ weights), proof)
