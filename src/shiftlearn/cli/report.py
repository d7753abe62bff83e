"""``shiftlearn report``: two tables in, a page out, the gist on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from shiftlearn.cli.console import console, print_json
from shiftlearn.cli.learn import pair
from shiftlearn.cli.models import fitting, loaded
from shiftlearn.cli.tables import Table, check_folder, read_table
from shiftlearn.cli.work import working

__all__ = ["run", "tell"]


def run(
    source: str, target: str, label: str | None, model: str | None, output: str, rows: int,
    seed: int, trusted: Sequence[str], *, as_json: bool,
) -> None:  # fmt: skip
    """Measure, write the page, print the gist or all facts."""
    from shiftlearn.report.report import shift_report
    from shiftlearn.report.write import check_path

    check_path(output)
    check_folder(output)
    first, second = pair(read_table(source, label), read_table(target, label))
    assert second is not None
    pipeline = None
    if model is not None:
        pipeline, facts = loaded(model, trusted)
        first, second = fitting(first, facts), fitting(second, facts)
    with working("measuring"):
        found = shift_report(
            first.rows, second.rows, first.labels, second.labels, model=pipeline, path=output,
            names=(_name(first, "source"), _name(second, "target")), max_rows=rows,
            random_state=seed,
        )  # fmt: skip
    if as_json:
        print_json({**found, "page": str(Path(output).absolute())})
    else:
        tell(found)
        console().print(Text.assemble(("Report  ", "bold"), (output, "cyan")), soft_wrap=True)


def tell(facts: dict[str, Any]) -> None:
    """The gist of a report."""
    page, shift = console(), facts["shift"]
    auc = shift["domain_auc"]
    page.print(Text(shift["verdict"], style="bold"))
    page.print(
        Text(
            f"MMD p = {shift['mmd']['p_value']:.3f}   domain AUC {auc['auc']:.3f} "
            f"({auc['low']:.3f} to {auc['high']:.3f})   Jensen-Shannon "
            f"{shift['jensen_shannon_bits']:.3f} bits"
        )
    )
    moved = [f["name"] for f in facts["features"] if f["moved"]]
    more = f" and {len(moved) - 6} more" if len(moved) > 6 else ""
    if moved:
        page.print(Text(f"Moved: {', '.join(moved[:6])}{more}"))
    step = facts["advice"][0]
    page.print(Text(f"First: {step['step']}. {step['why']}"))


def _name(table: Table, otherwise: str) -> str:
    return otherwise if table.name == "standard input" else Path(table.name).name
