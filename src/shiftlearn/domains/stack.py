"""From separate source and target tables to one table with ``sample_domain``.

The problem: given S source tables with labels and T target tables, form X (all rows, one below the
other), y (None where there is no label) and d with d_i = s for source s = 1..S and
d_i = -(S + t) for target t = 1..T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.domains.checks import refuse_device_arrays
from shiftlearn.domains.labels import label_array, plain_labels, unlabelled

__all__ = ["concatenate_rows", "match_columns", "stack_domains"]


def stack_domains(
    Xs: Any, ys: Any, Xt: Any, yt: Any = None
) -> tuple[Any, NDArray[Any], NDArray[np.int64]]:
    """Stack source and target tables into the form that every ``fit`` takes.

    The rows of all sources come first, then those of all targets. ``sample_domain`` is
    1, ..., S for the S sources and goes on with -(S + 1), -(S + 2), ... for the targets: one
    source and one target are 1 and -2, as in skada.

    Parameters
    ----------
    Xs : array-like or list of array-likes
        Source rows: NumPy, pandas, polars or SciPy sparse; a list where there are several sources.
    ys : array-like or list of array-likes
        One label a source row. Marked rows (None, NaN, NA) stay unlabelled.
    Xt : array-like or list of array-likes
        Target rows.
    yt : array-like, list of array-likes or None
        Labels of target rows as far as known. In a list, None stands for a whole unlabelled target.

    Returns
    -------
    X : of the kind of the inputs
        Frames stay frames, with columns in the order of the first source, matched by name;
        sparse matrices become one CSR matrix.
    y : ndarray of shape (n,)
        An object array with None on the unlabelled rows. Numbers without a single unlabelled row
        keep their own dtype, so that scikit-learn's metrics take them as they are (those refuse
        integers in an object array; the library's own ``score`` takes both).
    sample_domain : ndarray of int64 of shape (n,)

    Examples
    --------
    >>> X, y, sample_domain = stack_domains([[0.0], [1.0]], ["a", "b"], [[2.0]])
    >>> X.shape, y, sample_domain
    ((3, 1), array(['a', 'b', None], dtype=object), array([ 1,  1, -2]))
    """
    sources, targets = _tables(Xs, "Xs"), _tables(Xt, "Xt")
    source_labels = _labels(ys, sources, "ys", several=_is_several(Xs))
    target_labels = _labels(yt, targets, "yt", several=_is_several(Xt))
    if any(labels is None for labels in source_labels):
        raise ValueError("ys must hold the labels of the source rows, got None.")
    tables = [*sources.items(), *targets.items()]
    X = concatenate_rows(dict(tables))
    sizes = [_n_rows(table) for _, table in tables]
    numbers = [*range(1, len(sources) + 1), *range(-len(sources) - 1, -len(tables) - 1, -1)]
    y = _join_labels([*source_labels, *target_labels], sizes)
    return X, y, np.repeat(np.array(numbers, dtype=np.int64), sizes)


def _is_several(X: Any) -> bool:
    """Whether a list holds tables (and not the rows of one table)."""
    return isinstance(X, list | tuple) and len(X) > 0 and _ndim(X[0]) == 2


def _ndim(table: Any) -> int:
    return len(table.shape) if hasattr(table, "shape") else np.ndim(table)


def _tables(X: Any, name: str) -> dict[str, Any]:
    """The tables of one argument by the name that messages give them."""
    if isinstance(X, list | tuple) and len(X) == 0:
        raise ValueError(f"{name} is empty; at least one table is needed.")
    named = {f"{name}[{i}]": table for i, table in enumerate(X)} if _is_several(X) else {name: X}
    return {key: _as_table(table, key) for key, table in named.items()}


def _as_table(X: Any, name: str) -> Any:
    refuse_device_arrays(X, name)
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(f"{name} is a lazy frame; pass {name}.collect().")
    table = X if hasattr(X, "shape") else np.asarray(X)
    if len(table.shape) != 2:
        raise ValueError(f"{name} must have two dimensions, got shape {tuple(table.shape)}.")
    return table


def _n_rows(table: Any) -> int:
    return int(table.shape[0])


def _labels(y: Any, tables: dict[str, Any], name: str, several: bool) -> list[NDArray[Any] | None]:
    """One checked label array a table, None where nothing was given."""
    if y is None:
        return [None] * len(tables)
    parts: Sequence[Any] = y if several else [y]
    if several and not (isinstance(y, list | tuple) and len(y) == len(tables)):
        raise ValueError(
            f"{name} must be a list of {len(tables)} label arrays, one a table, got "
            f"{type(y).__name__} of length {len(y)}."
        )
    return [
        _table_labels(part, key, table, name) for part, (key, table) in zip(parts, tables.items())
    ]


def _table_labels(y: Any, key: str, table: Any, name: str) -> NDArray[Any] | None:
    if y is None:
        return None
    labels = label_array(y, name=name)
    if len(labels) != _n_rows(table):
        raise ValueError(f"{name} has {len(labels)} labels, but {key} has {_n_rows(table)} rows.")
    return labels


def _join_labels(parts: list[NDArray[Any] | None], sizes: list[int]) -> NDArray[Any]:
    present = [part for part in parts if part is not None]
    if len(present) == len(parts) and not any(unlabelled(part).any() for part in present):
        plain = [plain_labels(part) for part in present]
        if all(part.dtype.kind in "biuf" for part in plain):
            return np.concatenate(plain)
    whole = present[0].dtype.kind in "iu"
    objects = [
        np.full(size, None) if part is None else _with_none(part, whole)
        for part, size in zip(parts, sizes)
    ]
    return np.concatenate(objects)


def _with_none(labels: NDArray[Any], whole: bool) -> NDArray[Any]:
    """Object array with None on the marks; floats that only a NaN made float become integers."""
    marks = unlabelled(labels)
    known = labels[~marks]
    if whole and known.dtype.kind == "f" and np.all(known == np.floor(known)):
        known = known.astype(np.int64)
    answer = np.full(len(labels), None, dtype=object)
    answer[~marks] = known.tolist()
    return answer


def concatenate_rows(tables: dict[str, Any]) -> Any:
    """Put tables below each other; the keys name them in messages.

    Frames are matched by column name, arrays and sparse matrices by position.
    """
    kinds = {key: _kind(table) for key, table in tables.items()}
    distinct = set(kinds.values())
    if distinct == {"pandas"} or distinct == {"polars"}:
        ordered = match_columns(tables)
        return _stack_pandas(ordered) if distinct == {"pandas"} else _stack_polars(ordered)
    if distinct & {"pandas", "polars"}:
        raise TypeError(
            "All tables must be of one kind, got "
            + ", ".join(f"{key}: {kind}" for key, kind in kinds.items())
            + "; frames are matched by column names, which arrays do not have."
        )
    _check_widths(tables)
    if "sparse" in distinct:
        import scipy.sparse

        return scipy.sparse.vstack(list(tables.values()), format="csr")
    return np.concatenate(list(tables.values()))


def _kind(table: Any) -> str:
    module = type(table).__module__.partition(".")[0]
    if module in ("pandas", "polars"):
        return module
    return "sparse" if hasattr(table, "tocsr") else "array"


def _check_widths(tables: dict[str, Any]) -> None:
    (first, width), *others = [(key, int(table.shape[1])) for key, table in tables.items()]
    for key, other in others:
        if other != width:
            raise ValueError(f"{key} has {other} columns, but {first} has {width}.")


def match_columns(tables: dict[str, Any]) -> list[Any]:
    """Every frame with the columns of the first one, in its order."""
    first, reference = next(iter(tables.items()))
    columns = list(reference.columns)
    if len(set(columns)) < len(columns):
        twice = sorted({str(c) for c in columns if columns.count(c) > 1})
        raise ValueError(f"{first} has more than one column of the same name: {twice}.")
    for key, table in tables.items():
        _check_columns(list(table.columns), columns, key, first)
    return [table[columns] for table in tables.values()]


def _check_columns(found: list[Any], needed: list[Any], key: str, first: str) -> None:
    missing = [str(c) for c in needed if c not in found]
    extra = [str(c) for c in found if c not in needed]
    if missing or extra or len(found) != len(needed):
        raise ValueError(
            f"The columns of {key} must be those of {first}; "
            f"missing in {key}: {missing or 'none'}, extra: {extra or 'none'}."
        )


def _stack_pandas(tables: list[Any]) -> Any:
    import pandas as pd

    return pd.concat(_common_categories(tables), ignore_index=True)


def _common_categories(tables: list[Any]) -> list[Any]:
    """Give categorical columns the union of their categories, else pandas makes them objects."""
    from pandas import CategoricalDtype
    from pandas.api.types import union_categoricals

    for column in tables[0].columns:
        kinds = [table[column].dtype for table in tables]
        if all(isinstance(kind, CategoricalDtype) for kind in kinds) and len(set(kinds)) > 1:
            union = union_categoricals([table[column] for table in tables], ignore_order=True)
            tables = [
                table.assign(**{column: table[column].astype(union.dtype)}) for table in tables
            ]
    return tables


def _stack_polars(tables: list[Any]) -> Any:
    import polars as pl

    return pl.concat(tables, how="vertical_relaxed")
