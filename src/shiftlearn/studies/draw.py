"""The picture of a study: each figure against the column factor, printed values dashed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shiftlearn.plot.palette import is_dark, line_styles
from shiftlearn.studies.results import Results, Row

__all__ = ["draw", "save_picture"]


def draw(results: Results) -> Any:
    """A matplotlib figure with one panel a figure of the study."""
    from matplotlib.figure import Figure

    titles = {
        figure: title
        for figure, title in results.study.figures.items()
        if any(row.figure == figure for row in results.rows)
    }
    page = Figure(figsize=(6.4 * len(titles), 4.6), layout="constrained")
    axes = page.subplots(1, len(titles), squeeze=False)[0]
    for ax, (figure, title) in zip(axes, titles.items(), strict=True):
        _panel(ax, results, figure, title)
    page.suptitle(results.study.title)
    return page


def save_picture(results: Results, path: Path) -> None:
    """Draw and write as PNG."""
    draw(results).savefig(path, dpi=130, format="png")


def _panel(ax: Any, results: Results, figure: str, title: str) -> None:
    groups = results.groups(row for row in results.rows if row.figure == figure)
    places, ticks = _places(results, [row for _, rows in groups for row in rows])
    styles = line_styles(len(groups), dark=is_dark(ax))
    for (name, rows), style in zip(groups, styles, strict=True):
        x = [places[row.settings[results.study.columns]] for row in rows]
        errors = np.nan_to_num([row.standard_error for row in rows])
        ax.errorbar(x, [r.mean for r in rows], errors, label=name, capsize=2, ms=4.5, **style)
        _printed_line(ax, x, rows, style["color"])
    if any(row.reference is not None for _, rows in groups for row in rows):
        ax.plot([], [], "--", color="0.5", label=results.study.reference_name)
    if ticks:
        ax.set_xticks(list(places.values()), list(map(str, places)))
    ax.set(xlabel=results.study.columns, ylabel=title)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")


def _printed_line(ax: Any, x: list[float], rows: list[Row], colour: str) -> None:
    known = [(place, row.reference) for place, row in zip(x, rows) if row.reference is not None]
    if known:
        ax.plot(*zip(*known), "--", color=colour, alpha=0.55, linewidth=1.4)


def _places(results: Results, rows: list[Row]) -> tuple[dict[Any, float], bool]:
    """Position on the x axis of each value of the column factor; words stand in their order."""
    values = list(dict.fromkeys(row.settings[results.study.columns] for row in rows))
    if all(isinstance(value, (int, float)) for value in values):
        return {value: float(value) for value in values}, False
    return {value: float(i) for i, value in enumerate(values)}, True
