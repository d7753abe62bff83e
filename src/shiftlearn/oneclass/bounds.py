"""Bound scores: how far each row may lie from where it was observed.

    δ_ti = mean Euclidean distance from x_ti to its κ nearest other rows of the same task

A duplicate counts as a neighbour at distance 0, the row itself does not. Only the κ smallest
distances are wanted, not whose they are: one matrix product and one partial sort for each block of
rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.kernels import Kernel
from shiftlearn.oneclass.checks import is_real, is_whole
from shiftlearn.oneclass.tasks import Tasks
from shiftlearn.resources import memory_budget, n_threads, own_thread, serial_blas

__all__ = ["bound_scores", "mean_neighbour_distance", "neighbour_counts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_ROWS = 256
_TWINS = 1e-14  # squared distances under this share of the squared norms are rounding


def bound_scores(
    uncertainty: Any,
    n_neighbors: Any,
    X: Any,
    tasks: Tasks,
    *,
    memory_limit: int | float | str = "auto",
    n_jobs: int | None = None,
) -> Floats:
    """δ for each row that is used; an array is given for the rows of ``fit``."""
    if uncertainty is None:
        return np.zeros(len(tasks.of_row))
    if isinstance(uncertainty, str):
        if uncertainty != "knn":
            raise ValueError(
                f'uncertainty must be "knn", None, a number or one number a row, got '
                f"{uncertainty!r}."
            )
        return _knn_scores(n_neighbors, X, tasks, memory_limit, n_jobs)
    return _given(uncertainty, tasks.n_rows)[tasks.index]


def neighbour_counts(n_neighbors: Any, tasks: Tasks) -> Ints:
    """κ for each task: a number, a fraction of the target's rows, or "own": a tenth of its own."""
    sizes = tasks.sizes()
    if isinstance(n_neighbors, str) and n_neighbors == "own":
        wanted = np.maximum(1, np.floor(0.1 * sizes + 0.5))
    elif is_whole(n_neighbors) and n_neighbors >= 1:
        wanted = np.full(tasks.count, int(n_neighbors))
    elif is_real(n_neighbors) and 0 < n_neighbors < 1:
        wanted = np.full(tasks.count, max(1, math.floor(n_neighbors * sizes[-1] + 0.5)))
    else:
        raise ValueError(
            'n_neighbors must be a whole number >= 1, a fraction in (0, 1) or "own", got '
            f"{n_neighbors!r}."
        )
    counts: Ints = np.minimum(wanted, sizes - 1).astype(np.intp)
    return counts


def mean_neighbour_distance(
    X: Any, k: int, *, memory_limit: int | float | str = "auto", n_jobs: int | None = None
) -> Floats:
    """The mean distance from each row of X to its k nearest other rows; 0 where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> mean_neighbour_distance(np.array([[0.0], [1.0], [3.0]]), 1)
    array([1., 1., 2.])
    """
    n = X.shape[0]
    out, k = np.zeros(n), min(k, n - 1)
    if k < 1:
        return out
    squares = _squares_of(_centred(X))
    threads = n_threads(n_jobs)
    rows = int(np.clip(memory_budget(memory_limit) // (16 * n * threads), 1, _ROWS))

    def share(start: int) -> None:
        with own_thread():
            chosen = slice(start, min(start + rows, n))
            out[chosen] = _mean_of_smallest(*squares(chosen), k)

    with serial_blas(), ThreadPoolExecutor(threads) as pool:
        list(pool.map(share, range(0, n, rows)))
    return out


def _squares_of(X: Any) -> Callable[[slice], tuple[Floats, Floats]]:
    """Squared distances from some rows to all, infinite to the row itself, and what is rounding."""
    norms = Kernel("linear").diagonal(X)
    if isinstance(X, np.ndarray):
        ones = np.ones_like(norms)
        # |x - z|² as one product: no pass over the block but that of the product itself.
        left = np.column_stack([-2.0 * X, norms, ones])
        right = np.column_stack([X, ones, norms]).T
    inner = Kernel("linear").operator(X, 1)

    def squares(chosen: slice) -> tuple[Floats, Floats]:
        here = np.arange(chosen.start, chosen.stop)
        if isinstance(X, np.ndarray):
            block = left[chosen] @ right
        else:
            block = norms[None, :] - 2.0 * inner.block(here, None, np.float64)
            block += norms[chosen, None]
        block[here - chosen.start, here] = np.inf
        return block, _TWINS * norms[chosen]

    return squares


def _mean_of_smallest(squares: Floats, rounding: Floats, k: int) -> Floats:
    squares.partition(k - 1, axis=1)
    smallest = squares[:, :k]
    smallest[smallest < rounding[:, None]] = 0.0
    return np.asarray(np.sqrt(smallest).mean(axis=1))


def _centred(X: Any) -> Any:
    """Dense rows in float64 about their mean; far from the origin the squares would cancel."""
    if not isinstance(X, np.ndarray):
        return X.astype(np.float64)
    return X - X.mean(axis=0, dtype=np.float64)


def _knn_scores(
    n_neighbors: Any, X: Any, tasks: Tasks, memory_limit: int | float | str, n_jobs: int | None
) -> Floats:
    scores = np.empty(len(tasks.of_row))
    for task, k in enumerate(neighbour_counts(n_neighbors, tasks)):
        rows = tasks.rows(task)
        scores[rows] = mean_neighbour_distance(
            X[rows], int(k), memory_limit=memory_limit, n_jobs=n_jobs
        )
    return scores


def _given(uncertainty: Any, n_rows: int) -> Floats:
    scores = np.asarray(uncertainty)
    if scores.dtype.kind not in "iuf":
        raise ValueError(
            f'uncertainty must be "knn", None, a number or one number a row, got {uncertainty!r}.'
        )
    if scores.ndim and scores.shape != (n_rows,):
        raise ValueError(
            f"uncertainty has shape {scores.shape}; needed is one number for each of the {n_rows} "
            "rows of X."
        )
    scores = np.broadcast_to(scores.astype(np.float64), (n_rows,))
    if not np.isfinite(scores).all() or scores.min() < 0:
        worst = scores[~np.isfinite(scores) | (scores < 0)][0]
        raise ValueError(f"uncertainty must hold finite numbers >= 0, found {worst:g}.")
    return np.array(scores)
