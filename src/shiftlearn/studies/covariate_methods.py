"""The methods of the covariate-shift studies on one task: ours, the five of the paper, one form.

Every reference method is a ridge logistic regression of the labelled rows under fixed weights and
differs from the others by the weights alone. Costs are chosen by `chosen`, on rows that are not
evaluated.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "JOINT",
    "METHODS",
    "Task",
    "auc",
    "chosen",
    "fitted_scores",
    "risk_reduction",
    "settings",
]

Floats = NDArray[np.float64]
Costs = Mapping[str, float]
Scores = Callable[[Any], Floats]

IID, TWO_STAGE, BIAS = "iid", "two-stage", "selection bias"
KMM, KDE, JOINT = "kernel mean matching", "density estimates", "joint"
METHODS = (IID, TWO_STAGE, BIAS, KMM, KDE, JOINT)

_USES = {
    IID: (),
    TWO_STAGE: ("C_shift",),
    BIAS: ("C_shift",),
    KMM: ("B",),
    KDE: (),
    JOINT: ("C_shift",),
}


@dataclass(frozen=True)
class Task:
    """Labelled source rows and target rows, with their features where the models live in a map.

    ``kernel`` are the parameters of the kernel that mean matching uses on the rows themselves.
    """

    source: Any
    labels: NDArray[np.int64]
    target: Any
    kernel: Mapping[str, Any]
    features: Callable[[Any], Any] | None = None

    def coordinates(self, rows: Any) -> Any:
        """The features of rows."""
        return rows if self.features is None else self.features(rows)


def settings(method: str, **grids: Sequence[float]) -> list[dict[str, float]]:
    """All costs that a method is tried with: C, what its weights need, and shared parameters."""
    known = ("C_shift", "B")
    names = [name for name in grids if name not in known or name in _USES[method]]
    products = itertools.product(*(grids[name] for name in names))
    return [dict(zip(names, values, strict=True)) for values in products]


def fitted_scores(method: str, task: Task, costs: Costs) -> tuple[Scores, Floats]:
    """Log-odds of class 1 as a function of rows, and the weights of the source rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a study tries settings of which it expects little
        if method == JOINT:
            return _joint(task, costs)
        weights = _weights(method, task, costs)
        return _weighted(task, weights, costs["C"]), weights


def _joint(task: Task, costs: Costs) -> tuple[Scores, Floats]:
    from shiftlearn import CovariateShiftLogisticRegression, stack_domains

    source, target = task.coordinates(task.source), task.coordinates(task.target)
    X, y, sample_domain = stack_domains(source, task.labels, target)
    model = CovariateShiftLogisticRegression(costs["C"], C_shift=costs["C_shift"])
    model.fit(X, y, sample_domain=sample_domain)
    return lambda rows: model.decision_function(task.coordinates(rows)), model.weights_


def _weights(method: str, task: Task, costs: Costs) -> Floats:
    import shiftlearn

    if method == IID:
        return np.ones(len(task.labels))
    rows = task.source, task.target
    if method == KMM:
        ratio: Any = shiftlearn.KernelMeanMatching(**task.kernel, B=costs["B"])
    elif method == KDE:
        ratio = shiftlearn.KDERatio()
    else:
        name = "LogisticRatio" if method == TWO_STAGE else "SelectionBiasRatio"
        ratio = getattr(shiftlearn, name)(C=costs["C_shift"])
        rows = task.coordinates(task.source), task.coordinates(task.target)
    return np.asarray(ratio.fit(*rows).weights_)


def _weighted(task: Task, weights: Floats, C: float) -> Scores:
    """Ridge logistic regression under fixed weights."""
    from shiftlearn.solvers.logistic import solve_logistic

    if not weights.any():
        return lambda rows: np.zeros(rows.shape[0])
    fit = solve_logistic(
        task.coordinates(task.source), task.labels, n_classes=2, penalty=1.0 / C,
        sample_weight=weights,
    )  # fmt: skip
    return lambda rows: np.asarray(
        task.coordinates(rows) @ fit.coef[0] + fit.intercept[0], dtype=np.float64
    )


def chosen(
    method: str, tasks: Iterable[tuple[Task, Any, Any]], tried: list[dict[str, float]]
) -> Costs:
    """The costs with the largest mean AUC on tuning rows, (task, rows, labels) each."""
    tasks = list(tasks)
    best: tuple[float, Costs] = (-np.inf, tried[0])
    for costs in tried:
        found = [
            auc(labels, fitted_scores(method, task, costs)[0](rows)) for task, rows, labels in tasks
        ]
        mean = float(np.nanmean(found))
        if mean > best[0]:
            best = (mean, costs)
    return best[1]


def auc(labels: NDArray[Any], scores: Floats) -> float:
    """Area under the ROC curve, ties counted half; NaN where one class is missing."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores)) if len(np.unique(labels)) == 2 else float("nan")


def risk_reduction(area: float, reference: float) -> float:
    """1 - (1 - AUC) / (1 - AUC of iid) in percent; NaN where the reference makes no error."""
    return 100 * (1 - (1 - area) / (1 - reference)) if reference < 1 else float("nan")
