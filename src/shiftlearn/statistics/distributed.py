"""Dask collections as streams: partial sums made where the rows lie, merged as a tree.

Nothing here knows a method. `Stream.reduce` hands over a function of a block and a merge; the
partial results, never the rows, travel. A worker that dies loses results that Dask makes again
from the same rows, so the answer stays the same; merges copy what they add to, because a result
may be needed again after it was merged.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shiftlearn.statistics.stream import Block, Blocks

__all__ = ["DaskBlocks", "lazily"]

_APART = 1 << 40  # rows of different chunks have different places, whatever the chunks hold


class DaskBlocks:
    """The blocks of Dask arrays or dataframes that are cut alike."""

    def __init__(self, X: Any, y: Any = None, sample_domain: Any = None, sample_weight: Any = None):
        _needed()
        parts = _delayed_rows(X, "X")
        beside = [
            _beside(array, len(parts), word)
            for array, word in (
                (y, "y"),
                (sample_domain, "sample_domain"),
                (sample_weight, "sample_weight"),
            )
        ]
        self._parts = list(zip(parts, *beside, strict=True))
        self.feature_names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None

    def tree_reduce(self, part: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """``part`` of every block, merged by neighbours until one is left."""
        import dask

        make = dask.delayed(_checked_part, pure=False)
        join = dask.delayed(_copied_merge, pure=False)
        level = [make(part, number, *block) for number, block in enumerate(self._parts)]
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [join(merge, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return level[0].compute()

    def __iter__(self) -> Iterator[Block]:
        import dask

        for number, block in enumerate(self._parts):
            (made,) = dask.compute(dask.delayed(_block)(number, *block))
            if made is not None:
                yield made


def lazily(function: Callable[[Any], Any], X: Any) -> Any:
    """``function`` of each chunk, as a lazy Dask array of as many rows."""
    _needed()
    import dask
    import dask.array as da

    parts = _delayed_rows(X, "X")
    sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(parts)
    form = _form(function, X)
    call = dask.delayed(_predicted, pure=False)
    pieces = [
        da.from_delayed(call(function, part), shape=(size, *form.shape[1:]), dtype=form.dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def _needed() -> None:
    """Say which extra is missing before anything else fails."""
    try:
        import dask.array  # noqa: F401 - it is only asked whether it is there
    except ImportError as error:
        raise ImportError(
            "Dask collections need dask and distributed; install `shiftlearn[dask]`."
        ) from error


def _form(function: Callable[[Any], Any], X: Any) -> Any:
    """What the function returns for one row of zeros: shape and dtype."""
    if hasattr(X, "chunks"):
        return np.asarray(function(np.zeros((1, X.shape[1]), dtype=X.dtype)))
    import pandas as pd

    names = list(X.columns)
    return np.asarray(function(pd.DataFrame(np.zeros((1, len(names))), columns=names)))


def _predicted(function: Callable[[Any], Any], rows: Any) -> Any:
    return np.asarray(function(rows))


def _delayed_rows(array: Any, word: str) -> list[Any]:
    if hasattr(array, "to_delayed") and hasattr(array, "chunks"):
        if len(array.chunks) > 1 and len(array.chunks[1]) > 1:
            raise ValueError(
                f"{word} is cut along its columns too; rechunk it, for example with "
                f"{word}.rechunk({{1: -1}})."
            )
        return list(array.to_delayed().ravel())
    if hasattr(array, "to_delayed"):
        return list(array.to_delayed())
    raise TypeError(f"{word} must be a Dask array or dataframe, got {type(array).__name__}.")


def _beside(array: Any, n: int, word: str) -> list[Any]:
    if array is None or np.ndim(array) == 0:
        return [array] * n
    if not hasattr(array, "to_delayed"):
        raise TypeError(f"{word} must be a Dask collection cut like X, got {type(array).__name__}.")
    parts = _delayed_rows(array, word)
    if len(parts) != n:
        raise ValueError(f"{word} has {len(parts)} chunks, X has {n}; rechunk it like X.")
    return parts


def _block(number: int, X: Any, y: Any, domain: Any, weight: Any) -> Block | None:
    """One checked block, by the checks of `Blocks`."""
    if not X.shape[0]:
        return None
    beside = tuple(None if a is None else _column(a) for a in (y, domain, weight))
    (block,) = Blocks(lambda: [(X, *beside)])
    return block._replace(number=number, start=number * _APART)


def _column(array: Any) -> Any:
    values = np.asarray(array)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _checked_part(
    part: Callable[[Any], Any], number: int, X: Any, y: Any, domain: Any, weight: Any
) -> Any:
    from shiftlearn.resources import serial_blas

    block = _block(number, X, y, domain, weight)
    with serial_blas():
        return None if block is None else part(block)


def _copied_merge(merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return merge(copy.deepcopy(a), b)
