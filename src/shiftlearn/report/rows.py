"""The two samples of a report: drawn to a bounded size, and made ready for the tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Side", "both_sides", "ready", "take"]


@dataclass(frozen=True, slots=True)
class Side:
    """One domain: rows as the user passed them, labels as far as there are any."""

    rows: Any
    labels: NDArray[Any] | None
    n_all: int

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def drawn(self, most: int, rng: np.random.RandomState) -> Side:
        """At most so many rows, drawn without replacement."""
        n = len(self)
        if n <= most:
            return self
        places = np.sort(rng.choice(n, most, replace=False))
        labels = None if self.labels is None else self.labels[places]
        return Side(take(self.rows, places), labels, self.n_all)

    def labelled(self) -> Side:
        """The rows that have a label."""
        if self.labels is None:
            return Side(take(self.rows, np.arange(0)), None, self.n_all)
        known = np.flatnonzero([not _missing(label) for label in self.labels.tolist()])
        labels = np.array([self.labels[i] for i in known])
        return Side(take(self.rows, known), labels, self.n_all)


def both_sides(Xs: Any, ys: Any, Xt: Any, yt: Any, most: int) -> tuple[Side, Side]:
    """The samples, checked: two tables of one kind with the same columns.

    Of streams ``most`` rows are drawn in one pass.
    """
    from shiftlearn.domains.stack import match_columns

    (Xs, ys, n_source), (Xt, yt, n_target) = (_held(X, y, most) for X, y in ((Xs, ys), (Xt, yt)))
    Xs, Xt = _table(Xs, "X_source"), _table(Xt, "X_target")
    frames = hasattr(Xs, "columns"), hasattr(Xt, "columns")
    if frames[0] != frames[1] or (all(frames) and _library(Xs) != _library(Xt)):
        raise TypeError(
            "X_source and X_target must be of one kind, got "
            f"{type(Xs).__name__} and {type(Xt).__name__}."
        )
    if all(frames):
        Xs, Xt = match_columns({"X_source": Xs, "X_target": Xt})
    elif Xs.shape[1] != Xt.shape[1]:
        raise ValueError(f"X_source has {Xs.shape[1]} columns, but X_target has {Xt.shape[1]}.")
    source, target = _side(Xs, ys, "source"), _side(Xt, yt, "target")
    return (
        replace(source, n_all=n_source or source.n_all),
        replace(target, n_all=n_target or target.n_all),
    )


def ready(source: Side, target: Side) -> tuple[Any, Any, Any]:
    """Both sides as numbers for the multivariate tests, and what was fitted to make them so."""
    if hasattr(source.rows, "tocsr"):
        return source.rows, target.rows, None
    from shiftlearn.domains.stack import concatenate_rows
    from shiftlearn.tabular import tabular_preprocessor

    both = concatenate_rows({"X_source": source.rows, "X_target": target.rows})
    first = tabular_preprocessor(max_categories=20, text_components=50).fit(both)
    return first.transform(source.rows), first.transform(target.rows), first


def take(rows: Any, places: NDArray[np.intp]) -> Any:
    """Rows of any table."""
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def _held(X: Any, y: Any, most: int) -> tuple[Any, Any, int | None]:
    """Rows in memory and their labels; the number of all rows where some were drawn."""
    from shiftlearn.statistics import is_stream

    if not is_stream(X):
        return X, y, None
    from shiftlearn.statistics.reservoir import draw_table

    drawn = draw_table(X, y, most)
    return drawn.rows, drawn.labels, drawn.n_all


def _table(X: Any, name: str) -> Any:
    from shiftlearn.domains import refuse_device_arrays

    refuse_device_arrays(X, name)
    table = X if hasattr(X, "shape") else np.asarray(X)
    if len(table.shape) != 2 or table.shape[1] < 1:
        raise ValueError(f"{name} must have two dimensions, got shape {tuple(table.shape)}.")
    if table.shape[0] < 20:
        raise ValueError(f"{name} has {table.shape[0]} rows; a report needs at least 20.")
    return table.tocsr() if hasattr(table, "tocsr") else table


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _side(X: Any, y: Any, name: str) -> Side:
    if y is None:
        return Side(X, None, int(X.shape[0]))
    from shiftlearn.domains import label_array

    labels = label_array(y, name=f"y_{name}")
    if len(labels) != X.shape[0]:
        raise ValueError(f"y_{name} has {len(labels)} labels, X_{name} {X.shape[0]} rows.")
    if all(_missing(label) for label in labels.tolist()):
        return Side(X, None, int(X.shape[0]))
    return Side(X, labels, int(X.shape[0]))


def _missing(label: Any) -> bool:
    return label is None or label != label or type(label).__name__ == "NAType"
