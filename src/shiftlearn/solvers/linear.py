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

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn._core import Descent, Rows, linear_certify, linear_restore_sum
from shiftlearn.certificates import Certificate, Event
from shiftlearn.errors import InfeasibleError
from shiftlearn.resources import n_threads

__all__ = ["LinearProblem", "LinearSolution", "Matrix", "solve_linear"]

Floats = NDArray[np.float64]
Callback = Callable[[Event], bool | None]

_SLICE = 2e7  # matrix entries between two looks at signals and callback: some 50 ms
_DEFAULT_SEED = 0x5EED
_TURNS = 4  # Newton and descent in turn; what they do not reach then is below rounding


@dataclass(frozen=True, slots=True)
class LinearProblem:
    """One instance of the program above. Arrays are float64 and of length n.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows, float32 or float64; dense in C order is not copied.
    linear : ndarray
        p.
    upper : ndarray
        C, at least 0; may be infinite where ``diagonal`` is positive.
    signs : ndarray or None
        s, +1 or -1; None means ones.
    total : float or None
        r of the one group that holds all variables; None means no group.
    diagonal : ndarray or None
        D, at least 0; None means zeros.
    """

    X: Any
    linear: Floats
    upper: Floats
    signs: Floats | None = None
    total: float | None = None
    diagonal: Floats | None = None


@dataclass(frozen=True, slots=True)
class LinearSolution:
    """``weights`` (w), ``multiplier`` (b), ``alpha`` (a), ``gradient`` (Qa + p), the certificate.

    ``multiplier_interval`` holds all b that minimise the primal at w. The optimality conditions
    read: G_i - b s_i >= 0 where a_i = 0, = 0 in between, <= 0 at C_i.
    """

    weights: Floats
    multiplier: float
    multiplier_interval: tuple[float, float]
    alpha: Floats
    gradient: Floats
    certificate: Certificate


