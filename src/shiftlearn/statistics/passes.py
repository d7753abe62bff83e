"""Passes over a stream: blocks prepared on the way, partial sums merged, results kept.

A fit from a stream is a fixed sequence of passes, each a `map_reduce` whose result depends on the
data, the parameters and the passes before it. So a checkpoint needs no knowledge of any method: it
is the list of the results so far, and an interrupted fit that is begun again walks through the
same sequence, reads the results that are there and does the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shiftlearn.statistics.blocks import _rows_between, map_reduce
from shiftlearn.statistics.checkpoint import PassLog
from shiftlearn.statistics.stream import Block, Blocks

__all__ = ["Stream", "open_stream"]

Prepare = Callable[[Any], Any]

WORKING_ROWS = 4096  # a few of them with some hundreds of features stay near the processor


class Stream:
    """Blocks of a source, each turned by ``prepare`` into what a pass needs (None: left out)."""

    in_memory = False

    def __init__(
        self, source: Any, prepare: tuple[Prepare, ...] = (), log: PassLog | None = None
    ) -> None:
        self.source, self.prepare, self.log = source, prepare, log

    def then(self, prepare: Prepare) -> Stream:
        """The same stream with one more step of preparation."""
        return Stream(self.source, (*self.prepare, prepare), self.log)

    def __iter__(self) -> Iterator[Any]:
        for block in _short(self.source):
            made = _prepared(self.prepare, block)
            if made is not None:
                yield made

    def reduce(
        self,
        function: Callable[[Any], Any],
        merge: Callable[[Any, Any], Any],
        n_jobs: int | None = None,
    ) -> Any:
        """One pass: ``function`` of every block, merged in the order of the blocks."""
        if self.log is not None and self.log.has_next():
            return self.log.read()
        part = functools.partial(_part, function, self.prepare)
        if hasattr(self.source, "tree_reduce"):
            result = self.source.tree_reduce(functools.partial(_whole, part, merge), merge)
        else:
            merge_some = functools.partial(_merged, merge)
            result = map_reduce(part, _short(self.source), merge_some, n_jobs)
        if result is None:
            raise ValueError("no block holds a row that this fit can use.")
        if self.log is not None:
            self.log.write(result)
        return result

    def close(self) -> None:
        """The fit is done: its record is not needed any more."""
        if self.log is not None:
            self.log.clear()


def open_stream(X: Any, y: Any, sample_domain: Any, sample_weight: Any, key: str) -> Stream:
    """The stream that ``fit(X, y, sample_domain=..., sample_weight=...)`` was given.

    ``key`` names the estimator and its parameters, for the record of the passes.
    """
    if not isinstance(X, Blocks):
        from shiftlearn.statistics.distributed import DaskBlocks

        return Stream(DaskBlocks(X, y, sample_domain, sample_weight))
    for word, given in (
        ("y", y),
        ("sample_domain", sample_domain),
        ("sample_weight", sample_weight),
    ):
        if given is not None:
            raise ValueError(
                f"{word} comes with the blocks: let make return it, and leave the argument out."
            )
    log = None if X.checkpoint is None else PassLog(X.checkpoint, key, _signature(X))
    return Stream(X, log=log)


def _short(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same rows in blocks that are short to work on, whatever those of the user are."""
    for block in blocks:
        yield from _pieces(block)


def _pieces(block: Block) -> Iterator[Block]:
    n = block.X.shape[0]
    if n <= WORKING_ROWS:
        yield block
        return
    beside = (block.y, block.sample_domain, block.sample_weight)
    for i in range(0, n, WORKING_ROWS):
        j = min(i + WORKING_ROWS, n)
        y, domain, weight = (None if array is None else array[i:j] for array in beside)
        rows = _rows_between(block.X, i, j)
        yield Block(rows, y, domain, weight, block.start + i, block.number)


def _whole(part: Callable[[Any], Any], merge: Callable[[Any, Any], Any], block: Block) -> Any:
    """One block of a collection, worked on in short pieces."""
    parts = map(part, _pieces(block))
    return functools.reduce(functools.partial(_merged, merge), parts)


def _prepared(steps: tuple[Prepare, ...], block: Any) -> Any:
    for step in steps:
        if block is None:
            return None
        block = step(block)
    return block


def _part(function: Callable[[Any], Any], steps: tuple[Prepare, ...], block: Any) -> Any:
    made = _prepared(steps, block)
    return None if made is None else function(made)


def _merged(merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return merge(a, b)


def _signature(blocks: Blocks) -> str:
    """A digest of the first block: other data begin otherwise."""
    import hashlib

    import numpy as np

    digest = hashlib.sha256()
    first = next(iter(blocks))
    for array in first[:4]:
        if array is None:
            digest.update(b"-")
            continue
        data = array.data if hasattr(array, "indptr") else np.asarray(array)
        digest.update(f"{array.shape}{data.dtype}".encode())
        text = repr(data[:1000].tolist()) if data.dtype == object else data[:1000].tobytes()
        digest.update(text.encode() if isinstance(text, str) else text)
    return digest.hexdigest()
