"""The alternation of UOCT-SVM: solve for the half-spaces, move the rows, solve again.

    min  ‖w0‖² + Σ_t μ_t ‖v_t‖² - Σ_t ρ_t + Σ_ti C_ti ξ_ti
    s.t. ⟨w0 + v_t, φ(x_ti + Δx_ti)⟩ >= ρ_t - ξ_ti,   ξ_ti >= 0,   ‖Δx_ti‖ <= δ_ti

For fixed Δx it is convex, with the dual

    min ½ aᵀQa    s.t.  0 <= a_ti <= C_ti,  Σ_i a_ti = 1 for each task t,
    Q_(ti,hj) = ½ (1 + [t = h] / μ_t) k(x̄_ti, x̄_hj):

one group of the quadratic program a task. For fixed half-spaces each row moves by its full bound
along the gradient of its own score, in one step that is exact for the linear kernel. The last solve
is not followed by a move.

One task alone is the plain one-class machine, Q = k.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from shiftlearn.certificates import Certificate, Event
from shiftlearn.machines.relative import Answer, Solver, score_sizes, solve_relative
from shiftlearn.oneclass.offsets import optimal_offsets
from shiftlearn.oneclass.rows import Model, UncertainRows
from shiftlearn.oneclass.tasks import Tasks
from shiftlearn.solvers.operators import TaskScaled, complete
from shiftlearn.solvers.qp import Problem, solve

__all__ = ["Outcome", "Program", "Rules", "Settings", "alternate"]

Floats = NDArray[np.float64]
log = logging.getLogger("shiftlearn")

_SLACK = 1e-6  # share of the offset below it from which a row has slack
_NOTHING = 1e-12  # objectives under this share of max k(x, x) are zero


@dataclass(frozen=True, slots=True)
class Program:
    """What is the same in every round: the tasks, the costs and how tasks share.

    ``table`` holds ½ (1 + [t = h] / μ_t); ``bounds`` δ.
    """

    tasks: Tasks
    costs: Floats
    table: Floats
    bounds: Floats

    @classmethod
    def of(cls, tasks: Tasks, costs: Floats, penalties: Floats, bounds: Floats) -> Program:
        """The program of weights μ_t; one task alone has Q = k."""
        table = 0.5 * (1.0 + np.diag(1.0 / penalties)) if tasks.count > 1 else np.ones((1, 1))
        return cls(tasks, costs, table, bounds)

    def problem(self, rows: UncertainRows) -> Problem:
        """The dual for these rows."""
        operator = complete(rows.operator())
        if self.tasks.count > 1:
            operator = TaskScaled(operator, self.tasks.of_row, self.table)
        n = len(self.costs)
        return Problem(
            operator, np.zeros(n), self.costs, None, self.tasks.of_row,
            np.ones(self.tasks.count), rows.positive,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """How rows move and when the rounds end."""

    update: str = "all"
    safeguard: bool = False
    round_tol: float = 0.1
    max_rounds: int = 50


@dataclass(frozen=True, slots=True)
class Settings:
    """What the solver of each round is told."""

    tol: float = 1e-3
    max_iter: int = 10_000_000
    memory_limit: int | float | str = "auto"
    callback: Callable[[Event], bool | None] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The last solve: the rows it was made with, the model, its scores there, and the history.

    ``history`` holds F of each round; ``degenerate`` says that w = 0 is the answer.
    """

    rows: Any
    model: Model
    alpha: Floats
    scores: Floats
    certificate: Certificate
    history: tuple[float, ...]
    degenerate: bool


def alternate(rows: UncertainRows, program: Program, rules: Rules, settings: Settings) -> Outcome:
    """Solve and move in turn until F changes by no more than ``round_tol`` of itself."""
    largest = float(np.abs(rows.operator().diagonal()).max())
    history: list[float] = []
    answer: Answer | None = None
    least, steps = 0.0, 0
    while True:
        answer, least = _solve(rows, program, settings, answer, least)
        steps += answer.certificate.n_iter
        model = Model.of(answer.alpha, program.tasks, program.table)
        history.append(-0.5 * float(np.einsum("i,i->", answer.alpha, answer.scores)))
        log.info("round %d: objective %.6g", len(history), history[-1])
        degenerate = float(np.abs(answer.scores).max()) <= least
        if degenerate or _finished(history, rules, largest, answer, settings.tol):
            break
        rows = _move(rows, model, answer, program, rules)
    certificate = replace(answer.certificate, objective=history[-1], n_iter=steps)
    return Outcome(
        rows, model, answer.alpha, answer.scores, certificate, tuple(history), degenerate
    )