class Matrix:
    """Rows with products and sums, cut into calls that are short enough to be interrupted."""

    def __init__(self, X: Any, threads: int) -> None:
        self.n, self.d = X.shape
        self.threads = threads
        if isinstance(X, np.ndarray):
            self.rows = Rows(_floats(X))
        else:
            X = X.tocsr()
            index = X.indptr.dtype if X.indptr.dtype == X.indices.dtype else np.int64
            self.rows = Rows(
                _floats(X.data),
                np.ascontiguousarray(X.indices, dtype=index),
                np.ascontiguousarray(X.indptr, dtype=index),
                self.d,
            )
        self.entries = self.rows.entries

    def norms(self) -> Floats:
        """‖x_i‖² of each row."""
        out = np.empty(self.n)
        self.rows.norms(out)
        return out

    def products(self, w: Floats) -> Floats:
        """X w."""
        out = np.empty(self.n)
        for low, high in self._slices():
            self.rows.products(w, out, low, high, self.threads)
        return out

    def combine(self, c: Floats) -> Floats:
        """Xᵀ c; rows with c_i = 0 cost nothing."""
        out = np.zeros(self.d)
        for low, high in self._slices():
            self.rows.combine(c, out, low, high, self.threads)
        return out

    def _slices(self) -> list[tuple[int, int]]:
        count = max(1, math.ceil(self.entries / (10 * _SLICE)))
        edges = [self.n * k // count for k in range(count + 1)]
        return list(zip(edges[:-1], edges[1:]))


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    dtype = values.dtype if values.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(values, dtype=dtype)


@dataclass(slots=True)
class State:
    """A problem made ready, the present answer and what both methods keep up to date."""

    X: Any
    matrix: Matrix
    signs: Floats
    linear: Floats
    upper: Floats
    diagonal: Floats | None
    total: float
    grouped: bool
    norms: Floats
    alpha: Floats
    tol: float
    max_iter: int
    callback: Callback | None
    iterations: int = 0
    stopped: bool = False
    history: list[tuple[int, float, float]] = field(default_factory=list)
    best: LinearSolution | None = None

    def weights(self) -> Floats:
        """W of the present a."""
        return self.matrix.combine(self.signs * self.alpha)

    def certify(self, w: Floats | None = None, u: Floats | None = None) -> LinearSolution:
        """Restore the sum (with u = X w near the answer, if given) and prove what is there."""
        if self.grouped:
            self._restore(w, u)
        w = self.weights()
        u = self.matrix.products(w)
        gradient = np.empty(self.matrix.n)
        b, low, high, gap, violation, value = self._judge(u, gradient)
        objective = 0.5 * float(w @ w) + value
        self.history.append((self.iterations, objective, violation))
        certificate = Certificate(
            objective, gap, violation, violation <= self.tol, self.iterations, tuple(self.history)
        )
        solution = LinearSolution(w, b, (low, high), self.alpha.copy(), gradient, certificate)
        if self.best is None or violation <= self.best.certificate.violation:
            self.best = solution
        return solution

    def report(self, phase: str) -> bool:
        """Tell the callback; whether to go on."""
        if self.callback is not None and not self.stopped:
            known = self.best.certificate if self.best is not None else None
            event = Event(
                phase,
                min(1.0, self.iterations / self.max_iter),
                known.objective if known else math.nan,
                known.gap if known else math.nan,
            )
            self.stopped = self.callback(event) is True
        return not self.stopped and self.iterations < self.max_iter

    def _judge(
        self, u: Floats, gradient: Floats
    ) -> tuple[float, float, float, float, float, float]:
        return linear_certify(
            u, self.signs, self.linear, self.upper, self.diagonal, self.alpha,
            self.total, self.grouped, gradient,
        )  # fmt: skip

    def _restore(self, w: Floats | None, u: Floats | None) -> None:
        if abs(float(self.signs @ self.alpha) - self.total) == 0.0:
            return
        if u is None:
            u = self.matrix.products(self.weights() if w is None else w)
        gradient = np.empty(self.matrix.n)
        b = self._judge(u, gradient)[0]
        linear_restore_sum(
            self.alpha, gradient - b * self.signs, self.signs, self.upper, self.total
        )


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
    """Solve ``problem`` until the largest violation of the optimality conditions is at most ``tol``.

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
    state = _prepare(problem, tol, max_iter, start, n_threads(n_jobs), callback)
    _seed = _DEFAULT_SEED if random_state is None else _draw_seed(random_state)
    if start is not None and state.certify().certificate.converged:
        return _finish(state)
    if not _tall(state):
        _descend(state, _seed)
    for _ in range(_TURNS):
        if not _unfinished(state):
            break
        from shiftlearn.solvers.linear_newton import refine

        refine(state)
        if _unfinished(state):
            _descend(state, _seed)
    return _finish(state)


def _unfinished(state: State) -> bool:
    done = state.best is not None and state.best.certificate.converged
    return not done and not state.stopped and state.iterations < state.max_iter


def _finish(state: State) -> LinearSolution:
    if state.best is None:
        state.certify()
    assert state.best is not None
    return state.best


def _tall(state: State) -> bool:
    """Whether a Newton step on d numbers is cheaper than the sweeps it replaces."""
    n, d = state.matrix.n, state.matrix.d
    return d <= 1000 and n >= 20 * d and state.matrix.entries >= 1e5


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
        if found.certificate.converged or not done or not _unfinished(state):
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


def _prepare(
    problem: LinearProblem,
    tol: float,
    max_iter: int,
    start: Floats | None,
    threads: int,
    callback: Callback | None,
) -> State:
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}.")
    n = problem.X.shape[0]
    signs = np.ones(n) if problem.signs is None else _vector(problem.signs, n, "signs")
    linear, upper = _vector(problem.linear, n, "linear"), _vector(problem.upper, n, "upper")
    diagonal = None if problem.diagonal is None else _vector(problem.diagonal, n, "diagonal")
    _check_box(upper, diagonal)
    if problem.total is not None:
        _check_total(signs, upper, float(problem.total))
    matrix = Matrix(problem.X, threads)
    alpha = np.zeros(n) if start is None else np.clip(_vector(start, n, "start"), 0.0, upper)
    return State(
        problem.X, matrix, signs, linear, upper, diagonal, float(problem.total or 0.0),
        problem.total is not None, matrix.norms(), alpha, tol, max_iter, callback,
    )  # fmt: skip


def _vector(values: Any, n: int, name: str) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one entry a row; got {array.shape}.")
    return array


def _check_box(upper: Floats, diagonal: Floats | None) -> None:
    if upper.size and not upper.min() >= 0:
        raise ValueError(f"upper must be at least 0, its smallest entry is {upper.min()}.")
    endless = np.isinf(upper) if diagonal is None else np.isinf(upper) & ~(diagonal > 0)
    if endless.any():
        raise ValueError("upper must be finite wherever diagonal is not positive.")


def _check_total(signs: Floats, upper: Floats, total: float) -> None:
    most, least = float(upper[signs > 0].sum()), -float(upper[signs < 0].sum())
    if not least <= total <= most:
        raise InfeasibleError(
            f"total = {total:g} cannot be reached: with these costs the signed sum lies between "
            f"{least:g} and {most:g}. Raise the costs (upper) on the side that falls short."
        )
