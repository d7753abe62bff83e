"""The change Δf of a margin machine: builders from source scores to quadratic programs.

For each two-class problem, with labels y_i = ±1, source scores f'_i = F_iᵀθ and costs c_i,

    min_{Δβ, b}  ½‖Δβ‖² + Σ_i c_i max(0, 1 - y_i (f'_i + ⟨Δβ, φ(x_i)⟩ + b))

is the plain machine whose dual has the linear term p_i = y_i f'_i - 1 instead of -1. Learned
weights, with (B/2)‖θ - θ0‖² added to the objective, put the columns F/√B next to φ(x): the dual's
matrix becomes y_i y_j (K_ij + F_iᵀF_j / B), and θ = θ0 + Fᵀ(y a) / B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate
from shiftlearn.machines.spaces import FeatureSpace, HingeFit, KernelSpace, Options
from shiftlearn.solvers.batch import solve_shared

__all__ = ["Change", "SourceWeights", "change_problems", "learned_weights", "solve_changes"]

Floats = NDArray[np.float64]

_PROVED_KERNELS = ("linear", "rbf", "poly", "laplacian")  # the user's own are looked at
_BATCH_ROWS = 600  # kernel problems of at most so many rows are solved with their whole matrix


@dataclass(frozen=True, slots=True)
class SourceWeights:
    """Weights θ0 of the sources, and B where they are learned (None: fixed)."""

    center: Floats
    penalty: float | None = None

    def divided(self, unit: float) -> SourceWeights:
        """The same where the whole objective is divided by ``unit``."""
        return self if self.penalty is None else SourceWeights(self.center, self.penalty / unit)


@dataclass(frozen=True, slots=True)
class Change:
    """Two-class problems on the same rows, one a column.

    Attributes
    ----------
    signs, costs, linear : ndarray of shape (n, n_problems)
        y, c and p.
    beside : list of ndarray of shape (n, n_sources), or None
        F/√B of each problem, where weights are learned.
    """

    signs: Floats
    costs: Floats
    linear: Floats
    beside: list[Floats] | None = None


def change_problems(
    codes: NDArray[np.intp], scores: Floats, costs: Floats, weights: SourceWeights, *, keep: bool
) -> Change:
    """The problems of class numbers ``codes`` against source scores (n, n_sources, n_columns).

    Two classes are one problem; more are one for each class against the rest. ``keep`` leaves the
    scores of classes without a row as they are.
    """
    n_columns = scores.shape[2]
    classes = np.arange(n_columns) if n_columns > 1 else np.ones(1, dtype=np.intp)
    signs = np.where(codes[:, None] == classes, 1.0, -1.0)
    margins = np.einsum("imc,m->ic", scores, weights.center)
    each = np.repeat(costs[:, None], n_columns, axis=1)
    if keep and n_columns > 1:
        each[:, ~(signs > 0).any(axis=0)] = 0.0
    beside = None
    if weights.penalty is not None and scores.shape[1]:
        scaled = scores / np.sqrt(weights.penalty)
        beside = [np.ascontiguousarray(scaled[:, :, c]) for c in range(n_columns)]
    return Change(signs, each, signs * margins - 1.0, beside)


def solve_changes(
    space: KernelSpace | FeatureSpace,
    change: Change,
    *,
    fit_intercept: bool,
    options: Options,
    start: Floats | None = None,
) -> list[HingeFit]:
    """Solve every problem; ``start`` is an a to begin with, (n, n_problems)."""
    n, n_problems = change.signs.shape
    if n == 0:
        return [_nothing(space, change)] * n_problems
    if isinstance(space, KernelSpace) and n <= _BATCH_ROWS:
        fits = _with_whole_matrix(space, change, fit_intercept, options, start)
    else:
        shared = space
        if isinstance(space, KernelSpace) and n_problems > 1:
            shared = space.shared(options)
        fits = [
            (shared if change.beside is None else shared.beside(change.beside[c])).hinge(
                change.signs[:, c],
                change.costs[:, c],
                fit_intercept=fit_intercept,
                options=options,
                start=None if start is None else start[:, c],
                linear=change.linear[:, c],
            )
            for c in range(n_problems)
        ]
    return [
        replace(fit, intercept=_one_class_intercept(fit, change, c)) if fit_intercept else fit
        for c, fit in enumerate(fits)
    ]


def learned_weights(fits: Sequence[HingeFit], scores: Floats, weights: SourceWeights) -> Floats:
    """The weights θ of the sources, (n_problems, n_sources)."""
    theta = np.repeat(weights.center[None], len(fits), axis=0)
    if weights.penalty is None:
        return theta
    pulls = [scores[:, :, c].T @ fit.coef for c, fit in enumerate(fits)]
    return np.asarray(theta + np.stack(pulls) / weights.penalty)


def _with_whole_matrix(
    space: KernelSpace,
    change: Change,
    fit_intercept: bool,
    options: Options,
    start: Floats | None,
) -> list[HingeFit]:
    """All problems through the compiled batch solver, with one Gram matrix in float64."""
    n, n_problems = change.signs.shape
    gram = space.operator.block(np.arange(n), None, np.float64)
    known = space.kernel.name in _PROVED_KERNELS
    if change.beside is None:
        groups = [(np.arange(n_problems), gram)]
    else:
        groups = [(np.array([c]), gram + F @ F.T) for c, F in enumerate(change.beside)]
    fits: list[HingeFit] = []
    for columns, matrix in groups:
        answer = solve_shared(
            matrix,
            change.signs[:, columns],
            upper=change.costs[:, columns],
            linear=change.linear[:, columns],
            fit_intercept=fit_intercept,
            tol=options.tol,
            max_iter=options.max_iter,
            start=None if start is None else start[:, columns],
            convex=space.kernel.positive and (known or _semidefinite(matrix)),
            n_jobs=options.n_jobs,
        )
        alpha = answer.columns()
        fits += [
            HingeFit(
                alpha[:, k],
                change.signs[:, c] * alpha[:, k],
                float(answer.intercept[k]),
                answer.certificate_of(k),
            )
            for k, c in enumerate(columns)
        ]
    return fits


def _semidefinite(gram: Floats) -> bool:
    """Whether a kernel matrix has no negative eigenvalue, to rounding (of float32 rows)."""
    size = float(np.abs(np.diagonal(gram)).max(initial=0.0))
    try:
        np.linalg.cholesky(gram + (1e-5 * size) * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        return False
    return True


def _one_class_intercept(fit: HingeFit, change: Change, c: int) -> float:
    """Where all rows have one sign, the intercept of smallest size that leaves no loss.

    Their sum keeps every a at 0, and every b on one side of y - f' is optimal.
    """
    used = change.costs[:, c] > 0
    signs = change.signs[used, c]
    if not signs.size:
        return 0.0
    if signs.min() != signs.max():
        return fit.intercept
    reach = float((-change.linear[used, c]).max())  # the largest 1 - y f'
    return float(signs[0]) * max(0.0, reach)


def _nothing(space: KernelSpace | FeatureSpace, change: Change) -> HingeFit:
    weights = np.zeros(space.Z.shape[1]) if isinstance(space, FeatureSpace) else None
    done = Certificate(objective=0.0, gap=0.0, violation=0.0, converged=True, n_iter=0)
    return HingeFit(np.zeros(0), np.zeros(0), 0.0, done, weights)
