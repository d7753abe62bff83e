"""Integrated logistic regression from streams of rows: Newton passes, nothing kept but sums.

The same objective, starts and Newton's method as in memory (`joint_loss`, `solvers.newton`); a
block holds its rows with class numbers, ω, domain weights and which of them are source rows. The
weights of the rows are not kept: sums over them give the effective sample size and the convexity
margin, and ``density_ratio`` gives them again for any rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from shiftlearn.covariate.joint_loss import JointLoss, label_loss
from shiftlearn.machines.base import class_factors
from shiftlearn.machines.streaming import mapped, streamed_features
from shiftlearn.solvers import newton
from shiftlearn.solvers.losses import Layout, Logistic
from shiftlearn.statistics import Stream
from shiftlearn.statistics.survey import SAMPLE_ROWS, CodedBlock, coded, survey_stream

__all__ = ["StreamedJoint", "open_joint"]

Floats = NDArray[np.float64]
_START_TOL = 1e-3
_LARGEST_MATRIX = 4096


@dataclass(frozen=True, slots=True)
class StreamedJoint:
    """The joint problem of a stream of tuples (Z, codes, ω, s, source)."""

    stream: Stream
    classes: NDArray[Any]
    n_columns: int
    features: Any
    weight: float  # Σ ω
    n_source: float
    n_target: float
    cost: float
    cost_shift: float
    odds: float
    fit_intercept: bool
    n_jobs: int | None

    @property
    def n_scores(self) -> int:
        """Scores of the classes: 1 for two."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def loss(self) -> JointLoss:
        """The part of the objective that sums over rows."""
        form = (self.n_columns, self.n_scores, self.fit_intercept, self.odds)
        return JointLoss(*form, exact=JointLoss(*form).size <= _LARGEST_MATRIX)

    def problem(self) -> newton.Problem:
        """The problem as the solver takes it."""
        loss = self.loss
        ridge = np.full((self.n_scores + 1, loss.width), 1.0 / self.cost)
        ridge[-1] = 1.0 / self.cost_shift
        ridge[:, loss.n_columns :] = 0.0
        flat = None
        if self.n_scores > 1 and self.fit_intercept:
            flat = np.zeros((self.n_scores + 1, loss.width))
            flat[:-1, -1] = self.n_scores**-0.5
            flat = flat.reshape(-1, 1)
        return newton.Problem(
            loss, self.stream, ridge.ravel(), weight=self.weight, convex=False, flat=flat
        )

    def start(self) -> Floats:
        """Ordinary logistic regressions of the labels and of the domains."""
        label = self.plain(_START_TOL)
        domain = self._logistic(
            _domain_block, 2, self.cost_shift, self.n_source + self.n_target, _START_TOL
        )
        return np.vstack(
            [self._rows(label.parameters, self.n_scores), self._rows(domain.parameters, 1)]
        )

    def plain(self, tol: float) -> newton.Solution:
        """The labels alone, ω as weights: the machine without a target."""
        return self._logistic(_label_block, len(self.classes), self.cost, self.weight, tol)

    def plain_theta(self, solution: newton.Solution) -> Floats:
        """Parameters of a model whose domain score is zero everywhere."""
        label = self._rows(solution.parameters, self.n_scores)
        return np.vstack([label, np.zeros((1, label.shape[1]))])

    def _logistic(
        self, prepare: Callable[[Any], Any], n_classes: int, cost: float, weight: float, tol: float
    ) -> newton.Solution:
        k = 1 if n_classes == 2 else n_classes
        layout = Layout(self.n_columns, k, self.fit_intercept)
        ridge = np.zeros(layout.size)
        ridge[: self.n_columns * k] = 1.0 / cost
        flat = None
        if k > 1 and self.fit_intercept:
            flat = np.zeros((layout.size, 1))
            flat[self.n_columns * k :, 0] = k**-0.5
        loss = Logistic(layout, layout.size <= _LARGEST_MATRIX)
        problem = newton.Problem(loss, self.stream.then(prepare), ridge, weight=weight, flat=flat)
        return newton.solve(problem, tol=tol, n_jobs=self.n_jobs)

    def _rows(self, parameters: Floats, k: int) -> Floats:
        """Parameters column by column (W below b) as rows, one a score."""
        return np.ascontiguousarray(parameters.reshape(-1, k).T)

    def sums(self, theta: Floats) -> tuple[float, float, float]:
        """Mean weight, effective sample size and convexity margin over the source rows."""

        def part(block: Any) -> list[float]:
            return self._row_sums(block, theta)

        first, second, count, margin = self.stream.reduce(part, _joined, self.n_jobs)
        effective = math.exp(2 * first - second) if count else 0.0
        return math.exp(first) / max(count, 1.0), effective, margin

    def _row_sums(self, block: Any, theta: Floats) -> list[float]:
        Z, codes, omega, s, source = block
        if not source.any():
            return [-math.inf, -math.inf, 0.0, math.inf]
        Z, codes, omega, s = Z[source], codes[source], omega[source], s[source]
        scores = self.loss.scores(Z, theta)
        logs = math.log(self.odds) - scores[-1]
        loss, _, _ = label_loss(scores[:-1], codes)
        with np.errstate(over="ignore", invalid="ignore"):
            needed = np.where(omega > 0, omega * (np.expm1(loss) - loss), 0.0)
        margin = float(np.min(s * expit(scores[-1]) ** 2 / self.odds - needed))
        return [float(logsumexp(logs)), float(logsumexp(2 * logs)), float(len(logs)), margin]


