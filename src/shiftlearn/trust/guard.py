"""Should this be adapted at all? The guard in front of a chosen method.

Without labels a difference between two models can only be judged by other opinions. With P̄ the mean
probabilities of the candidates other than the chosen one c and the reference s,

    Δ = mean_i [ P̄(c(x_i) | x_i) - P̄(s(x_i) | x_i) ]

over the target rows is the expected gain in accuracy if the opinions were calibrated; rows on which
c and s agree count nothing. They are not calibrated, so the size of Δ says little, but on the
choosing tasks of ``benchmarks/shifts`` its sign, with two more findings, separates gain from loss:
a shift is seen, the source model tells the classes apart, and the lower end of the bootstrap
interval of Δ is above zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftlearn.trust.proportions import Proportions
from shiftlearn.trust.seen import SHIFT_LEVEL

__all__ = ["Guard", "expected_difference", "guard"]

Floats = NDArray[np.float64]

_DRAWS = 500
_LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Guard:
    """The verdict on one candidate against the source-only model.

    Attributes
    ----------
    adapt : bool
        Whether the candidate is credibly better.
    difference, low, high : float
        Estimated difference of accuracy to the source-only model, and its 90 % bootstrap
        interval, as fractions.
    disagreement : float
        Share of target rows on which the two predict different classes.
    shift_p_value : float
        Of the two-sample test.
    proportions : Proportions or None
        What is known of the class proportions.
    verdict : str
        All of it in words.
    """

    adapt: bool
    difference: float
    low: float
    high: float
    disagreement: float
    shift_p_value: float
    proportions: Proportions | None
    verdict: str

    def __str__(self) -> str:
        return self.verdict


def expected_difference(
    chosen: NDArray[np.intp], reference: NDArray[np.intp], opinions: Floats, seed: int
) -> tuple[float, float, float]:
    """Δ and its bootstrap interval, for predicted class numbers and P̄ of shape (m, n_classes)."""
    rows = np.arange(len(chosen))
    gains = opinions[rows, chosen] - opinions[rows, reference]
    drawn = np.random.default_rng(seed).multinomial(
        len(gains), np.full(len(gains), 1 / len(gains)), size=_DRAWS
    )
    ends = np.quantile(drawn @ gains / len(gains), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(gains.mean()), float(ends[0]), float(ends[1])


def guard(
    name: str,
    chosen: NDArray[np.intp],
    reference: NDArray[np.intp],
    opinions: Floats,
    shift_p_value: float,
    proportions: Proportions | None,
    seed: int,
) -> Guard:
    """Judge a candidate against the reference."""
    value, low, high = expected_difference(chosen, reference, opinions, seed)
    apart = float(np.mean(chosen != reference))
    numbers = (
        f"{name} against source-only: {100 * value:+.1f} points expected "
        f"({100 * low:+.1f} to {100 * high:+.1f}), other predictions on {100 * apart:.1f} % of the "
        f"target rows; two-sample test p = {shift_p_value:.2g}. "
    )
    if proportions is not None:
        numbers += proportions.words()
    refusal = _refusal(low, apart, shift_p_value, proportions)
    decision = refusal or "Adapting is credible."
    return Guard(
        not refusal, value, low, high, apart, shift_p_value, proportions, f"{decision} {numbers}"
    )


def _refusal(low: float, apart: float, p_value: float, proportions: Proportions | None) -> str:
    """Why not to adapt; empty where nothing speaks against it."""
    if not p_value < SHIFT_LEVEL:
        return "No reason to adapt: no shift is seen."
    if apart == 0:
        return "No reason to adapt: it would change no prediction."
    if proportions is None or not proportions.known:
        return "Not credible: the source model cannot tell the classes apart; it is kept."
    if low <= 0:
        return "Not credible: a loss is as possible as a gain, and the source-only model is kept."
    return ""
