"""Some rows of each domain of a stream: a random sample that no blocking changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.statistics.passes import Stream, open_stream
from shiftlearn.statistics.stream import Block
from shiftlearn.statistics.survey import CodedBlock, _priorities, _smallest, _stack

__all__ = ["DrawnRows", "draw_rows", "draw_table"]

Sample = dict[str, Any]


def draw_rows(stream: Stream, size: int, n_jobs: int | None = None) -> tuple[Sample, Sample]:
    """One pass over coded blocks: at most ``size`` rows of the source, and of the target.

    Rows of the source without a label and rows of weight 0 are passed over; all are kept where they
    are few, in their order. A sample holds "rows" (None where there are none), "codes", "weights",
    "domains", "places" and "n_all".
    """

    def part(block: CodedBlock) -> list[Sample]:
        used = block.weights > 0
        source = used & (block.domains >= 0) & (block.codes >= 0)
        return [_drawn(block, keep, size) for keep in (source, used & (block.domains < 0))]

    def join(a: list[Sample], b: list[Sample]) -> list[Sample]:
        return [_joined(x, y, size) for x, y in zip(a, b, strict=True)]

    source, target = stream.reduce(part, join, n_jobs)
    return source, target


def _drawn(block: CodedBlock, keep: NDArray[np.bool_], size: int) -> Sample:
    chosen = np.flatnonzero(keep)
    if not len(chosen):
        return {"n_all": 0, "rows": None}
    places = block.start + chosen
    values = {
        "keys": _priorities(places), "places": places, "rows": block.X[chosen],
        "codes": block.codes[chosen], "weights": block.weights[chosen],
        "domains": block.domains[chosen],
    }  # fmt: skip
    return {"n_all": len(chosen), **_smallest(values, size)}


def _joined(a: Sample, b: Sample, size: int) -> Sample:
    if not a["n_all"] or not b["n_all"]:
        return a if a["n_all"] else b
    both = {
        name: _stack(a[name], b[name]) if name == "rows" else np.concatenate([a[name], b[name]])
        for name in a
        if name != "n_all"
    }
    return {"n_all": a["n_all"] + b["n_all"], **_smallest(both, size)}


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Rows of a stream with their labels (None where there are none), in their order."""

    rows: Any
    labels: NDArray[Any] | None
    n_all: int


def draw_table(X: Any, y: Any, size: int) -> DrawnRows:
    """One pass over blocks or Dask collections: at most ``size`` rows, all where they are few.

    Rows of a stream of tables come as a dataframe where pandas is installed.
    """
    stream = open_stream(X, y, None, None, "")
    without_record = Stream(stream.source)  # one pass: nothing to go on from

    def part(block: Block) -> dict[str, Any]:
        places = block.start + np.arange(block.X.shape[0])
        labels = np.full(len(places), None) if block.y is None else block.y
        values = {"keys": _priorities(places), "places": places, "rows": block.X}
        return {"n_all": len(places), **_smallest({**values, "labels": labels}, size)}

    found = without_record.reduce(part, lambda a, b: _joined(a, b, size))
    labels = found["labels"]
    nothing = labels.dtype == object and all(label is None for label in labels.tolist())
    names = getattr(stream.source, "feature_names", None)
    return DrawnRows(_table(found["rows"], names), None if nothing else labels, found["n_all"])


def _table(rows: Any, names: tuple[str, ...] | None) -> Any:
    if names is None:
        return rows
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows, columns=list(names))
