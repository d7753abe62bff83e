"""Several classes from two-class problems: one-vs-one with votes, or one-vs-rest.

One-vs-one solves a problem for each pair i < j on the rows of the two classes (+1: class i);
f_ij >= 0 is a vote for i. One-vs-rest solves one for each class on all rows (+1: the class).
With two classes there is one problem, +1 for the second class.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Task", "pairwise_scores", "split", "vote_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Task:
    """A two-class problem: its rows (None: all) and the sign of each of them."""

    rows: Ints | None
    signs: Floats


def split(codes: Ints, n_classes: int, multi_class: str) -> list[Task]:
    """The two-class problems of class numbers ``codes``; ``multi_class`` is "ovo" or "ovr"."""
    if multi_class not in ("ovo", "ovr"):
        raise ValueError(f'multi_class must be "ovo" or "ovr", got {multi_class!r}.')
    if n_classes == 2:
        return [Task(None, np.where(codes == 1, 1.0, -1.0))]
    if multi_class == "ovr":
        return [Task(None, np.where(codes == k, 1.0, -1.0)) for k in range(n_classes)]
    return [_pair(codes, i, j) for i, j in combinations(range(n_classes), 2)]


def _pair(codes: Ints, i: int, j: int) -> Task:
    rows = np.flatnonzero((codes == i) | (codes == j))
    return Task(rows, np.where(codes[rows] == i, 1.0, -1.0))


def pairwise_scores(parts: list[Floats]) -> Floats:
    """f_ij without intercepts from the sums over the support vectors of each class.

    ``parts[c][:, m]`` is the sum over class c in its problem with the m-th of the other classes.
    """
    pairs = combinations(range(len(parts)), 2)
    return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)


def vote_scores(decisions: Floats, n_classes: int) -> Floats:
    """One score for each class from the pairwise decisions: votes, ties broken by confidence.

    The sum of the signed decisions of a class moves its votes by less than 1/3, so that it decides
    between classes of equally many votes only (the rule of scikit-learn's "ovr" shape).
    """
    votes = np.zeros((decisions.shape[0], n_classes))
    sums = np.zeros_like(votes)
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        f = decisions[:, column]
        votes[:, i] += f >= 0
        votes[:, j] += f < 0
        sums[:, i] += f
        sums[:, j] -= f
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))
