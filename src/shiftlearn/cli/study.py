"""``shiftlearn study``: progress on stderr, the tables on stdout, files in the results folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from shiftlearn.cli.console import console, print_json
from shiftlearn.datasets import data_folder
from shiftlearn.studies import (
    Results,
    Store,
    Study,
    Table,
    get_study,
    results_folder,
    run_study,
    studies,
)

__all__ = ["list_studies", "names", "run", "run_all"]


def names() -> tuple[str, ...]:
    """The names of the studies."""
    return tuple(studies())


def list_studies(*, as_json: bool) -> None:
    """Print every study with the number of its cells and whether its data are there."""
    if as_json:
        print_json([_facts(study) for study in studies().values()])
        return
    table = RichTable(box=None, padding=(0, 2, 0, 0))
    for heading in ("study", "what it shows", "cells", "quick", "data"):
        table.add_column(heading, header_style="bold cyan")
    for study in studies().values():
        facts = _facts(study)
        cells = (str(facts["cells"]), str(facts["quick_cells"]))
        table.add_row(study.name, study.title, *cells, _data_state(study))
    console().print(table)


def run(
    name: str, *, quick: bool, output: Path | None, jobs: int, fresh: bool, as_json: bool
) -> None:
    """Run a study, write its files, print its tables or its JSON."""
    import matplotlib  # noqa: F401 - better missed now than after the work

    study = get_study(name)
    talk = console(stderr=True)
    try:
        results = _run(study, quick, output, jobs, fresh, talk)
    except KeyboardInterrupt:
        _tell_what_is_kept(study, quick, output, talk)
        raise
    written = results.write(results_folder(output) / study.name)
    if as_json:
        print_json({**results.summarize(), "files": {k: str(v) for k, v in written.items()}})
        return
    _print(results)
    for kind, path in written.items():
        console().print(Text.assemble((f"{kind:>9}  ", "dim"), str(path)), soft_wrap=True)


def run_all(*, quick: bool, output: Path | None, jobs: int, fresh: bool, as_json: bool) -> None:
    """Run every study whose data are there and write its files: all tables and plots again."""
    import matplotlib  # noqa: F401 - better missed now than after the work

    talk = console(stderr=True)
    made: dict[str, dict[str, str] | None] = {}
    for study in studies().values():
        if _missing(study):
            made[study.name] = None
            continue
        results = _run(study, quick, output, jobs, fresh, talk)
        written = results.write(results_folder(output) / study.name)
        made[study.name] = {kind: str(path) for kind, path in written.items()}
    if as_json:
        print_json(made)
        return
    for name, files in made.items():
        state = "data missing" if files is None else next(iter(files.values()))
        console().print(Text.assemble((f"{name}  ", "bold"), state), soft_wrap=True)


def _facts(study: Study) -> dict[str, object]:
    return {
        "name": study.name,
        "title": study.title,
        "about": study.about,
        "cells": len(list(study.cells(quick=False))),
        "quick_cells": len(list(study.cells(quick=True))),
        "data": list(study.data),
        "data_missing": _missing(study),
    }


def _missing(study: Study) -> list[str]:
    return [name for name in study.data if not (data_folder() / name).is_file()]


def _data_state(study: Study) -> str:
    missing = len(_missing(study))
    if not study.data:
        return "generated"
    return "present" if not missing else f"{missing} of {len(study.data)} files missing"


def _run(
    study: Study, quick: bool, output: Path | None, jobs: int, fresh: bool, talk: Console
) -> Results:
    """Run with a bar on stderr where that is a terminal, silently where it is a pipe."""
    work = partial(run_study, study, quick=quick, folder=output, n_jobs=jobs, fresh=fresh)
    if not talk.is_terminal:
        return work()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=talk, transient=True) as progress:
        task = progress.add_task(study.name)
        return work(progress=lambda done, total: progress.update(task, completed=done, total=total))


def _tell_what_is_kept(study: Study, quick: bool, output: Path | None, talk: Console) -> None:
    store = Store.of(study, output)
    cells = list(study.cells(quick=quick))
    done = sum(store.path(cell).exists() for cell in cells)
    talk.print(f"{done} of {len(cells)} cells are kept; the same command goes on from there.")


def _print(results: Results) -> None:
    page = console()
    page.print(Text(results.study.title, style="bold"))
    page.print(Text(results.study.about, style="dim"))
    for table in results.tables():
        page.print()
        for part in _pages(table, page.width):
            page.print(part)
    page.print(
        Text(
            f"{results.form} form, {results.repeats} repeats, mean ± standard error; "
            f"{results.seconds:.1f} s of work",
            style="dim",
        )
    )


def _pages(table: Table, width: int) -> Iterator[RichTable]:
    """The table in as many parts as its columns need in a terminal of this width."""
    widths = [max(map(len, column)) + 2 for column in zip(table.header, *table.lines, strict=True)]
    room = width - widths[0] - 2
    start = 1
    while start < len(widths):
        stop = start + 1
        while stop < len(widths) and sum(widths[start : stop + 1]) <= room:
            stop += 1
        yield _table(table, range(start, stop), first=start == 1)
        start = stop


def _table(table: Table, columns: range, *, first: bool) -> RichTable:
    title = table.title if first else None
    rich = RichTable(
        title=title, title_justify="left", title_style="bold cyan", box=box.SIMPLE_HEAD
    )
    rich.add_column(table.header[0], no_wrap=True)
    for i in columns:
        rich.add_column(table.header[i], justify="right")
    for line, ours in zip(table.lines, table.ours, strict=True):
        rich.add_row(line[0], *(line[i] for i in columns), style="" if ours else "dim")
    return rich
