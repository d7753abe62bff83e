"""Corrected rows x̄ = x + Δx as points: dense coordinates under any kernel.

After each solve every row is pulled along the gradient of its own task's score,

    u_ti = Σ_j c_tj ∇ₓk(x̄_j, x) at x = x_ti,      Δx_ti = length_ti · u_ti / ‖u_ti‖,

always from where it was observed. Four classes answer the same few questions, the operator of
the corrected rows, the pull of a model, the rows moved along it, the model's scores at the observed
and at the corrected places, and the decision function: the one here, and those in
:mod:`shiftlearn.oneclass.linear_rows`, :mod:`shiftlearn.oneclass.mapped_rows` and
:mod:`shiftlearn.oneclass.span`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shiftlearn.kernels import Kernel
from shiftlearn.machines.expansion import Expansion
from shiftlearn.oneclass.tasks import Tasks
from shiftlearn.resources import memory_budget

__all__ = ["Frame", "Model", "Points", "Pull", "Shifts", "UncertainRows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_VANISHED = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
_CHUNK = 2048


@dataclass(frozen=True, slots=True)
class Model:
    """w_t = Σ_j coef[t, j] φ(x̄_j) over the rows ``support``."""

    support: Ints
    coef: Floats

    @classmethod
    def of(cls, alpha: Floats, tasks: Tasks, table: Floats) -> Model:
        """The model of dual variables α: c_tj = table[t, task of j] α_j."""
        support = np.flatnonzero(alpha)
        return cls(support, table[:, tasks.of_row[support]] * alpha[support])


@dataclass(frozen=True, slots=True)
class Frame:
    """What does not change from round to round: tasks, and how kernels are computed."""

    tasks: Tasks
    dtype: type = np.float32
    n_jobs: int | None = None
    memory_limit: int | float | str = "auto"

    def chunks(self, width: int) -> Iterator[tuple[int, slice]]:
        """Runs of rows of one task, so many that ``width`` numbers a row fit into the memory."""
        most = int(np.clip(memory_budget(self.memory_limit) // (64 * max(1, width)), 16, _CHUNK))
        for task in range(self.tasks.count):
            rows = self.tasks.rows(task)
            for start in range(rows.start, rows.stop, most):
                yield task, slice(start, min(start + most, rows.stop))


@dataclass(frozen=True, slots=True)
class Pull:
    """Directions u in some form, and their lengths: 0 where u vanishes or is rounding."""

    norms: Floats
    parts: Any

    def steps(self, lengths: Floats) -> Floats:
        """length / ‖u‖, 0 where there is no direction."""
        return np.divide(lengths, self.norms, out=np.zeros_like(lengths), where=self.norms > 0)


class UncertainRows(Protocol):
    """What the alternation asks of the rows."""

    @property
    def positive(self) -> bool:
        """Whether the kernel is positive semidefinite, so that each round's problem is convex."""
        ...

    def operator(self) -> Any:
        """K of the corrected rows, for the solver."""
        ...

    def pull(self, model: Model) -> Pull:
        """The gradient of each row's own score at its observed place."""
        ...

    def moved(self, pull: Pull, lengths: Floats) -> Self:
        """The rows at their observed places plus ``lengths`` along the pull."""
        ...

    def keeping(self, old: Self, keep: NDArray[np.bool_]) -> Self:
        """These rows, but where ``keep`` says so those of ``old``."""
        ...

    def observed_scores(self, model: Model) -> Floats:
        """Each row's own score at its observed place; the model's support is these rows'."""
        ...

    def scores_at(self, model: Model, other: Self) -> Floats:
        """The same at the corrected places of ``other``."""
        ...

    def observed_values(self, rows: Ints, support: Ints) -> Floats:
        """k(x_i, x̄_j) for ``rows`` at their observed places and the corrected rows ``support``."""
        ...

    def scorer(self, model: Model) -> Any:
        """The decision function of all tasks, without offsets."""
        ...

    def support(self, rows: Ints) -> Any:
        """The corrected rows ``rows``."""
        ...

    def displaced(self) -> Any:
        """Something with ``displacements()``, Δx as a dense array."""
        ...


