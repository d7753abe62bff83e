"""The objective of integrated logistic regression, as a Newton objective over blocks of rows.

A row has the scores u = Wᵀx + b (one for two classes, K for K > 2) and the domain score
t = vᵀx + v₀, with q = P(source | x) = 1 / (1 + exp(-t)). With ℓ the logistic loss of the label,

    source row   ω ρ exp(-t) ℓ(y, u) + s log(1 + exp(-t)),      target row   s log(1 + exp(t)),

where ω weighs the label, s the domain, and r = ω ρ exp(-t) is the row's weight. Derivatives:

    ∂u = r (P - Y)          ∂t = -rℓ - s(1 - q)          (target rows: ∂t = s q)
    ∂u∂u = r (diag P - PPᵀ)    ∂u∂t = r (Y - P)    ∂t∂t = rℓ + s q (1 - q)

The sum is convex in (W, b) and in (v, v₀) but not in both. Where its Hessian has no Cholesky factor
the 2×2 block of every row, c = r p (1 - p), a = r (y - p), h = ∂t∂t, is replaced by its
positive part.

Parameters are one vector: w₁ (with b₁ behind it), ..., w_K, then v (with v₀ behind it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftlearn.solvers.smooth import Objective, Partial
from shiftlearn.statistics import transposed

__all__ = ["Block", "JointLoss", "label_loss"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Block(NamedTuple):
    """Some rows: features, class number (any for unlabelled rows), ω, s, and which are source."""

    X: Any
    codes: Ints
    omega: Floats
    domain_weights: Floats
    source: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class JointLoss(Objective):
    """The loss above. ``exact`` asks for the Hessian as a matrix, else as products.

    ``n_scores`` is K (1 for two classes), ``odds`` is ρ.
    """

    n_columns: int
    n_scores: int
    fit_intercept: bool
    odds: float
    exact: bool = True

    @property
    def width(self) -> int:
        """Parameters of one score."""
        return self.n_columns + self.fit_intercept

    @property
    def size(self) -> int:
        """Number of parameters."""
        return (self.n_scores + 1) * self.width

    def partial(self, block: Any, parameters: Floats, order: int = 2) -> Partial:
        """Loss, gradient and Hessian of one block."""
        theta = parameters.reshape(self.n_scores + 1, self.width)
        halves = [self._half(rows, theta) for rows in _halves(Block(*block))]
        loss = float(sum(half.loss for half in halves))
        if order == 0:
            return Partial(loss, None, None)
        gradient = sum(half.gradient() for half in halves)
        if order == 1:
            return Partial(loss, np.ravel(gradient), None)
        if self.exact:
            return Partial(loss, np.ravel(gradient), self._matrix(halves, positive=False))
        return Partial(loss, np.ravel(gradient), _Curvature(self, halves))

    def majorant(self, block: Any, parameters: Floats) -> Floats:
        """Σ over the rows of the positive parts of their blocks: Xᵀ A⁺ X."""
        theta = parameters.reshape(self.n_scores + 1, self.width)
        halves = [self._half(rows, theta) for rows in _halves(Block(*block))]
        return self._matrix(halves, positive=True)

    def preconditioner(self, summary: Floats, penalty: Floats) -> Callable[[Floats], Floats]:
        """The inverse of the diagonal; moving all classes alike costs the penalty only."""
        diagonal = np.maximum(summary + penalty, 1e-300)
        if self.n_scores == 1:
            return lambda vector: vector / diagonal
        split = self.n_scores * self.width
        bends = diagonal[:split].reshape(self.n_scores, self.width)
        ridge = penalty[: self.width]
        ridge = np.where(ridge > 0, ridge, np.inf)

        def inverse(vector: Floats) -> Floats:
            W = vector[:split].reshape(self.n_scores, self.width)
            alike = W.mean(axis=0)
            W = (W - alike) / bends
            W += alike / ridge - W.mean(axis=0)
            return np.concatenate([W.ravel(), vector[split:] / diagonal[split:]])

        return inverse

    def scores(self, X: Any, theta: Floats) -> Floats:
        """One row of scores for each row of ``theta``."""
        weights = theta[:, : self.n_columns]
        scores = np.asarray(X @ weights.T).T if hasattr(X, "indptr") else weights @ X.T
        if self.fit_intercept:
            scores = scores + theta[:, self.n_columns :]
        return np.asarray(scores)

    def pull(self, X: Any, values: Floats) -> Floats:
        """The transpose of `scores`."""
        pulled = np.empty((len(values), self.width))
        if hasattr(X, "indptr"):
            pulled[:, : self.n_columns] = (transposed(X) @ np.ascontiguousarray(values.T)).T
        else:
            np.matmul(values, X, out=pulled[:, : self.n_columns])
        if self.fit_intercept:
            pulled[:, self.n_columns] = values.sum(axis=1)
        return pulled

    def scaled(self, X: Any, factors: Floats) -> Floats:
        """``factors`` · (x, 1), row by row, as a fresh dense array."""
        rows = np.empty((X.shape[0], self.width))
        dense = X.toarray() if hasattr(X, "indptr") else X
        np.multiply(dense, factors[:, None], out=rows[:, : self.n_columns])
        rows[:, self.n_columns :] = factors[:, None]
        return rows

    def gram(self, X: Any, factors: Floats) -> Floats:
        """Σ f z zᵀ with z = (x, 1), symmetric to the last bit.

        Rows of either sign apart: a square costs half of a general product, and less than half
        where the rows are long and few columns wide.
        """
        down = factors < 0.0
        if not down.any():
            rows = self.scaled(X, np.sqrt(factors))
            return np.asarray(rows.T @ rows)
        if down.all():
            return -self.gram(X, -factors)
        return self.gram(X[~down], factors[~down]) - self.gram(X[down], -factors[down])

    def _half(self, rows: Block, theta: Floats) -> _Source | _Target:
        if not rows.source[0]:
            return _Target.at(self, rows, theta)
        return _Source.at(self, rows, theta)

    def _matrix(self, halves: list[_Source | _Target], *, positive: bool) -> Floats:
        """Σ Z_kᵀ diag(B_kl) Z_l over the scores k, l."""
        hessian = np.zeros((self.size, self.size))
        for half in halves:
            half.add_to(hessian, positive)
        return hessian


def _halves(block: Block) -> list[Block]:
    """The source rows and the target rows of a block, those that there are."""
    source = block.source
    if not len(source) or source.all() or not source.any():
        return [block] if len(source) else []
    first = int(np.argmin(source))
    parts: tuple[Any, ...] = (source, ~source)
    if not source[first:].any():  # source rows lead: views, no copies
        parts = (slice(0, first), slice(first, None))
    return [Block._make(part[keep] for part in block) for keep in parts]


@dataclass(frozen=True, slots=True)
class _Target:
    """Target rows: they know the domain model only."""

    form: JointLoss
    X: Any
    loss: float
    slope: Floats
    bend: Floats

    @classmethod
    def at(cls, loss: JointLoss, rows: Block, theta: Floats) -> _Target:
        t = loss.scores(rows.X, theta[-1:])[0]
        value, q, rest = _softplus(t)
        s = rows.domain_weights
        return cls(loss, rows.X, float(s @ value), s * q, s * q * rest)

    def gradient(self) -> Floats:
        whole = np.zeros((self.form.n_scores + 1, self.form.width))
        whole[-1:] = self.form.pull(self.X, self.slope[None])
        return whole

    def add_to(self, hessian: Floats, positive: bool) -> None:
        at = slice(-self.form.width, None)
        hessian[at, at] += self.form.gram(self.X, self.bend)

    def product(self, direction: Floats) -> Floats:
        whole = np.zeros_like(direction)
        moved = self.form.scores(self.X, direction[-1:])
        whole[-1:] = self.form.pull(self.X, self.bend * moved)
        return whole

    def diagonal(self) -> Floats:
        whole = np.zeros((self.form.n_scores + 1, self.form.width))
        whole[-1:] = self.form.pull(_squares(self.X), self.bend[None])
        return whole


@dataclass(frozen=True, slots=True)
class _Source:
    """Source rows: weighted label loss and domain loss."""

    form: JointLoss
    X: Any
    loss: float
    weight: Floats  # r
    probability: Floats  # K x n: P, for two classes that of the label
    lift: Floats  # K x n: a = r (Y - P)
    slope: Floats  # ∂t
    bend: Floats  # h

    @classmethod
    def at(cls, loss: JointLoss, rows: Block, theta: Floats) -> _Source:
        scores = loss.scores(rows.X, theta)
        softplus, rest, q = _softplus(-scores[-1])
        weight = rows.omega * (loss.odds * np.exp(-scores[-1]))
        weight[rows.omega == 0.0] = 0.0  # no label: 0 · inf is not a number
        label, probability, residual = label_loss(scores[:-1], rows.codes)
        s, b = rows.domain_weights, weight * label
        return cls(
            loss,
            rows.X,
            float(b.sum() + s @ softplus),
            weight,
            probability,
            weight * residual,
            -b - s * rest,
            b + s * q * rest,
        )

    def gradient(self) -> Floats:
        return self.form.pull(self.X, np.vstack([-self.lift, self.slope]))

    def add_to(self, hessian: Floats, positive: bool) -> None:
        bends = self._positive_parts() if positive else self._blocks()
        width = self.form.width
        for k in range(len(bends)):
            mine = slice(k * width, (k + 1) * width)
            for other in range(k + 1):
                theirs = slice(other * width, (other + 1) * width)
                hessian[mine, theirs] += self.form.gram(self.X, bends[k, other])
                if other < k:
                    hessian[theirs, mine] = hessian[mine, theirs]

    def _blocks(self) -> Floats:
        """The Hessian of each row's loss in its scores, (K+1) x (K+1) x n."""
        P, r = self.probability, self.weight
        k = len(P)
        bends = np.empty((k + 1, k + 1, len(r)))
        if k == 1:
            bends[0, 0] = np.abs(self.lift[0]) * self.probability[0]
        else:
            np.multiply(-P[:, None], (r * P)[None], out=bends[:k, :k])
            bends[range(k), range(k)] = r * P * (1.0 - P)
        bends[:k, k] = bends[k, :k] = self.lift
        bends[k, k] = self.bend
        return bends

    def _positive_parts(self) -> Floats:
        bends = self._blocks()
        if len(self.probability) > 1:
            values, vectors = np.linalg.eigh(np.moveaxis(bends, 2, 0))
            kept = (vectors * np.maximum(values, 0.0)[:, None]) @ np.swapaxes(vectors, 1, 2)
            return np.ascontiguousarray(np.moveaxis(kept, 0, 2))
        return _positive_part(bends)

    def product(self, direction: Floats) -> Floats:
        moved = self.form.scores(self.X, direction)
        bent = np.empty_like(moved)
        if len(self.probability) == 1:
            bent[0] = np.abs(self.lift[0]) * self.probability[0] * moved[0]
        else:
            bent[:-1] = self.probability * moved[:-1]
            bent[:-1] -= self.probability * bent[:-1].sum(axis=0)
            bent[:-1] *= self.weight
        bent[-1] = (self.lift * moved[:-1]).sum(axis=0) + self.bend * moved[-1]
        bent[:-1] += self.lift * moved[-1]
        return self.form.pull(self.X, bent)

    def diagonal(self) -> Floats:
        """The diagonal; for two classes of the positive parts."""
        if len(self.probability) == 1:
            bends = self._positive_parts()
            values = np.stack([bends[0, 0], bends[1, 1]])
        else:
            P = self.probability
            values = np.vstack([self.weight * P * (1.0 - P), self.bend])
        return self.form.pull(_squares(self.X), values)


