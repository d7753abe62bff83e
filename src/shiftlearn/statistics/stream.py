"""Rows that do not fit in memory: blocks that are made again for every pass.

A fit of many passes needs blocks that can be walked again, checked on the way (columns by name,
finite numbers, as many labels as rows) and, where a folder is named, a record of every pass, so
that an interrupted fit goes on where it stopped (`shiftlearn.statistics.checkpoint`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shiftlearn.statistics.blocks import _as_rows, _rows_between

__all__ = ["Block", "Blocks", "by_blocks", "is_stream"]


class Block(NamedTuple):
    """Some rows: a matrix and what goes with it (None where it was not given)."""

    X: Any
    y: Any = None
    sample_domain: Any = None
    sample_weight: Any = None
    start: int = 0  # rows in the blocks before this one
    number: int = 0  # blocks before this one


class Blocks:
    """Rows that come in blocks and are never in memory together.

    Parameters
    ----------
    make : callable
        A function without arguments that returns a fresh iterator over ``(X, y, sample_domain)``
        or ``(X, y, sample_domain, sample_weight)``; all but X may be None. X is an array, a CSR
        matrix or a table with column names.
    checkpoint : path, optional
        A folder. After each pass over the rows its result is kept there, and a fit that was
        interrupted goes on where it stopped; a checkpoint of other data or of other parameters is
        refused. The folder is emptied when the fit is done.

    See Also
    --------
    Blocks.from_arrays, Blocks.from_parquet, Blocks.from_svmlight

    Notes
    -----
    ``estimator.fit(blocks)`` walks the rows as often as the method needs; ``predict(blocks)``,
    ``decision_function(blocks)`` and ``predict_proba(blocks)`` yield one array a block.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import Blocks, LSSVC
    >>> def make():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(4):
    ...         X = rng.normal(size=(100, 3))
    ...         yield X, X[:, 0] > 0, None
    >>> model = LSSVC(kernel="linear").fit(Blocks(make))
    >>> [len(part) for part in model.predict(Blocks(make))]
    [100, 100, 100, 100]
    """

    def __init__(
        self, make: Callable[[], Iterable[Any]], checkpoint: str | os.PathLike[str] | None = None
    ) -> None:
        if not callable(make):
            raise TypeError(
                "make must be a function without arguments that returns a fresh iterator over "
                f"blocks, got {type(make).__name__}. For arrays there is Blocks.from_arrays."
            )
        self.make = make
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self._last: Any = None

    def __iter__(self) -> Iterator[Block]:
        """Checked blocks, in order; empty ones are left out."""
        items = self._fresh()
        names: tuple[str, ...] | None = None
        width, start, number = None, 0, -1
        for number, item in enumerate(items):
            X, y, domain, weight = _parts(item, number)
            X, names = _in_order(X, names, number)
            if width is None:
                width = X.shape[1]
            elif X.shape[1] != width:
                raise ValueError(
                    f"block {number} has {X.shape[1]} columns, the blocks before it have {width}."
                )
            pairs = zip((y, domain, weight), _BESIDE, strict=True)
            y, domain, weight = (_beside(a, X.shape[0], word, number) for a, word in pairs)
            _check_finite(X, start, number)
            if X.shape[0]:
                yield Block(X, y, domain, weight, start, number)
            start += X.shape[0]
        if not start:
            raise ValueError("make gave no rows; at least one block with rows is needed.")

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the first block is a table that has them."""
        first = next(iter(self._fresh()), None)
        return None if first is None else _names(_parts(first, 0)[0])

    def _fresh(self) -> Iterator[Any]:
        made = self.make()
        if self._last is not None and made is self._last:
            raise ValueError(
                "make returned the same iterator a second time, and it is used up: return a fresh "
                "one at each call (a generator function does)."
            )
        self._last = made if iter(made) is made else None
        return iter(made)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        sample_domain: Any = None,
        *,
        sample_weight: Any = None,
        rows: int = 65536,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Blocks:
        """Blocks of ``rows`` rows of arrays, memory maps or CSR matrices; nothing is copied.

        Parameters
        ----------
        X : array, memory map or CSR matrix of shape (n_samples, n_features)
            Rows.
        y, sample_domain, sample_weight : arrays of shape (n_samples,), optional
            What goes with them.
        rows : int, default=65536
            Rows of a block.
        checkpoint : path, optional
            As in :class:`Blocks`.

        Returns
        -------
        Blocks
        """
        if isinstance(rows, bool) or int(rows) != rows or rows < 1:
            raise ValueError(f"rows must be a positive whole number, got {rows!r}.")
        if not hasattr(X, "iloc") and not hasattr(X, "slice"):
            X = _as_rows(X)
        n = X.shape[0]
        beside = [None if a is None else np.asarray(a) for a in (y, sample_domain, sample_weight)]
        for array, word in zip(beside, _BESIDE, strict=True):
            if array is not None and array.shape != (n,):
                raise ValueError(f"{word} has shape {array.shape}; X has {n} rows.")

        def make() -> Iterator[tuple[Any, ...]]:
            for i in range(0, n, int(rows)):
                cut = slice(i, min(i + int(rows), n))
                yield _cut(X, cut), *(None if a is None else a[cut] for a in beside)

        return cls(make, checkpoint)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        *,
        label: str | None = None,
        domain: str | None = None,
        columns: Sequence[str] | None = None,
        rows: int = 65536,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Blocks:
        """Blocks of a Parquet file, or of a folder of them in the order of their names.

        Parameters
        ----------
        path : path
            A file or a folder.
        label, domain : str, optional
            The columns that hold y and sample_domain.
        columns : sequence of str, optional
            The columns of X; by default all others.
        rows : int, default=65536
            Most rows of a block.
        checkpoint : path, optional
            As in :class:`Blocks`.

        Returns
        -------
        Blocks
        """
        from shiftlearn.statistics.files import parquet_blocks

        return cls(parquet_blocks(path, label, domain, columns, rows), checkpoint)

    @classmethod
    def from_svmlight(
        cls,
        path: str | os.PathLike[str],
        *,
        n_features: int | None = None,
        zero_based: bool | str = "auto",
        domain: int | None = None,
        rows: int = 65536,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Blocks:
        """Blocks of a libsvm / svmlight file, as CSR matrices.

        Parameters
        ----------
        path : path
            A text file, one row a line: label, then index:value pairs.
        n_features : int, optional
            Columns; by default the largest index found in one pass over the file.
        zero_based : bool or "auto"
            Whether indices begin at 0; "auto" looks for an index 0 in that pass.
        domain : int, optional
            ``sample_domain`` of all rows.
        rows : int, default=65536
            Rows of a block.
        checkpoint : path, optional
            As in :class:`Blocks`.

        Returns
        -------
        Blocks
        """
        from shiftlearn.statistics.files import svmlight_blocks

        return cls(svmlight_blocks(path, n_features, zero_based, domain, rows), checkpoint)


_BESIDE = ("y", "sample_domain", "sample_weight")


def is_stream(X: Any) -> bool:
    """Whether X is a stream of blocks or a Dask collection, and not rows in memory."""
    return isinstance(X, Blocks) or hasattr(X, "__dask_graph__")


def by_blocks(function: Callable[[Any], Any], X: Any) -> Any:
    """``function`` of each block of rows, one after the other; of Dask collections lazily."""
    if isinstance(X, Blocks):
        return (function(block.X) for block in X)
    from shiftlearn.statistics.distributed import lazily

    return lazily(function, X)


def _parts(item: Any, number: int) -> tuple[Any, Any, Any, Any]:
    if isinstance(item, Block):
        return item[:4]
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 4:
        raise ValueError(
            f"block {number} is a tuple of {len(parts)}; (X, y, sample_domain) or (X, y, "
            "sample_domain, sample_weight) is needed."
        )
    whole = (*parts, None, None, None)
    X, y, domain, weight = whole[0], whole[1], whole[2], whole[3]
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(f"block {number}: X must be a matrix of shape (rows, columns).")
    return X, y, domain, weight


def _names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def _in_order(X: Any, names: tuple[str, ...] | None, number: int) -> tuple[Any, Any]:
    """The rows with the columns in the order of the first block, and that order."""
    own = _names(X)
    if own is None:
        rows = _as_rows(X)
    else:
        if names is not None and own != names:
            missing, extra = sorted(set(names) - set(own)), sorted(set(own) - set(names))
            if missing or extra:
                raise ValueError(
                    f"block {number} has other columns than the first: missing {missing}, "
                    f"unexpected {extra}."
                )
            X = X[list(names)]
        names = own if names is None else names
        rows = np.asarray(X.to_numpy())
    kind = rows.dtype.kind
    if kind not in "fiub":
        raise ValueError(f"block {number}: X must hold numbers, got dtype {rows.dtype}.")
    if rows.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        rows = rows.astype(np.float64)
    return rows, names


def _beside(array: Any, n: int, word: str, number: int) -> Any:
    if array is None:
        return None
    array = np.asarray(array)
    if array.ndim == 0:
        return np.full(n, array[()])
    if array.shape != (n,):
        raise ValueError(f"block {number}: {word} has shape {array.shape}; X has {n} rows.")
    return array


def _check_finite(X: Any, start: int, number: int) -> None:
    data = X.data if hasattr(X, "indptr") else X
    if np.isfinite(data.sum(dtype=np.float64)):
        return
    bad = ~np.isfinite(data)
    if not bad.any():
        return
    if hasattr(X, "indptr"):
        row = int(np.searchsorted(X.indptr, np.flatnonzero(bad)[0], side="right")) - 1
    else:
        row = int(np.flatnonzero(bad.any(axis=1))[0])
    raise ValueError(
        f"block {number}, row {row} (row {start + row} of all) contains NaN or infinity; remove "
        "or impute such rows."
    )


def _cut(X: Any, rows: slice) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "columns"):
        return X[rows]
    return _rows_between(X, rows.start, rows.stop)
