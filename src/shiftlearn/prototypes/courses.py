"""The way of an ensemble through its shifts, seen by test rows: for studies and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftlearn.prototypes.models import TrainingSet
from shiftlearn.prototypes.rules import Rules
from shiftlearn.prototypes.shifting import Draws
from shiftlearn.prototypes.table import Columns
from shiftlearn.prototypes.training import Options, hold_out, judge, run

__all__ = ["iterates"]


def iterates(
    X: Any, y: Any, X_test: Any, y_test: Any, n_shifts: int, seed: int
) -> list[tuple[float, int]]:
    """(accuracy on the test rows, number of models) of iterates 0 to ``n_shifts``.

    C = 100, p = 0.005, a quarter of the training rows held out: as specified. Labels are class
    numbers.
    """
    columns = Columns.of(X, "range")
    codes, n_classes = y.astype(np.int32), int(max(y.max(), y_test.max())) + 1
    full = TrainingSet(columns.apply(X), codes, np.ones(len(y)), n_classes)
    test = TrainingSet(
        columns.apply(X_test), y_test.astype(np.int32), np.ones(len(y_test)), n_classes
    )
    rng = np.random.RandomState(seed)
    inside = np.setdiff1d(np.arange(len(y)), hold_out(codes, 0.25, rng, True))
    options = Options(100.0, Draws(0.005, seed), Rules(), 7, 1e-6, 1_000_000, 1)
    seen: list[tuple[float, int]] = []

    def look(trace: Any) -> bool:
        seen.append((judge(trace.ensemble, test, options)[0], len(trace.ensemble)))
        return False

    data, exemplars = full.take(inside), np.arange(len(inside), dtype=np.int64)
    trace = run(data, full.take(inside[:0]), exemplars, n_shifts, options, told=look)
    look(trace)
    return seen + [seen[-1]] * (n_shifts + 1 - len(seen))
