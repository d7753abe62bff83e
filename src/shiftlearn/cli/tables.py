"""Tables from files and into files: CSV, Parquet, libsvm, folders of Parquet, pipes.

A table is a polars frame with named columns, or a sparse matrix with labels (libsvm). What a file
is follows from its suffix, and where that says nothing from its first bytes.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Table", "matched", "read_table", "write_table"]

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?"]
_SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".svm": "libsvm",
    ".libsvm": "libsvm", ".svmlight": "libsvm",
}  # fmt: skip
_LIBSVM_LINE = re.compile(rb"[^\s:,;]+(\s+\d+:[^\s:,;]+)+\s*(#.*)?")
_WRITTEN = ".csv, .tsv or .parquet"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to learn from or to predict.

    Attributes
    ----------
    name : str
        What messages call it.
    rows : polars.DataFrame or CSR
        The columns without the label.
    labels : ndarray or None
        One a row, None where it is not known; None where there is no column of labels.
    """

    name: str
    rows: Any
    labels: NDArray[Any] | None = None

    @property
    def sparse(self) -> bool:
        """Whether the columns have numbers and no names."""
        return hasattr(self.rows, "tocsr")

    @property
    def columns(self) -> list[str]:
        """Names of the columns, none of a sparse matrix."""
        return [] if self.sparse else list(self.rows.columns)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, places: NDArray[np.intp]) -> Table:
        """Some of its rows."""
        labels = None if self.labels is None else self.labels[places]
        return Table(self.name, self.rows[places], labels)


def read_table(path: str, label: str | None = None, *, label_needed: bool = False) -> Table:
    """Read a file, a folder of Parquet files or, from ``-``, standard input."""
    content, kind = _content(path)
    name = "standard input" if path == "-" else path
    if kind == "libsvm":
        return _from_libsvm(content, name)
    frame = _frame(content, kind, name, path)
    if frame.height == 0 or frame.width == 0:
        raise ValueError(f"{name} holds no rows; at least one row and a line of names are needed.")
    return _with_label(frame, name, label, needed=label_needed)


def matched(table: Table, columns: Sequence[str], whose: str) -> Table:
    """The table with these columns in this order; what is missing or too much is named."""
    if table.sparse:
        raise ValueError(f"{table.name} is a libsvm file, but {whose} has named columns.")
    missing = [name for name in columns if name not in table.columns]
    extra = [name for name in table.columns if name not in columns]
    if missing or extra:
        parts = [f"missing: {_some(missing)}"] * bool(missing)
        parts += [f"not known: {_some(extra)}"] * bool(extra)
        raise ValueError(
            f"the columns of {table.name} are not those of {whose} ({'; '.join(parts)}). "
            "Columns are matched by name."
        )
    return Table(table.name, table.rows.select(list(columns)), table.labels)


def widened(table: Table, width: int, whose: str) -> Table:
    """A sparse table with ``width`` columns: files leave out columns that are zero at the end."""
    if not table.sparse:
        raise ValueError(f"{table.name} has named columns, but {whose} is a libsvm file.")
    if table.rows.shape[1] > width:
        raise ValueError(
            f"{table.name} has {table.rows.shape[1]} columns, but {whose} has {width}."
        )
    rows = table.rows.copy()
    rows.resize(rows.shape[0], width)
    return Table(table.name, rows, table.labels)


def write_table(columns: dict[str, Any], path: str) -> None:
    """Write columns to a file, whole or not at all, or as CSV to standard output."""
    import polars as pl

    from shiftlearn.datasets.folder import write_atomically

    frame = pl.DataFrame(columns)
    if path == "-":
        sys.stdout.write(frame.write_csv())
        return
    kind = check_output(path)
    place = Path(path).absolute()
    if kind == "parquet":
        write_atomically(place, lambda part: frame.write_parquet(part))
    else:
        separator = "\t" if place.suffix.lower() == ".tsv" else ","
        write_atomically(place, lambda part: frame.write_csv(part, separator=separator))


