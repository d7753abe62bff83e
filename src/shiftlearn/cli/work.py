"""A sign of life on stderr for work that takes longer than two seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shiftlearn.cli.console import console

__all__ = ["working"]

_PATIENCE = 2.0


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a bar with the time on a terminal while the block runs, after two seconds."""
    talk = console(stderr=True)
    if not talk.is_terminal:
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=talk, transient=True)
    progress.add_task(what, total=None)
    timer = threading.Timer(_PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        progress.stop()
