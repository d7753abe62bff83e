"""Tasks of a one-class problem: whose row is whose, what a slack costs, how much is shared.

Source tasks come in the order of their ``sample_domain`` label, the target last. A value for each
task is given as one number for all, as a sequence in that order, or as a dict keyed by label.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.domains import find_domains
from shiftlearn.domains.resolve import DEFAULT_TARGET
from shiftlearn.errors import InfeasibleError
from shiftlearn.oneclass.checks import is_real

__all__ = [
    "Tasks",
    "check_feasible",
    "check_sums",
    "find_tasks",
    "penalties",
    "row_costs",
    "task_costs",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """The tasks that have rows, and those that were named.

    Attributes
    ----------
    labels : ndarray of int64 of shape (K,)
        Their ``sample_domain`` labels: sources ascending, then the target.
    of_row : ndarray of int of shape (n,)
        The task of each row that is used, ascending: a task's rows lie next to each other.
    index : ndarray of int of shape (n,)
        The positions of those rows in the X of ``fit``.
    n_rows : int
        The rows of ``fit``.
    named : ndarray of int64
        All labels, with those of tasks whose rows all have weight zero.
    """

    labels: NDArray[np.int64]
    of_row: Ints
    index: Ints
    n_rows: int
    named: NDArray[np.int64]

    @property
    def count(self) -> int:
        """K."""
        return len(self.labels)

    @property
    def target(self) -> int:
        """The number of the target task, K - 1."""
        return len(self.labels) - 1

    @property
    def in_order(self) -> bool:
        """Whether all rows of ``fit`` are used as they lie."""
        return np.array_equal(self.index, np.arange(self.n_rows))

    def rows(self, task: int) -> slice:
        """The rows of a task."""
        low, high = np.searchsorted(self.of_row, [task, task + 1])
        return slice(int(low), int(high))

    def sizes(self) -> Ints:
        """n_t."""
        return np.bincount(self.of_row, minlength=self.count)

    def positions(self, domain: NDArray[np.int64]) -> Ints:
        """The task of each label."""
        return _positions(self.labels, domain)

    def name(self, task: int) -> str:
        """The task in words."""
        kind = "target" if task == self.target else "source"
        return f"{kind} task {int(self.labels[task])}"


def find_tasks(sample_domain: ArrayLike | None, weights: Floats) -> Tasks:
    """The tasks among the rows of positive weight; without ``sample_domain`` all are the target."""
    given = DEFAULT_TARGET if sample_domain is None else sample_domain
    domains = find_domains(None, given, len(weights))
    targets = domains.target_labels
    if len(targets) > 1:
        raise ValueError(
            f"sample_domain holds the target domains {list(targets)}; one model has one target. "
            "Fit one model for each, with the other targets as sources (sample_domain >= 0)."
        )
    if not targets:
        raise ValueError(
            f"sample_domain has no target row (< 0), only the sources "
            f"{list(domains.source_labels)}; the target task needs at least one row."
        )
    named = np.array([*domains.source_labels, targets[0]])
    index = np.flatnonzero(weights > 0)
    present = np.array([np.any(domains.sample_domain[index] == label) for label in named])
    if not present[-1]:
        raise ValueError(
            f"sample_weight is 0 on all rows of the target task {targets[0]}; it needs at least "
            "one row of positive weight."
        )
    if not present.all():
        warnings.warn(
            f"the source tasks {named[~present].tolist()} have no row of positive weight and are "
            "left out.",
            UserWarning,
            stacklevel=4,
        )
    labels = named[present]
    of_row = _positions(labels, domains.sample_domain[index])
    order = np.argsort(of_row, kind="stable")
    return Tasks(labels, of_row[order], index[order], len(weights), named)


def _positions(labels: NDArray[np.int64], domain: NDArray[np.int64]) -> Ints:
    """Where each entry of ``domain`` stands among the labels."""
    order = np.argsort(labels)
    return np.asarray(order[np.searchsorted(labels[order], domain)])


def task_costs(estimator: Any, tasks: Tasks, totals: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """C_t for each task, and which of them came from ν; ``totals`` are the weights' sums.

    ν gives C_t = 1 / (ν_t n_t), n_t the sum of the task's weights.
    """
    costs = _both("C", estimator.C, estimator.C_source, tasks, _automatic(estimator.C, totals))
    shares = _both("nu", estimator.nu, estimator.nu_source, tasks, np.full(tasks.count, np.nan))
    by_share = np.isfinite(shares)
    wrong = by_share & ~((shares > 0) & (shares <= 1))
    if wrong.any():
        task = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"nu of the {tasks.name(task)} must lie in (0, 1], got {shares[task]:g}.")
    costs[by_share] = 1.0 / (shares[by_share] * totals[by_share])
    return costs, by_share


def row_costs(costs: Floats, weights: Floats, tasks: Tasks) -> Floats:
    """C_ti = C_t times the weight of the row."""
    return np.asarray(costs[tasks.of_row] * weights)


def check_feasible(costs: Floats, per_row: Floats, tasks: Tasks) -> None:
    """Raise where Σ_i C_ti < 1: the dual has no point and the primal no bound."""
    sums = np.bincount(tasks.of_row, weights=per_row, minlength=tasks.count)
    check_sums(costs, sums, tasks.sizes(), tasks)


def check_sums(costs: Floats, sums: Any, sizes: Any, tasks: Tasks) -> None:
    """The same from Σ_i C_ti and n_t."""
    for task in np.flatnonzero(sums < 1 - 1e-9):
        raise InfeasibleError(
            f"C of the {tasks.name(int(task))} is {costs[task]:g}, which is too small for its "
            f"{sizes[task]} rows: C times the sum of its weights must be at least 1, so the "
            f"smallest admissible C is {costs[task] / sums[task]:.6g}."
        )


def penalties(reg: Any, costs: Floats, by_share: NDArray[np.bool_], tasks: Tasks) -> Floats:
    """μ_t, the weight of ‖v_t‖²: C_t ("pair"), C_t / K ("mean"), or as given; 1 where ν was."""
    if isinstance(reg, str):
        if reg not in ("auto", "pair", "mean"):
            raise ValueError(
                f'reg must be "auto", "pair", "mean", a number, one for each task, or a dict keyed '
                f"by task, got {reg!r}."
            )
        mean = reg == "mean" or (reg == "auto" and tasks.count > 2)
        automatic = costs / tasks.count if mean else costs.copy()
        return np.where(by_share & (reg == "auto"), 1.0, automatic)
    return _positive("reg", _per_task("reg", reg, tasks, tasks.named)[_kept(tasks)], tasks)


def _automatic(C: Any, totals: Floats) -> Floats:
    """C_source="auto": max(0.1 C, min(1, 2 / n_t)), feasible whatever C is."""
    base = 0.1 * float(C) if isinstance(C, numbers.Real) else 0.0
    return np.maximum(base, np.maximum(np.minimum(1.0, 2.0 / totals), 1.0 / totals))


def _both(name: str, target: Any, source: Any, tasks: Tasks, automatic: Floats) -> Floats:
    """A value for each task from the target's parameter and the sources'.

    The target's parameter may also speak for all tasks, as a sequence or a dict; the sources' is
    then left at its default.
    """
    if not (target is None or isinstance(target, numbers.Real | str)):
        if not (source is None or isinstance(source, str)):
            raise ValueError(
                f"{name} holds a value for each task, so {name}_source must be left at its default."
            )
        values = _per_task(name, target, tasks, tasks.named)[_kept(tasks)]
        return _positive(name, values, tasks)
    values = automatic.copy()
    if target is not None:
        values[-1] = _number(name, target)
    if source is None or (name == "C" and isinstance(source, str) and source == "auto"):
        return _positive(name, values, tasks)
    given = _per_task(f"{name}_source", source, tasks, tasks.named[:-1])
    values[:-1] = given[_kept(tasks)[:-1]]
    return _positive(name, values, tasks)


def _kept(tasks: Tasks) -> NDArray[np.bool_]:
    return np.isin(tasks.named, tasks.labels)


def _per_task(name: str, value: Any, tasks: Tasks, labels: NDArray[np.int64]) -> Floats:
    if isinstance(value, Mapping):
        known = labels.tolist()
        unknown = [key for key in value if key not in known]
        missing = [label for label in known if label not in value]
        if unknown or missing:
            raise ValueError(
                f"{name} must have one value for each of the tasks {known}; "
                f"missing {missing}, unknown {unknown}."
            )
        return np.array([_number(name, value[label]) for label in known])
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        values = [_number(name, one) for one in np.asarray(value).ravel().tolist()]
        if len(values) != len(labels):
            raise ValueError(
                f"{name} has {len(values)} values for the {len(labels)} tasks {labels.tolist()} "
                "(sources by label, the target last)."
            )
        return np.array(values)
    return np.full(len(labels), _number(name, value))


def _number(name: str, value: Any) -> float:
    if is_real(value) and not math.isnan(value):
        return float(value)
    raise ValueError(f"{name} must be a number, a value for each task, or a dict, got {value!r}.")


def _positive(name: str, values: Floats, tasks: Tasks) -> Floats:
    for task, value in enumerate(values):
        if not math.isnan(value) and not (0 < value < math.inf):
            raise ValueError(
                f"{name} of the {tasks.name(task)} must be a finite number > 0, got {value:g}."
            )
    return values
