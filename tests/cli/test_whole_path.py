"""report -> compare -> select -> fit -> predict on real shifted data, each step its own process."""

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from shiftlearn import load
from shiftlearn.datasets import load_isolet, load_mushroom, load_newsgroups_task

ROWS = 240


def mushrooms():
    """Categories with gaps; stalks that widen, stalks that taper."""
    data = load_mushroom()
    frame = pl.DataFrame({name: data.data[:, j] for j, name in enumerate(data.feature_names)}).drop(
        "stalk-shape"
    )
    return frame.with_columns(label=pl.Series(data.target.tolist())), data.domain == 0


def letters():
    """617 acoustic features; one group of speakers, another."""
    data = load_isolet()
    kept = np.isin(data.target, list("BDE")) & np.isin(data.domain, [0, 4])
    frame = pl.DataFrame({f"f{j}": data.data[kept, j] for j in range(0, 617, 8)})
    return frame.with_columns(label=pl.Series(data.target[kept].tolist())), data.domain[kept] == 0


def articles():
    """One column of text; other newsgroups of the same two subjects."""
    data = load_newsgroups_task(6)
    texts = [re.sub(r"\s+", " ", text)[:600] for text in data.data]
    names = np.array(["recreation", "science"])[(data.target < 0) * 1]
    return pl.DataFrame({"text": texts, "label": names.tolist()}), data.domain >= 0


@pytest.fixture
def tables(tmp_path):
    def write(make, suffix):
        try:
            frame, source = make()
        except FileNotFoundError as error:
            pytest.skip(str(error))
        rng = np.random.default_rng(0)
        for name, part in (("old", source), ("new", ~source)):
            places = np.flatnonzero(part)
            rows = frame[
                np.sort(rng.choice(places, min(ROWS, len(places)), replace=False)).tolist()
            ]
            if name == "old":
                save(rows, tmp_path / f"old{suffix}")
            else:
                known = pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.col("label"))
                save(rows.drop("label"), tmp_path / f"new{suffix}")
                save(rows.with_columns(label=known), tmp_path / f"few{suffix}")
        return tmp_path

    def save(rows, path):
        rows.write_parquet(path) if path.suffix == ".parquet" else rows.write_csv(path)

    return write


@pytest.mark.data
@pytest.mark.parametrize(
    ("make", "suffix"),
    [
        (mushrooms, ".csv"),
        pytest.param(letters, ".parquet", marks=pytest.mark.slow),
        pytest.param(articles, ".csv", marks=pytest.mark.slow),
    ],
)
def test_the_whole_path(shiftlearn_cli, tables, make, suffix):
    folder = tables(make, suffix)
    old, new, few = (f"{name}{suffix}" for name in ("old", "new", "few"))

    def call(*arguments):
        result = shiftlearn_cli(*arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    report = call("report", old, new, "-l", "label", "--json")
    assert report["shift"]["moved"] and (folder / "shift-report.html").is_file()
    compared = call(
        "compare", old, few, "-l", "label", "-m", "adapt-logistic", "-m", "svc", "--json"
    )
    assert len(compared["methods"]) == 3 and not any(m["failed"] for m in compared["methods"])
    call("fit", old, "-l", "label", "-m", "logistic", "-o", "first.skops", "--json")
    wanted = call("select", "first.skops", new, "-n", "15", "-o", "wanted.csv", "--json")["rows"]
    assert len(set(wanted)) == 15
    call("fit", old, few, "-l", "label", "-m", "adapt", "-o", "second.skops", "--json")
    call("predict", "second.skops", new, "-o", "answers.parquet", "--json")

    # The model in this process answers as the command did in its own.
    rows = (
        pl.read_csv(folder / new, null_values="?")
        if suffix == ".csv"
        else pl.read_parquet(folder / new)
    )
    expected = load(folder / "second.skops").predict(rows)
    answers = pl.read_parquet(folder / "answers.parquet")["label"].to_list()
    assert answers == expected.tolist() and len(answers) == rows.height


@pytest.mark.data
def test_in_memory_and_from_the_file(tables, tmp_path):
    """The pipeline as it was fitted, and as another process loads it."""
    from shiftlearn import save
    from shiftlearn.cli.learn import learn, pair
    from shiftlearn.cli.methods import get_method
    from shiftlearn.cli.tables import read_table

    folder = tables(mushrooms, ".csv")
    source, target = pair(
        read_table(str(folder / "old.csv"), "label"), read_table(str(folder / "new.csv"), "label")
    )
    model = learn(get_method("lsdaksvm"), {}, source, target).model
    save(model, tmp_path / "m.skops")
    target.rows.write_parquet(tmp_path / "rows.parquet")
    code = (
        "import sys, polars as pl, numpy as np, shiftlearn\n"
        "model = shiftlearn.load(sys.argv[1])\n"
        "np.save(sys.argv[3], model.decision_function(pl.read_parquet(sys.argv[2])))"
    )
    out = tmp_path / "scores.npy"
    arguments = [tmp_path / "m.skops", tmp_path / "rows.parquet", out]
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(out), model.decision_function(target.rows))
