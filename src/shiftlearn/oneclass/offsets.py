"""Where each half-space begins: the offsets ρ_t that are optimal for given scores.

Given the scores h_ti = ⟨w_t, φ(x)⟩ of a task's rows, ρ_t minimises -ρ + Σ_i C_ti max(0, ρ - h_ti):
a quantile of the scores, weighted by the costs. It needs no free support vector and no tolerance on
the dual variables. Where the costs meet 1 exactly a whole interval is optimal; its middle is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.formulations import quantile_offset
from shiftlearn.oneclass.tasks import Tasks

__all__ = ["optimal_offsets"]

Floats = NDArray[np.float64]


def optimal_offsets(scores: Floats, costs: Floats, tasks: Tasks) -> tuple[Floats, Floats]:
    """ρ for each task, and the ends of the optimal interval (K × 2)."""
    ends = np.array(
        [_interval(scores[tasks.rows(t)], costs[tasks.rows(t)]) for t in range(tasks.count)]
    )
    bounded = np.isfinite(ends[:, 1])
    middle = ends[:, 0].copy()
    middle[bounded] = 0.5 * (ends[bounded, 0] + ends[bounded, 1])
    return middle, ends


def _interval(scores: Floats, costs: Floats) -> tuple[float, float]:
    low, high = quantile_offset(scores, costs, 1.0)
    unbounded = costs.sum() <= 1 + 1e-9  # every row counts in full: ρ may rise for ever
    return low, np.inf if unbounded else high
