"""The logistic loss of linear scores, for two classes and for more, as a Newton objective.

A row with features x, class y, weight ω, offset o (one number a score) and M shared columns
f_1..f_M (one number a score each) has the scores

    s = Wᵀx + b + o + Σ_m θ_m f_m ,        loss  ω · (logsumexp(s) - s_y).

With K > 2 classes there are K scores. With two classes there is one, the log-odds of class 1, and
the loss is ω · log(1 + exp(∓s)) (the convention of scikit-learn). The derivatives are

    ∂loss/∂s = ω (P - Y),    ∂²loss/∂s² = ω (diag P - P Pᵀ),    ω p (1 - p) for one score.

The parameters are one vector: W (D×K, by rows), then b (K, if fitted), then θ (M).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.solvers.smooth import Objective, Partial
from shiftlearn.statistics import transposed

__all__ = ["Layout", "Logistic"]

Floats = NDArray[np.float64]
# X, class of each row, weights (or None), offsets rows×K (or None), shared rows×M×K (or None)
Block = tuple[Any, NDArray[np.intp], Floats | None, Floats | None, Floats | None]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where W, b and θ lie in the vector of parameters."""

    n_columns: int
    n_scores: int
    fit_intercept: bool = True
    n_shared: int = 0

    @property
    def n_rows(self) -> int:
        """Rows of W with b below it."""
        return self.n_columns + self.fit_intercept

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.n_rows * self.n_scores + self.n_shared

    def parts(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """W (D×K), b (K; zeros where there is none) and θ (M)."""
        linear = parameters[: self.n_rows * self.n_scores].reshape(self.n_rows, self.n_scores)
        bias = linear[self.n_columns] if self.fit_intercept else np.zeros(self.n_scores)
        return linear[: self.n_columns], bias, parameters[self.n_rows * self.n_scores :]


@dataclass(frozen=True, slots=True)
class Logistic(Objective):
    """The loss above. ``exact`` asks for the Hessian as a matrix, else as products.

    ``gram``, the eigenvalues and eigenvectors of the mean of (x, 1)(x, 1)ᵀ, makes the
    preconditioner of the products that of averaged curvatures, mean(∂²loss/∂s²) ⊗ Gram; without
    it the preconditioner is the diagonal.
    """

    layout: Layout
    exact: bool = True
    gram: tuple[Floats, Floats] | None = None

    def partial(self, block: Block, parameters: Floats, order: int = 2) -> Partial:
        """Loss, gradient and Hessian of one block."""
        X, y, weights, _, shared = block
        scores = self.scores(block, parameters)
        if self.layout.n_scores == 1:
            loss, probability = _two_classes(scores, y)
        else:
            loss, probability = _many_classes(scores, y)
        total = float(loss.sum() if weights is None else weights @ loss)
        if order == 0:
            return Partial(total, None, None)
        gradient = self._pull(X, shared, _weighted(_residual(probability, y), weights))
        if order == 1:
            return Partial(total, gradient, None)
        curvature = _Curvature(self, X, shared, weights, probability)
        return Partial(total, gradient, curvature.matrix() if self.exact else curvature)

    def scores(self, block: Block, parameters: Floats) -> Floats:
        """The scores, rows×K."""
        X, _, _, offset, shared = block
        scores = self._push(X, shared, parameters)
        return scores if offset is None else scores + offset.reshape(scores.shape)

    def preconditioner(self, summary: Floats, penalty: Floats) -> Callable[[Floats], Floats]:
        """The inverse of averaged curvature ⊗ Gram + penalty, or of the diagonal."""
        if self.gram is None:
            return _diagonal_inverse(self.layout, summary, penalty)
        return _kronecker_inverse(self.layout, self.gram, summary, penalty)

    def _push(self, X: Any, shared: Floats | None, parameters: Floats) -> Floats:
        """Scores without offset: a linear map of the parameters."""
        W, bias, theta = self.layout.parts(parameters)
        # Dense scores lie by columns: sums over the few classes of each row are then vectorised.
        scores = np.asarray(X @ W) if hasattr(X, "indptr") else (W.T @ X.T).T
        if self.layout.fit_intercept:
            scores += bias
        if shared is not None:
            scores += np.tensordot(shared, theta, axes=(1, 0)).reshape(scores.shape)
        return scores

    def _pull(self, X: Any, shared: Floats | None, values: Floats) -> Floats:
        """The transpose of `_push`: rows×K to parameters."""
        pulled = transposed(X) @ values if hasattr(X, "indptr") else (values.T @ X).T
        parts = [np.asarray(pulled).ravel()]
        if self.layout.fit_intercept:
            parts.append(values.sum(axis=0))
        if shared is not None:
            parts.append(np.tensordot(values, _cube(shared, values), axes=((0, 1), (0, 2))))
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class _Curvature:
    """The Hessian of a block: as a product, its summary, and as a matrix."""

    loss: Logistic
    X: Any
    shared: Floats | None
    weights: Floats | None
    probability: Floats

    @property
    def spread(self) -> Floats:
        """p (1 - p), rows×K; the difference 1 - p loses nothing that the gradient has not lost."""
        return self.probability * (1.0 - self.probability)

    def __call__(self, direction: Floats) -> Floats:
        pushed = self.loss._push(self.X, self.shared, direction)
        if pushed.shape[1] == 1:
            bent = self.spread * pushed
        else:
            bent = self.probability * pushed
            bent -= self.probability * bent.sum(axis=1, keepdims=True)
        return self.loss._pull(self.X, self.shared, _weighted(bent, self.weights))

    def summary(self) -> Floats:
        if self.loss.gram is not None:
            return self._averages()
        weighted = _weighted(self.spread, self.weights)
        sparse = hasattr(self.X, "indptr")
        squares = self.X.power(2, dtype=np.float64) if sparse else np.square(self.X, dtype=float)
        parts = [np.asarray(squares.T @ weighted).ravel()]
        if self.loss.layout.fit_intercept:
            parts.append(weighted.sum(axis=0))
        return np.concatenate([*parts, self._shared_diagonal()])

    def _averages(self) -> Floats:
        """Σ ∂²loss/∂s² (K×K), then the diagonal of the shared columns."""
        if self.probability.shape[1] == 1:
            total = _weighted(self.spread, self.weights).sum(axis=0, keepdims=True)
        else:
            weighted = _weighted(self.probability, self.weights)
            total = np.diag(weighted.sum(axis=0)) - weighted.T @ self.probability
        return np.concatenate([total.ravel(), self._shared_diagonal()])

    def _shared_diagonal(self) -> Floats:
        if self.shared is None:
            return np.empty(0)
        cube = _cube(self.shared, self.probability)
        if cube.shape[2] == 1:
            return np.asarray(_weighted(self.spread, self.weights)[:, 0] @ cube[:, :, 0] ** 2)
        mean = np.einsum("imk,ik->im", cube, self.probability)
        away = np.einsum("imk,ik->im", (cube - mean[:, :, None]) ** 2, self.probability)
        return np.asarray(_weighted(away, self.weights).sum(axis=0))

    def matrix(self) -> Floats:
        """The exact Hessian."""
        if self.probability.shape[1] > 1:
            return self._many_class_matrix(self._design(None))
        root = np.sqrt(_weighted(self.spread, self.weights))
        rows = self._design(root)
        if self.shared is not None:
            rows = np.hstack([rows, root * _cube(self.shared, root)[:, :, 0]])
        return np.asarray(rows.T @ rows)

    def _design(self, scale: Floats | None) -> Floats:
        """(x, 1), or scale · (x, 1), as a fresh dense float64 array."""
        d = self.loss.layout.n_columns
        rows = np.empty((self.X.shape[0], self.loss.layout.n_rows))
        X = self.X.toarray() if hasattr(self.X, "indptr") else self.X
        np.multiply(X, 1.0 if scale is None else scale, out=rows[:, :d])
        rows[:, d:] = 1.0 if scale is None else scale
        return rows

    def _many_class_matrix(self, rows: Floats) -> Floats:
        """Σ ω Zᵀ(diag P)Z by classes, less Σ ω (ZᵀP)(ZᵀP)ᵀ in one product; Z maps w to scores."""
        layout, P = self.loss.layout, self.probability
        n, d, k = layout.size, layout.n_rows, layout.n_scores
        root = np.ones(len(P)) if self.weights is None else np.sqrt(self.weights)
        mean = np.empty((len(P), n))
        np.multiply(
            rows[:, :, None],
            (P * root[:, None])[:, None, :],
            out=mean[:, : d * k].reshape(-1, d, k),
        )
        cube = None if self.shared is None else _cube(self.shared, P)
        if cube is not None:
            mean[:, d * k :] = np.einsum("imk,ik->im", cube, P) * root[:, None]
        hessian: Floats = -(mean.T @ mean)
        for c in range(k):
            scaled = rows * (np.sqrt(P[:, c]) * root)[:, None]
            at = slice(c, d * k, k)
            hessian[at, at] += scaled.T @ scaled
            if cube is not None:
                shared = cube[:, :, c] * (np.sqrt(P[:, c]) * root)[:, None]
                cross = scaled.T @ shared
                hessian[at, d * k :] += cross
                hessian[d * k :, at] += cross.T
                hessian[d * k :, d * k :] += shared.T @ shared
        return hessian


def _two_classes(scores: Floats, y: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Loss (rows) and P(class 1) (rows×1), from log-odds of any size."""
    s = scores[:, 0]
    small = np.exp(-np.abs(s))
    share = 1.0 / (1.0 + small)
    probability = np.where(s >= 0, share, small * share)
    loss = np.maximum(s, 0.0) - y * s + np.log1p(small)
    return loss, probability[:, None]


def _many_classes(scores: Floats, y: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Loss (rows) and probabilities (rows×K). The scores are overwritten."""
    scores -= scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(y)), y]
    probability = np.exp(scores, out=scores)
    total = probability.sum(axis=1)
    probability /= total[:, None]
    return np.log(total) - own, probability


