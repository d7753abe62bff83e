"""Columns of any table as NumPy arrays, and what kind of column each one is.

Whatever holds a column (pandas, polars, NumPy), it becomes one of three arrays: float64 with NaN,
datetime64[us] with NaT, or objects that are text or None. Its kind is then

    numbers     numbers and truth values
    dates       dates, times, and text of which all that is there reads as ISO 8601
    text        text of several words, hardly ever the same twice
    categories  any other text
"""

from __future__ import annotations

import re
from datetime import date
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "column_kinds", "column_names", "kind_of", "read_column", "to_dates"]

KINDS = ("numbers", "categories", "dates", "text")

_SAMPLE = 5_000
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII
)
_WORDS, _REPEATS = 4.0, 0.5


def column_kinds(X: Any) -> dict[str | int, str]:
    """Kind of each column of a table, from at most 5,000 evenly spaced rows.

    Parameters
    ----------
    X : pandas or polars dataframe, or ndarray of shape (n, p)
        The table.

    Returns
    -------
    dict
        "numbers", "categories", "dates" or "text" for each name (position in arrays).

    Examples
    --------
    >>> import numpy as np
    >>> column_kinds(np.array([[1.5, "a"], [2.5, "b"]], dtype=object))
    {0: 'numbers', 1: 'categories'}
    """
    names = column_names(X)
    step = max(1, -(-X.shape[0] // _SAMPLE))
    return {name: kind_of(read_column(_column(X, j)[::step], name)) for j, name in enumerate(names)}


def column_names(X: Any) -> list[Any]:
    """Names of the columns, positions where they have none."""
    return list(X.columns) if hasattr(X, "columns") else list(range(X.shape[1]))


def kind_of(values: NDArray[Any]) -> str:
    """Kind of a column that `read_column` returned."""
    if values.dtype.kind == "f":
        return "numbers"
    if values.dtype.kind == "M":
        return "dates"
    present = [value for value in values.tolist() if value is not None]
    if present and all(_ISO.fullmatch(value.strip()) for value in present):
        return "dates"
    if present and _is_text(present):
        return "text"
    return "categories"


def columns_of(X: Any) -> list[tuple[Any, NDArray[Any]]]:
    """Name and values of each column."""
    return [(name, read_column(_column(X, j), name)) for j, name in enumerate(column_names(X))]


def read_column(series: Any, name: Any) -> NDArray[Any]:
    """One column as float64, datetime64[us], or objects that are text or None."""
    if hasattr(series, "to_arrow") and hasattr(series, "cast"):
        return _from_polars(series, name)
    if hasattr(series, "iloc"):
        return _from_pandas(series, name)
    return _from_numpy(np.asarray(series), name)


def to_dates(values: NDArray[Any], name: Any) -> NDArray[np.datetime64]:
    """Text in ISO 8601 as datetime64[us] in UTC."""
    if values.dtype.kind == "M":
        return values
    if values.dtype.kind == "f" and np.isnan(values).all():
        return np.full(len(values), "NaT", dtype="datetime64[us]")
    if values.dtype.kind != "O":
        raise ValueError(f"column {name!r} held dates when the model was made, now numbers.")
    return np.array([_date(value, name) for value in values.tolist()], dtype="datetime64[us]")


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "get_column"):
        return X.to_series(j)
    return X.iloc[:, j] if hasattr(X, "iloc") else np.asarray(X)[:, j]


def _from_polars(series: Any, name: Any) -> NDArray[Any]:
    import polars as pl

    kind = series.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return np.array(series.cast(pl.Float64).to_numpy(), dtype=np.float64)
    if kind in (pl.Date, pl.Datetime):
        plain = series.dt.convert_time_zone("UTC") if getattr(kind, "time_zone", None) else series
        return np.asarray(plain.cast(pl.Datetime("us")).to_numpy()).astype("datetime64[us]")
    if kind in (pl.String, pl.Categorical, pl.Enum):
        return _objects(series.cast(pl.String).to_list())
    if kind == pl.Object:
        return _from_objects(series.to_list(), name)
    raise _unknown(name, kind)


def _from_pandas(series: Any, name: Any) -> NDArray[Any]:
    kind = series.dtype
    if getattr(kind, "kind", "") == "M":
        if getattr(kind, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return np.asarray(series.to_numpy(dtype="datetime64[us]"))
    if getattr(kind, "kind", "") in ("i", "u", "f", "b"):
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if getattr(kind, "kind", "") in ("m", "c", "V"):
        raise _unknown(name, kind)
    return _from_objects(series.astype(object).tolist(), name)


def _from_numpy(values: NDArray[Any], name: Any) -> NDArray[Any]:
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    if values.dtype.kind not in "OUT":
        raise _unknown(name, values.dtype)
    return _from_objects(values.tolist(), name)


def _from_objects(values: list[Any], name: Any) -> NDArray[Any]:
    """Objects: numbers where all of them are, dates where all of them are, else text."""
    present = [None if _is_missing(value) else value for value in values]
    kinds = {type(value) for value in present if value is not None}
    if all(issubclass(kind, str) for kind in kinds) and kinds:
        return _objects(present)
    if all(issubclass(kind, Number | np.bool_) or kind.__name__ == "Decimal" for kind in kinds):
        return np.array([np.nan if v is None else float(v) for v in present], dtype=np.float64)
    if all(issubclass(kind, date | np.datetime64) for kind in kinds):
        return np.array([_date(str(v) if v is not None else None, name) for v in present])
    if any(issubclass(kind, list | tuple | dict | set | bytes | np.ndarray) for kind in kinds):
        raise _unknown(name, sorted(kind.__name__ for kind in kinds))
    return _objects([None if v is None else _as_text(v) for v in present])


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def _as_text(value: Any) -> str:
    """Numbers among text as people write them: 3, not 3.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _objects(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = [value if value is None or value.strip() else None for value in values]
    return found


def _is_text(present: list[str]) -> bool:
    words = sum(value.count(" ") + 1 for value in present) / len(present)
    return words >= _WORDS and len(set(present)) > _REPEATS * len(present)


def _date(value: str | None, name: Any) -> np.datetime64:
    if value is None:
        return np.datetime64("NaT", "us")
    text = value.strip()
    found = _ISO.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        zone = found.group(4) or ""
        moment = np.datetime64(text.removesuffix(zone).replace(" ", "T"), "us")
    except ValueError:
        raise ValueError(
            f"column {name!r} holds {value!r}, which is no date; ISO 8601 is needed (2026-11-19, "
            "2026-11-19 08:30)."
        ) from None
    return moment - _offset(zone)


def _offset(zone: str) -> np.timedelta64:
    if zone in ("", "Z"):
        return np.timedelta64(0, "m")
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return np.timedelta64(minutes if zone[0] == "+" else -minutes, "m")


def _unknown(name: Any, kind: Any) -> ValueError:
    return ValueError(
        f"column {name!r} is of type {kind}, which is neither numbers, text, truth values nor "
        "dates; leave it out or turn it into one of those."
    )
