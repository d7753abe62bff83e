"""Blocks of rows from files, read as they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["parquet_blocks", "svmlight_blocks"]

Make = Callable[[], Iterator[tuple[Any, Any, Any]]]


def parquet_blocks(
    path: str | os.PathLike[str],
    label: str | None,
    domain: str | None,
    columns: Sequence[str] | None,
    rows: int,
) -> Make:
    """A function that walks a Parquet file or folder anew; names are checked at once."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError(
            "Blocks.from_parquet needs pyarrow; install it, or `shiftlearn[cli]`."
        ) from error
    files = _parquet_files(path)
    known = parquet.read_schema(files[0]).names
    for word, name in (("label", label), ("domain", domain)):
        if name is not None and name not in known:
            raise ValueError(f"{word}: there is no column {name!r} in {files[0].name}: {known}.")
    chosen = [c for c in known if c not in (label, domain)] if columns is None else list(columns)
    unknown = [c for c in chosen if c not in known]
    if unknown or not chosen:
        raise ValueError(f"columns: {unknown} are not in {files[0].name}, which has {known}.")
    wanted = [*chosen, *(name for name in (label, domain) if name is not None)]

    def make() -> Iterator[tuple[Any, Any, Any]]:
        for file in files:
            with parquet.ParquetFile(file) as open_file:
                for batch in open_file.iter_batches(batch_size=rows, columns=wanted):
                    yield _parquet_block(batch, chosen, label, domain)

    return make


def _parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    place = Path(path)
    if place.is_file():
        return [place]
    files = sorted(place.rglob("*.parquet")) if place.is_dir() else []
    if not files:
        raise FileNotFoundError(f"path: {place} is neither a Parquet file nor a folder of them.")
    return files


def _parquet_block(batch: Any, columns: list[str], label: Any, domain: Any) -> tuple[Any, Any, Any]:
    names = batch.schema.names
    arrays = {name: batch.column(names.index(name)) for name in names}
    X = np.column_stack([_numbers(arrays[name], name) for name in columns])
    y = None if label is None else _labels(arrays[label])
    d = None if domain is None else arrays[domain].to_numpy(zero_copy_only=False)
    return X, y, d


def _numbers(array: Any, name: str) -> Any:
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"column {name!r} holds {array.type}, not numbers; name the columns to use (columns=), "
            "or prepare the data with tabular_preprocessor."
        )
    return values


def _labels(array: Any) -> Any:
    if array.null_count:
        return np.array(array.to_pylist(), dtype=object)
    values = array.to_numpy(zero_copy_only=False)
    return np.array(values.tolist()) if values.dtype == object else values


def svmlight_blocks(
    path: str | os.PathLike[str],
    n_features: int | None,
    zero_based: bool | str,
    domain: int | None,
    rows: int,
) -> Make:
    """A function that walks a libsvm file anew, some lines at a time."""
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"path: there is no file {place}.")
    if zero_based not in (True, False, "auto"):
        raise ValueError(f'zero_based must be True, False or "auto", got {zero_based!r}.')
    if n_features is None or zero_based == "auto":
        smallest, largest = _index_range(place)
        first = smallest == 0 if zero_based == "auto" else bool(zero_based)
        n_features = largest + (1 if first else 0) if n_features is None else n_features
    else:
        first = bool(zero_based)

    def make() -> Iterator[tuple[Any, Any, Any]]:
        with place.open(encoding="ascii") as lines:
            before = 0
            while chunk := list(islice(lines, rows)):
                X, y = _parsed(chunk, 0 if first else 1, int(n_features), place.name, before)
                before += len(chunk)
                yield X, y, None if domain is None else np.full(len(y), domain)

    return make


def _index_range(place: Path) -> tuple[int, int]:
    smallest, largest = 1, 0
    with place.open(encoding="ascii") as lines:
        for number, line in enumerate(lines):
            pairs = line.split("#", 1)[0].split()[1:]
            try:
                indices = [int(pair.split(":", 1)[0]) for pair in pairs if pair[:4] != "qid:"]
            except ValueError:
                raise ValueError(f"{place.name}, line {number + 1}: {line[:60]!r}.") from None
            if indices:
                smallest, largest = min(smallest, *indices), max(largest, *indices)
    return smallest, largest


def _parsed(
    lines: list[str], first: int, n_features: int, name: str, before: int
) -> tuple[Any, Any]:
    from scipy import sparse

    labels, data, indices, starts = [], [], [], [0]
    for number, line in enumerate(lines):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        try:
            labels.append(float(fields[0]))
            for pair in fields[1:]:
                if pair[:4] == "qid:":
                    continue
                index, value = pair.split(":", 1)
                indices.append(int(index) - first)
                data.append(float(value))
        except ValueError:
            place = before + number + 1
            raise ValueError(
                f"{name}, line {place}: {line[:60]!r} is not label index:value ..."
            ) from None
        starts.append(len(data))
    if indices and not 0 <= min(indices) <= max(indices) < n_features:
        raise ValueError(
            f"{name}: an index lies outside the {n_features} columns; check n_features, zero_based."
        )
    shape = (len(labels), n_features)
    y = np.array(labels)
    whole = y.astype(np.int64) if len(y) and (y == np.floor(y)).all() else y
    X = sparse.csr_array((np.array(data), np.array(indices, dtype=np.int32), starts), shape=shape)
    X.sort_indices()
    return X, whole