def open_joint(estimator: Any, stream: Stream) -> StreamedJoint:
    """Survey the stream and prepare its blocks for an estimator."""
    features = estimator.features
    if features is None and estimator.kernel != "linear":
        raise ValueError(
            f"kernel={estimator.kernel!r} needs all rows at once; from blocks give "
            'features=Nystroem(...) or RandomFourier(...), or kernel="linear".'
        )
    survey = survey_stream(
        stream, sample=0 if features is None else SAMPLE_ROWS, n_jobs=estimator.n_jobs
    )
    if len(survey.classes) < 2:
        raise ValueError(
            f"y holds {len(survey.classes)} class on the labelled source rows; at least 2 classes "
            "are needed."
        )
    fitted = streamed_features(features, survey)
    factors = np.ones(len(survey.classes))
    if estimator.class_weight is not None:
        codes = np.arange(len(survey.classes))
        factors = class_factors(estimator.class_weight, survey.classes, codes, survey.totals)
    points = stream.then(coded(survey.classes, drop=False)).then(mapped(fitted))
    points = points.then(_with_weights(factors))
    counts = points.reduce(_counts, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
    estimator.n_features_in_ = survey.n_columns
    width = survey.n_columns if fitted is None else fitted.transform(survey.rows[:1]).shape[1]
    source, target = counts
    odds = source / target if target else 1.0
    if estimator.prior_odds is not None:
        odds = float(estimator.prior_odds)
    return StreamedJoint(
        points, survey.classes, width, fitted, float(survey.totals @ factors), source, target,
        float(estimator.C), float(estimator.C_shift), odds, bool(estimator.fit_intercept),
        estimator.n_jobs,
    )  # fmt: skip


def _with_weights(factors: Floats) -> Callable[[CodedBlock], Any]:
    def prepare(block: CodedBlock) -> Any:
        known = block.codes >= 0
        codes = np.where(known, block.codes, 0)
        omega = np.where(known, block.weights * factors[codes], 0.0)
        return block.X, codes, omega, np.ones(len(codes)), block.domains >= 0

    return prepare


def _counts(block: Any) -> list[float]:
    source = float(block[4].sum())
    return [source, len(block[4]) - source]


def _label_block(block: Any) -> Any:
    Z, codes, omega, _, _ = block
    own = np.flatnonzero(omega > 0)
    return (Z[own], codes[own], omega[own], None, None) if len(own) else None


def _domain_block(block: Any) -> Any:
    Z, _, _, s, source = block
    return Z, source.astype(np.intp), s, None, None


def _joined(a: list[float], b: list[float]) -> list[float]:
    sums = [float(np.logaddexp(x, y)) for x, y in zip(a[:2], b[:2], strict=True)]
    return [*sums, a[2] + b[2], min(a[3], b[3])]
