"""``shiftlearn predict --scheduler``: a folder of Parquet predicted file by file on a Dask cluster.

Each worker reads its file, predicts and writes a file of the same name, so that no rows travel;
the folders must be places that all workers see.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["predict_folder"]


def predict_folder(
    model: str, data: str, output: str, scheduler: str, scores: bool, trusted: Sequence[str]
) -> dict[str, Any]:
    """Predict all files; returns how many rows and files there were."""
    files = _checked(data, output)
    client = _client(scheduler)
    places = [str(Path(place).absolute()) for place in (model, output)]
    try:
        futures = client.map(
            _predict_file, files, model=places[0], output=places[1], scores=scores,
            trusted=list(trusted), pure=False,
        )  # fmt: skip
        rows = _gathered(futures)
    finally:
        client.close()
    return {"rows": rows, "files": len(files), "output": places[1]}


def _checked(data: str, output: str) -> list[str]:
    folder = Path(data)
    files = sorted(str(p.absolute()) for p in folder.glob("*.parquet")) if folder.is_dir() else []
    if not files:
        raise ValueError(f"--scheduler needs a folder of Parquet files; {data} is none.")
    place = Path(output)
    if output == "-" or place.suffix or not place.absolute().parent.is_dir():
        raise ValueError(
            f"--output must name a folder with --scheduler (a file for each file), got {output}."
        )
    if place.is_dir() and place.samefile(folder):
        raise ValueError(f"--output must not be the folder of the rows, {data}.")
    place.mkdir(exist_ok=True)
    return files


def _client(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "--scheduler needs dask and distributed; install `shiftlearn[dask]`."
        ) from error
    try:
        return Client(scheduler, timeout="10s")
    except OSError as error:
        raise ValueError(f"--scheduler: there is no Dask scheduler at {scheduler}.") from error


def _gathered(futures: list[Any]) -> int:
    """The sum of the results, with a bar on a terminal."""
    from distributed import as_completed
    from rich.progress import track

    from shiftlearn.cli.console import console

    talk = console(stderr=True)
    done = track(
        as_completed(futures), "predicting", len(futures), console=talk, transient=True,
        disable=not talk.is_terminal,
    )  # fmt: skip
    return sum(int(future.result()) for future in done)


def _predict_file(file: str, *, model: str, output: str, scores: bool, trusted: list[str]) -> int:
    from shiftlearn.cli.models import predicted
    from shiftlearn.cli.tables import write_table

    columns = predicted(model, file, scores, trusted)
    write_table(columns, str(Path(output) / Path(file).name))
    return len(next(iter(columns.values())))
