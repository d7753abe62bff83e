"""An ensemble of exemplar machines: its sets, its machines, its sigmoids.

Model i stands for class c_i and has an exemplar e_i and two sets of rows, P_i of its class and N_i
of others, and solves, with t = +1 on P_i and -1 on N_i,

    min_{w, b}  ½‖w‖² + Σ_{j in P_i and N_i} C_j max(0, 1 - t_j (⟨w, x_j⟩ + b)).

All machines whose sets changed are one batch for `shiftlearn.solvers.batch`, begun at their old
dual variables; all their sigmoids one batch for `shiftlearn.solvers.platt`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shiftlearn import _core
from shiftlearn.certificates import Certificate
from shiftlearn.prototypes.rules import Rules
from shiftlearn.prototypes.table import Table
from shiftlearn.solvers.batch import BatchProblem, BatchSolution, solve_batch
from shiftlearn.solvers.platt import fit_platt_batch

__all__ = ["Ensemble", "TrainingSet", "exemplar_models", "train", "votes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_NEVER = -1.0  # intercept of a machine without negatives: it fires nowhere


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The rows that models are made of (scaled), their class numbers and weights."""

    table: Table
    codes: NDArray[np.int32]
    weights: Floats
    n_classes: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def take(self, rows: Ints) -> TrainingSet:
        """The given rows."""
        return TrainingSet(
            self.table.take(rows), self.codes[rows], self.weights[rows], self.n_classes
        )


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Models in the order of their exemplars.

    Attributes
    ----------
    exemplars : ndarray of int64, shape (M,)
        Rows, ascending.
    codes : ndarray of int32, shape (M,)
        The class of each model.
    indptr, rows : ndarray of int64
        Model i owns ``rows[indptr[i]:indptr[i + 1]]``, ascending: P_i and N_i together.
    alpha : ndarray
        Dual variables, laid out like ``rows``.
    coef : ndarray, shape (M, d)
        w, for scaled rows.
    figures : ndarray, shape (4, M)
        b; Platt's A and B; the largest score among the model's own rows.
    proof : ndarray, shape (4, M)
        Objective, gap, violation and iterations of the last solution of each machine.
    """

    exemplars: Ints
    codes: NDArray[np.int32]
    indptr: Ints
    rows: Ints
    alpha: Floats
    coef: Floats
    figures: Floats
    proof: Floats

    def __len__(self) -> int:
        return len(self.exemplars)

    @property
    def owner(self) -> Ints:
        """The model of each entry of ``rows``."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    def by_class(self, n_classes: int) -> tuple[Ints, Ints]:
        """Models sorted by class, and where each class begins."""
        order = np.argsort(self.codes, kind="stable").astype(np.int64)
        starts = np.searchsorted(self.codes[order], np.arange(n_classes + 1)).astype(np.int64)
        return order, starts

    def take(self, models: Ints) -> Ensemble:
        """The given models (ascending)."""
        lengths = np.diff(self.indptr)[models]
        entries = np.isin(self.owner, models)
        return Ensemble(
            self.exemplars[models], self.codes[models], _pointers(lengths), self.rows[entries],
            self.alpha[entries], np.ascontiguousarray(self.coef[models]),
            np.ascontiguousarray(self.figures[:, models]), self.proof[:, models],
        )  # fmt: skip

    def with_entries(self, models: Ints, rows: Ints, n_rows: int) -> tuple[Ensemble, Bools]:
        """The same models with rows added to their sets (once), and which of them changed."""
        old = self.owner * n_rows + self.rows
        new = np.unique(models * n_rows + rows)
        new = new[~np.isin(new, old, assume_unique=True)]
        changed = np.zeros(len(self), dtype=bool)
        if not new.size:
            return self, changed
        changed[new // n_rows] = True
        both = np.concatenate([old, new])
        order = np.argsort(both, kind="stable")
        alpha = np.concatenate([self.alpha, np.zeros(len(new))])[order]
        counts = np.bincount(both // n_rows, minlength=len(self))
        return replace(
            self, indptr=_pointers(counts), rows=both[order] % n_rows, alpha=alpha
        ), changed

    def certificate(self, tol: float) -> Certificate:
        """All machines together."""
        objective, gap, violation, n_iter = self.proof
        return Certificate(
            objective=float(objective.sum()),
            gap=float(gap.sum()),
            violation=float(violation.max(initial=0.0)),
            converged=bool((violation <= tol).all()),
            n_iter=int(n_iter.sum()),
        )

    def bare(self) -> Ensemble:
        """What prediction needs: the machines without their sets."""
        none = np.empty(0, dtype=np.int64)
        return replace(self, indptr=none, rows=none, alpha=np.empty(0))

    def with_intercept(self, intercept: Floats) -> Ensemble:
        """The same machines with other intercepts."""
        return replace(self, figures=np.vstack([intercept, self.figures[1:]]))


def exemplar_models(data: TrainingSet, exemplars: Ints, k: int, n_jobs: int) -> Ensemble:
    """One untrained model for each exemplar: itself against its negatives.

    The negatives of row i: rows of other classes by distance (ties by position); with x the first
    at a positive distance, row j is kept where ⟨x - x_i, x_j - x_i⟩ > 0, until there are k.
    """
    m = len(exemplars)
    found = np.empty((m, k), dtype=np.int64)
    _core.prototype_negatives(*data.table.parts, data.codes, exemplars, k, found, n_jobs)
    rows = np.sort(np.column_stack([exemplars, found]), axis=1)
    there = rows >= 0
    flat = rows[there]
    return Ensemble(
        exemplars, data.codes[exemplars], _pointers(there.sum(axis=1)), flat,
        np.zeros(len(flat)), np.zeros((m, data.table.matrix.shape[1])), np.zeros((4, m)),
        np.zeros((4, m)),
    )  # fmt: skip


def train(
    data: TrainingSet,
    ensemble: Ensemble,
    changed: Bools,
    C: float,
    rules: Rules,
    *,
    tol: float,
    max_iter: int,
    n_jobs: int,
) -> Ensemble:
    """Solve the machines whose sets changed, from their old dual variables, and calibrate them."""
    which = np.flatnonzero(changed)
    if not len(which):
        return ensemble
    part = ensemble if len(which) == len(ensemble) else ensemble.take(which)
    signs = np.where(data.codes[part.rows] == part.codes[part.owner], 1.0, -1.0)
    upper = costs(data, part, signs, C, rules)
    problem = BatchProblem(part.indptr, part.rows, signs, upper, np.full(len(signs), -1.0))
    start = part.alpha if part.alpha.any() else None
    solution = solve_batch(
        data.table.matrix, problem, tol=tol, max_iter=max_iter, start=start, return_coef=True,
        n_jobs=n_jobs,
    )  # fmt: skip
    return _adopt(data, ensemble, part, which, signs, solution, rules, tol, n_jobs)


def costs(data: TrainingSet, part: Ensemble, signs: Floats, C: float, rules: Rules) -> Floats:
    """C_j of every entry: C times the row's weight, by the rules local or balanced."""
    owner = part.owner
    upper = C * data.weights[part.rows]
    if rules.local_costs:
        upper = upper / nearest_negative(data, part, signs)[owner]
    if rules.balanced:
        size = np.diff(part.indptr)
        plus = np.bincount(owner, weights=signs > 0, minlength=len(part))
        minus = np.maximum(size - plus, 1)
        upper = upper * np.where(signs > 0, (size / (2 * plus))[owner], (size / (2 * minus))[owner])
    return np.asarray(upper)


def nearest_negative(data: TrainingSet, part: Ensemble, signs: Floats) -> Floats:
    """Squared distance of each exemplar to its nearest negative (1 without negatives)."""
    entries = np.flatnonzero(signs < 0)
    owner = part.owner[entries]
    nearest = np.full(len(part), np.inf)
    step = max(1, (1 << 22) // max(1, data.table.matrix.shape[1]))
    for low in range(0, len(entries), step):
        some, mine = entries[low : low + step], owner[low : low + step]
        gaps = data.table.matrix[part.exemplars[mine]] - data.table.matrix[part.rows[some]]
        squares = gaps.multiply(gaps) if hasattr(gaps, "multiply") else gaps * gaps
        np.minimum.at(nearest, mine, np.asarray(squares.sum(axis=1)).ravel())
    return np.where(np.isfinite(nearest) & (nearest > 0), nearest, 1.0)


def votes(
    table: Table, ensemble: Ensemble, n_classes: int, every: bool, n_jobs: int
) -> tuple[Floats, Floats, Bools]:
    """Return sums of probabilities and largest scores by class, and whether a model fires."""
    order, starts = ensemble.by_class(n_classes)
    n = table.n_rows
    sums, largest = np.empty((n, n_classes)), np.empty((n, n_classes))
    fires = np.empty(n, dtype=np.uint8)
    _core.prototype_vote(
        *table.parts, ensemble.coef, ensemble.figures, order, starts, every, sums, largest,
        fires, n_jobs,
    )  # fmt: skip
    return sums, largest, fires.astype(bool)


def _pointers(lengths: NDArray[np.integer]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _adopt(
    data: TrainingSet,
    ensemble: Ensemble,
    part: Ensemble,
    which: Ints,
    signs: Floats,
    solution: BatchSolution,
    rules: Rules,
    tol: float,
    n_jobs: int,
) -> Ensemble:
    """The ensemble with the new machines in their places."""
    owner = part.owner
    alone = np.bincount(owner, weights=signs < 0, minlength=len(part)) == 0
    coef = solution.coef if solution.coef is not None else np.empty((0, 0))
    coef[alone] = 0.0
    figures = np.empty((4, len(part)))
    figures[0] = np.where(alone, _NEVER, solution.intercept)
    figures[1:] = _calibrated(data, part, coef, figures[0], signs, alone, rules, tol, n_jobs)
    proof = np.stack([solution.objective, solution.gap, solution.violation, solution.n_iter])
    if part is ensemble:
        return replace(ensemble, alpha=solution.alpha, coef=coef, figures=figures, proof=proof)
    new = [array.copy() for array in (ensemble.alpha, ensemble.coef, ensemble.figures)]
    new[0][np.isin(ensemble.owner, which)] = solution.alpha
    new[1][which] = coef
    new[2][:, which] = figures
    every_proof = ensemble.proof.copy()
    every_proof[:, which] = proof
    return replace(ensemble, alpha=new[0], coef=new[1], figures=new[2], proof=every_proof)


def _calibrated(
    data: TrainingSet,
    part: Ensemble,
    coef: Floats,
    intercept: Floats,
    signs: Floats,
    alone: Bools,
    rules: Rules,
    tol: float,
    n_jobs: int,
) -> Floats:
    """A, B and the largest score of each model; probability 0 for machines without negatives."""
    scores = np.empty(len(part.rows))
    _core.prototype_pairs(
        *data.table.parts, coef, intercept, part.indptr, part.rows, scores, n_jobs
    )
    largest = np.maximum.reduceat(scores, part.indptr[:-1])
    # Scores that differ by no more than the machine's tolerance tell nothing.
    equal = largest - np.minimum.reduceat(scores, part.indptr[:-1]) <= 10 * tol
    told = np.where(equal[part.owner], largest[part.owner], scores)
    if rules.calibration in ("votes", "fixed"):
        slope = 0.0 if rules.calibration == "votes" else -1.0
        offset = -np.inf if rules.calibration == "votes" else 0.0
        answer = np.stack([np.full(len(part), v) for v in (slope, offset, np.inf)])
    else:
        sigmoids = fit_platt_batch(
            part.indptr, told, signs > 0, weights=data.weights[part.rows], n_jobs=n_jobs
        ).rising()
        capped = rules.calibration == "capped"
        answer = np.stack(
            [sigmoids.slope, sigmoids.offset, largest if capped else np.full(len(part), np.inf)]
        )
    answer[0, alone], answer[1, alone] = 0.0, np.inf
    return answer
