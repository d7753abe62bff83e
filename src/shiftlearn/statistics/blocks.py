"""Rows in blocks, and sums over them.

Whatever works in an explicit feature space needs sums over rows only,

    Σ_blocks f(block),

so it walks rows with `row_blocks` and adds up with `map_reduce`, and the same code serves arrays,
memory maps, sparse matrices and streams of blocks that are never in memory together.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numpy as np

from shiftlearn.resources import memory_budget, n_threads, own_thread, serial_blas

__all__ = ["RowBlocks", "map_reduce", "row_blocks", "transposed"]

Part = TypeVar("Part")

# A float64 copy of a block of this size stays in the second-level cache while it is worked on.
_CACHE_BYTES = 2 << 20
_FEWEST_ROWS = 256


def row_blocks(
    X: Any,
    *arrays: Any,
    rows: int | None = None,
    memory_limit: int | float | str = "auto",
) -> RowBlocks:
    """Walk the rows of ``X``, and of ``arrays`` beside it, in blocks.

    Parameters
    ----------
    X : array, CSR matrix, memory map, iterable of blocks, or callable
        A callable without arguments returns a fresh iterator over blocks; an iterable that is not
        an array holds the blocks themselves: matrices, or tuples that begin with a matrix.
    *arrays : array of as many rows as X, or None
        Cut where ``X`` is cut. None stays None in every block.
    rows : int, optional
        Rows of a block, for arrays. By default a block fits in the cache and has at least as many
        rows as columns (so that adding up D×D statistics costs less than making them), within an
        eighth of ``memory_limit``.
    memory_limit : int, float or "auto"
        Bytes; see `shiftlearn.resources.memory_budget`.

    Returns
    -------
    RowBlocks
        Iterable over tuples ``(block of X, block of each array)``; it can be walked again unless
        ``X`` is an iterator, whose second walk raises.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.statistics import row_blocks
    >>> [(len(X), y.sum()) for X, y in row_blocks(np.ones((5, 2)), np.arange(5), rows=3)]
    [(3, np.int64(3)), (2, np.int64(7))]
    """
    if rows is not None and (isinstance(rows, bool) or int(rows) != rows or rows < 1):
        raise ValueError(f"rows must be a positive whole number or None, got {rows!r}.")
    others = tuple(None if a is None else _as_rows(a) for a in arrays)
    if not _is_matrix(X):
        return RowBlocks(X, others, rows=None)
    X = _as_rows(X)
    for place, other in enumerate(others):
        if other is not None and other.shape[0] != X.shape[0]:
            raise ValueError(
                f"arrays[{place}] has {other.shape[0]} rows, X has {X.shape[0]}; they must agree."
            )
    return RowBlocks(X, others, rows=rows or _rows_of_block(X, memory_budget(memory_limit)))


class RowBlocks:
    """What `row_blocks` returns: an iterable over tuples of blocks.

    ``in_memory`` says whether the blocks are views of arrays (kept) or come from a stream.
    """

    def __init__(self, source: Any, others: tuple[Any, ...], rows: int | None) -> None:
        self._source = source
        self._others = others
        self._rows = rows
        self._walked = False
        self.in_memory = rows is not None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self.in_memory:
            return iter(self._views)
        return self._stream()

    @functools.cached_property
    def _views(self) -> list[tuple[Any, ...]]:
        n, rows = self._source.shape[0], self._rows or 1
        cuts = [(i, min(i + rows, n)) for i in range(0, n, rows)]
        return [self._at(_rows_between(self._source, a, b), a, b) for a, b in cuts]

    def _stream(self) -> Iterator[tuple[Any, ...]]:
        items = self._source() if callable(self._source) else iter(self._source)
        if items is self._source:
            if self._walked:
                raise ValueError(
                    "X is an iterator and was walked before; give a list of blocks, or a function "
                    "that returns a fresh iterator."
                )
            self._walked = True
        start = 0
        for item in items:
            block, *rest = item if isinstance(item, tuple) else (item,)
            block = _as_rows(block)
            stop = start + block.shape[0]
            self._check_reach(stop)
            yield block, *rest, *self._at(None, start, stop)[1:]
            start = stop

    def _check_reach(self, stop: int) -> None:
        for place, other in enumerate(self._others):
            if other is not None and other.shape[0] < stop:
                raise ValueError(
                    f"arrays[{place}] has {other.shape[0]} rows, the blocks of X have at least "
                    f"{stop}; they must agree."
                )

    def _at(self, block: Any, start: int, stop: int) -> tuple[Any, ...]:
        others = (None if a is None else _rows_between(a, start, stop) for a in self._others)
        return block, *others


def map_reduce(
    function: Callable[[Any], Part],
    blocks: Iterable[Any],
    merge: Callable[[Part, Part], Part],
    n_jobs: int | None = None,
) -> Part:
    """``merge(... merge(function(b_0), function(b_1)) ..., function(b_last))``.

    Parts are made by ``n_jobs`` threads, each with a single-threaded BLAS, and merged in the order
    of the blocks: the result has the same bits for every ``n_jobs``. ``merge`` may change its
    first argument. Only a few blocks are held at a time. Streams (`Stream`) run their own passes.
    """
    if hasattr(blocks, "reduce"):
        return cast(Part, blocks.reduce(function, merge, n_jobs))
    workers = n_threads(n_jobs)
    iterator = iter(blocks)
    head = list(itertools.islice(iterator, 2))
    if not head:
        raise ValueError("blocks is empty; at least one block of rows is needed.")
    every = itertools.chain(head, iterator)
    with serial_blas():
        if workers == 1 or len(head) == 1:
            return functools.reduce(merge, map(function, every))
        return functools.reduce(merge, _threaded(function, every, workers))


def _threaded(
    function: Callable[[Any], Part], blocks: Iterable[Any], workers: int
) -> Iterator[Part]:
    """``map(function, blocks)`` in order, with at most a few blocks under way."""

    def work(block: Any) -> Part:
        with own_thread():
            return function(block)

    waiting: deque[Future[Part]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for block in blocks:
                waiting.append(pool.submit(work, block))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def transposed(block: Any) -> Any:
    """``block.T`` of a CSR block as CSC on the same arrays.

    scipy's own ``.T`` copies arrays that are small views of large ones, as blocks are.
    """
    parts = block.data, block.indices, block.indptr
    from scipy.sparse import csc_array, csc_matrix, isspmatrix

    form = csc_matrix if isspmatrix(block) else csc_array
    flipped = form((block.shape[1], block.shape[0]), dtype=block.dtype)
    flipped.data, flipped.indices, flipped.indptr = parts
    return flipped


def _is_matrix(X: Any) -> bool:
    """Whether X holds rows itself (an array, a sparse matrix, a table, a list of lists)."""
    if hasattr(X, "shape"):
        return True
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and not hasattr(X[0], "shape")
        and (not isinstance(X[0], tuple) or not hasattr(X[0][0], "shape"))
    )


def _as_rows(X: Any) -> Any:
    """X as an ndarray (memory maps stay mapped) or CSR matrix."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return np.asarray(X) if not isinstance(X, np.ndarray) else X


def _rows_between(X: Any, start: int, stop: int) -> Any:
    """The rows from start to stop as a view; CSR matrices share their data too."""
    if not hasattr(X, "indptr"):
        return X[start:stop]
    first, last = X.indptr[start], X.indptr[stop]
    block = type(X)((stop - start, X.shape[1]), dtype=X.dtype)
    # Set one by one: the constructor copies arrays that are small views of large ones.
    block.data, block.indices = X.data[first:last], X.indices[first:last]
    block.indptr = X.indptr[start : stop + 1] - first
    return block


def _rows_of_block(X: Any, budget: int) -> int:
    n, columns = X.shape[0], int(np.prod(X.shape[1:], dtype=np.int64))
    if hasattr(X, "indptr"):
        row_bytes = 1 + 12 * X.nnz // max(1, n)
        # Sums over sparse rows are as long as a row is wide: blocks hold a few times more.
        wanted = max(_CACHE_BYTES, 32 * columns) // row_bytes
    else:
        row_bytes = 8 * max(1, columns)
        wanted = max(_CACHE_BYTES // row_bytes, min(columns, 4096))
    return int(max(1, min(max(wanted, _FEWEST_ROWS), budget // (8 * row_bytes))))
