"""Plain machines from streams of rows: in explicit features everything is sums over blocks.

A first pass counts (classes, weights, widths) and keeps a sample of the rows on which a feature
map is fitted: all of them where they are few. Then least squares needs one pass, hinge machines
one for each Newton step of their smoothed forms (`shiftlearn.solvers.smooth_hinge`), whose proved
gap is that of the hinge problem itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from shiftlearn.machines.base import check_number, class_factors, progress
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.solvers.smooth_hinge import HingeProblem, HingeSolution, solve_hinge
from shiftlearn.statistics import Moments, MomentValues, Stream
from shiftlearn.statistics.survey import SAMPLE_ROWS, CodedBlock, Survey, coded, survey_stream

__all__ = [
    "Points",
    "fit_hinge",
    "labelled_moments",
    "mapped",
    "open_inliers",
    "open_points",
    "solve_one_class",
    "streamed_features",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Points:
    """The labelled source rows of a stream as points of an explicit space.

    Attributes
    ----------
    stream : Stream of CodedBlock
        X holds the points, ``weights`` sample_weight · class_weight.
    classes : ndarray
    totals : ndarray
        Weight of each class, class weights included.
    n_columns : int
        Of the points.
    features : transformer or None
    survey : Survey
    """

    stream: Stream
    classes: NDArray[Any]
    totals: Floats
    n_columns: int
    features: Any
    survey: Survey

    @property
    def scale(self) -> float:
        """Sum of the weights."""
        return float(self.totals.sum())


def open_points(estimator: Any, stream: Stream, *, n_classes: int = 2) -> Points:
    """Survey the stream and prepare the labelled source rows of an estimator."""
    features = _explicit(estimator)
    sample = SAMPLE_ROWS if features is not None else 0
    survey = survey_stream(stream, sample=sample, n_jobs=estimator.n_jobs)
    if len(survey.classes) < n_classes:
        raise ValueError(
            f"y holds {len(survey.classes)} class on the rows to train on (sample_domain >= 0, "
            f"sample_weight > 0); at least {n_classes} classes are needed."
        )
    fitted = streamed_features(features, survey)
    factors = np.ones(len(survey.classes))
    if estimator.class_weight is not None:
        codes = np.arange(len(survey.classes))
        factors = class_factors(estimator.class_weight, survey.classes, codes, survey.totals)
    prepared = stream.then(coded(survey.classes)).then(_labelled(factors)).then(mapped(fitted))
    width = survey.n_columns if fitted is None else fitted.transform(survey.rows[:1]).shape[1]
    estimator.n_features_in_ = survey.n_columns
    return Points(prepared, survey.classes, survey.totals * factors, width, fitted, survey)


def streamed_features(features: Any, survey: Survey) -> Any:
    """A copy of the map fitted on the sample; widths "scale" follow from all rows."""
    if features is None:
        return None
    copy = clone(features)
    if copy.get_params().get("gamma") == "scale":
        spread = survey.n_columns * survey.variance
        copy.set_params(gamma=1.0 / spread if spread > 0 else 1.0)
    return copy.fit(survey.rows)


def mapped(features: Any) -> Callable[[CodedBlock], CodedBlock]:
    """A preparation: the rows as points of the features."""

    def prepare(block: CodedBlock) -> CodedBlock:
        if features is None:
            return block
        Z = features.transform(block.X)
        return CodedBlock(Z, block.codes, block.weights, block.domains, block.start)

    return prepare


def _labelled(factors: Floats) -> Callable[[CodedBlock], CodedBlock | None]:
    def prepare(block: CodedBlock) -> CodedBlock | None:
        kept = block.take(block.codes >= 0)
        if kept is None:
            return None
        weights = kept.weights * factors[kept.codes]
        return CodedBlock(kept.X, kept.codes, weights, kept.domains, kept.start)

    return prepare


def _explicit(estimator: Any) -> Any:
    kernel = getattr(estimator, "kernel", "linear")
    if estimator.features is None and kernel != "linear":
        raise ValueError(
            f"kernel={kernel!r} needs all rows at once; from blocks give "
            'features=Nystroem(...) or RandomFourier(...), or kernel="linear".'
        )
    return estimator.features


def open_inliers(estimator: Any, stream: Stream) -> tuple[Stream, Any]:
    """The source rows of a stream as points, labels not read, and the fitted feature map."""
    features = _explicit(estimator)
    sample = SAMPLE_ROWS if features is not None else 0
    survey = survey_stream(stream, labels=False, sample=sample, n_jobs=estimator.n_jobs)
    fitted = streamed_features(features, survey)
    estimator.n_features_in_ = survey.n_columns
    prepared = stream.then(coded(np.empty(0), labels=False)).then(_source).then(mapped(fitted))
    return prepared, fitted


def solve_one_class(estimator: Any, points: Stream, nu: float) -> HingeSolution:
    """½‖w‖² + bνW + Σ c max(0, -(wᵀz + b)), b = -ρ, started at a_i = νc_i."""

    def total(block: CodedBlock) -> list[Any]:
        return [float(block.weights.sum()), np.asarray(block.X.T @ block.weights, dtype=float)]

    weight, pulled = points.reduce(
        total, lambda a, b: [x + y for x, y in zip(a, b, strict=True)], estimator.n_jobs
    )
    first = nu * pulled
    typical = float(first @ pulled) / weight
    problem = HingeProblem(
        points.then(_inside), len(pulled), weight, pull=nu * weight, margin=0.0,
        width=0.2 * max(typical, 1e-12),
    )  # fmt: skip
    report = progress(estimator.callback, estimator.verbose, type(estimator).__name__)
    return solve_hinge(
        problem, tol=check_number("tol", estimator.tol), max_iter=500,
        start=np.append(first, -typical), n_jobs=estimator.n_jobs, callback=report,
    )  # fmt: skip


def _source(block: CodedBlock) -> CodedBlock | None:
    return block.take(block.domains >= 0)


def _inside(block: CodedBlock) -> tuple[Any, Floats, Floats]:
    return block.X, np.ones(len(block.weights)), block.weights


def labelled_moments(points: Points, costs: float, n_jobs: int | None) -> MomentValues:
    """Moments of (z, y) with weights c: all that least squares needs. y is ±1 or one-hot."""
    n_classes = len(points.classes)

    def part(block: CodedBlock) -> Moments:
        Z = block.X.toarray() if hasattr(block.X, "indptr") else block.X
        if n_classes == 2:
            Y = np.where(block.codes == 1, 1.0, -1.0)[:, None]
        else:
            Y = np.eye(n_classes)[block.codes]
        return Moments().update(np.hstack([Z, Y]), costs * block.weights)

    moments: Moments = points.stream.reduce(part, lambda a, b: a.merge(b), n_jobs)
    return moments.finish()


def fit_hinge(
    estimator: Any, points: Points, *, C: float | None = None, metric: Floats | None = None
) -> tuple[LinearScores, list[HingeSolution]]:
    """All two-class problems of a hinge machine; ``C`` where it is not the estimator's."""
    C = check_number("C", estimator.C) if C is None else C
    tol, most = check_number("tol", estimator.tol), 500
    report = progress(estimator.callback, estimator.verbose, type(estimator).__name__)
    pull = 0.0 if getattr(estimator, "fit_intercept", True) else None
    answers = []
    for select, rows in _tasks(points, getattr(estimator, "multi_class", "ovr")):
        problem = HingeProblem(
            points.stream.then(select(C)), points.n_columns, C * rows, metric=metric, pull=pull
        )
        answers.append(
            solve_hinge(problem, tol=tol, max_iter=most, n_jobs=estimator.n_jobs, callback=report)
        )
    coef = np.stack([answer.weights for answer in answers])
    intercept = np.array([answer.intercept for answer in answers])
    return LinearScores(coef, intercept, points.features), answers


def _tasks(points: Points, multi_class: str) -> Sequence[tuple[Any, float]]:
    """(preparation for a cost C, weight) of each two-class problem, as in `multiclass.split`."""
    n = len(points.classes)
    if n == 2:
        return [(_against(1, None), points.scale)]
    if multi_class == "ovr":
        return [(_against(k, None), points.scale) for k in range(n)]
    return [
        (_against(i, j), float(points.totals[[i, j]].sum())) for i, j in combinations(range(n), 2)
    ]


def _against(positive: int, negative: int | None) -> Callable[[float], Callable[[Any], Any]]:
    """One class against another one, or against the rest."""

    def of_cost(C: float) -> Callable[[Any], Any]:
        def prepare(block: CodedBlock) -> Any:
            kept: CodedBlock | None = block
            if negative is not None:
                kept = block.take((block.codes == positive) | (block.codes == negative))
            if kept is None:
                return None
            return kept.X, np.where(kept.codes == positive, 1.0, -1.0), C * kept.weights

        return prepare

    return of_cost
