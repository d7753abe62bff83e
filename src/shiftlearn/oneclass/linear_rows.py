"""Corrected rows under the linear kernel: x̄_i = x_i + length_i w_t / ‖w_t‖, and no Gram matrix.

The displacement is exact here: it maximises ⟨w_t, x + Δx⟩ over the ball. All rows of a task move in
one direction, so the K weight vectors and a length a row say everything, for sparse rows too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.expansion import LinearScores
from shiftlearn.oneclass.inner import Inner, LinearOperator, dense_rows
from shiftlearn.oneclass.rows import Frame, Model, Pull

__all__ = ["LinearRows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_VANISHED = 1e-12


@dataclass(frozen=True)
class LinearRows:
    """Rows x + B Y with the directions Y of one round or, where some were kept, of several."""

    inner: Inner
    frame: Frame
    mix: Floats
    directions: Floats

    @classmethod
    def of(cls, X: Any, frame: Frame) -> LinearRows:
        """The rows where they were observed."""
        n, d = X.shape
        return cls(Inner(X, frame.n_jobs), frame, np.zeros((n, 0)), np.zeros((0, d)))

    @property
    def positive(self) -> bool:
        """Inner products always are."""
        return True

    def operator(self) -> LinearOperator:
        """X̄X̄ᵀ."""
        return LinearOperator(self.inner, self.mix, self.directions)

    def pull(self, model: Model) -> Pull:
        """w_t of each row's task."""
        w = self.weights(model)
        support = self.support(model.support)
        squares = support.multiply(support) if hasattr(support, "multiply") else support**2
        sizes = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        norms = np.linalg.norm(w, axis=1)
        norms[norms <= _VANISHED * (np.abs(model.coef) @ sizes)] = 0.0
        return Pull(norms[self.frame.tasks.of_row], w)

    def moved(self, pull: Pull, lengths: Floats) -> LinearRows:
        """The rows at their observed places plus ``lengths`` along the pull."""
        mix = np.zeros((len(lengths), len(pull.parts)))
        mix[np.arange(len(lengths)), self.frame.tasks.of_row] = pull.steps(lengths)
        return replace(self, mix=mix, directions=pull.parts)

    def keeping(self, old: LinearRows, keep: NDArray[np.bool_]) -> LinearRows:
        """These rows, but where ``keep`` says so those of ``old``."""
        mix = np.hstack([np.where(keep[:, None], old.mix, 0), np.where(keep[:, None], 0, self.mix)])
        used = mix.any(axis=0)
        directions = np.vstack([old.directions, self.directions])
        return replace(self, mix=mix[:, used], directions=directions[used])

    def observed_scores(self, model: Model) -> Floats:
        """Each row's own score at its observed place."""
        return self._own(np.asarray(self.inner.X @ self.weights(model).T))

    def scores_at(self, model: Model, other: LinearRows) -> Floats:
        """The same at the corrected places of ``other``."""
        w = self.weights(model).T
        return self._own(self.inner.X @ w + other.mix @ (other.directions @ w))

    def observed_values(self, rows: Ints, support: Ints) -> Floats:
        """x_i · x̄_j."""
        along = dense_rows(self.inner.X[rows] @ self.directions.T)
        return self.inner.block(rows, support) + along @ self.mix[support].T

    def scorer(self, model: Model) -> LinearScores:
        """The decision function of all tasks."""
        return LinearScores(self.weights(model), np.zeros(len(model.coef)))

    def support(self, rows: Ints) -> Any:
        """The corrected rows ``rows``; they are dense where they moved."""
        observed = self.inner.X[rows]
        if not self.mix.shape[1]:
            return observed
        moved = self.mix[rows] @ self.directions
        return np.asarray(observed + moved, dtype=np.float64)

    def displaced(self) -> Moves:
        """B and Y."""
        return Moves(self.mix, self.directions)

    def weights(self, model: Model) -> Floats:
        """w_t, one row a task."""
        own = np.asarray((self.inner.X[model.support].T @ model.coef.T).T, dtype=np.float64)
        return own + (model.coef @ self.mix[model.support]) @ self.directions

    def _own(self, scores: Floats) -> Floats:
        return np.asarray(scores[np.arange(len(scores)), self.frame.tasks.of_row], np.float64)


@dataclass(frozen=True, slots=True)
class Moves:
    """Displacements B Y."""

    mix: Floats
    directions: Floats

    def displacements(self) -> Floats:
        """Δx."""
        return self.mix @ self.directions
