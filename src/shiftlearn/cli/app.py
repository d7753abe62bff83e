"""The commands and their options; the work is imported inside each, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shiftlearn.cli import errors, methods

__all__ = ["run"]

_EPILOG = (
    "Exit codes: 0 done, 1 could not be done, 2 called wrongly, 3 an extra or data set is missing, "
    "70 an error of the library, 130 interrupted."
)
app = typer.Typer(
    help="Classifiers that keep working when the data move.",
    epilog=_EPILOG,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_FORMS = "CSV, Parquet, libsvm, a folder of Parquet, - for standard input"
Trust = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="CLASS", help="A class of another package in the model."),
]
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
        Path, typer.Option("--output", "-o", help="Where the report goes (.html, .md, .json).")
    ] = Path("shiftlearn-demo.html"),
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Also draw the regions of the model (PNG).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated data.")] = 0,
    json: Json = False,
) -> None:
    """The library in half a minute: a shift, five systems at work, a report; offline."""
    from shiftlearn.cli import demo as work

    # Where the page cannot go is better known before the work than after it.
    for name, path in (("--output", output), ("--picture", picture)):
        if path is not None and not path.absolute().parent.is_dir():
            folder = path.absolute().parent
            raise typer.BadParameter(f"there is no folder {folder}.", param_hint=name)
    if output.suffix.lower() not in (".html", ".htm", ".md", ".json"):
        raise typer.BadParameter("must end in .html, .md or .json.", param_hint="--output")
    work.show(output, picture, seed=seed, as_json=json)


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
    all_: Annotated[bool, typer.Option("--all", help="Run all whose data are there.")] = False,
    json: Json = False,
) -> None:
    """Run one experiment of the papers: a table with the printed figures beside ours, a plot."""
    from shiftlearn.cli import study as work

    if list_:
        work.list_studies(as_json=json)
    elif all_:
        work.run_all(quick=quick, output=output, jobs=jobs, fresh=fresh, as_json=json)
    elif name not in work.names():
        found = "nothing" if name is None else repr(name)
        known = ", ".join(work.names())
        raise typer.BadParameter(f"needs one of {known}; got {found}.", param_hint="NAME")
    else:
        work.run(name, quick=quick, output=output, jobs=jobs, fresh=fresh, as_json=json)


@app.command()
def info(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A model file; without it this machine.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the data files with their checksums.")
    ] = False,
    json: Json = False,
) -> None:
    """What a model file holds; without one: versions, threads, BLAS, folders, for a bug report."""
    if model is not None:
        from shiftlearn.cli import models

        models.info(model, as_json=json)
        return
    from shiftlearn.cli import info as work

    work.show(verify=verify, as_json=json)


@app.command(help=methods.fit_help())
def fit(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help=f"Labelled rows: {_FORMS}.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Argument(metavar="TARGET", help="Rows of where the model will work, if you have."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="Column that holds the labels.")
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="One of those below; adapt without it.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Model file; .skops is customary.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
    ] = None,
    normal: Annotated[
        str | None, typer.Option("--normal", help="One class: the label of normal source rows.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", "-c", help="TOML file with any of these.")
    ] = None,
    json: Json = False,
) -> None:
    from shiftlearn.cli import models

    given = {
        "source": source, "target": target, "label": label, "method": method, "output": output,
        "normal": normal,
    }  # fmt: skip
    models.fit(given, settings or [], config, as_json=json)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="File that fit wrote.")],
    data: Annotated[str, typer.Argument(help=f"Rows to predict: {_FORMS}.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help=".csv, .tsv or .parquet; - is standard output.")
    ] = "-",
    scores: Annotated[
        bool, typer.Option("--scores", help="Probabilities or scores in columns of their own.")
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="A Dask cluster: each file of a folder of Parquet by a worker, into a folder.",
        ),
    ] = None,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Predict one label for each row, in the order of the rows."""
    from shiftlearn.cli import models

    if scheduler is not None:
        models.predict_on_cluster(
            model, data, output, scheduler, scores=scores, trusted=trust or [], as_json=json
        )
        return
    _no_json_to_pipe(json, output)
    models.predict(model, data, output, scores=scores, trusted=trust or [], as_json=json)


@app.command()
def select(
    model: Annotated[str, typer.Argument(help="File that fit wrote.")],
    pool: Annotated[str, typer.Argument(help=f"Rows without labels: {_FORMS}.")],
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="How many rows.")] = 20,
    output: Annotated[
        str, typer.Option("--output", "-o", help=".csv, .tsv or .parquet; - is standard output.")
    ] = "-",
    strategy: Annotated[
        str, typer.Option("--strategy", help="diverse, prior, best-worst or random.")
    ] = "diverse",
    seed: Annotated[int, typer.Option(min=0, help="Seed of draws.")] = 0,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Choose the rows worth labelling next, the most wanted first."""
    from shiftlearn.cli import models

    _no_json_to_pipe(json, output)
    models.select(model, pool, number, output, strategy, seed, trust or [], as_json=json)


@app.command()
def compare(
    source: Annotated[str, typer.Argument(help=f"Labelled rows: {_FORMS}.")],
    target: Annotated[str, typer.Argument(help="Rows of where the model will work.")],
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="Column that holds the labels.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", "-m", help="A method of fit; repeatable; the usual ones without it."
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=20, help="Most rows of each table.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of draws.")] = 0,
    json: Json = False,
) -> None:
    """Methods side by side on your two tables; says which to take and why, source-only included."""
    from shiftlearn.cli import compare as work

    work.run(source, target, label, method or [], rows, seed, as_json=json)


@app.command()
def report(
    source: Annotated[str, typer.Argument(help=f"Rows of before: {_FORMS}.")],
    target: Annotated[str, typer.Argument(help="Rows of today.")],
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="Column that holds the labels.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="File that fit wrote: what it means for it.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help=".html, .md or .json.")
    ] = "shift-report.html",
    rows: Annotated[int, typer.Option(min=20, help="Most rows of each table.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of draws.")] = 0,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Whether, where and how two tables differ, what it means for a model, what to do."""
    from shiftlearn.cli import report as work

    work.run(source, target, label, model, output, rows, seed, trust or [], as_json=json)


def _no_json_to_pipe(json: bool, output: str) -> None:
    if json and output == "-":
        raise typer.BadParameter(
            "--json prints on standard output, where the rows go too; give --output FILE.",
            param_hint="--json",
        )
