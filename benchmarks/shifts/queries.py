"""Which rows to label: every rule on every task, at the same numbers of labels.

Half of the target rows are the pool, the other half the test. A rule asks for n rows of the pool
by the source model's scores; source rows and, with weight 10, the labelled ones train the same
logistic regression for every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from shiftlearn import select_queries
from shiftlearn.studies import Cell
from shifts.methods import logistic, stack
from shifts.task import TASKS, tasks

SIZES = (10, 20, 50, 100)
VERSION = 2  # raise it when a rule changes

Rule = Callable[[object, object, int, int], np.ndarray]


def _library(name: str) -> Rule:
    return lambda model, X, n, seed: select_queries(model, X, n, name, random_state=seed)


def _margin_and_spread(model: object, X: object, n: int, seed: int) -> np.ndarray:
    """Half of the rows by the default rule, half those nearest to the boundary."""
    spread = select_queries(model, X, n // 2, random_state=seed)
    near = select_queries(model, X, n - n // 2, "best-worst", exclude=spread)
    return np.concatenate([spread, near])


def _uncertain_twice(model: object, X: object, n: int, seed: int) -> np.ndarray:
    """Rows of the default rule among the less certain half of the pool."""
    f = model.decision_function(X)
    top = np.abs(f) if f.ndim == 1 else np.diff(np.sort(f, axis=1)[:, -2:], axis=1)[:, 0]
    sure = np.argsort(top)[max(n, len(top) // 2) :]
    return select_queries(model, X, n, random_state=seed, exclude=sure)


def _spread_and_random(model: object, X: object, n: int, seed: int) -> np.ndarray:
    """Half of the rows by the default rule, half drawn at random."""
    spread = select_queries(model, X, n // 2, random_state=seed)
    others = select_queries(model, X, n - n // 2, "random", exclude=spread, random_state=seed)
    return np.concatenate([spread, others])


def _spread_alone(model: object, X: object, n: int, seed: int) -> np.ndarray:
    """The default rule for a model that is equally unsure everywhere."""
    return select_queries(lambda rows: np.zeros(rows.shape[0]), X, n, random_state=seed)


RULES: dict[str, Rule] = {
    **{name: _library(name) for name in ("random", "diverse", "best-worst", "prior")},
    "spread alone": _spread_alone,
    "half margin": _margin_and_spread,
    "half random": _spread_and_random,
    "uncertain half": _uncertain_twice,
}


def cells(
    role: str, rules: Iterable[str], draws: int, sizes: Sequence[int] = SIZES
) -> Iterator[Cell]:
    """The cells of some rules, task by task."""
    rules = list(rules)
    for task in tasks(role):
        for seed in range(draws):
            for rule in rules:
                for n in sizes:
                    yield Cell(
                        {"task": task.name, "method": rule, "k": n, "version": VERSION,
                         "what": "queries"},
                        seed,
                    )  # fmt: skip


def run_cell(cell: Cell) -> dict[str, float]:
    """Accuracy on the test half, in percent."""
    tasks()
    shift = TASKS[str(cell.settings["task"])].load()
    n = int(cell.settings["k"])
    order = np.random.default_rng([cell.seed, 7]).permutation(len(shift.yt))
    pool, test = np.array_split(order, 2)
    model = logistic(shift.Xs, shift.ys)
    X = shift.Xt[pool]
    chosen = pool[RULES[str(cell.settings["method"])](model, X, n, cell.seed)]
    weight = np.concatenate([np.ones(len(shift.ys)), np.full(len(chosen), 10.0)])
    labels = np.concatenate([shift.ys, shift.yt[chosen]])
    learner = logistic(stack(shift.Xs, shift.Xt[chosen]), labels, weight)
    return {"accuracy": 100 * float(np.mean(learner.predict(shift.Xt[test]) == shift.yt[test]))}
