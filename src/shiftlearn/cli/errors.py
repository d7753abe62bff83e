"""Errors as people should see them: what went wrong, what to do, and a code for scripts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from shiftlearn.errors import DataNotFoundError

__all__ = ["FAILED", "INTERNAL", "INTERRUPTED", "MISSING", "USAGE", "reported"]

FAILED, USAGE, MISSING, INTERNAL, INTERRUPTED = 1, 2, 3, 70, 130

# The classes of click, or of typer's own copy of it, whichever this typer uses.
_Usage: Any = typer.BadParameter.__mro__[1]
_Click: Any = typer.BadParameter.__mro__[2]


@dataclass
class Outcome:
    """The exit code that comes out of a block."""

    code: int = 0


@contextmanager
def reported(debug: bool) -> Iterator[Outcome]:
    """Turn what a command raises into a message and an exit code; with ``debug`` let it through."""
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield outcome
            if outcome.code == INTERRUPTED:  # some versions of typer swallow the interrupt
                raise KeyboardInterrupt
        except (typer.Abort, KeyboardInterrupt):
            outcome.code = _say("interrupted.", "", INTERRUPTED)
        except BrokenPipeError:
            # The reader of our output has gone; Python must not complain again when it closes it.
            sys.stderr.close()
            outcome.code = FAILED
        except Exception as error:
            if debug and not isinstance(error, _Click):
                raise
            outcome.code = _say(*_explain(error))
    return


def _explain(error: Exception) -> tuple[str, str, int]:
    """Message, remedy and exit code of an error."""
    again = "Run again with --debug to see where this arose."
    if isinstance(error, _Usage):
        where = error.ctx.command_path if error.ctx is not None else "shiftlearn"
        return error.format_message(), f"Usage: {where} --help", USAGE
    if isinstance(error, _Click):
        return error.format_message(), "", FAILED
    if isinstance(error, DataNotFoundError):
        return str(error), "shiftlearn info shows the data folder in use.", MISSING
    if isinstance(error, ImportError):
        return (
            f"{error.name or error} is not installed.",
            'Install the extra: pip install "shiftlearn[cli]"',
            MISSING,
        )
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}.", "Check the path and its permissions.", FAILED
    if isinstance(error, (ValueError, TypeError)):
        return str(error), "", FAILED
    if isinstance(error, RuntimeError):
        return str(error), again, FAILED
    return f"unexpected {type(error).__name__}: {error}", f"This is a bug. {again}", INTERNAL


def _say(message: str, remedy: str, code: int) -> int:
    """At most three lines on stderr."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()][:2]
    typer.secho("shiftlearn: error: ", fg="red", bold=True, err=True, nl=False)
    typer.echo("\n  ".join(lines), err=True)
    if remedy:
        typer.echo(f"  {remedy}", err=True)
    return code


def _show_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    typer.echo(f"shiftlearn: warning: {message}", err=True)
