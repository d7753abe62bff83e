"""Aligned machines from streams of rows: a pass for the moments, then the machine itself.

    moments of each domain  ->  d, Δ, M;      labelled rows  ->  least squares, or hinge passes

in the explicit features of ``features`` (or the columns, kernel="linear"). Least squares needs the
joint moments of features and labels and no row again. The hinge machine walks the labelled rows
once a Newton step. Where M is well conditioned it enters as the metric of w
(`shiftlearn.solvers.smooth_hinge`) and no row is whitened; else (form="coef", whose ridge is the
inverse of a second moment) the rows are whitened on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from shiftlearn.alignment.metric import Whitening
from shiftlearn.alignment.streaming import Metric, Stream, StreamedSquares, metric_of
from shiftlearn.alignment.strength import Strength
from shiftlearn.alignment.terms import DomainMoments
from shiftlearn.machines.base import class_factors
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.machines.streaming import Points, fit_hinge, mapped, open_points
from shiftlearn.solvers.smooth_hinge import HingeSolution
from shiftlearn.statistics import Stream as RowStream
from shiftlearn.statistics import recorded
from shiftlearn.statistics.survey import CodedBlock, coded

__all__ = ["AlignedStream", "open_aligned", "streamed_sums"]

Floats = NDArray[np.float64]
_WELL = 30.0  # condition of T up to which M is kept as a metric

recorded(DomainMoments)
recorded(StreamedSquares)


@dataclass(frozen=True)
class AlignedStream:
    """Labelled points of a stream, the metric of its domains and the strength in force."""

    points: Points
    metric: Metric
    whitening: Whitening
    T: Floats
    C: float
    alignment: float

    def hinge(self, estimator: Any) -> tuple[LinearScores, list[HingeSolution], Floats]:
        """The function of the features, the answers, and Uᵀw as the terms need it."""
        T, features = self.T, self.points.features
        if np.linalg.cond(T) <= _WELL:
            inverse = linalg.inv(T, check_finite=False)
            form = np.asarray(inverse.T @ inverse)
            scores, answers = fit_hinge(estimator, self.points, C=self.C, metric=form)
            return scores, answers, self.whitening.pull(inverse @ scores.coef.T)
        points = replace(self.points, stream=self.points.stream.then(_turned(T)))
        turned, answers = fit_hinge(estimator, replace(points, n_columns=T.shape[1]), C=self.C)
        scores = LinearScores(turned.coef @ T.T, turned.intercept, features)
        return scores, answers, self.whitening.pull(turned.coef.T)


def _turned(T: Floats) -> Callable[[CodedBlock], CodedBlock]:
    def prepare(block: CodedBlock) -> CodedBlock:
        return replace(block, X=np.asarray(block.X @ T.astype(block.X.dtype)))

    return prepare


def streamed_sums(estimator: Any, stream: RowStream) -> tuple[Points, Stream]:
    """One pass over all rows: moments of the domains, joint moments of the labelled rows."""
    if estimator.C_target is not None:
        raise ValueError(
            "C_target reads target labels, which a fit from blocks does not; leave it None."
        )
    points = open_points(estimator, stream)
    every = stream.then(coded(points.classes)).then(mapped(points.features))
    factors = np.ones(len(points.classes))
    if estimator.class_weight is not None:
        codes = np.arange(len(points.classes))
        totals = points.survey.totals
        factors = class_factors(estimator.class_weight, points.classes, codes, totals)
    weighted, k = estimator.weighted_statistics, len(points.classes)

    def part(block: CodedBlock) -> list[Any]:
        weights = block.weights if weighted else None
        moments = DomainMoments().update(block.X, block.domains, weights)
        own = np.flatnonzero(block.codes >= 0)
        squares = StreamedSquares(k)
        if len(own):
            codes = block.codes[own]
            squares.update(block.X[own], codes, block.weights[own] * factors[codes])
        return [moments, squares]

    moments, squares = every.reduce(part, _merged, estimator.n_jobs)
    kept = Stream.empty(points.features, points.classes)
    kept.moments.merge(moments)
    kept.source.merge(squares)
    return points, kept


def open_aligned(estimator: Any, stream: RowStream, strength: Strength) -> AlignedStream:
    """Everything that the hinge machine needs before its own passes."""
    points, sums = streamed_sums(estimator, stream)
    both = sums.moments.has_source and sums.moments.has_target
    metric = metric_of(
        sums.moments, points.n_columns, form=estimator.form, scatter=strength.scatter,
        sources=estimator.sources, centered=estimator.centered,
    )  # fmt: skip
    covariance = sums.covariance
    seen = covariance if metric.root is None else metric.root.T @ covariance @ metric.root
    mu = strength.resolved_alignment(float(np.linalg.norm(seen)) if both else None)
    whitening = metric.spectrum.whitening(strength.balance, mu)
    T = metric.matrix(whitening)
    C = strength.resolved_cost(float((T * (covariance @ T)).sum()))
    return AlignedStream(points, metric, whitening, T, C, mu)


def _merged(a: list[Any], b: list[Any]) -> list[Any]:
    return [a[0].merge(b[0]), a[1].merge(b[1])]