def _solve(
    rows: UncertainRows,
    program: Program,
    settings: Settings,
    before: Answer | None,
    least: float,
) -> tuple[Answer, float]:
    """One solve, from the answer of the round before; and the size under which scores are zero."""
    problem = program.problem(rows)
    if before is None:
        start, (size, least) = None, _sizes(problem, program.tasks)
    else:
        start, size = before.alpha, max(least, 0.5 * float(np.abs(before.scores).max()))
    run = _solver(problem, settings)
    return solve_relative(run, size, least, settings.tol, start), least


def _sizes(problem: Problem, tasks: Tasks) -> tuple[float, float]:
    """The sizes of `score_sizes` where 256 rows of each task share its 1."""
    parts = [np.arange(r.start, r.stop, -(-(r.stop - r.start) // 256))
             for r in map(tasks.rows, range(tasks.count))]  # fmt: skip
    shares = np.concatenate([np.full(len(part), 1.0 / len(part)) for part in parts])
    diagonal = problem.operator.diagonal()
    return score_sizes(problem.operator, np.concatenate(parts), shares, diagonal)


def _solver(problem: Problem, settings: Settings) -> Solver:
    def run(tol: float, start: Floats | None) -> Answer:
        solution = solve(
            problem,
            tol=tol,
            max_iter=settings.max_iter,
            start=start,
            memory_limit=settings.memory_limit,
            callback=settings.callback,
        )
        return Answer(solution.alpha, solution.gradient, solution.certificate)

    return run


def _was_stopped(answer: Answer, tol: float) -> bool:
    """Whether the callback or max_iter ended the solve; the certificate says so.

    Without convexity it never counts as converged, but it may have met its tolerance.
    """
    certificate = answer.certificate
    met = math.isnan(certificate.gap) and certificate.violation <= tol
    return not (certificate.converged or met)


def _finished(
    history: list[float], rules: Rules, largest: float, answer: Answer, tol: float
) -> bool:
    q, now = len(history), history[-1]
    if _was_stopped(answer, tol):
        return True
    if q >= 2:
        before = history[-2]
        if abs(now - before) <= rules.round_tol * max(abs(now), abs(before)):
            return True
        if max(abs(now), abs(before)) <= _NOTHING * largest:
            return True
    if q < rules.max_rounds:
        return False
    if rules.max_rounds > 2:  # 1 and 2 are methods of their own, not a limit that was met
        warnings.warn(
            f"the displacements did not settle in {q} rounds: the objective moved by "
            f"{abs(now - history[-2]):.3g} from {history[-2]:.6g} in the last one "
            f"(round_tol={rules.round_tol:g}). Raise max_rounds or round_tol, lower delta_scale, "
            "or use safeguard=True, which never lets the objective rise.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return True


def _move(rows: Any, model: Model, answer: Answer, program: Program, rules: Rules) -> Any:
    """The rows of the next round."""
    pull = rows.pull(model)
    moved = rows.moved(pull, _lengths(rows, pull, model, answer, program, rules.update))
    if not rules.safeguard:
        return moved
    worse = rows.scores_at(model, moved) < answer.scores
    return moved.keeping(rows, worse) if worse.any() else moved


def _lengths(
    rows: Any, pull: Any, model: Model, answer: Answer, program: Program, update: str
) -> Floats:
    """How far each row moves: δ, or less where it has no or little slack."""
    if update == "all":
        return program.bounds
    offsets, _ = optimal_offsets(answer.scores, program.costs, program.tasks)
    own = offsets[program.tasks.of_row]
    missing = own - rows.observed_scores(model)
    slack = missing > _SLACK * np.abs(own)
    if update == "slack":
        return np.where(slack, program.bounds, 0.0)
    enough = np.divide(missing, pull.norms, out=np.full(len(own), math.inf), where=pull.norms > 0)
    return np.where(slack, np.minimum(program.bounds, enough), 0.0)
