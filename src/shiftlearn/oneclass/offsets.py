"""Where each half-space begins: the offsets ρ_t that are optimal for given scores.

Given the scores h_ti = ⟨w_t, φ(x)⟩ of a task's rows, ρ_t minimises -ρ + Σ_i C_ti max(0, ρ - h_ti):
a quantile of the scores, weighted by the costs. It needs no free support vector and no tolerance on
the dual variables. Where the costs meet 1 exactly a whole interval is optimal; its middle is taken.

The rows' own scores flatter: a support vector speaks for itself, in few rows or many columns so
loudly that most rows to come score lower. What row i would score had it been left out is told
without another fit, its share of s_t = Σ_j a_j φ(x̄_j) going to the other rows in proportion:

    h⁻_i = h_i - f (o_i - (o_i - a_i k(x̄_i, x_i)) / (1 - a_i)),   o_i = Σ_{j in t} a_j k(x̄_j, x_i)

with f the factor of the own task; rows with a_i = 0 keep their score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.formulations import quantile_offset
from shiftlearn.oneclass.rows import UncertainRows
from shiftlearn.oneclass.tasks import Tasks

__all__ = ["LEAST_SHARE", "left_out_scores", "optimal_offsets"]

Floats = NDArray[np.float64]

LEAST_SHARE = 0.05  # left-out quantiles under it rest on a row or two
_ALONE = 1e-6  # a row with all but this of its task's weight has no others to take over
_ROWS = 256


def optimal_offsets(
    scores: Floats, costs: Floats, tasks: Tasks, least_share: float = 0.0
) -> tuple[Floats, Floats]:
    """ρ for each task, and the ends of the optimal interval (K × 2).

    ``least_share`` of a task's costs, if that is more than 1, lies below its offset.
    """
    ends = np.array(
        [
            _interval(scores[tasks.rows(t)], costs[tasks.rows(t)], least_share)
            for t in range(tasks.count)
        ]
    )
    bounded = np.isfinite(ends[:, 1])
    middle = ends[:, 0].copy()
    middle[bounded] = 0.5 * (ends[bounded, 0] + ends[bounded, 1])
    return middle, ends


def _interval(scores: Floats, costs: Floats, least_share: float) -> tuple[float, float]:
    whole = float(costs.sum())
    total = max(1.0, least_share * whole)
    low, high = quantile_offset(scores, costs, total)
    unbounded = whole <= total * (1 + 1e-9)  # every row counts in full: ρ may rise for ever
    return low, np.inf if unbounded else high


def left_out_scores(
    rows: UncertainRows, alpha: Floats, observed: Floats, factors: Floats, tasks: Tasks
) -> Floats:
    """h⁻ of each row at its observed place; ``factors`` holds f of each task."""
    scores = observed.copy()
    for task in range(tasks.count):
        own = tasks.rows(task)
        support = own.start + np.flatnonzero(alpha[own])
        part = alpha[support]
        for start in range(0, len(support), _ROWS):
            chunk = slice(start, start + _ROWS)
            values = rows.observed_values(support[chunk], support)
            itself = np.arange(values.shape[0])
            gain = _own_gain(values @ part, values[itself, itself + start], part[chunk])
            scores[support[chunk]] -= factors[task] * gain
    return scores


def _own_gain(sums: Floats, itself: Floats, part: Floats) -> Floats:
    """What a row adds to its own task's part of its score."""
    rest = 1.0 - part
    gain: Floats = sums - (sums - part * itself) / np.maximum(rest, _ALONE)
    return np.where(rest > _ALONE, gain, 0.0)
