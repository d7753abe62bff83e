"""The commands and their options; the work is imported inside each, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shiftlearn.cli import errors

__all__ = ["run"]

_EPILOG = (
    "Exit codes: 0 done, 1 could not be done, 2 called wrongly, 3 an extra or data set is missing, "
    "70 an error of the library, 130 interrupted."
)
app = typer.Typer(
    help="Classifiers that keep working when the data move.",
    epilog=_EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    # --debug may stand anywhere: it is often added at the end after something went wrong.
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    with errors.reported(debug) as outcome:
        command = typer.main.get_command(app)
        result = command.main(
            arguments or ["--help"], prog_name="shiftlearn", standalone_mode=False
        )
        outcome.code = result if isinstance(result, int) else 0
    return outcome.code


def _print_version(asked: bool) -> None:
    if asked:
        import shiftlearn

        typer.echo(f"shiftlearn {shiftlearn.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="On an error show where it arose (stands anywhere).")
    ] = False,
) -> None:
    """Classifiers that keep working when the data move."""


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the picture goes (PNG).")
    ] = Path("shiftlearn-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated data.")] = 0,
    json: Json = False,
) -> None:
    """Show what happens to a classifier when the data move: generated data, seconds, offline."""
    from shiftlearn.cli import demo as work

    # Where the picture cannot go is better known before the work than after it.
    if not output.absolute().parent.is_dir():
        folder = output.absolute().parent
        raise typer.BadParameter(f"there is no folder {folder}.", param_hint="--output")
    work.show(output, seed=seed, as_json=json)


@app.command()
def study(
    name: Annotated[str | None, typer.Argument(help="The study; see --list.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The quick form: seconds.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for results, kept and resumed [SHIFTLEARN_RESULTS or the user's cache].",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do finished cells again.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    json: Json = False,
) -> None:
    """Run one experiment of the papers: a table with the printed figures beside ours, a plot."""
    from shiftlearn.cli import study as work

    if list_:
        work.list_studies(as_json=json)
    elif name not in work.names():
        found = "nothing" if name is None else repr(name)
        known = ", ".join(work.names())
        raise typer.BadParameter(f"needs one of {known}; got {found}.", param_hint="NAME")
    else:
        work.run(name, quick=quick, output=output, jobs=jobs, fresh=fresh, as_json=json)


@app.command()
def info(
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the data files with their checksums.")
    ] = False,
    json: Json = False,
) -> None:
    """Versions, instruction set, threads, BLAS and folders: what to put into a bug report."""
    from shiftlearn.cli import info as work

    work.show(verify=verify, as_json=json)