def check_output(path: str) -> str:
    """Raise before any work where nothing can be written to ``path``; returns its kind."""
    if path == "-":
        return "csv"
    place = Path(path).absolute()
    kind = _SUFFIXES.get(place.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise ValueError(f"the suffix of {path} chooses the format and must be {_WRITTEN}.")
    check_folder(path)
    return kind


def check_folder(path: str | Path) -> None:
    """Raise where the folder of a file to be written does not exist."""
    place = Path(path).absolute()
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} into.")
    if place.is_dir():
        raise ValueError(f"{path} is a folder; a file name is needed.")


def _content(path: str) -> tuple[bytes, str]:
    """The bytes of a file and what they are; no bytes of a folder."""
    if path == "-":
        content = sys.stdin.buffer.read()
        return content, _sniffed(content)
    place = Path(path)
    if place.is_dir():
        return b"", "folder"
    if not place.exists():
        raise ValueError(f"there is no file {path}.")
    content = place.read_bytes()
    return content, _SUFFIXES.get(place.suffix.lower()) or _sniffed(content)


def _sniffed(content: bytes) -> str:
    if content[:4] == b"PAR1":
        return "parquet"
    first = content.lstrip().split(b"\n", 1)[0].strip()
    return "libsvm" if _LIBSVM_LINE.fullmatch(first) else "csv"


def _frame(content: bytes, kind: str, name: str, path: str) -> Any:
    import polars as pl

    try:
        if kind == "folder":
            return _from_folder(Path(path))
        if kind == "parquet":
            return pl.read_parquet(io.BytesIO(content))
        return _from_csv(content)
    except ValueError:
        raise
    except Exception as error:
        # polars' errors, and what its compiled code throws at broken files.
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"{name} cannot be read as {kind} ({first[:160]}).") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"{name} cannot be read as {kind}: it is damaged.") from error


def _from_folder(folder: Path) -> Any:
    import polars as pl

    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".parquet", ".pq"))
    if not files:
        raise ValueError(f"the folder {folder} holds no Parquet files.")
    frames = [pl.read_parquet(file) for file in files]
    for file, frame in zip(files, frames, strict=True):
        matched(Table(str(file), frame), frames[0].columns, str(files[0]))
    return pl.concat([f.select(frames[0].columns) for f in frames], how="vertical_relaxed")


def _from_csv(content: bytes) -> Any:
    import polars as pl

    if content[:2] == b"\x1f\x8b":
        import gzip

        content = gzip.decompress(content)
    text = content.decode("utf-8-sig")
    head = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",;\t", key=head.count)
    frame = pl.read_csv(
        io.StringIO(text), separator=separator, null_values=MISSING, infer_schema_length=None,
        truncate_ragged_lines=False,
    )  # fmt: skip
    twice = [name for name in frame.columns if "_duplicated_" in name]
    if twice:
        raise ValueError(f"a column name stands twice in the first line ({_some(twice)}).")
    return frame


def _from_libsvm(content: bytes, name: str) -> Table:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(content), zero_based="auto")
    except Exception as error:
        raise ValueError(f"{name} cannot be read as libsvm ({str(error)[:160]}).") from error
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} holds no rows.")
    return Table(name, csr_array(X), _labels(y))


def _with_label(frame: Any, name: str, label: str | None, *, needed: bool) -> Table:
    if label is None or label not in frame.columns:
        if needed:
            found = "no --label was given" if label is None else f"it has no column {label!r}"
            raise ValueError(
                f"{name} needs labels, but {found}. Its columns: {_some(frame.columns)}."
            )
        return Table(name, frame)
    if frame.width == 1:
        raise ValueError(f"{name} holds nothing but the label {label!r}; other columns are needed.")
    return Table(name, frame.drop(label), _labels(frame[label].to_numpy(), frame[label]))


def _labels(values: NDArray[Any], series: Any = None) -> NDArray[Any]:
    """Labels as plain NumPy values; whole numbers as integers, None where there is none."""
    known = ~np.array([v is None or v != v for v in values.tolist()], dtype=bool)
    if values.dtype.kind == "f" and np.all(values[known] == np.round(values[known])):
        if known.all():
            return values.astype(np.int64)
        found = np.full(len(values), None, dtype=object)
        found[known] = values[known].astype(np.int64).tolist()
        return found
    if known.all() and values.dtype == object:
        return np.array(values.tolist())
    if known.all():
        return values
    found = np.full(len(values), None, dtype=object)
    found[known] = [v for v in values.tolist() if v is not None and v == v]
    return found


def _some(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
