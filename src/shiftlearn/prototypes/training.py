"""The training loop: exemplar machines, shifts, and the iterate that is best on held-out rows.

    models := one per row of D
    for j = 0..s:  train the machines whose sets changed; a_j := accuracy on V; keep the best;
                   shift (not after the last)

V are rows held out, D the others. Nothing here knows of estimators or labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.prototypes.models import Ensemble, TrainingSet, exemplar_models, train, votes
from shiftlearn.prototypes.rules import Rules
from shiftlearn.prototypes.shifting import Draws, shift

__all__ = ["Options", "Trace", "class_probabilities", "hold_out", "run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Options:
    """What a run of the loop needs beside the rows."""

    C: float
    draws: Draws
    rules: Rules
    n_negatives: int
    tol: float
    max_iter: int
    n_jobs: int


@dataclass
class Trace:
    """A run so far: the present models, the best ones, and what was seen on the way.

    Attributes
    ----------
    ensemble : Ensemble
        The models of the latest iterate.
    best : Ensemble
        Those of the best one.
    best_iteration : int
        Its number.
    scores, losses : list of float
        Accuracy and mean negative log-likelihood on the held-out rows (NaN without any).
    sizes : list of int
        Number of models.
    finished : bool
        Whether further shifts would change nothing.
    """

    ensemble: Ensemble
    best: Ensemble
    best_iteration: int = 0
    scores: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    finished: bool = False

    @property
    def best_score(self) -> float:
        """Accuracy of the best iterate."""
        return self.scores[self.best_iteration]

    def see(self, score: float, loss: float, later: bool) -> None:
        """Enter the latest iterate, and keep it where it is better (or as good and ``later``)."""
        self.scores.append(score)
        self.losses.append(loss)
        self.sizes.append(len(self.ensemble))
        last = len(self.scores) - 1
        if last == 0:
            return
        good = score >= self.best_score if later else score > self.best_score
        if good or np.isnan(score):
            self.best, self.best_iteration = self.ensemble, last


def hold_out(
    codes: NDArray[np.int32], fraction: float, rng: np.random.RandomState, stratified: bool
) -> Ints:
    """Rows to hold out, ascending: ⌊v n_c + ½⌋ of every class; one of each always stays behind."""
    n_classes = int(codes.max()) + 1
    if not stratified:
        drawn = rng.permutation(len(codes))[: int(fraction * len(codes) + 0.5)]
        return _leaving_one(codes, drawn)
    chosen = []
    for c in range(n_classes):
        mine = np.flatnonzero(codes == c)
        count = min(int(fraction * len(mine) + 0.5), len(mine) - 1)
        chosen.append(rng.permutation(mine)[:count])
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _leaving_one(codes: NDArray[np.int32], drawn: Ints) -> Ints:
    """Give back one row of each class that would be gone."""
    left = np.setdiff1d(codes, np.delete(codes, drawn))
    back = [drawn[codes[drawn] == c][0] for c in left]
    return np.setdiff1d(drawn, np.array(back, dtype=np.int64)).astype(np.int64)


def class_probabilities(sums: Floats, largest: Floats, fires: NDArray[np.bool_]) -> Floats:
    """S_c / Σ S where some model fires, else the softmax of the largest scores."""
    p = np.exp(largest - largest.max(axis=1, keepdims=True))
    total = sums.sum(axis=1, keepdims=True)
    voted = fires & (total[:, 0] > 0)
    p[voted] = sums[voted]
    probabilities: Floats = p / p.sum(axis=1, keepdims=True)
    return probabilities


def judge(ensemble: Ensemble, held: TrainingSet, options: Options) -> tuple[float, float]:
    """Accuracy and mean negative log-likelihood on the held-out rows, by weight."""
    if not held.n_rows:
        return float("nan"), float("nan")
    every = options.rules.every_vote
    sums, largest, fires = votes(held.table, ensemble, held.n_classes, every, options.n_jobs)
    voted = fires | every
    guess = np.where(voted, sums.argmax(axis=1), largest.argmax(axis=1))
    p = class_probabilities(sums, largest, voted)[np.arange(held.n_rows), held.codes]
    loss = -np.average(np.log(np.maximum(p, 1e-3)), weights=held.weights)
    return float(np.average(guess == held.codes, weights=held.weights)), float(loss)


def fit_machines(data: TrainingSet, ensemble: Ensemble, changed: Any, o: Options) -> Ensemble:
    """`train` with these options."""
    return train(
        data, ensemble, changed, o.C, o.rules, tol=o.tol, max_iter=o.max_iter, n_jobs=o.n_jobs
    )


def begin(data: TrainingSet, held: TrainingSet, first: Ensemble, options: Options) -> Trace:
    """The exemplar machines of iterate 0."""
    models = fit_machines(data, first, np.ones(len(first), dtype=bool), options)
    trace = Trace(models, models)
    trace.see(*judge(models, held, options), options.rules.later)
    return trace


def go_on(
    data: TrainingSet,
    held: TrainingSet,
    trace: Trace,
    n_shifts: int,
    options: Options,
    told: Callable[[Trace], bool] | None = None,
) -> Trace:
    """Shift until there are ``n_shifts`` shifts; the same trace, grown."""
    while len(trace.scores) <= n_shifts and not trace.finished:
        if told is not None and told(trace):
            break
        turn = len(trace.scores) - 1
        moved = shift(data, trace.ensemble, options.draws, turn, options.rules, options.n_jobs)
        if (not moved.moved and options.draws.rate == 0) or not len(moved.ensemble):
            trace.finished = True
            break
        trace.ensemble = fit_machines(data, moved.ensemble, moved.changed, options)
        trace.see(*judge(trace.ensemble, held, options), options.rules.later)
    return trace


def run(
    data: TrainingSet,
    held: TrainingSet,
    exemplars: Ints,
    n_shifts: int,
    options: Options,
    first: Ensemble | None = None,
    told: Callable[[Trace], bool] | None = None,
) -> Trace:
    """Algorithm TRAIN; ``first`` are the untrained models where they are known already."""
    if first is None:
        first = exemplar_models(data, exemplars, options.n_negatives, options.n_jobs)
    return go_on(data, held, begin(data, held, first, options), n_shifts, options, told)
