"""The three panels of the paper's Figure 3, from the kept cells of three studies."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from shiftlearn.plot.palette import is_dark, line_styles
from shiftlearn.studies.base import get_study
from shiftlearn.studies.covariate_methods import METHODS
from shiftlearn.studies.store import Record, Store

__all__ = ["curve", "three_panels"]

_PANELS = (
    ("covariate-spam", "reduction", "Spam: reduction of 1 - AUC (%)"),
    ("covariate-text", "reduction", "Texts by date: reduction of 1 - AUC (%)"),
    ("covariate-landmine", "increase", "Landmines: AUC increase (points)"),
)


def three_panels(folder: str | os.PathLike[str] | None = None, *, quick: bool = False) -> Any:
    """A matplotlib figure: what each method gains over iid learning, by the number of test rows.

    Parameters
    ----------
    folder : path, optional
        The results folder; see `shiftlearn.studies.results_folder`. Cells that are not there are
        left out; nothing is run.
    quick : bool
        The cells of the quick form.

    Returns
    -------
    Figure
        Means over inboxes, tasks or fields and repeats, with standard errors.
    """
    from matplotlib.figure import Figure

    import shiftlearn.studies

    shiftlearn.studies.studies()  # enters all of them
    page = Figure(figsize=(13.5, 4.2), layout="constrained")
    for ax, (name, figure, title) in zip(page.subplots(1, 3), _PANELS, strict=True):
        _panel(ax, _kept(name, folder, quick), figure, title)
    return page


def curve(
    records: Iterable[Record], method: str, figure: str
) -> tuple[list[int], list[float], list[float]]:
    """Sizes, means and standard errors of one method's figure over everything else."""
    values: dict[int, list[float]] = {}
    for record in records:
        if record.settings["method"] == method and figure in record.figures:
            values.setdefault(int(record.settings["n"]), []).append(record.figures[figure])
    sizes = sorted(values)
    means = [float(np.mean(values[n])) for n in sizes]
    errors = [float(np.std(values[n]) / np.sqrt(max(1, len(values[n]) - 1))) for n in sizes]
    return sizes, means, errors


def _kept(name: str, folder: str | os.PathLike[str] | None, quick: bool) -> list[Record]:
    study = get_study(name)
    store = Store.of(study, folder)
    found = (store.load(cell) for cell in study.cells(quick=quick))
    return [record for record in found if record is not None]


def _panel(ax: Any, records: list[Record], figure: str, title: str) -> None:
    ax.axhline(0.0, c="0.5", lw=1, ls="--", label="iid")
    # A method has the same style in every panel, whatever the others are.
    for method, style in zip(METHODS, line_styles(len(METHODS), dark=is_dark(ax)), strict=True):
        sizes, means, errors = curve(records, method, figure)
        if method != "iid" and sizes:
            ax.errorbar(sizes, means, errors, label=method, capsize=2, ms=4.5, **style)
    sizes = sorted({int(record.settings["n"]) for record in records})
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.set(xlabel="test rows", title=title)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
