"""What one pass over a stream tells before the work starts: classes, weights, widths, a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.domains import find_domains, labelled_rows
from shiftlearn.statistics.checkpoint import recorded
from shiftlearn.statistics.passes import Stream
from shiftlearn.statistics.stream import Block

__all__ = ["CodedBlock", "Survey", "coded", "survey_stream"]

Floats = NDArray[np.float64]

SAMPLE_ROWS = 20_000


@recorded
@dataclass(slots=True)
class Survey:
    """Sums over all rows that take part, and a sample of them that no blocking changes.

    Attributes
    ----------
    n_rows, n_columns : int
    classes : ndarray
        Sorted labels of the labelled source rows.
    totals : ndarray of float64
        Weight of each class.
    domains : ndarray of int64
        Labels of the domains that occur.
    first, second : float
        Σ x and Σ x² over all entries.
    sample : dict
        ``keys`` (priorities), ``places`` and ``rows`` of the kept rows, by place.
    """

    n_rows: int
    n_columns: int
    classes: NDArray[Any]
    totals: Floats
    domains: NDArray[np.int64]
    first: float
    second: float
    sample: dict[str, Any]

    @property
    def variance(self) -> float:
        """Variance of all entries, as ``X.var()``."""
        n = self.n_rows * self.n_columns
        return max(0.0, self.second / n - (self.first / n) ** 2)

    @property
    def rows(self) -> Any:
        """The sampled rows, in their order: all of them where they are few."""
        return self.sample["rows"]


@dataclass(frozen=True, slots=True)
class CodedBlock:
    """Rows of a block with class numbers (-1: no label), weights and domains."""

    X: Any
    codes: NDArray[np.int64]
    weights: Floats
    domains: NDArray[np.int64]
    start: int

    def take(self, keep: NDArray[np.bool_]) -> CodedBlock | None:
        """The rows of ``keep``; None where there are none."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep)
        if not len(rows):
            return None
        return CodedBlock(
            self.X[rows], self.codes[rows], self.weights[rows], self.domains[rows], self.start
        )


def survey_stream(
    stream: Stream, *, labels: bool = True, sample: int = 0, n_jobs: int | None = None
) -> Survey:
    """One pass over the rows of positive weight; ``sample`` of them are kept for feature maps."""

    def look(block: Block) -> Survey:
        return _look(block, labels, sample)

    survey: Survey = stream.reduce(look, lambda a, b: _join(a, b, sample), n_jobs)
    return survey


def coded(
    classes: NDArray[Any], labels: bool = True, drop: bool = True
) -> Callable[[Block], CodedBlock | None]:
    """A preparation of blocks: numbers instead of labels, no rows of weight 0 if ``drop``."""

    def prepare(block: Block) -> CodedBlock | None:
        n = block.X.shape[0]
        weights = _weights(block)
        domains = find_domains(block.y, block.sample_domain, n).sample_domain
        codes = np.full(n, -1, dtype=np.int64)
        if labels and block.y is not None:
            found = _labels(block)
            if found is not None:
                places = np.searchsorted(classes, found.classes)
                codes[found.rows] = places[found.codes]
        whole = CodedBlock(block.X, codes, weights, domains, block.start)
        return whole.take(weights > 0) if drop else whole

    return prepare


def _labels(block: Block) -> Any:
    """The labelled source rows of a block, None where it has none."""
    n = block.X.shape[0]
    domains = find_domains(block.y, block.sample_domain, n)
    if not domains.has_source:
        return None
    return labelled_rows(block.y, domains.sample_domain, n)


def _weights(block: Block) -> Floats:
    if block.sample_weight is None:
        return np.ones(block.X.shape[0])
    weights = np.asarray(block.sample_weight, dtype=np.float64)
    if not np.isfinite(weights).all() or (len(weights) and weights.min() < 0):
        raise ValueError(f"block {block.number}: sample_weight must be finite and not negative.")
    return weights


def _look(block: Block, labels: bool, sample: int) -> Survey:
    weights = _weights(block)
    classes: NDArray[Any] = np.empty(0)
    totals: NDArray[Any] = np.empty(0)
    if labels:
        if block.y is None:
            raise ValueError(f"block {block.number} has no y; this method needs labels.")
        found = _labels(block)
        if found is not None:
            totals = np.bincount(
                found.codes, weights=weights[found.rows], minlength=len(found.classes)
            )
            classes, totals = found.classes[totals > 0], totals[totals > 0]
    kept = np.flatnonzero(weights)
    X = block.X if len(kept) == len(weights) else block.X[kept]
    data = X.data if hasattr(X, "indptr") else X
    domains = find_domains(block.y, block.sample_domain, len(weights)).sample_domain[kept]
    return Survey(
        len(kept),
        X.shape[1],
        classes,
        totals,
        np.unique(domains),
        float(data.sum(dtype=np.float64)),
        float(np.square(data, dtype=np.float64).sum()),
        _sampled(X, block.start + kept, sample),
    )


def _join(a: Survey, b: Survey, sample: int) -> Survey:
    classes: NDArray[Any] = a.classes
    totals: NDArray[Any] = a.totals
    if not len(classes):
        classes, totals = b.classes, b.totals
    elif len(b.classes):
        both = np.concatenate([a.classes, b.classes])
        if a.classes.dtype.kind != b.classes.dtype.kind and "U" in (
            a.classes.dtype.kind,
            b.classes.dtype.kind,
        ):
            raise ValueError("y holds text in some blocks and numbers in others.")
        classes, codes = np.unique(both, return_inverse=True)
        totals = np.bincount(codes, weights=np.concatenate([a.totals, b.totals]))
    return Survey(
        a.n_rows + b.n_rows,
        a.n_columns,
        classes,
        totals,
        np.union1d(a.domains, b.domains),
        a.first + b.first,
        a.second + b.second,
        _joined(a.sample, b.sample, sample),
    )


def _sampled(X: Any, places: NDArray[np.intp], size: int) -> dict[str, Any]:
    """The ``size`` rows of smallest priority, a fixed random number of the row's place."""
    if not size:
        return {}
    keys = _priorities(places)
    return _smallest({"keys": keys, "places": np.asarray(places), "rows": X}, size)


def _joined(a: dict[str, Any], b: dict[str, Any], size: int) -> dict[str, Any]:
    if not size:
        return {}
    rows = _stack(a["rows"], b["rows"])
    both = {name: np.concatenate([a[name], b[name]]) for name in ("keys", "places")}
    return _smallest({**both, "rows": rows}, size)


def _smallest(sample: dict[str, Any], size: int) -> dict[str, Any]:
    keys, places = sample["keys"], sample["places"]
    if len(keys) > size:
        chosen = np.argpartition(keys, size)[:size]
        chosen = chosen[np.argsort(places[chosen])]
        return {name: values[chosen] for name, values in sample.items()}
    return sample


def _stack(a: Any, b: Any) -> Any:
    if hasattr(a, "indptr") or hasattr(b, "indptr"):
        from scipy import sparse

        return sparse.csr_array(sparse.vstack([sparse.csr_array(a), sparse.csr_array(b)]))
    return np.concatenate([a, b])


def _priorities(places: NDArray[np.intp]) -> NDArray[np.uint64]:
    """A number for each place that looks random (the finaliser of SplitMix64)."""
    z = np.asarray(places, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
