r"""Did the class proportions move? What maps must know before they align anything.

With C_jk the mean probability of class j on (unseen) source rows of class k, p̂ the mean prediction
on the target and π the source's proportions, black-box shift estimation finds

    q = argmin_{q >= 0, Σq = 1} ‖C q - p̂‖²,

the target's proportions, *if* only proportions moved. That is checked where the rows lie: with
class means m_k of the source, the mean m_t of the target and the metric A of the scatter within
classes, moved proportions explain the share

    1 - ‖m_t - Σ_k q_k m_k‖²_A / ‖m_t - Σ_k π_k m_k‖²_A

of the movement of the mean. Where the rows themselves have moved (a sensor, a rotation) predicted
proportions are wrong, q is wrong with them, and it explains next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls

__all__ = ["Proportions", "black_box_proportions", "find_proportions"]

Floats = NDArray[np.float64]

# Chosen on the choosing tasks of benchmarks/shifts: real changes of the proportions explain 0.24 to
# 0.9 of the movement, all other shifts at most 0.15.
_EXPLAINED = 0.2
_NOISES = 2.0
_CONDITION = 100.0


@dataclass(frozen=True, slots=True)
class Proportions:
    """The class proportions of both domains.

    Attributes
    ----------
    source : ndarray of shape (n_classes,)
    target : ndarray of shape (n_classes,)
        The estimate q; the source's where nothing speaks for a change.
    estimate : ndarray of shape (n_classes,)
        q, believed or not.
    moved : bool
        Whether q is believed.
    explained : float
        Share of the movement of the mean that q explains.
    condition : float
        Condition number of C; above 100 proportions cannot be told from predictions.
    """

    source: Floats
    target: Floats
    estimate: Floats
    moved: bool
    explained: float
    condition: float

    @property
    def distance(self) -> float:
        """Total variation between the source's and the target's proportions."""
        return float(np.abs(self.source - self.target).sum() / 2)

    @property
    def known(self) -> bool:
        """Whether the predictions tell the classes well enough apart to see proportions."""
        return self.condition < _CONDITION

    def words(self) -> str:
        """The finding in one sentence."""
        if not self.known:
            return (
                "The source model confuses the classes too much (condition number "
                f"{self.condition:.0f}) to say whether class proportions moved."
            )
        if self.moved:
            return (
                f"Class proportions moved by about {100 * self.distance:.0f} points; that explains "
                f"{100 * self.explained:.0f} % of the movement of the mean."
            )
        return "No evidence that class proportions moved."


def black_box_proportions(
    unseen: Floats, codes: NDArray[Any], weights: Floats, found: Floats
) -> tuple[Floats, float]:
    """Return q and the condition number of C.

    ``unseen``: probabilities of source rows by models that did not see them; ``found``: mean
    prediction on the target.
    """
    k = unseen.shape[1]
    by_class = np.zeros((k, k))
    np.add.at(by_class, codes, weights[:, None] * unseen)
    totals = np.bincount(codes, weights=weights, minlength=k)
    mixing = (by_class / totals[:, None]).T
    strong = 10.0  # weight of the equation Σq = 1
    matrix = np.vstack([mixing, strong * np.ones((1, k))])
    q, _ = nnls(matrix, np.concatenate([found, [strong]]))
    return np.asarray(q / q.sum()), float(np.linalg.cond(mixing))


def find_proportions(
    source: Floats,
    codes: NDArray[Any],
    weights: Floats,
    unseen: Floats,
    target: Floats,
    found: Floats,
) -> Proportions:
    """Estimate the target's class proportions, and say whether to believe the estimate.

    Parameters
    ----------
    source, target : ndarray
        Rows.
    codes, weights : ndarray
        Class numbers and weights of the source rows.
    unseen, found : ndarray
        As for `black_box_proportions`; ``found`` is a vector.
    """
    prior = np.bincount(codes, weights=weights, minlength=unseen.shape[1])
    prior = prior / prior.sum()
    estimate, condition = black_box_proportions(unseen, codes, weights, found)
    geometry = _Geometry(source, codes, weights, target, unseen.shape[1])
    before, after = geometry.residual(prior), geometry.residual(estimate)
    explained = 1 - after / before if before > 0 else 0.0
    moved = condition < _CONDITION and before > _NOISES * geometry.noise and explained > _EXPLAINED
    believed = estimate if moved else prior
    return Proportions(prior, believed, estimate, bool(moved), float(explained), condition)


class _Geometry:
    """Class means of the source, the mean of the target, in the metric within the classes."""

    def __init__(
        self, source: Floats, codes: NDArray[Any], weights: Floats, target: Floats, n_classes: int
    ) -> None:
        member = np.zeros((len(codes), n_classes))
        member[np.arange(len(codes)), codes] = weights
        self._means = member.T @ source / member.sum(axis=0)[:, None]
        self._target = target.mean(axis=0)
        within = _Scatter(source, self._means[codes], weights)
        self._solve = within.solve
        share = weights / weights.sum()
        spread = _Scatter(target, self._target, np.ones(len(target)))
        own = _Scatter(source, share @ source, weights)
        self.noise = within.trace_of(spread) / len(target)
        self.noise += within.trace_of(own) * float((share**2).sum())

    def residual(self, shares: Floats) -> float:
        gap = self._target - shares @ self._means
        return float(gap @ self._solve(gap))


class _Scatter:
    """Σ w (x - c)(x - c)ᵀ / Σ w."""

    def __init__(self, X: Floats, centres: Floats, weights: Floats) -> None:
        moved = X - centres
        self.matrix = (moved * weights[:, None]).T @ moved / weights.sum()
        self._factor: Any = None

    def solve(self, v: Floats) -> Floats:
        """(S + mean eigenvalue)⁻¹ v; zero where nothing varies."""
        d = self.matrix.shape[0]
        level = float(np.trace(self.matrix)) / d
        if level <= 0:
            return np.zeros_like(v)
        if self._factor is None:
            self._factor = cho_factor(self.matrix + level * np.eye(d))
        return np.asarray(cho_solve(self._factor, v))

    def trace_of(self, other: _Scatter) -> float:
        """Trace of (S + mean eigenvalue)⁻¹ times the scatter of ``other``."""
        return float(np.trace(self.solve(other.matrix)))
