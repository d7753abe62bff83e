"""Labels for unlabelled rows, found together with the machine (Joachims, *Transductive inference
for text classification using support vector machines*, 1999).

    min_{w, b, ŷ}  ½‖w‖² + Σ_i c_i ξ_i + Σ_j s_j C*(ŷ_j) ξ*_j,     ξ = max(0, 1 - y f(x))

over the labels ŷ of m target rows as well, of which m₊ are positive. The problem is not convex: the
costs of the target rows start near 0 and are doubled up to C*, and at each pair of costs labels
are exchanged between rows as long as that lowers the objective at the present f.

Any number of disjoint pairs may be exchanged at once: at fixed f their changes of the objective
add up, and solving for f again lowers it further. So each round exchanges, largest slack with
largest slack, every pair that lowers the objective; it falls strictly from round to round, there
are finitely many labellings, and the loop ends. (A round that does not lower it, because the gain
is smaller than the solver's accuracy, is taken back.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.spaces import HingeFit

__all__ = ["Round", "Transduction", "transduce"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_FIRST_COST = 1e-5

# (signs, costs, start) -> the machine and its scores on all rows
Train = Callable[[Floats, Floats, Floats | None], tuple[HingeFit, Floats]]


@dataclass(frozen=True, slots=True)
class Round:
    """One training: number of the cost stage, costs of the target rows, objective, exchanges."""

    stage: int
    cost_negative: float
    cost_positive: float
    objective: float
    exchanged: int


@dataclass(frozen=True, slots=True)
class Transduction:
    """The machine, the signs of the target rows that it was trained with, and how it got there."""

    fit: HingeFit
    signs: Floats
    history: tuple[Round, ...]


def transduce(
    train: Train,
    signs: Floats,
    costs: Floats,
    target_costs: Floats,
    n_positive: int,
) -> Transduction:
    """Train with labels ``signs`` of the first n rows, and find those of the other m.

    Parameters
    ----------
    train : callable
        Solves the hinge problem of all n + m rows.
    signs, costs : ndarray of shape (n,)
        Labels and costs of the labelled rows.
    target_costs : ndarray of shape (m,)
        Final costs s_j C* of the unlabelled rows.
    n_positive : int
        m₊, number of positive labels among them.
    """
    n, m = len(signs), len(target_costs)
    both = np.concatenate([signs, np.ones(m)])
    fit, scores = train(both, np.concatenate([costs, np.zeros(m)]), None)
    if not m:
        return Transduction(fit, np.empty(0), ())
    state = _State(fit, _largest_positive(scores[n:], n_positive))
    history: list[Round] = []
    for stage, (low, high) in enumerate(_cost_stages(n_positive, m, target_costs)):
        start = _raised(state.fit.alpha, n, state.labels, low, high)
        state = _switch(train, signs, costs, (low, high), state.labels, start, stage, history)
    return Transduction(state.fit, state.labels, tuple(history))


@dataclass(frozen=True, slots=True)
class _State:
    """A machine and the labels of the target rows that it was trained with."""

    fit: HingeFit
    labels: Floats


def _switch(
    train: Train,
    signs: Floats,
    costs: Floats,
    pair: tuple[Floats, Floats],
    labels: Floats,
    start: Floats,
    stage: int,
    history: list[Round],
) -> _State:
    """Train and exchange labels at one pair of costs until no exchange lowers the objective."""
    n, (low, high) = len(signs), pair
    best, least = None, np.inf
    while True:
        both = np.concatenate([signs, labels])
        every = np.concatenate([costs, np.where(labels > 0, high, low)])
        fit, scores = train(both, every, start)
        objective = _primal(fit, scores, both, every)
        if best is not None and objective >= least:  # below what the solver can tell apart
            return best
        best, least = _State(fit, labels), objective
        positive, negative = _pairs(labels, scores[n:], low, high)
        history.append(Round(stage, float(low.max()), float(high.max()), least, len(positive)))
        if not len(positive):
            return best
        labels, start = _exchange(labels, fit.alpha, n, positive, negative)


def _primal(fit: HingeFit, scores: Floats, signs: Floats, costs: Floats) -> float:
    """½‖w‖² + Σ c ξ, with ‖w‖² = Σ y a (f - b)."""
    slack = np.maximum(0.0, 1 - signs * scores)
    return float(0.5 * fit.coef @ (scores - fit.intercept) + costs @ slack)


def _largest_positive(scores: Floats, count: int) -> Floats:
    """+1 for the ``count`` largest scores, -1 for the others."""
    labels = np.full(len(scores), -1.0)
    labels[np.argsort(-scores, kind="stable")[:count]] = 1.0
    return labels


def _cost_stages(n_positive: int, m: int, target_costs: Floats) -> list[tuple[Floats, Floats]]:
    """Costs of negative and positive target rows, doubled until both are the final ones."""
    final = float(target_costs.max())
    low = min(_FIRST_COST, final)
    high = min(_FIRST_COST * n_positive / max(1, m - n_positive), final)
    shares = target_costs / final
    stages = [(low, high)]
    while low < final or 0 < high < final:
        low, high = min(2 * low, final), min(2 * high, final)
        stages.append((low, high))
    return [(shares * a, shares * b) for a, b in stages]


def _raised(alpha: Floats, n: int, labels: Floats, low: Floats, high: Floats) -> Floats:
    """The last answer as a start for doubled costs: rows at their bound stay there."""
    start = alpha.copy()
    start[n:] = np.minimum(2 * alpha[n:], np.where(labels > 0, high, low))
    return start


def _pairs(labels: Floats, scores: Floats, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """Disjoint pairs (positive, negative) whose exchange lowers the objective at this f."""
    slack = np.maximum(0.0, 1 - labels * scores)
    other = np.maximum(0.0, 1 + labels * scores)  # slack under the other label
    positive = _by_slack(np.flatnonzero((labels > 0) & (slack > 0)), slack)
    negative = _by_slack(np.flatnonzero((labels < 0) & (slack > 0)), slack)
    k = min(len(positive), len(negative))
    positive, negative = positive[:k], negative[:k]
    now = high[positive] * slack[positive] + low[negative] * slack[negative]
    then = low[positive] * other[positive] + high[negative] * other[negative]
    better = (slack[positive] + slack[negative] > 2) & (then < now)
    return positive[better], negative[better]


def _by_slack(rows: Ints, slack: Floats) -> Ints:
    return rows[np.argsort(-slack[rows], kind="stable")]


def _exchange(
    labels: Floats, alpha: Floats, n: int, positive: Ints, negative: Ints
) -> tuple[Floats, Floats]:
    """Labels exchanged, and the duals with them: the sum of the signed duals stays 0."""
    labels, start = labels.copy(), alpha.copy()
    labels[positive], labels[negative] = -1.0, 1.0
    start[n + positive], start[n + negative] = alpha[n + negative], alpha[n + positive]
    return labels, start
