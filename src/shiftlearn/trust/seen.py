"""Is a shift to be seen at all? The gate in front of everything that would adapt."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftlearn.shift import mmd_test

__all__ = ["SHIFT_LEVEL", "shift_p_value"]

# All 29 moved choosing tasks of benchmarks/shifts have p <= 0.004, all four controls p >= 0.16.
SHIFT_LEVEL = 0.01
_ROWS = 1200
_FEWEST = 2


def shift_p_value(source: Any, target: Any, seed: int) -> float:
    """p-value of the kernel two-sample test on at most 1200 rows each; NaN with a single row."""
    if min(source.shape[0], target.shape[0]) < _FEWEST:
        return float("nan")
    rng = np.random.default_rng(seed)
    X, Y = (
        rows if rows.shape[0] <= _ROWS else rows[rng.choice(rows.shape[0], _ROWS, replace=False)]
        for rows in (source, target)
    )
    return float(mmd_test(X, Y, random_state=seed, n_jobs=1).p_value)
