"""Tables of finished cells: by method, by data set, by task; Markdown and JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftlearn.studies import Cell, Store
from shifts.task import tasks

Draws = Mapping[str, np.ndarray]  # task -> accuracy of each draw
POINT = 1.0  # a difference that counts, in points of accuracy


def collect(cells: Iterable[Cell], kept: Store) -> dict[str, dict[str, np.ndarray]]:
    """Accuracies of each column (method and number of labels) on each task, draw by draw."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        record = kept.load(cell)
        if record is not None:
            found[column(cell)][str(cell.settings["task"])].append(record.figures["accuracy"])
    return {
        name: {task: np.array(values) for task, values in by_task.items()}
        for name, by_task in found.items()
    }


def column(cell: Cell) -> str:
    """The name of a method with its number of labels."""
    k = cell.settings["k"]
    return f"{cell.settings['method']}, k={k}" if k else str(cell.settings["method"])


def reference(name: str, column_name: str) -> str:
    """The column of the reference method that has as many labels as another column."""
    _, comma, labels = column_name.rpartition(", k=")
    return f"{name}{comma}{labels}" if comma else name


def compare(one: Draws, other: Draws) -> dict[str, float]:
    """``one`` against ``other`` on the tasks of both: means, paired standard error, losses.

    A loss is credible where it is more than a point and more than two paired standard errors
    over the draws.
    """
    common = [task for task in one if task in other and len(one[task]) == len(other[task])]
    gains = np.array([np.mean(one[task] - other[task]) for task in common])
    errors = np.array([_error(one[task] - other[task]) for task in common])
    return {
        "tasks": len(common),
        "mean": float(np.mean([one[task].mean() for task in common])),
        "gain": float(gains.mean()),
        "standard error": float(_error(gains)),
        "worse": int(np.sum(gains < -POINT)),
        "better": int(np.sum(gains > POINT)),
        "credibly worse": int(np.sum((gains < -POINT) & (gains < -2 * errors))),
        "worst": float(gains.min()),
    }


def _error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def ranks(columns: Mapping[str, Draws]) -> dict[str, float]:
    """Average rank (1 is best) over the tasks that all columns have."""
    common = set.intersection(*(set(by_task) for by_task in columns.values()))
    names = list(columns)
    scores = np.array([[columns[n][task].mean() for task in sorted(common)] for n in names])
    order = (-scores).argsort(axis=0).argsort(axis=0) + 1.0
    for j in range(scores.shape[1]):
        for value in np.unique(scores[:, j]):
            same = scores[:, j] == value
            order[same, j] = order[same, j].mean()
    return dict(zip(names, order.mean(axis=1).tolist()))


def summary(columns: Mapping[str, Draws], references: Sequence[str]) -> list[dict[str, Any]]:
    """One line a column: its mean, its rank, and the comparison with each reference."""
    rank = ranks(columns)
    return [
        {
            "method": name,
            "mean": float(np.mean([values.mean() for values in draws.values()])),
            "rank": rank[name],
            "data sets": by_data(draws),
            "against": {
                r: compare(draws, columns[reference(r, name)])
                for r in references
                if reference(r, name) in columns
            },
        }
        for name, draws in columns.items()
    ]


def by_data(draws: Draws) -> dict[str, float]:
    """Mean over the tasks of each data set."""
    found = defaultdict(list)
    for task in tasks():
        if task.name in draws:
            found[task.data].append(draws[task.name].mean())
    return {data: float(np.mean(values)) for data, values in found.items()}


def markdown(columns: Mapping[str, Draws], references: Sequence[str]) -> str:
    """The three tables as Markdown."""
    head = ["method", "mean", "rank"]
    for r in references:
        head += [f"minus {r}", "worse / better", "worst"]
    rows = []
    for line in summary(columns, references):
        row = [line["method"], f"{line['mean']:.1f}", f"{line['rank']:.1f}"]
        for r in references:
            row += _compared(line["against"].get(r))
        rows.append(row)
    note = (
        "Accuracy in percent on the target rows without a label, mean over the tasks; ± is the "
        "paired standard error over the tasks. Worse, better: tasks with a difference of more "
        "than a point (in brackets: and of more than two paired standard errors over the draws)."
    )
    return "\n\n".join(
        [_table(head, rows), note, "By data set:", _by_data(columns), "By task:", _by_task(columns)]
    )


def _compared(found: Mapping[str, float] | None) -> list[str]:
    if found is None:
        return ["–"] * 3
    return [
        f"{found['gain']:+.1f} ± {found['standard error']:.1f}",
        f"{found['worse']} ({found['credibly worse']}) / {found['better']}",
        f"{found['worst']:+.1f}",
    ]


def _by_data(columns: Mapping[str, Draws]) -> str:
    means = {name: by_data(draws) for name, draws in columns.items()}
    sets = list(dict.fromkeys(data for found in means.values() for data in found))
    rows = [[d, *(_number(means[name].get(d)) for name in columns)] for d in sets]
    return _table(["data set", *columns], rows)


def _by_task(columns: Mapping[str, Draws]) -> str:
    rows = []
    for task in tasks():
        values = [columns[name].get(task.name) for name in columns]
        if any(value is not None for value in values):
            rows.append(
                [task.name, *(_number(None if v is None else float(v.mean())) for v in values)]
            )
    return _table(["task", *columns], rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = "|---" + "|---:" * (len(head) - 1) + "|"
    return "\n".join(
        ["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]
    )
