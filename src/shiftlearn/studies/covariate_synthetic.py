"""Study ``covariate-synthetic``: a linear model that cannot be right everywhere."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from shiftlearn.studies.base import reference_row, study
from shiftlearn.studies.covariate_methods import (
    JOINT,
    METHODS,
    Costs,
    Task,
    auc,
    chosen,
    fitted_scores,
    settings,
)

__all__ = ["covariate_synthetic"]

_SIZES = (32, 128, 512)
_COSTS = (0.1, 1.0, 10.0, 100.0)
_BOUNDS = (2.0, 10.0, 1000.0)
_HELD = 300  # rows for tuning, and as many for evaluation

_AUC = {
    0.0: ((81.6, 81.9, 81.7, 81.8, 82.0, 81.9), (79.5, 79.8, 79.7, 80.3, 80.3, 79.6),
          (82.7, 82.6, 82.7, 82.8, 83.0, 82.6)),
    0.8: ((68.6, 78.2, 70.8, 80.3, 79.5, 77.7), (69.3, 79.2, 77.0, 79.4, 79.7, 79.4),
          (68.5, 74.2, 77.0, 79.1, 79.0, 78.2)),
    1.5: ((42.2, 72.2, 46.7, 76.7, 73.3, 72.1), (44.8, 76.6, 67.2, 77.4, 76.4, 76.3),
          (42.9, 73.1, 72.4, 76.4, 75.1, 74.1)),
}  # fmt: skip
_WEIGHT = {
    "two-stage": {0.0: (1.00, 1.00, 1.01), 0.8: (1.04, 1.13, 1.39), 1.5: (1.10, 1.32, 1.83)},
    JOINT: {0.0: (0.21, 0.45, 0.62), 0.8: (0.21, 0.44, 0.60), 1.5: (0.22, 0.45, 0.55)},
}


def _references() -> tuple[Any, ...]:
    areas = [
        reference_row("auc", "n", _SIZES, [row[k] for row in rows], delta=delta, method=method)
        for delta, rows in _AUC.items()
        for k, method in enumerate(METHODS)
    ]
    weights = [
        reference_row("weight", "n", _SIZES, values, delta=delta, method=method)
        for method, by_delta in _WEIGHT.items()
        for delta, values in by_delta.items()
    ]
    return tuple(reference for row in (*areas, *weights) for reference in row)


@study(
    "covariate-synthetic",
    title="Covariate shift in three dimensions, a linear model of a curved rule",
    grid={"delta": (0.0, 0.8, 1.5), "method": METHODS, "n": _SIZES},
    columns="n",
    figures={
        "auc": "AUC on the target (%)",
        "loss": "log-loss on the target",
        "weight": "mean weight at variances 1",
    },
    seeds=10,
    quick={"delta": (0.8,), "n": (32, 512)},
    quick_seeds=1,
    reference_name="reference",
    references=_references(),
)
def covariate_synthetic(delta: float, method: str, n: int, seed: int) -> dict[str, float]:
    """Source N(0, I), 200 labelled rows; n unlabelled target rows whose first column is N(δ, 0.6²).

    The rule is curved, so that the best line depends on where the rows lie. The costs of every
    method (at most 16 settings: variances 0.1 to 100; mean matching: B in 2, 10, 1000, RBF of
    width 1.5) are chosen by the AUC on 300 labelled target rows, and evaluated on 300 others. The
    reference is an independent run of the same protocol with other draws, so that differences of
    two or three points are chance. Mean weights are those of the variances 1.
    """
    task, tuning, test = _draw(delta, n, seed)
    grids = {"C": _COSTS, "C_shift": _COSTS, "B": _BOUNDS}
    costs = chosen(method, [(task, *tuning)], settings(method, **grids))
    scores = fitted_scores(method, task, costs)[0](test[0])
    signs = np.where(test[1] == 1, 1.0, -1.0)
    figures = {
        "auc": 100 * auc(test[1], scores),
        "loss": float(np.logaddexp(0.0, -signs * scores).mean()),
    }
    if method in _WEIGHT:
        ones: Costs = {"C": 1.0, "C_shift": 1.0}
        figures["weight"] = float(fitted_scores(method, task, ones)[1].mean())
    return figures


@functools.lru_cache(maxsize=16)
def _draw(delta: float, n: int, seed: int) -> tuple[Task, Any, Any]:
    """The task, and labelled target rows for tuning and for evaluation."""
    from shiftlearn.datasets import make_covariate_shift

    drawn = make_covariate_shift(delta, n_source=200, n_target=n + 2 * _HELD, random_state=seed)
    Xs, ys, Xt, yt = drawn.split()
    task = Task(Xs, (ys == 1).astype(np.int64), Xt[:n], {"gamma": 1 / (2 * 1.5**2)})
    middle = n + _HELD
    labels = (yt == 1).astype(np.int64)
    return task, (Xt[n:middle], labels[n:middle]), (Xt[middle:], labels[middle:])
