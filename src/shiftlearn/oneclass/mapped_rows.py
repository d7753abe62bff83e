"""Corrected rows under a feature map z(x): moved in the input space, through the map's Jacobian."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.expansion import LinearScores
from shiftlearn.oneclass.inner import by_weights, dense_rows
from shiftlearn.oneclass.rows import Frame, Model, Pull, Shifts

__all__ = ["Mapped"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Mapped:
    """Rows x and their features z(x̄)."""

    features: Any
    X: Any
    frame: Frame
    shift: Floats | None = None
    Z: Any = None

    @classmethod
    def of(cls, features: Any, X: Any, frame: Frame) -> Mapped:
        """The rows where they were observed."""
        return cls(features, X, frame, None, features.transform(X))

    @property
    def positive(self) -> bool:
        """Inner products always are."""
        return True

    def operator(self) -> Any:
        """The linear kernel of the features of the corrected rows."""
        return by_weights(self.Z, self.frame.n_jobs)

    def pull(self, model: Model) -> Pull:
        """Jacobian of the map, transposed, times the weights of the row's task."""
        w, u = self.weights(model), np.empty(self.X.shape)
        for task, rows in self.frame.chunks(w.shape[1] + self.X.shape[1]):
            u[rows] = self.features.pullback(self.X[rows], w[task])
        norms = np.linalg.norm(u, axis=1)
        norms[norms <= 1e-12 * norms.max()] = 0.0
        return Pull(norms, u)

    def moved(self, pull: Pull, lengths: Floats) -> Mapped:
        """The rows at their observed places plus ``lengths`` along the pull."""
        return self._at(pull.parts * pull.steps(lengths)[:, None])

    def keeping(self, old: Mapped, keep: NDArray[np.bool_]) -> Mapped:
        """These rows, but where ``keep`` says so those of ``old``."""
        assert self.shift is not None
        before = 0.0 if old.shift is None else old.shift
        return self._at(np.where(keep[:, None], before, self.shift))

    def observed_scores(self, model: Model) -> Floats:
        """Each row's own score at its observed place."""
        return self._scores(model, self.features.transform(self.X))

    def scores_at(self, model: Model, other: Mapped) -> Floats:
        """The same at the corrected places of ``other``."""
        return self._scores(model, other.Z)

    def observed_values(self, rows: Ints, support: Ints) -> Floats:
        """z(x_i) · z(x̄_j)."""
        return dense_rows(self.features.transform(self.X[rows]) @ self.Z[support].T)

    def scorer(self, model: Model) -> LinearScores:
        """The decision function of all tasks."""
        return LinearScores(self.weights(model), np.zeros(len(model.coef)), self.features)

    def support(self, rows: Ints) -> Any:
        """The corrected rows ``rows``."""
        return self.X[rows] if self.shift is None else self.X[rows] + self.shift[rows]

    def displaced(self) -> Shifts:
        """Δx as it is."""
        return Shifts(self.shift, self.X.shape)

    def weights(self, model: Model) -> Floats:
        """w_t in the space of the features, one row a task."""
        return np.asarray((self.Z[model.support].T @ model.coef.T).T, dtype=np.float64)

    def _at(self, shift: Floats) -> Mapped:
        return replace(self, shift=shift, Z=self.features.transform(self.X + shift))

    def _scores(self, model: Model, Z: Any) -> Floats:
        scores = np.asarray(Z @ self.weights(model).T)
        return scores[np.arange(len(scores)), self.frame.tasks.of_row]