def _residual(probability: Floats, y: NDArray[np.intp]) -> Floats:
    """P - Y."""
    if probability.shape[1] == 1:
        return probability - y[:, None]
    residual = probability.copy()
    residual[np.arange(len(y)), y] -= 1.0
    return residual


def _weighted(values: Floats, weights: Floats | None) -> Floats:
    return values if weights is None else values * weights[:, None]


def _cube(shared: Floats, values: Floats) -> Floats:
    """Shared columns as rows×M×K."""
    return shared.reshape(len(values), -1, values.shape[1])


def _diagonal_inverse(
    layout: Layout, summary: Floats, penalty: Floats
) -> Callable[[Floats], Floats]:
    """One over the diagonal. Moving all scores of several alike costs the penalty only, so that
    part is split off; otherwise these directions would look a thousand times too stiff.
    """
    k, split = layout.n_scores, layout.n_rows * layout.n_scores
    diagonal = np.maximum(summary + penalty, 1e-300)
    if k == 1:
        return lambda vector: vector / diagonal
    bends = diagonal[:split].reshape(-1, k)
    ridge = penalty[:split].reshape(-1, k)[:, :1]
    ridge = np.where(ridge > 0, ridge, np.inf)

    def inverse(vector: Floats) -> Floats:
        block = vector[:split].reshape(-1, k)
        alike = block.mean(axis=1, keepdims=True)
        block = (block - alike) / bends
        block += alike / ridge - block.mean(axis=1, keepdims=True)
        return np.concatenate([block.ravel(), vector[split:] / diagonal[split:]])

    return inverse


def _kronecker_inverse(
    layout: Layout, gram: tuple[Floats, Floats], summary: Floats, penalty: Floats
) -> Callable[[Floats], Floats]:
    """(A ⊗ G + λ)⁻¹ by the eigenvectors of both; λ is the mean penalty of each row of W."""
    k, d = layout.n_scores, layout.n_rows
    values, vectors = gram
    bends, turns = np.linalg.eigh(summary[: k * k].reshape(k, k))
    ridge = penalty[: d * k].mean()
    scale = np.outer(values, np.maximum(bends, 0.0)) + ridge
    scale = np.maximum(scale, 1e-12 * scale.max() + 1e-300)
    rest = np.maximum(summary[k * k :] + penalty[d * k :], 1e-300)

    def inverse(vector: Floats) -> Floats:
        block = vectors.T @ vector[: d * k].reshape(d, k) @ turns
        block = vectors @ (block / scale) @ turns.T
        return np.concatenate([block.ravel(), vector[d * k :] / rest])

    return inverse
