"""One cell: a task, a method, a number of labels, a draw. Finished cells are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from shiftlearn.studies import Cell, Record, Store, results_folder
from shifts.draws import View, at_random, per_class, view
from shifts.methods import METHODS, Method
from shifts.task import TASKS, Shift, Task, tasks

VERSION = 1  # raise it when the tasks or the draws change


def store(folder: Path | None = None) -> Store:
    """Where finished cells are kept."""
    return Store("shifts", VERSION, results_folder(folder) / "shifts")


@lru_cache(maxsize=2)
def _dense(task: Task) -> Shift:
    return task.load().dense()


def cells(role: str, names: Iterable[str], labels: Sequence[int], draws: int) -> Iterator[Cell]:
    """The cells of some methods: k labelled rows a class, 0 for none (then one draw is all)."""
    names = list(names)
    for task in tasks(role):
        for name in names:
            for k in labels:
                if METHODS[name].needs_labels and not k:
                    continue
                for seed in range(draws if k else 1):
                    yield Cell(
                        {"task": task.name, "method": name, "k": k,
                         "version": METHODS[name].version},
                        seed,
                    )  # fmt: skip


def run_cell(cell: Cell) -> dict[str, float]:
    """Accuracy on the target rows without a label, in percent, and seconds."""
    tasks()
    task, method = TASKS[str(cell.settings["task"])], METHODS[str(cell.settings["method"])]
    seen, truth = labelled_view(task, method, int(cell.settings["k"]), cell.seed)
    start = time.perf_counter()
    predicted = method.predict(seen)
    seconds = time.perf_counter() - start
    return {"accuracy": 100 * float(np.mean(predicted == truth)), "seconds": seconds}


def labelled_view(task: Task, method: Method, k: int, seed: int) -> tuple[View, np.ndarray]:
    """The draw number ``seed``; all methods meet the same rows. With k = 0 none is labelled."""
    shift = _dense(task) if method.dense else task.load()
    rng = np.random.default_rng([seed, k])
    chosen = per_class(shift.yt, k, rng) if k else np.array([], dtype=int)
    return view(shift, chosen, seed)


def run(todo: Iterable[Cell], work: Callable[[Cell], dict[str, float]], kept: Store) -> list[str]:
    """Do what is not done yet; returns what failed."""
    failures = []
    for cell in todo:
        if kept.load(cell) is not None:
            continue
        start = time.perf_counter()
        try:
            figures = work(cell)
        except Exception as error:  # a peer that fails on one task must not end the run
            failures.append(f"{dict(cell.settings)}: {type(error).__name__}: {error}")
            continue
        kept.save(Record(cell.settings, cell.seed, figures, time.perf_counter() - start))
    return failures


def sample(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """A random sample of ``n`` target rows to label."""
    return at_random(y, n, np.random.default_rng([seed, n, 1]))
