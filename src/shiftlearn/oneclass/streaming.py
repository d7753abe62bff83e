"""TLOC-SVM from streams of rows: the hinges of all tasks smoothed, solved by Newton, certified.

With T_th = ½ (1 + [t = h] / μ_t) (one task alone: 1) the primal in explicit features is

    min_{w, b}  P = ½ Σ_th (T⁻¹)_th w_tᵀw_h + Σ_t b_t + Σ_ti C_ti max(0, -(w_tᵀz_ti + b_t)),

with b = -ρ,

and for any a in the box with Σ_i a_ti = 1 for each task, with v_t = Σ_i a_ti z_ti,

    P(w, b) - P* <= P(w, b) + ½ Σ_th T_th v_tᵀv_h.

The slopes of the smoothed hinges (`solvers.smooth_hinge`) give such a point once the sum of each
task is put right. All tasks together are one Newton problem of K (D + 1) parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate
from shiftlearn.domains.resolve import DEFAULT_TARGET
from shiftlearn.machines.base import check_number, progress
from shiftlearn.machines.streaming import mapped, streamed_features
from shiftlearn.oneclass.tasks import Tasks, check_sums, penalties, task_costs
from shiftlearn.solvers import newton
from shiftlearn.solvers.smooth import Objective, Partial
from shiftlearn.solvers.smooth_hinge import SmoothHinge, solve_widths
from shiftlearn.statistics import Block, Stream, map_reduce
from shiftlearn.statistics.survey import SAMPLE_ROWS, CodedBlock, coded, survey_stream

__all__ = ["StreamedTasks", "check_streamable", "open_tasks", "report_of"]

Floats = NDArray[np.float64]

_LARGEST_MATRIX = 4096
_MOST_STEPS = 500
_DAMPING = 5e-4  # small: it also slows the tasks that have curvature of their own


@dataclass(frozen=True, slots=True, eq=False)
class StreamedTasks:
    """Blocks (Z, tasks of the rows, costs), and what a first pass found.

    ``centres`` holds Σ_i C_ti z_ti / Σ_i C_ti, ``sums`` Σ_i C_ti.
    """

    stream: Stream
    tasks: Tasks
    features: Any
    costs: Floats
    penalties: Floats
    sums: Floats
    centres: Floats
    n_jobs: int | None

    @property
    def table(self) -> Floats:
        """T."""
        if self.tasks.count == 1:
            return np.ones((1, 1))
        return np.asarray(0.5 * (1.0 + np.diag(1.0 / self.penalties)))

    def solve(self, tol: float, callback: Any) -> tuple[Floats, Floats, Certificate]:
        """w of each task, ρ, and the proof; started at a_ti = C_ti / Σ_i C_ti."""
        w = self.table @ self.centres
        rho = np.einsum("td,td->t", w, self.centres)
        typical = max(float(np.abs(rho).max()), 1e-12)
        K, D = w.shape
        metric = np.zeros((K, D + 1, K, D + 1))
        metric[:, :D, :, :D] = np.einsum("th,de->tdhe", np.linalg.inv(self.table), np.eye(D))
        linear = np.zeros((K, D + 1))
        linear[:, -1] = 1.0
        size = linear.size

        def at_width(width: float) -> newton.Problem:
            return newton.Problem(
                _TaskHinge(width, self.sums), self.stream, np.zeros(size), weight=1.0,
                metric=metric.reshape(size, size), linear=linear.ravel(),
            )  # fmt: skip

        parameters, certificate = solve_widths(
            at_width, self._bound, np.hstack([w, -rho[:, None]]).ravel(), 0.2 * typical, tol=tol,
            max_iter=_MOST_STEPS, precision=1e-2 * min(1.0, typical), n_jobs=self.n_jobs,
            callback=callback,
        )  # fmt: skip
        found = parameters.reshape(K, D + 1)
        return np.ascontiguousarray(found[:, :-1]), -found[:, -1], certificate

    def _bound(self, objective: _TaskHinge, parameters: Floats) -> tuple[float, float]:
        """P, and its distance to the dual value of the point that the slopes suggest."""
        K = self.tasks.count

        def part(block: Any) -> list[Any]:
            return objective.sums(block, parameters)

        loss, total, pulled = map_reduce(part, self.stream, _added, self.n_jobs)
        found = parameters.reshape(K, -1)
        inverse = np.linalg.inv(self.table)
        value = 0.5 * float(np.einsum("td,th,hd->", found[:, :-1], inverse, found[:, :-1]))
        value += float(found[:, -1].sum()) + float(loss)
        v = np.stack([self._feasible(t, total[t], pulled[t]) for t in range(K)])
        dual = -0.5 * float(np.einsum("td,th,hd->", v, self.table, v))
        return value, max(0.0, value - dual)

    def _feasible(self, task: int, total: float, pulled: Floats) -> Floats:
        """v of the slopes with their sum made 1: shrunk, or moved towards the costs."""
        if total >= 1.0:
            return pulled / total
        room = self.sums[task] - total
        share = (1.0 - total) / room if room > 0 else 0.0
        return np.asarray((1 - share) * pulled + share * self.sums[task] * self.centres[task])


class _TaskHinge(Objective):
    """Σ C_ti ℓ_h(-(w_tᵀz + b_t)) of a block, for the parameters (w_t, b_t) of all tasks.

    A task none of whose rows lie between 0 and h has no curvature in b_t; where that leaves the
    Hessian without a factor it gets some of the curvature that a sum of 1 over a width of h has.
    """

    def __init__(self, width: float, sums: Floats) -> None:
        self.n_tasks, self._shares = len(sums), _DAMPING / (width * sums)
        self.hinge = SmoothHinge(width, 0.0, True)

    def partial(self, block: Any, parameters: Floats, order: int = 2) -> Partial:
        """Sums over the tasks; the Hessian has a square for each."""
        own = parameters.reshape(self.n_tasks, -1)
        gradient, hessian = np.zeros_like(own), self._empty(own) if order > 1 else None
        loss = 0.0
        for task, rows in self._parts(block):
            part = self.hinge.partial(rows, own[task], order)
            loss += part.loss
            if order:
                gradient[task] = part.gradient
            if hessian is not None:
                hessian[task, :, task, :] = np.asarray(part.hessian)
        size = parameters.size
        return Partial(
            loss, gradient.ravel() if order else None,
            None if hessian is None else hessian.reshape(size, size),
        )  # fmt: skip

    def majorant(self, block: Any, parameters: Floats) -> Floats:
        """The Hessian with a curvature in b_t for tasks that have none."""
        hessian = self.partial(block, parameters).hessian
        assert isinstance(hessian, np.ndarray)
        own = hessian.reshape(self.n_tasks, -1, self.n_tasks, len(hessian) // self.n_tasks)
        for task, (_, _, costs) in self._parts(block):
            own[task, -1, task, -1] += self._shares[task] * costs.sum()
        return hessian

    def sums(self, block: Any, parameters: Floats) -> list[Any]:
        """Hinge loss; Σ_i a_ti and Σ_i a_ti z_ti of each task."""
        own = parameters.reshape(self.n_tasks, -1)
        loss, total, pulled = 0.0, np.zeros(self.n_tasks), np.zeros_like(own[:, :-1])
        for task, (Z, _, c) in self._parts(block):
            t = -self.hinge.scores(Z, own[task])
            a = c * np.clip(t / self.hinge.width, 0.0, 1.0)
            loss += float(c @ np.maximum(t, 0.0))
            total[task], pulled[task] = a.sum(), Z.T @ a
        return [loss, total, pulled]

    def _parts(self, block: Any) -> list[tuple[int, Any]]:
        """The rows of each task as the hinge takes them."""
        Z, of_row, costs = block
        parts = []
        for task in np.unique(of_row):
            rows = np.flatnonzero(of_row == task)
            parts.append((int(task), (Z[rows], np.ones(len(rows)), costs[rows])))
        return parts

    def _empty(self, own: Floats) -> Floats:
        return np.zeros((*own.shape, *own.shape))


def open_tasks(estimator: Any, stream: Stream) -> StreamedTasks:
    """Survey the stream and prepare its blocks: two passes."""
    features, n_jobs = estimator.features, estimator.n_jobs
    stream = stream.then(_as_tasks)
    sample = 0 if features is None else SAMPLE_ROWS
    survey = survey_stream(stream, labels=False, sample=sample, n_jobs=n_jobs)
    labels = _ordered(survey.domains)
    fitted = streamed_features(features, survey)
    points = stream.then(coded(np.empty(0), labels=False)).then(mapped(fitted))
    width = survey.n_columns if fitted is None else fitted.transform(survey.rows[:1]).shape[1]
    if len(labels) * (width + 1) > _LARGEST_MATRIX:
        raise ValueError(
            f"{len(labels)} tasks of {width} columns make {len(labels) * (width + 1)} parameters; "
            f"a fit from blocks takes at most {_LARGEST_MATRIX}. Use features= with fewer columns."
        )
    weights, pulled, sizes = points.reduce(lambda b: _weighed(b, labels), _added, n_jobs)
    nobody = np.empty(0, dtype=np.intp)
    tasks = Tasks(labels, nobody, nobody, 0, labels)
    costs, by_share = task_costs(estimator, tasks, weights)
    check_sums(costs, costs * weights, sizes, tasks)
    penalty = penalties(estimator.reg, costs, by_share, tasks)
    estimator.n_features_in_ = survey.n_columns

    def with_costs(block: CodedBlock) -> Any:
        of_row = tasks.positions(block.domains)
        return block.X, of_row, costs[of_row] * block.weights

    return StreamedTasks(
        points.then(with_costs), tasks, fitted, costs, penalty, costs * weights,
        pulled / weights[:, None], n_jobs,
    )  # fmt: skip


def check_streamable(estimator: Any) -> float:
    """The tolerance; an error says what a fit from blocks cannot do."""
    if estimator.uncertainty is not None:
        raise ValueError(
            f"uncertainty={estimator.uncertainty!r} moves single rows, which needs all of them in "
            "memory; from blocks give uncertainty=None (TLOC-SVM)."
        )
    if estimator.features is None and estimator.kernel != "linear":
        raise ValueError(
            f"kernel={estimator.kernel!r} needs all rows at once; from blocks give "
            'features=Nystroem(...) or RandomFourier(...), or kernel="linear".'
        )
    if estimator.offset == "left-out":
        raise ValueError(
            'offset="left-out" needs the part of each row in the answer; from blocks give '
            'offset="auto" or "observed".'
        )
    return check_number("tol", estimator.tol)


def report_of(estimator: Any) -> Any:
    """The callback of the passes."""
    return progress(estimator.callback, estimator.verbose, type(estimator).__name__)


def _as_tasks(block: Block) -> Block:
    """Labels are not read; without domains all rows are the target."""
    domain = block.sample_domain
    if domain is None:
        domain = np.full(block.X.shape[0], DEFAULT_TARGET)
    return block._replace(y=None, sample_domain=domain)


def _ordered(domains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sources ascending, then the target."""
    targets = domains[domains < 0]
    if len(targets) != 1:
        found = targets.tolist() if len(targets) else "no rows of a target"
        raise ValueError(
            f"sample_domain must hold one target domain (< 0), found {found}; sources are >= 0."
        )
    return np.array([*sorted(domains[domains >= 0].tolist()), targets[0]], dtype=np.int64)


def _weighed(block: CodedBlock, labels: NDArray[np.int64]) -> list[Any]:
    """Σ ω, Σ ω z and the number of rows of each task."""
    member = (block.domains[:, None] == labels).astype(np.float64)
    weighted = member * block.weights[:, None]
    pulled = np.asarray((block.X.T @ weighted).T, dtype=np.float64)
    return [weighted.sum(axis=0), pulled, member.sum(axis=0).astype(np.int64)]


def _added(a: list[Any], b: list[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]
