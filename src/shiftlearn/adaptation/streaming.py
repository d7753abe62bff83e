"""Adapting a source to a stream of labelled target rows, by Newton passes.

The problem of `AdaptLogisticRegression`, whose sums over rows are made block by block: the source
is asked for its scores of a block whenever the block is walked, and nothing of a row is kept. The
strength c_i = C · ω_i / mean ‖z‖² needs one pass for the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.adaptation.rows import class_costs, final_classes
from shiftlearn.adaptation.sources import Sources, fitted_members, source_list
from shiftlearn.domains.labels import label_array, unlabelled
from shiftlearn.kernels import Kernel
from shiftlearn.machines.streaming import mapped, streamed_features
from shiftlearn.solvers import newton
from shiftlearn.solvers.losses import Layout, Logistic
from shiftlearn.statistics import Block, Stream
from shiftlearn.statistics.survey import SAMPLE_ROWS, CodedBlock, coded, survey_stream

__all__ = ["StreamedAdaptation", "contrasts", "open_adaptation"]

Floats = NDArray[np.float64]
_LARGEST_MATRIX = 4096


@dataclass(frozen=True, slots=True)
class StreamedAdaptation:
    """Blocks (X, codes, weights) with X as given, the sources, and the features of X."""

    stream: Stream
    sources: Sources
    counts: NDArray[np.intp]  # labelled rows of each class
    factors: Floats  # of the costs, by class
    features: Any
    n_columns: int
    unit: float
    weight: float

    def solve(
        self,
        *,
        C: float,
        theta: Floats | None,
        trust_penalty: float,
        fit_intercept: bool,
        tol: float,
        max_iter: int,
        n_jobs: int | None,
        callback: Any,
    ) -> tuple[Floats, Floats, Floats, newton.Solution]:
        """W by scores, b, the trust, and the solution; ``theta`` None: the trust is learned."""
        k, m = self.sources.n_columns, len(self.sources.members)
        present = np.flatnonzero(self.counts)
        moves = contrasts(present, len(self.counts)) if fit_intercept else None
        free = 0 if moves is None else moves.shape[0]
        learned = m if theta is None else 0
        plain = fit_intercept and moves is None
        layout = Layout(self.n_columns, k, plain, learned + free)
        ridge, center = np.zeros(layout.size), np.zeros(layout.size)
        ridge[: self.n_columns * k] = 1.0
        at = slice(layout.size - learned - free, layout.size - free)
        ridge[at], center[at] = trust_penalty, 1.0 / max(1, m)
        problem = newton.Problem(
            Logistic(layout, layout.size <= _LARGEST_MATRIX),
            self.stream.then(self._blocks(C / self.unit, theta, moves)),
            ridge,
            center=center,
            weight=C / self.unit * self.weight,
            flat=_flat(layout),
        )
        answer = newton.solve(problem, tol=tol, max_iter=max_iter, n_jobs=n_jobs, callback=callback)
        W, bias, shared = layout.parts(answer.parameters)
        if moves is not None:
            bias = shared[learned:] @ moves
        elif layout.n_scores > 1:
            bias = bias - bias.mean()
        trust = shared[:learned] if theta is None else theta
        return np.ascontiguousarray(W.T), bias, trust, answer

    def _blocks(
        self, cost: float, theta: Floats | None, moves: Floats | None
    ) -> Callable[[CodedBlock], Any]:
        """Blocks as the logistic loss takes them: (Z, codes, costs, offset, shared)."""

        def prepare(block: CodedBlock) -> Any:
            scores = self.sources.scores(block.X)
            Z = mapped(self.features)(block).X
            shared = scores if theta is None and scores.shape[1] else None
            offset = None if theta is None else np.einsum("nmc,m->nc", scores, theta)
            if moves is not None and len(moves):
                fixed = np.broadcast_to(moves, (len(block.codes), *moves.shape))
                shared = fixed if shared is None else np.concatenate([shared, fixed], axis=1)
            costs = cost * block.weights * self.factors[block.codes]
            return Z, block.codes, costs, offset, shared

        return prepare


def contrasts(present: NDArray[np.intp], n_classes: int) -> Floats | None:
    """Orthonormal directions in which intercepts of the classes present may move; None: all may."""
    if len(present) == n_classes:
        return None
    if n_classes == 2:
        return np.zeros((0, 1))
    centred = np.eye(len(present)) - 1.0 / len(present)
    directions = np.zeros((len(present) - 1, n_classes))
    directions[:, present] = np.linalg.svd(centred)[2][: len(present) - 1]
    return directions


def open_adaptation(estimator: Any, stream: Stream, reading: str) -> StreamedAdaptation:
    """Survey the labelled target rows of a stream and read the sources."""
    if estimator.source_transform == "scale":
        raise ValueError(
            'source_transform="scale" needs the median of all scores at once; from blocks give '
            'None, "logit" or a callable.'
        )
    rows = stream.then(_labelled_target)
    features = estimator.features
    survey = survey_stream(
        rows, sample=0 if features is None else SAMPLE_ROWS, n_jobs=estimator.n_jobs
    )
    members = fitted_members(source_list(estimator.source), None, None, type(estimator).__name__)
    names = [member.name for member in members]
    classes = final_classes(survey.classes, [m.classes for m in members], None, names)
    sources = Sources(tuple(members), classes, reading, estimator.source_transform)
    fitted = streamed_features(features, survey)
    points = rows.then(coded(classes))
    counts, weight, squares = points.reduce(
        lambda block: _sums(block, fitted, len(classes)), _added, estimator.n_jobs
    )
    present = np.flatnonzero(counts)
    factors = np.ones(len(classes))
    totals = np.zeros(len(classes))
    totals[np.searchsorted(classes, survey.classes)] = survey.totals
    costs = class_costs(estimator.class_weight, classes, present, totals[present])
    factors[present] = costs / totals[present]
    estimator.n_features_in_ = survey.n_columns
    sources.warn_unknown(present)
    width = survey.n_columns if fitted is None else fitted.transform(survey.rows[:1]).shape[1]
    unit = squares / weight if squares > 0 else 1.0
    return StreamedAdaptation(
        points, sources, counts, factors, fitted, width, unit, float(totals @ factors)
    )


def _labelled_target(block: Block) -> Block | None:
    """The rows to learn from, as rows of one domain; all labelled ones where no domain is given."""
    n = block.X.shape[0]
    if block.y is None:
        raise ValueError(f"block {block.number} has no y; the rows to adapt on need labels.")
    keep = ~unlabelled(label_array(block.y, n))
    if block.sample_domain is not None:
        keep &= np.asarray(block.sample_domain) < 0
    rows = np.flatnonzero(keep)
    if not len(rows):
        return None
    weight = None if block.sample_weight is None else block.sample_weight[rows]
    y = label_array(block.y, n)[rows]
    return Block(block.X[rows], y, np.ones(len(rows)), weight, block.start, block.number)


def _sums(block: CodedBlock, features: Any, n_classes: int) -> list[Any]:
    """Rows of each class, Σ ω and Σ ω ‖z‖²."""
    Z = mapped(features)(block).X
    squares = Kernel("linear").diagonal(Z)
    counts = np.bincount(block.codes, minlength=n_classes)
    return [counts, float(block.weights.sum()), float(block.weights @ squares)]


def _added(a: list[Any], b: list[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _flat(layout: Layout) -> Floats | None:
    """The direction that raises the intercepts of all classes alike."""
    if layout.n_scores == 1 or not layout.fit_intercept:
        return None
    flat = np.zeros((layout.size, 1))
    start = layout.n_columns * layout.n_scores
    flat[start : start + layout.n_scores, 0] = 1.0 / math.sqrt(layout.n_scores)
    return flat
