"""``shiftlearn info``."""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any

from shiftlearn.cli.console import console, print_json
from shiftlearn.datasets import data_folder
from shiftlearn.datasets.catalogue import FILES
from shiftlearn.datasets.folder import Published, locate
from shiftlearn.studies import environment, results_folder

__all__ = ["collect", "show"]

_OPTIONAL = ("matplotlib", "pandas", "polars", "pyarrow", "skops", "dask")


def collect(*, verify: bool = False) -> dict[str, Any]:
    """Everything that ``shiftlearn info`` shows, as plain data."""
    folder = data_folder()
    state = [_state(published, verify) for published in FILES.values()]
    present = state.count("present")
    wrong = {"wrong data files": f"{state.count('wrong')}"} if verify else {}
    return {
        **environment(),
        "optional packages": {name: _version(name) for name in _OPTIONAL},
        "data folder": str(folder),
        "data files": f"{present} of {len(FILES)}",
        **wrong,
        "results folder": str(results_folder()),
        "variables": {
            name: os.environ.get(name, "")
            for name in ("SHIFTLEARN_DATA", "SHIFTLEARN_RESULTS", "SHIFTLEARN_NUM_THREADS")
        },
    }


def show(*, verify: bool, as_json: bool) -> None:
    """Print it."""
    facts = collect(verify=verify)
    if as_json:
        print_json(facts)
        return
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, _text(value))
    console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry or '–'}" for name, entry in value.items())
    return str(value)


def _state(published: Published, verify: bool) -> str:
    """Whether a published file is there and, if asked, is the right one."""
    if not any((data_folder() / name).is_file() for name in (published.path, published.original)):
        return "absent"
    try:
        if verify:
            locate(published, download=False, verify=True)
    except ValueError:
        return "wrong"
    return "present"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
