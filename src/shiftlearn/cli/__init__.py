"""The command line ``shiftlearn``.

Exit codes: 0 done; 1 the work could not be done (wrong input, a failed computation); 2 the command
was called wrongly; 3 something is missing (an extra, a data set); 70 an error of the library's own;
130 interrupted. Errors are at most three lines on stderr; ``--debug`` shows where they arose.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.stderr.write(
            f"shiftlearn: error: the command line needs {error.name}, which is not installed.\n"
            '  Install the extra: pip install "shiftlearn[cli]"\n'
        )
        raise SystemExit(3) from None
    from shiftlearn.cli.app import run

    raise SystemExit(run(list(sys.argv[1:] if arguments is None else arguments)))