@dataclass(frozen=True, slots=True)
class _Curvature:
    """The Hessian of a block through products."""

    loss: JointLoss
    halves: list[_Source | _Target]

    def __call__(self, direction: Floats) -> Floats:
        theta = direction.reshape(self.loss.n_scores + 1, self.loss.width)
        return np.ravel(sum(half.product(theta) for half in self.halves))

    def summary(self) -> Floats:
        return np.ravel(sum(half.diagonal() for half in self.halves))


def _softplus(t: Floats) -> tuple[Floats, Floats, Floats]:
    """log(1 + exp(t)), its slope, and one minus the slope, each to full relative precision."""
    small = np.exp(-np.abs(t))
    large = 1.0 / (1.0 + small)
    small, value = small * large, np.maximum(t, 0.0) + np.log1p(small)
    up = t >= 0
    return value, np.where(up, large, small), np.where(up, small, large)


def label_loss(scores: Floats, codes: Ints) -> tuple[Floats, Floats, Floats]:
    """Loss (n), probabilities and Y - P (K x n); for two classes P is that of the row's label."""
    n = scores.shape[1]
    if len(scores) == 1:
        signs = np.where(codes == 1, 1.0, -1.0)
        loss, wrong, right = _softplus(-signs * scores[0])
        return loss, right[None], (signs * wrong)[None]
    scores = scores - scores.max(axis=0)
    probability = np.exp(scores)
    total = probability.sum(axis=0)
    probability /= total
    places = codes, np.arange(n)
    residual = -probability
    # 1 - P of the label as the sum of the others: a difference would lose its digits.
    residual[places] = 0.0
    residual[places] = -residual.sum(axis=0)
    return np.log(total) - scores[places], probability, residual


def _positive_part(bends: Floats) -> Floats:
    """The positive part of symmetric 2 x 2 x n blocks [[c, a], [a, h]] with c, h >= 0."""
    c, a, h = bends[0, 0], bends[0, 1], bends[1, 1]
    spread = np.hypot(c - h, 2.0 * a)
    low = 0.5 * (c + h - spread)
    bad = np.flatnonzero(low < 0.0)
    high, low = 0.5 * (c + h + spread)[bad], low[bad]
    factor = high / (high - low)
    kept = bends.copy()
    kept[0, 0, bad] = factor * (c[bad] - low)
    kept[1, 1, bad] = factor * (h[bad] - low)
    kept[0, 1, bad] = kept[1, 0, bad] = factor * a[bad]
    return kept


def _squares(X: Any) -> Any:
    if hasattr(X, "indptr"):
        return X.power(2, dtype=np.float64)
    return np.square(X, dtype=np.float64)
