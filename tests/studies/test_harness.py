"""Cells are done once, kept, resumed; averages, printed figures and errors are right."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from shiftlearn.errors import DataNotFoundError
from shiftlearn.studies import (
    Cell,
    Record,
    Store,
    Study,
    StudyError,
    get_study,
    reference_row,
    run_study,
    studies,
    study,
)


def toy_cell(method, x, seed):
    """Counts itself in a file and fails, or is interrupted, where a file says so."""
    place = Path(os.environ["TOY_FOLDER"])
    with (place / "calls").open("a") as log:
        log.write(f"{method} {x} {seed}\n")
    if (place / "interrupt").exists() and x == 3:
        raise KeyboardInterrupt
    if (place / "fail").exists() and x == 2:
        raise ZeroDivisionError("nothing to divide by")
    return {"y": x * x + seed, "z": 0.5} if method == "square" else {"y": x}


def toy_study(**changes):
    fields = {
        "name": "toy",
        "title": "A toy",
        "about": "Squares.",
        "run_cell": toy_cell,
        "grid": {"method": ("square", "same"), "x": (1, 2, 3)},
        "columns": "x",
        "figures": {"y": "y (units)", "z": "z"},
        "seeds": 3,
        "quick": {"x": (1, 3)},
        "quick_seeds": 1,
        "references": reference_row("y", "x", (1, 2, 3), (2.5, 5.5, 10.5), method="square"),
    }
    return Study(**{**fields, **changes})


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FOLDER", str(tmp_path))
    return tmp_path


def calls(place):
    log = place / "calls"
    return log.read_text().splitlines() if log.exists() else []


def test_averages_errors_and_references(place):
    results = run_study(toy_study(), folder=place)
    row = next(r for r in results.rows if r.settings == {"method": "square", "x": 2})
    values = np.array([4, 5, 6])
    assert (row.figure, row.mean, row.repeats, row.reference) == ("y", 5.0, 3, 5.5)
    assert row.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(3))
    assert len(calls(place)) == 18
    # "same" gives no z: no row of z is made for it.
    assert {r.settings["method"] for r in results.rows if r.figure == "z"} == {"square"}


def test_a_second_run_does_nothing_again(place):
    first = run_study(toy_study(), folder=place)
    seen = []
    second = run_study(toy_study(), folder=place, progress=lambda *state: seen.append(state))
    assert len(calls(place)) == 18 and seen == [(18, 18)]
    assert first.rows == second.rows and first.seconds == second.seconds
    run_study(toy_study(), folder=place, fresh=True)
    assert len(calls(place)) == 36


def test_quick_and_full_share_their_cells(place):
    quick = run_study(toy_study(), quick=True, folder=place)
    assert len(calls(place)) == 4
    assert {row.repeats for row in quick.rows} == {1}
    assert all(np.isnan(row.standard_error) for row in quick.rows)
    run_study(toy_study(), folder=place)
    assert len(calls(place)) == 18


def test_a_new_version_or_setting_asks_for_new_work(place):
    run_study(toy_study(), quick=True, folder=place)
    run_study(toy_study(version=2), quick=True, folder=place)
    assert len(calls(place)) == 8
    run_study(toy_study(quick={"x": (1, 2)}), quick=True, folder=place)
    assert len(calls(place)) == 10


def test_interrupted_work_is_resumed(place):
    (place / "interrupt").touch()
    with pytest.raises(KeyboardInterrupt):
        run_study(toy_study(), folder=place)
    before = calls(place)
    assert before == ["square 1 0", "square 2 0", "square 3 0"]
    (place / "interrupt").unlink()
    results = run_study(toy_study(), folder=place)
    assert len(calls(place)) == len(before) - 1 + 18 - 1  # the interrupted cell is done again
    assert len(results.records) == 18


def test_failures_are_told_and_the_rest_is_kept(place):
    (place / "fail").touch()
    with pytest.raises(StudyError, match=r"6 of 18 cells of toy failed.*ZeroDivisionError.*x=2"):
        run_study(toy_study(), folder=place)
    (place / "fail").unlink()
    run_study(toy_study(), folder=place)
    assert len(calls(place)) == 18 + 6


def test_missing_data_stop_at_once(place):
    def needs_data(x, method, seed):
        raise DataNotFoundError("a.mat is not there")

    with pytest.raises(DataNotFoundError, match=r"a\.mat"):
        run_study(toy_study(run_cell=needs_data), folder=place)


def test_a_damaged_file_is_done_again(place):
    toy = toy_study()
    run_study(toy, quick=True, folder=place)
    store = Store.of(toy, place)
    files = list((store.folder / "cells").iterdir())
    assert len(files) == 4
    files[0].write_text("{")
    files[1].write_text("[]")
    run_study(toy, quick=True, folder=place)
    assert len(calls(place)) == 6


def test_workers_give_the_same_results(place):
    def square(method, x, seed):  # a local function travels to the workers by value
        return {"y": x * x + seed}

    toy = toy_study(run_cell=square)
    serial = run_study(toy, folder=place / "one")
    parallel = run_study(toy, folder=place / "two", n_jobs=2)
    assert len(parallel.records) == 18
    assert serial.rows == parallel.rows


def test_tables_put_the_printed_figure_under_ours(place):
    table, second = run_study(toy_study(), folder=place).tables()
    assert table.header == ("x", "1", "2", "3") and table.title == "y (units)"
    assert table.lines[0] == ("square", "2.0 ± 0.6", "5.0 ± 0.6", "10.0 ± 0.6")
    assert table.lines[1] == ("  paper", "2.5", "5.5", "10.5")
    assert table.lines[2] == ("same", "1.000 ± 0.000", "2.0 ± 0.0", "3.0 ± 0.0")
    assert table.ours == (True, False, True)
    assert [line[0] for line in second.lines] == ["square"]


def test_written_files(place):
    results = run_study(toy_study(), folder=place)
    paths = results.write(place / "out")
    content = json.loads(paths["json"].read_text("utf-8"))
    assert content["form"] == "full" and len(content["rows"]) == 9
    assert content["rows"][0] == {
        "figure": "y",
        "settings": {"method": "square", "x": 1},
        "mean": 2.0,
        "standard_error": pytest.approx(1 / np.sqrt(3)),
        "repeats": 3,
        "reference": 2.5,
    }
    assert content["environment"]["threads"] >= 1
    markdown = paths["markdown"].read_text("utf-8")
    assert "| square | 2.0 ± 0.6 |" in markdown and "|   paper | 2.5 |" in markdown
    assert paths["picture"].read_bytes().startswith(b"\x89PNG")
    assert (
        json.loads(run_study(toy_study(), quick=True, folder=place).to_json())["rows"][0][
            "standard_error"
        ]
        is None
    )


def test_picture_shows_every_line_and_the_printed_values(place):
    from shiftlearn.studies.draw import draw

    page = draw(run_study(toy_study(), folder=place))
    first, second = page.axes
    assert {text.get_text() for text in first.get_legend().get_texts()} == {
        "square",
        "same",
        "paper",
    }
    dashed = [
        line for line in first.lines if line.get_linestyle() == "--" and len(line.get_xdata())
    ]
    np.testing.assert_allclose(dashed[0].get_ydata(), [2.5, 5.5, 10.5])
    assert second.get_ylabel() == "z"


def test_words_as_columns_are_drawn_in_their_order(place):
    from shiftlearn.studies.draw import draw

    page = draw(run_study(toy_study(columns="method"), folder=place))
    ticks = [text.get_text() for text in page.axes[0].get_xticklabels()]
    assert ticks == ["square", "same"]


def test_settings_that_do_not_apply_are_left_out():
    toy = toy_study(applies=lambda s: s["method"] == "square" or s["x"] == 1)
    assert len(toy.settings(quick=False)) == 4
    seeds = [cell.seed for cell in toy.cells(quick=False)]
    assert seeds == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Two words"}, "name must be words joined by hyphens"),
        ({"columns": "w"}, "columns must be a factor of the grid"),
        ({"quick": {"w": (1,)}}, "quick names factors that the grid has not"),
    ],
)
def test_wrong_definitions_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        toy_study(**changes)


def test_registry_knows_its_studies():
    assert "ground-floor" in studies()
    with pytest.raises(ValueError, match=r"no study named 'nothing'.*ground-floor"):
        get_study("nothing")
    with pytest.raises(ValueError, match="registered already"):
        study("ground-floor", title="", grid={"x": (1,)}, columns="x", figures={})(lambda: {})


def test_numpy_values_are_kept_as_plain_numbers(tmp_path):
    toy = toy_study()
    store = Store.of(toy, tmp_path)
    cell = Cell({"method": "square", "x": np.int64(1)}, 0)
    store.save(Record(cell.settings, 0, {"y": 1.0}, 0.1))
    assert store.load(Cell({"method": "square", "x": 1}, 0)).figures == {"y": 1.0}