@dataclass(frozen=True)
class Points:
    """Rows by their coordinates; ``shift`` is Δx, None before the first move."""

    kernel: Kernel
    X: Any
    frame: Frame
    shift: Floats | None = None
    corrected: Any = None

    @classmethod
    def of(cls, kernel: Kernel, X: Any, frame: Frame) -> Points:
        """The rows where they were observed."""
        return cls(kernel, X, frame, None, X)

    @property
    def positive(self) -> bool:
        """That of the kernel."""
        return self.kernel.positive

    def operator(self) -> Any:
        """K of the corrected rows."""
        return self.kernel.operator(self.corrected, self.frame.n_jobs)

    def pull(self, model: Model) -> Pull:
        """The gradient of each row's own score, by blocks of rows."""
        X, Z = self.X, self.corrected[model.support]
        u, sizes = np.empty(X.shape), np.empty(len(X))
        for task, rows in self.frame.chunks(len(Z) + X.shape[1]):
            u[rows], sizes[rows] = _pull(self.kernel, model.coef[task], Z, X[rows], self.frame)
        norms = np.linalg.norm(u, axis=1)
        if self.kernel.name == "callable":  # the size of its gradients is not known
            sizes[:] = norms.max()
        precise = self.frame.dtype if self.kernel.name == "rbf" else np.float64
        norms[norms <= _VANISHED[np.dtype(precise)] * sizes] = 0.0
        return Pull(norms, u)

    def moved(self, pull: Pull, lengths: Floats) -> Points:
        """The rows at their observed places plus ``lengths`` along the pull."""
        return self._at(pull.parts * pull.steps(lengths)[:, None])

    def keeping(self, old: Points, keep: NDArray[np.bool_]) -> Points:
        """These rows, but where ``keep`` says so those of ``old``."""
        assert self.shift is not None
        before = 0.0 if old.shift is None else old.shift
        return self._at(np.where(keep[:, None], before, self.shift))

    def observed_scores(self, model: Model) -> Floats:
        """Each row's own score at its observed place."""
        return self._scores(model, self.X)

    def scores_at(self, model: Model, other: Points) -> Floats:
        """The same at the corrected places of ``other``."""
        return self._scores(model, other.corrected)

    def observed_values(self, rows: Ints, support: Ints) -> Floats:
        """k(x_i, x̄_j)."""
        if self.kernel.name == "precomputed":
            return np.asarray(self.X[np.ix_(rows, support)], dtype=np.float64)
        block = self.kernel.block(
            self.X[rows], self.corrected[support], self.frame.dtype, self.frame.n_jobs
        )
        return np.asarray(block, dtype=np.float64)

    def scorer(self, model: Model) -> Any:
        """The decision function of all tasks."""
        none = np.zeros(len(model.coef))
        known = self.kernel.name != "precomputed"
        return Expansion(
            self.kernel, self.support(model.support) if known else None,
            self.frame.tasks.index[model.support], np.ascontiguousarray(model.coef.T), none,
            n_columns=self.frame.tasks.n_rows, dtype=self.frame.dtype,
        )  # fmt: skip

    def support(self, rows: Ints) -> Any:
        """The corrected rows ``rows``."""
        return self.corrected[rows]

    def displaced(self) -> Shifts:
        """Δx as it is."""
        return Shifts(self.shift, self.X.shape)

    def _at(self, shift: Floats) -> Points:
        return replace(self, shift=shift, corrected=self.X + shift)

    def _scores(self, model: Model, places: Any) -> Floats:
        scores = np.empty(places.shape[0])
        if self.kernel.name == "precomputed":
            own = model.coef[self.frame.tasks.of_row]
            return np.asarray(np.einsum("ij,ij->i", places[:, model.support], own))
        Z, dtype = self.corrected[model.support], self.frame.dtype
        for task in range(self.frame.tasks.count):
            rows = self.frame.tasks.rows(task)
            scores[rows] = self.kernel.product(
                places[rows], Z, model.coef[task], dtype, self.frame.n_jobs
            )
        return scores


@dataclass(frozen=True, slots=True)
class Shifts:
    """Displacements as an array, None for none."""

    shift: Floats | None
    shape: tuple[int, int]

    def displacements(self) -> Floats:
        """Δx."""
        return np.zeros(self.shape) if self.shift is None else self.shift


def _pull(kernel: Kernel, coef: Floats, Z: Any, X: Any, frame: Frame) -> tuple[Floats, Floats]:
    """u at the rows of X, and (at least) Σ_j |c_j| ‖∇k‖, beside which rounding is known."""
    if kernel.name == "rbf":
        return _rbf_pull(kernel, coef, Z, X, frame)
    if kernel.of_products:
        products = np.asarray(X @ Z.T, dtype=np.float64)
        zeros = np.zeros(0)
        weights = coef * kernel.slopes(kernel.from_products(products, zeros, zeros), products)
        return weights @ Z, np.abs(weights) @ np.linalg.norm(Z, axis=1)
    u = kernel.weighted_gradient(np.broadcast_to(coef, (len(X), len(Z))), Z, X, frame.n_jobs)
    if kernel.name == "laplacian":
        sums = kernel.product(X, Z, np.abs(coef), frame.dtype, frame.n_jobs)
        return u, kernel.gamma * X.shape[1] ** 0.5 * sums
    return u, np.zeros(len(X))


def _rbf_pull(kernel: Kernel, coef: Floats, Z: Any, X: Any, frame: Frame) -> tuple[Floats, Floats]:
    """2γ (W Z - diag(W 1) X) with W_ij = c_j k(z_j, x_i), about the centre of Z."""
    centre = Z.mean(axis=0)
    X, Z = (X - centre).astype(frame.dtype), (Z - centre).astype(frame.dtype)
    weights = kernel.block(X, Z, frame.dtype, frame.n_jobs)
    weights *= (2 * kernel.gamma * coef).astype(frame.dtype)
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    sums = weights @ np.hstack([Z, np.ones_like(norms), norms])
    d = X.shape[1]
    own = sums[:, d]
    u = sums[:, :d] - own[:, None] * X
    return u, sums[:, d + 1] + own * np.linalg.norm(X, axis=1)
