"""fit, predict, select, compare and info as processes, on files made here."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from shiftlearn import load
from shiftlearn.cli.methods import available
from shiftlearn.datasets import make_rotated_moons

NAMES = np.array(["down", "up"])


@pytest.fixture
def files(tmp_path):
    """old.csv: labelled; new.csv: without labels; few.parquet: some labels; full.csv: all."""
    rng = np.random.default_rng(0)
    Xs, ys, Xt, yt = make_rotated_moons(35, n_per_moon=60, random_state=0).split()

    def frame(X, y):
        colours = [
            None if i % 9 == 0 else str(c) for i, c in enumerate(rng.choice(["r", "g"], len(X)))
        ]
        return pl.DataFrame(
            {"x": X[:, 0], "y": X[:, 1], "colour": colours, "kind": NAMES[(y > 0) * 1]}
        )

    source, target = frame(Xs, ys), frame(Xt, yt)
    source.write_csv(tmp_path / "old.csv")
    target.drop("kind").select("colour", "y", "x").write_csv(tmp_path / "new.csv")
    target.write_csv(tmp_path / "full.csv")
    known = pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("kind"))
    target.with_columns(kind=known).write_parquet(tmp_path / "few.parquet")
    return tmp_path


@pytest.fixture
def here(files, monkeypatch, capsys):
    """Run a command in this process: quicker by the seconds that imports cost."""
    from shiftlearn.cli.app import run

    monkeypatch.chdir(files)
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments):
        capsys.readouterr()
        code = run(list(arguments))
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


def good(result):
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    return result.stdout


def bad(result, code, *words):
    assert result.returncode == code, (result.stdout, result.stderr)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert 1 <= len(lines) <= 3 and lines[0].startswith("shiftlearn: error: ")
    for word in words:
        assert word in result.stderr


def test_fit_predict_select_info(shiftlearn_cli, files):
    fitted = ("fit", "old.csv", "new.csv", "-l", "kind", "-m", "daksvm", "-o", "a.skops")
    text = good(shiftlearn_cli(*fitted, "--set", "C=2"))
    assert "DAKSVC" in text and "proved" in text and "a.toml" in text
    assert "C = 2" in (files / "a.toml").read_text()

    good(shiftlearn_cli("predict", "a.skops", "new.csv", "-o", "p.csv", "--scores"))
    found = pl.read_csv(files / "p.csv")
    assert found.columns == ["kind", "score"] and found.height == 120
    model = load(files / "a.skops")
    rows = pl.read_csv(files / "new.csv").select("x", "y", "colour")
    assert found["kind"].to_list() == model.predict(rows).tolist()
    np.testing.assert_allclose(found["score"].to_numpy(), model.decision_function(rows))

    piped = good(shiftlearn_cli("predict", "a.skops", "full.csv"))
    assert piped.splitlines() == ["kind", *found["kind"].to_list()]
    report = json.loads(
        good(shiftlearn_cli("select", "a.skops", "new.csv", "-n", "7", "-o", "q.csv", "--json"))
    )
    picked = pl.read_csv(files / "q.csv")
    assert picked["row"].to_list() == report["rows"] and picked.height == 7
    assert (
        picked["x"].to_list()
        == pl.read_csv(files / "new.csv")["x"].gather(report["rows"]).to_list()
    )
    facts = json.loads(good(shiftlearn_cli("info", "a.skops", "--json")))
    assert facts["notes"]["method"] == "daksvm" and facts["notes"]["settings"] == {"C": 2}
    assert "DAKSVC" in good(shiftlearn_cli("info", "a.skops"))

    # What was used is enough to do it again.
    again = json.loads(good(shiftlearn_cli("fit", "-c", "a.toml", "-o", "b.skops", "--json")))
    assert again["settings"] == {"C": 2}
    second = good(shiftlearn_cli("predict", "b.skops", "new.csv"))
    assert second == piped


def test_pipes(shiftlearn_cli, environment, files):
    good(shiftlearn_cli("fit", "old.csv", "-l", "kind", "-m", "svc", "-o", "a.skops"))
    code = "from shiftlearn.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", "a.skops", "-"],
        cwd=files, env=environment, input=(files / "new.csv").read_bytes(), capture_output=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.count(b"\n") == 121


METHODS = [m.name for m in available()]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_and_predicts(method, here, files):
    rows = next(m.rows for m in available() if m.name == method)
    target = {"labelled": ["few.parquet"], "source": []}.get(rows, ["new.csv"])
    label = [] if rows == "normal" else ["-l", "kind"]
    source = "new.csv" if rows == "normal" else "old.csv"
    good(here("fit", source, *target, *label, "-m", method, "-o", "m.skops"))
    good(here("predict", "m.skops", "new.csv", "-o", "p.csv"))
    found = pl.read_csv(files / "p.csv")
    allowed = {-1, 1} if rows == "normal" else {"up", "down"}
    assert found.height == 120 and set(found.to_series().to_list()) <= allowed


def test_libsvm_all_the_way(here, files, tmp_path):
    rng = np.random.default_rng(0)
    for name, move in (("old", 0.0), ("new", 1.0)):
        lines = []
        for i in range(60):
            y = i % 2
            a, b = rng.normal([y * 3 + move, move])
            lines.append(f"{y} 1:{a:.4f} 3:{b:.4f}")
        (tmp_path / f"{name}.svm").write_text("\n".join(lines))
    good(here("fit", "old.svm", "new.svm", "-m", "lsdaksvm", "-o", "m"))
    (tmp_path / "one.svm").write_text("0 1:3.0\n")
    assert good(here("predict", "m", "one.svm")).splitlines()[0] == "label"
    (tmp_path / "wide.svm").write_text("0 1:3.0 9:1\n")
    bad(here("predict", "m", "wide.svm"), 1, "9 columns, but the model has 3")


def test_compare(shiftlearn_cli, files):
    arguments = ("compare", "old.csv", "full.csv", "-l", "kind", "-m", "daksvm", "-m", "svc")
    found = json.loads(good(shiftlearn_cli(*arguments, "--json")))
    assert [line["method"] for line in found["methods"]] == ["logistic", "daksvm", "svc"]
    best = max(found["methods"], key=lambda line: line["measured"][0])
    assert found["take"] == best["method"] and "against source-only" in found["why"]
    text = good(shiftlearn_cli(*arguments[:1], "old.csv", "new.csv", *arguments[3:]))
    assert "Take logistic" in text and "shiftlearn select" in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("fit",), 1, ["SOURCE is needed"]),
        (("fit", "old.csv", "-l", "kind", "-m", "svc"), 1, ["OUTPUT is needed"]),
        (("fit", "no.csv", "-l", "kind", "-m", "svc", "-o", "m"), 1, ["no.csv"]),
        (("fit", "old.csv", "-m", "svc", "-o", "m"), 1, ["--label"]),
        (("fit", "old.csv", "-l", "size", "-m", "svc", "-o", "m"), 1, ["'size'", "x, y, colour"]),
        (("fit", "old.csv", "-l", "kind", "-m", "svm", "-o", "m"), 1, ["'svm'", "daksvm"]),
        (("fit", "old.csv", "-l", "kind", "-m", "daksvm", "-o", "m"), 1, ["TARGET"]),
        (
            ("fit", "old.csv", "new.csv", "-l", "kind", "-m", "adapt-svm", "-o", "m"),
            1, ["needs some labels", "shiftlearn select"],
        ),
        (
            ("fit", "old.csv", "-l", "kind", "-m", "svc", "-o", "m", "--set", "D=1"),
            1, ["'D'", "--set takes"],
        ),
        (("fit", "old.csv", "-l", "kind", "-m", "svc", "-o", "no/m"), 1, ["no folder"]),
        (("fit", "old.csv", "-l", "kind", "-m", "svc", "-o", "m", "--set", "C=-1"), 1, ["C must"]),
        (("predict", "no.skops", "new.csv"), 1, ["no.skops"]),
        (("predict", "old.csv", "new.csv"), 1, ["not a model of shiftlearn"]),
        (("predict", "old.csv", "new.csv", "-o", "p.xlsx"), 1, ["suffix"]),
        (("predict", "old.csv", "new.csv", "--json"), 2, ["--output FILE"]),
        (("select", "old.csv", "new.csv", "-n", "0"), 2, ["-n"]),
        (("compare", "old.csv", "no.csv", "-l", "kind"), 1, ["no.csv"]),
        (("info", "no.skops"), 1, ["no.skops"]),
    ],
)  # fmt: skip
def test_errors_are_short_and_name_the_remedy(here, files, arguments, code, words):
    before = sorted(p.name for p in files.iterdir())
    bad(here(*arguments), code, *words)
    assert sorted(p.name for p in files.iterdir()) == before


def test_columns_that_do_not_match_are_named(here, files):
    good(here("fit", "old.csv", "-l", "kind", "-m", "svc", "-o", "m"))
    pl.read_csv(files / "new.csv").rename({"x": "X"}).write_csv(files / "other.csv")
    bad(here("predict", "m", "other.csv"), 1, "missing: x", "not known: X")


def test_an_old_output_survives_a_failure(here, files):
    good(here("fit", "old.csv", "-l", "kind", "-m", "svc", "-o", "m"))
    (files / "p.csv").write_text("before")
    (files / "broken.csv").write_text("x,y,colour\n1,2\nword,3,4,5\n")
    bad(here("predict", "m", "broken.csv", "-o", "p.csv"), 1, "broken.csv")
    assert (files / "p.csv").read_text() == "before"


def test_a_hostile_model_is_refused(here, files):
    import pickle

    class Evil:
        def __reduce__(self):
            return open, (str(files / "it-ran"), "w")

    (files / "evil.pkl").write_bytes(pickle.dumps(Evil()))
    bad(here("predict", "evil.pkl", "new.csv"), 1, "Pickles are not read")
    bad(here("info", "evil.pkl"), 1, "not a model")
    assert not (files / "it-ran").exists()


def test_one_class(here, files):
    arguments = ("fit", "old.csv", "new.csv", "-l", "kind", "--normal", "up", "-m", "oneclass")
    facts = json.loads(good(here(*arguments, "-o", "m", "--json")))
    assert facts["rows"] == {"source": 60, "target": 120}
    bad(here(*arguments[:5], "--normal", "left", "-m", "oneclass", "-o", "m"), 1, "'left'")


def test_report(shiftlearn_cli, files):
    text = good(shiftlearn_cli("report", "old.csv", "new.csv", "-l", "kind", "-o", "r.html"))
    assert "domain AUC" in text and "First: " in text and "r.html" in text
    assert (files / "r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_report_about_a_model(here, files):
    good(here("fit", "old.csv", "-l", "kind", "-m", "logistic", "-o", "m"))
    call = ("report", "old.csv", "full.csv", "-l", "kind", "--model", "m", "-o", "r.md", "--json")
    facts = json.loads(good(here(*call)))
    assert (
        "as given" in facts["model"]["model"] and facts["model"]["target_measured"]["rows"] == 120
    )
    assert facts["page"] == str(files / "r.md")
    bad(here("report", "old.csv", "new.csv", "-o", "r.pdf"), 1, ".html, .md or .json")
