"""The quadratic program with a linear kernel, solved on the rows themselves.

    min_a  ½ ‖w‖² + ½ Σ_i D_i a_i² + pᵀa,    w = Σ_i s_i a_i x_i,
    s.t.   0 <= a_i <= C_i   and, where there is a group,   Σ_i s_i a_i = r.

No Gram matrix is formed: a pass costs the non-zeros of X. Two methods share one certificate.
*Dual coordinate descent* with shrinking updates w after each coordinate; the group's multiplier b
is kept by an augmented Lagrangian, so that the intercept is unpenalised and a step costs one row.
*Proximal Newton* (:mod:`shiftlearn.solvers.linear_newton`) works on (w, b); it takes over where the
rows are many and the columns few, and where descent is slow. Both end in the same proof: the sum
restored exactly, b the minimiser of the primal (found exactly), and the duality gap at (w, b).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftlearn._core import Descent
from shiftlearn.resources import n_threads
from shiftlearn.solvers.linear_newton import refine
from shiftlearn.solvers.linear_state import (
    Callback,
    Floats,
    LinearProblem,
    LinearSolution,
    Matrix,
    State,
    prepare,
)

__all__ = ["LinearProblem", "LinearSolution", "Matrix", "solve_linear"]

_SLICE = 2e7  # matrix entries between two looks at signals and callback: some 50 ms
_DEFAULT_SEED = 0x5EED
_TURNS = 4  # Newton and descent in turn; what they do not reach then is below rounding
_MANY = 50_000  # rows from which a sample of them is solved first


def solve_linear(
    problem: LinearProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    start: Floats | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> LinearSolution:
    """Solve ``problem`` until no optimality condition is violated by more than ``tol``.

    ``start`` is an a to begin with (clipped to the box; the sum is restored). ``max_iter`` counts
    sweeps over the rows and Newton steps. The order of the rows is drawn from ``random_state``;
    None is a fixed seed. A callback that returns True stops with a certified, feasible answer.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.linear import LinearProblem, solve_linear
    >>> X, y = np.array([[1.0], [3.0]]), np.array([-1.0, 1.0])
    >>> answer = solve_linear(LinearProblem(X, -np.ones(2), np.ones(2), y, total=0.0))
    >>> answer.weights.round(3), round(-answer.multiplier, 3)
    (array([1.]), -2.0)
    """
    state = prepare(problem, tol, max_iter, start, n_threads(n_jobs), callback)
    seed = _DEFAULT_SEED if random_state is None else _draw_seed(random_state)
    if start is not None and state.certify().certificate.converged:
        return _finish(state)
    if _tall(state):
        refine(state, _sample_start(problem, state))
    for _ in range(_TURNS):
        if not state.finished:
            _descend(state, seed)
        if not state.finished:
            refine(state)
    return _finish(state)


def _finish(state: State) -> LinearSolution:
    if state.best is None:
        state.certify()
    assert state.best is not None
    return state.best


def _tall(state: State) -> bool:
    """Whether a Newton step on d numbers is cheaper than the sweeps it replaces."""
    n, d = state.matrix.n, state.matrix.d
    return d <= 1000 and n >= 20 * d and state.matrix.entries >= 1e5


def _sample_start(problem: LinearProblem, state: State) -> tuple[Floats, float] | None:
    """(w, b) of every 16th row with 16 times the costs, where the rows are many and a is zero."""
    n = state.matrix.n
    if n < max(_MANY, 400 * state.matrix.d) or state.alpha.any():
        return None
    sample = np.arange(n // 32, n, 16)
    more = n / sample.size
    part = LinearProblem(
        problem.X[sample],
        state.linear[sample],
        state.upper[sample] * more,
        state.signs[sample],
        diagonal=None if state.diagonal is None else state.diagonal[sample] / more,
    )
    if state.grouped:
        part = replace(part, total=_reachable(part, state.total))
    answer = solve_linear(part, tol=0.02, n_jobs=state.matrix.threads, callback=state.tell)
    return answer.weights, answer.multiplier


def _reachable(part: LinearProblem, total: float) -> float:
    assert part.signs is not None
    most, least = part.upper[part.signs > 0].sum(), -part.upper[part.signs < 0].sum()
    return float(np.clip(total, least, most))


def _descend(state: State, seed: int) -> None:
    """Dual coordinate descent until it is done, or slower than Newton steps would be."""
    w = state.weights()
    penalty = float(state.norms[state.upper > 0].mean()) if (state.upper > 0).any() else 1.0
    penalty = penalty if penalty > 0 else 1.0
    descent = Descent(
        state.matrix.rows, state.signs, state.linear, state.upper, state.diagonal,
        state.norms, state.alpha, w,
    )  # fmt: skip
    beta = state.best.multiplier if state.best is not None else 0.0
    tol, before = 0.5 * state.tol if state.grouped else state.tol, state.iterations
    sweep = state.matrix.entries + 8 * state.matrix.n
    patience = _patience(state) * sweep
    for _ in range(8):
        descent.restart(tol, penalty, beta, state.total, state.grouped, seed)
        done = False
        while not done and patience > 0:
            slice_ = min(_SLICE, patience, (state.max_iter - state.iterations) * sweep)
            done = descent.run(slice_)
            patience -= slice_
            state.iterations = before + descent.sweeps
            if not state.report("descent"):
                break
        beta = descent.beta
        found = state.certify(w, None)
        if found.certificate.converged or not done or state.finished:
            return
        tol *= 0.3
        w[:] = found.weights


def _patience(state: State) -> float:
    """Full sweeps of work to spend before Newton steps are tried."""
    n, d = state.matrix.n, state.matrix.d
    newton = min(n, d) ** 2 * max(n, d) / 2 + min(n, d) ** 3  # one step, multiplications
    sweeps = 20 * newton / max(state.matrix.entries, 1.0)
    return float(np.clip(sweeps, 100, 2000))


def _draw_seed(random_state: int | np.random.RandomState) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) & 0xFFFFFFFFFFFFFFFF
    return int(random_state.randint(np.iinfo(np.int32).max))
