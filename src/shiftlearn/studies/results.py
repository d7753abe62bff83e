"""Results of a study: averages with their standard errors, the printed figure beside each."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shiftlearn.datasets import write_atomically
from shiftlearn.studies.base import Study
from shiftlearn.studies.environment import environment
from shiftlearn.studies.store import Record

__all__ = ["Results", "Row", "Table"]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure at one setting: mean over the seeds, its standard error, the printed value."""

    figure: str
    settings: Mapping[str, Any]
    mean: float
    standard_error: float
    repeats: int
    reference: float | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table ready to print; ``ours`` says which lines are ours (the others are printed ones)."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    ours: tuple[bool, ...]


@dataclass(frozen=True)
class Results:
    """The finished cells of a study, and the forms in which people read them."""

    study: Study
    quick: bool
    records: tuple[Record, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Averages over the seeds, figure by figure, in the order of the grid."""
        found: dict[tuple[str, str], list[float]] = {}
        for record in self.records:
            for figure, value in record.figures.items():
                found.setdefault((figure, _key(record.settings)), []).append(value)
        return tuple(
            self._row(figure, settings, found[figure, _key(settings)])
            for figure in self.study.figures
            for settings in self.study.settings(quick=self.quick)
            if (figure, _key(settings)) in found
        )

    def _row(self, figure: str, settings: Mapping[str, Any], values: list[float]) -> Row:
        n = len(values)
        error = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
        reference = self.study.reference(figure, settings)
        return Row(figure, settings, float(np.mean(values)), error, n, reference)

    def tables(self) -> list[Table]:
        """One table a figure: the column factor from left to right, the others down."""
        return [
            table
            for figure, title in self.study.figures.items()
            if (table := self._table(figure, title)) is not None
        ]

    def _table(self, figure: str, title: str) -> Table | None:
        rows = [row for row in self.rows if row.figure == figure]
        if not rows:
            return None
        places = list(dict.fromkeys(row.settings[self.study.columns] for row in rows))
        lines: list[tuple[str, ...]] = []
        ours: list[bool] = []
        for name, group in self.groups(rows):
            by_place = {row.settings[self.study.columns]: row for row in group}
            cells = [by_place.get(place) for place in places]
            lines.append((name, *(_ours(row) for row in cells)))
            ours.append(True)
            if any(row is not None and row.reference is not None for row in cells):
                lines.append((f"  {self.study.reference_name}", *(_printed(row) for row in cells)))
                ours.append(False)
        header = (self.study.columns, *map(str, places))
        return Table(title, header, tuple(lines), tuple(ours))

    def groups(self, rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
        """Rows that share every factor but the column's, under a name made of those that vary."""
        rows = list(rows)
        others = [factor for factor in self.study.grid if factor != self.study.columns]
        varying = [f for f in others if len({_key({f: row.settings[f]}) for row in rows}) > 1]
        # Where a figure belongs to one setting only, that setting's words still say which.
        varying = varying or [f for f in others if isinstance(rows[0].settings[f], str)]
        groups: dict[str, list[Row]] = {}
        for row in rows:
            name = ", ".join(_word(f, row.settings[f]) for f in varying)
            groups.setdefault(name or row.figure, []).append(row)
        return list(groups.items())

    @property
    def repeats(self) -> int:
        """Seeds a setting."""
        return self.study.quick_seeds if self.quick else self.study.seeds

    @property
    def seconds(self) -> float:
        """Time that the cells took, whether in this run or before."""
        return sum(record.seconds for record in self.records)

    @property
    def form(self) -> str:
        """The word for what was run, "quick" or "full"."""
        return "quick" if self.quick else "full"

    def summarize(self) -> dict[str, Any]:
        """Everything as plain data: what JSON, Markdown and tests look at."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "about": self.study.about,
            "form": self.form,
            "repeats": self.repeats,
            "reference": self.study.reference_name,
            "seconds": round(self.seconds, 3),
            "environment": environment(),
            "rows": [
                {
                    "figure": row.figure,
                    "settings": dict(row.settings),
                    "mean": row.mean,
                    "standard_error": row.standard_error if row.repeats > 1 else None,
                    "repeats": row.repeats,
                    "reference": row.reference,
                }
                for row in self.rows
            ],
        }

    def to_json(self) -> str:
        """`summarize` as JSON."""
        return json.dumps(self.summarize(), indent=1, default=_finite)

    def to_markdown(self) -> str:
        """Title, question and tables as Markdown."""
        parts = [f"# {self.study.title}", self.study.about]
        for table in self.tables():
            parts += [f"## {table.title}", _markdown(table)]
        machine = environment()
        parts.append(
            f"{self.form.capitalize()} form, {self.repeats} repeats, mean ± standard error; "
            f"{self.seconds:.0f} s on {machine['cpu']}, shiftlearn {machine['shiftlearn']}."
        )
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path, *, picture: bool = True) -> dict[str, Path]:
        """Write JSON, Markdown and the picture into ``folder``; gives their paths."""
        written = {"json": folder / f"{self.form}.json", "markdown": folder / f"{self.form}.md"}
        write_atomically(written["json"], lambda path: path.write_text(self.to_json(), "utf-8"))
        write_atomically(
            written["markdown"], lambda path: path.write_text(self.to_markdown(), "utf-8")
        )
        if picture:
            from shiftlearn.studies.draw import save_picture

            written["picture"] = folder / f"{self.form}.png"
            write_atomically(written["picture"], lambda path: save_picture(self, path))
            if self.study.extra_pictures is not None:
                written |= self.study.extra_pictures(self, folder)
        return written


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True, default=str)


def _word(factor: str, value: Any) -> str:
    return value if isinstance(value, str) else f"{factor}={value}"


def _ours(row: Row | None) -> str:
    if row is None:
        return "–"
    digits = _digits(row.mean)
    error = "" if math.isnan(row.standard_error) else f" ± {row.standard_error:.{digits}f}"
    return f"{row.mean:.{digits}f}{error}"


def _printed(row: Row | None) -> str:
    return "–" if row is None or row.reference is None else f"{row.reference:.{_digits(row.mean)}f}"


def _digits(value: float) -> int:
    """Three digits behind the point for small numbers, one for percentages and seconds."""
    return 3 if abs(value) < 2 else 1


def _markdown(table: Table) -> str:
    rule = "|---" + "|---:" * (len(table.header) - 1) + "|"
    lines = ["| " + " | ".join(line) + " |" for line in (table.header, *table.lines)]
    return "\n".join([lines[0], rule, *lines[1:]])


def _finite(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
