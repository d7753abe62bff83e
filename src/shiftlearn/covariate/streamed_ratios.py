"""Density ratios from streams of rows: the logistic model of the domains, and sums of its weights.

The weights of the source rows are not kept: ``weights(blocks)`` gives them again, and two sums
over them, in logs, say what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from shiftlearn.certificates import Certificate
from shiftlearn.machines.streaming import mapped, streamed_features
from shiftlearn.solvers import newton
from shiftlearn.solvers.losses import Layout, Logistic
from shiftlearn.statistics import Blocks, Stream, is_stream, open_stream
from shiftlearn.statistics.survey import SAMPLE_ROWS, CodedBlock, coded, survey_stream

__all__ = ["StreamedDomains", "either_streams", "open_pair"]

Floats = NDArray[np.float64]


def either_streams(X_source: Any, X_target: Any) -> bool:
    """Whether one of the samples is a stream; then both have to be."""
    found = [is_stream(X) for X in (X_source, X_target)]
    if any(found) and not (isinstance(X_source, Blocks) and isinstance(X_target, Blocks)):
        raise TypeError(
            "X_source and X_target must both be Blocks; wrap arrays in Blocks.from_arrays, and "
            "stack Dask collections for CovariateShiftLogisticRegression."
        )
    return all(found)


class StreamedDomains:
    """The rows of both domains of a stream, and the logistic model that tells them apart."""

    def __init__(self, stream: Stream, features: Any, n_columns: int, n_jobs: int | None) -> None:
        self.stream, self.features, self.n_jobs = stream, features, n_jobs
        self.n_columns = n_columns
        counts = stream.reduce(_counts, _added, n_jobs)
        self.n_source, self.n_target = int(counts[0]), int(counts[1])

    def model(
        self, *, C: float, fit_intercept: bool, tol: float, max_iter: int
    ) -> tuple[Floats, float, Certificate]:
        """v, v0 and the proof."""
        layout = Layout(self.n_columns, 1, fit_intercept)
        ridge = np.zeros(layout.size)
        ridge[: self.n_columns] = 1.0 / C
        problem = newton.Problem(
            Logistic(layout, layout.size <= 4096), self.stream.then(_as_logistic), ridge,
            weight=float(self.n_source + self.n_target),
        )  # fmt: skip
        answer = newton.solve(problem, tol=tol, max_iter=max_iter, n_jobs=self.n_jobs)
        W, bias, _ = layout.parts(answer.parameters)
        return W[:, 0], float(bias[0]), answer.certificate

    def log_sums(self, log_weights: Callable[[Any], Floats]) -> tuple[float, float]:
        """log Σ w and log Σ w² over the source rows, from a function of their points."""

        def part(block: CodedBlock) -> list[float]:
            own = block.take(block.domains >= 0)
            if own is None:
                return [-math.inf, -math.inf]
            logs = log_weights(own.X)
            return [float(logsumexp(logs)), float(logsumexp(2 * logs))]

        def join(a: list[float], b: list[float]) -> list[float]:
            return [float(np.logaddexp(x, y)) for x, y in zip(a, b, strict=True)]

        first, second = self.stream.reduce(part, join, self.n_jobs)
        return first, second


def open_pair(estimator: Any, X_source: Blocks, X_target: Blocks) -> StreamedDomains:
    """Both samples as one stream of points."""

    def make() -> Iterator[tuple[Any, ...]]:
        for blocks, domain in ((X_source, 1), (X_target, -2)):
            for block in blocks:
                yield block.X, None, domain, block.sample_weight

    stream = open_stream(Blocks(make), None, None, None, "")
    features = estimator.features
    sample = 0 if features is None else SAMPLE_ROWS
    survey = survey_stream(stream, labels=False, sample=sample, n_jobs=estimator.n_jobs)
    fitted = streamed_features(features, survey)
    estimator.n_features_in_ = survey.n_columns
    points = stream.then(coded(np.empty(0), labels=False)).then(mapped(fitted))
    width = survey.n_columns if fitted is None else fitted.transform(survey.rows[:1]).shape[1]
    return StreamedDomains(points, fitted, width, estimator.n_jobs)


def _counts(block: CodedBlock) -> list[int]:
    source = int((block.domains >= 0).sum())
    return [source, len(block.domains) - source]


def _added(a: list[int], b: list[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _as_logistic(block: CodedBlock) -> Any:
    return block.X, (block.domains >= 0).astype(np.intp), block.weights, None, None
