"""Doing the cells of a study that are not done yet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from shiftlearn.errors import DataNotFoundError
from shiftlearn.studies.base import Cell, Study
from shiftlearn.studies.results import Results
from shiftlearn.studies.store import Record, Store

__all__ = ["StudyError", "run_study"]

Progress = Callable[[int, int], object]


class StudyError(RuntimeError):
    """Some cells of a study failed; the others are kept."""


def run_study(
    study: Study,
    *,
    quick: bool = False,
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Do what is left to do of a study, and give all of its results.

    Parameters
    ----------
    study : Study
        The study.
    quick : bool
        The quick form (seconds) instead of the full one.
    folder : path, optional
        Where finished cells are kept; see `results_folder`.
    n_jobs : int
        Cells at a time, in processes of their own. 1 by default: the library's own threads already
        use all cores, and times are only comparable when cells run alone.
    fresh : bool
        Do every cell again.
    progress : callable, optional
        Called with (cells done, cells in all).

    Returns
    -------
    Results
        Interrupted with Ctrl-C, finished cells are kept and the next call goes on from them.

    Examples
    --------
    >>> import tempfile
    >>> from shiftlearn.studies import Study, run_study
    >>> squares = Study("squares", "Squares", "", lambda x, seed: {"y": x * x},
    ...                 grid={"x": (1, 2)}, columns="x", figures={"y": "y"}, seeds=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [row.mean for row in run_study(squares, folder=folder).rows]
    [1.0, 4.0]
    """
    cells = list(study.cells(quick=quick))
    store = Store.of(study, folder)
    kept = [None if fresh else store.load(cell) for cell in cells]
    missing = [cell for cell, record in zip(cells, kept, strict=True) if record is None]
    _run_missing(study, store, missing, n_jobs, progress, len(cells))
    records = [store.load(cell) for cell in cells]
    return Results(study, quick, tuple(record for record in records if record is not None))


def _run_missing(
    study: Study,
    store: Store,
    cells: list[Cell],
    n_jobs: int,
    progress: Progress | None,
    total: int,
) -> None:
    from joblib import Parallel, delayed

    done, failures = total - len(cells), []
    report = progress or (lambda done, total: None)
    report(done, total)
    # Each worker keeps its own cell, so that what is finished survives whatever comes after.
    jobs = (delayed(_run_and_keep)(study.run_cell, store, cell) for cell in cells)
    for failure in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
        done += 1
        report(done, total)
        if failure:
            failures.append(failure)
    if failures:
        raise StudyError(
            f"{len(failures)} of {total} cells of {study.name} failed; the others are kept. "
            f"The first: {failures[0]}"
        )


def _run_and_keep(
    run_cell: Callable[..., Mapping[str, Any]], store: Store, cell: Cell
) -> str | None:
    """Do one cell; say what went wrong, if anything did."""
    start = time.perf_counter()
    try:
        figures = run_cell(seed=cell.seed, **cell.settings)
        seconds = time.perf_counter() - start
        numbers = {name: float(value) for name, value in figures.items()}
        store.save(Record(cell.settings, cell.seed, numbers, seconds))
    except (DataNotFoundError, OSError):
        raise
    except Exception as error:
        setting = ", ".join(f"{name}={value}" for name, value in cell.settings.items())
        return f"{type(error).__name__}: {error} ({setting}, seed={cell.seed})"
    return None
