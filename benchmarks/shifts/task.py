"""What a task is: rows of a source and of a target with their labels, under a name and a role."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import StandardScaler

ROWS = 1200  # at most so many rows of either domain
COMPONENTS = 100  # of the truncated SVD that stands for text where a method needs dense rows


@dataclass(frozen=True)
class Shift:
    """The rows of a task; labels are 0..n_classes-1. Rows are sparse where they are text."""

    Xs: Any
    ys: np.ndarray
    Xt: Any
    yt: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(max(self.ys.max(), self.yt.max())) + 1

    @property
    def is_text(self) -> bool:
        return sparse.issparse(self.Xs)

    def dense(self) -> Shift:
        """The same with dense rows: text through a truncated SVD of all rows of the task."""
        if not self.is_text:
            return self
        rows = sparse.vstack([self.Xs, self.Xt], format="csr")
        size = min(COMPONENTS, min(rows.shape) - 1)
        Z = TruncatedSVD(size, random_state=0).fit_transform(rows)
        return Shift(Z[: len(self.ys)], self.ys, Z[len(self.ys) :], self.yt)


@dataclass(frozen=True)
class Task:
    """A source and a target, made by ``build(rng)``, from one data set, for one role.

    ``kind`` says what moves: "natural", "control" (nothing), or the name of a made shift.
    """

    name: str
    data: str
    role: str
    kind: str
    build: Callable[[np.random.Generator], Shift]

    def load(self) -> Shift:
        """The rows, the same at every call: shuffled, limited and scaled like all tasks."""
        return _loaded(self)


@lru_cache(maxsize=2)
def _loaded(task: Task) -> Shift:
    rng = np.random.default_rng(zlib.crc32(task.name.encode()))
    shift = task.build(rng)
    source = shuffled(rng, shift.ys)[:ROWS]
    target = shuffled(rng, shift.yt)[:ROWS]
    shared = np.intersect1d(shift.ys[source], shift.yt[target])
    source = source[np.isin(shift.ys[source], shared)]
    target = target[np.isin(shift.yt[target], shared)]
    Xs, Xt = shift.Xs[source], shift.Xt[target]
    if not sparse.issparse(Xs):
        scaler = StandardScaler().fit(Xs)
        Xs, Xt = scaler.transform(Xs), scaler.transform(Xt)
    ys, yt = (np.searchsorted(shared, y) for y in (shift.ys[source], shift.yt[target]))
    return Shift(Xs, ys, Xt, yt)


def shuffled(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Row numbers in random order."""
    return rng.permutation(len(y))


TASKS: dict[str, Task] = {}


def add(name: str, data: str, role: str, kind: str, build: Callable[..., Shift]) -> None:
    """Enter a task; its data set must not serve the other role."""
    if role not in ("choosing", "judging"):
        raise ValueError(f'role must be "choosing" or "judging", got {role!r}.')
    if any(task.data == data and task.role != role for task in TASKS.values()):
        raise ValueError(f"Data set {data!r} serves the other role already.")
    if name in TASKS:
        raise ValueError(f"There is a task {name!r} already.")
    TASKS[name] = Task(name, data, role, kind, build)


def tasks(role: str | None = None, data: str | None = None) -> list[Task]:
    """The tasks of a role, in the order in which they were entered; all without arguments."""
    from shifts import catalogue  # noqa: F401 - enters the tasks

    return [
        task
        for task in TASKS.values()
        if (role is None or task.role == role) and (data is None or task.data == data)
    ]
