"""Study ``covariate-landmine``: from one mine field to another, all 812 pairs."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.studies.base import study
from shiftlearn.studies.covariate_methods import (
    IID,
    JOINT,
    METHODS,
    Costs,
    Task,
    auc,
    chosen,
    fitted_scores,
    settings,
)

__all__ = ["covariate_landmine"]

_FIELDS = 29
_LANDMARKS = 100
_GRIDS = {
    "C": (0.1, 1.0, 10.0), "C_shift": (0.01, 0.1, 1.0), "B": (2.0, 10.0, 1000.0),
    "width": (0.5, 1.0, 2.0),
}  # fmt: skip
_TUNING_PAIRS = 5
_TUNING_ROWS = 400


@study(
    "covariate-landmine",
    title="Landmines: AUC increase over iid learning, 29 fields in pairs",
    grid={"n": (64, 128, 256, 445), "method": METHODS},
    columns="n",
    figures={"increase": "AUC increase (points)", "auc": "AUC (%)"},
    seeds=_FIELDS,
    quick={"n": (128,), "method": (IID, JOINT)},
    quick_seeds=1,
    data=("landmine/LandmineData.mat",),
)
def covariate_landmine(n: int, method: str, seed: int) -> dict[str, float]:
    """Trained on one field (field number = seed), tested on n rows of each of the 28 others.

    RBF kernel on standardised columns (100 pivoted landmarks), means over the targets; the standard
    error is over the 29 sources. The paper prints curves only: the joint method and kernel mean
    matching best, without a significant difference, the others worse; iid AUC 0.64. It leaves
    open the sizes, the evaluated rows (here: the drawn rows, pairs without a mine among them left
    out) and the tuning set. Here the costs and the width (in median distances; at most 27
    settings a method) are chosen once by the mean AUC of five pairs; for targets of even number
    these pairs have odd targets, and the other way round, so that no target's own labels are used.
    """
    areas, increases = [], []
    for target in range(_FIELDS):
        if target == seed:
            continue
        own, plain = _area(method, seed, target, n), _area(IID, seed, target, n)
        if not math.isnan(own):
            areas.append(own)
            increases.append(own - plain)
    return {"increase": 100 * float(np.mean(increases)), "auc": 100 * float(np.mean(areas))}


@functools.lru_cache(maxsize=4096)
def _area(method: str, source: int, target: int, n: int) -> float:
    """AUC of one pair on n drawn rows of the target."""
    costs = _costs(method, target % 2)
    task, labels = _pair(source, target, n, costs["width"])
    scores, _ = fitted_scores(method, task, costs)
    return auc(labels, scores(task.target))


@functools.lru_cache(maxsize=256)
def _pair(source: int, target: int, n: int, width: float) -> tuple[Task, NDArray[np.int64]]:
    from shiftlearn import Nystroem

    (Xs, ys), (Xt, yt) = _fields()[source], _fields()[target]
    drawn = np.random.default_rng([source, target, n]).permutation(len(yt))[:n]
    center, scale = Xs.mean(axis=0), Xs.std(axis=0)
    Xs, Xt = (Xs - center) / scale, (Xt[drawn] - center) / scale
    gamma = 1.0 / (2.0 * (width * _median_distance(Xs)) ** 2)
    features = Nystroem(_LANDMARKS, gamma=gamma, landmarks="pivoted", random_state=0)
    features.fit(np.vstack([Xs, Xt]))
    task = Task(Xs, ys, Xt, {"kernel": "rbf", "gamma": gamma}, _Remembered(features.transform))
    return task, yt[drawn]


@functools.lru_cache(maxsize=16)
def _costs(method: str, parity: int) -> Costs:
    """Chosen on pairs whose targets have the other parity."""
    rng = np.random.default_rng(parity)
    targets = rng.choice(np.arange(1 - parity, _FIELDS, 2), _TUNING_PAIRS, replace=False)
    pairs = [(int(rng.choice(np.setdiff1d(np.arange(_FIELDS), [t]))), int(t)) for t in targets]
    best: tuple[float, Costs] = (-math.inf, {})
    for width in _GRIDS["width"]:
        tasks = [_pair(source, target, _TUNING_ROWS, width) for source, target in pairs]
        rows = [(task, task.target, labels) for task, labels in tasks]
        grids = {name: values for name, values in _GRIDS.items() if name != "width"}
        costs = chosen(method, rows, settings(method, **grids))
        found = [auc(y, fitted_scores(method, task, costs)[0](X)) for task, X, y in rows]
        if np.mean(found) > best[0]:
            best = (float(np.mean(found)), {**costs, "width": width})
    return best[1]


class _Remembered:
    """A map that keeps what it made of the arrays it has seen."""

    def __init__(self, function: Any) -> None:
        self._function, self._known = function, {}  # type: ignore[var-annotated]

    def __call__(self, rows: Any) -> Any:
        if id(rows) not in self._known:
            self._known[id(rows)] = (rows, self._function(rows))
        return self._known[id(rows)][1]


@functools.cache
def _fields() -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    from shiftlearn.datasets import load_landmine

    mines = load_landmine()
    assert mines.domain is not None
    return [
        (mines.data[mines.domain == k], mines.target[mines.domain == k]) for k in range(_FIELDS)
    ]


def _median_distance(X: NDArray[np.float64]) -> float:
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(X)))
