"""What the methods of the linear solver share: the problem, its rows, the answer and its proof.

See :mod:`shiftlearn.solvers.linear` for the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn._core import Rows, linear_certify, linear_restore_sum
from shiftlearn.certificates import Certificate, Event
from shiftlearn.errors import InfeasibleError

__all__ = ["Callback", "Floats", "LinearProblem", "LinearSolution", "Matrix", "State", "prepare"]

Floats = NDArray[np.float64]
Callback = Callable[[Event], bool | None]

_LONGEST_CALL = 2e8  # matrix entries that one call into compiled code may touch


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
        for low, high in self._slices():
            self.rows.norms(out, low, high)
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
        count = max(1, math.ceil(self.entries / _LONGEST_CALL))
        edges = [self.n * k // count for k in range(count + 1)]
        return list(pairwise(edges))


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

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: proved, stopped by the callback, or out of steps."""
        proved = self.best is not None and self.best.certificate.converged
        return proved or self.stopped or self.iterations >= self.max_iter

    def report(self, phase: str) -> bool:
        """Tell the callback; whether to go on."""
        known = self.best.certificate if self.best is not None else None
        objective, gap = (known.objective, known.gap) if known else (math.nan, math.nan)
        self.tell(Event(phase, min(1.0, self.iterations / self.max_iter), objective, gap))
        return not self.stopped and self.iterations < self.max_iter

    def tell(self, event: Event) -> bool:
        """Pass an event on; whether the callback has asked to stop, now or before."""
        if self.callback is not None and not self.stopped:
            self.stopped = self.callback(event) is True
        return self.stopped

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


def prepare(
    problem: LinearProblem,
    tol: float,
    max_iter: int,
    start: Floats | None,
    threads: int,
    callback: Callback | None,
) -> State:
    """Check everything and put the rows into the form that the compiled loops take."""
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}.")
    n = problem.X.shape[0]
    signs = np.ones(n) if problem.signs is None else _vector(problem.signs, n, "signs")
    linear, upper = _vector(problem.linear, n, "linear"), _vector(problem.upper, n, "upper")
    diagonal = None if problem.diagonal is None else _vector(problem.diagonal, n, "diagonal")
    if not math.isfinite(linear.sum()):
        raise ValueError("linear must be finite in every entry.")
    if problem.signs is not None and not (np.abs(signs) == 1.0).all():
        raise ValueError("signs must be +1 or -1 in every entry.")
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
    for name, values in (("upper", upper), ("diagonal", diagonal)):
        if values is not None and values.size and not values.min() >= 0:
            raise ValueError(f"{name} must be at least 0, its smallest entry is {values.min()}.")
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
