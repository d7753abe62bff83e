"""Which target rows are labelled, and the view of a task that a method gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shifts.task import Shift


@dataclass(frozen=True)
class View:
    """What a method may see: source rows, few labelled target rows, the other target rows.

    The other target rows are those to predict; their labels are not here.
    """

    Xs: Any
    ys: np.ndarray
    Xl: Any
    yl: np.ndarray
    Xu: Any
    n_classes: int
    seed: int

    @property
    def is_text(self) -> bool:
        return hasattr(self.Xs, "indptr")


def per_class(y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """``k`` rows of each class, at most half of those that it has."""
    chosen = [
        rng.permutation(rows)[: min(k, len(rows) // 2)]
        for rows in (np.flatnonzero(y == c) for c in np.unique(y))
    ]
    return np.sort(np.concatenate(chosen))


def at_random(y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """``n`` rows, at most half of all."""
    return np.sort(rng.permutation(len(y))[: min(n, len(y) // 2)])


def view(shift: Shift, labelled: np.ndarray, seed: int) -> tuple[View, np.ndarray]:
    """The view with some target rows labelled, and the labels of the others."""
    rest = np.setdiff1d(np.arange(len(shift.yt)), labelled)
    seen = View(
        shift.Xs, shift.ys, shift.Xt[labelled], shift.yt[labelled], shift.Xt[rest],
        shift.n_classes, seed,
    )  # fmt: skip
    return seen, shift.yt[rest]
