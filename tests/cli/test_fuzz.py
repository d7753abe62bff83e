"""Malformed files and argument lists: never a traceback, never a part of an output file."""

import contextlib
import io
import random
import sys

import numpy as np
import polars as pl
import pytest

# As in a terminal: a warning is a line on stderr, not an error.
pytestmark = pytest.mark.filterwarnings("default")

WORDS = [
    "fit", "predict", "select", "compare", "report", "info", "study", "demo", "--json", "--help",
    "-l", "label", "--label", "-m", "svc", "lsdaksvm", "adapt-logistic", "logistic", "oneclass",
    "-o", "out.csv", "out.skops", "out.html", "out.parquet", "no/where.csv", "--set", "C=1", "C=",
    "C=nan", "gamma=[", "x=1", "-n", "3", "-1", "999999", "--scores", "--config", "old.csv",
    "new.csv", "bad.csv", "model.skops", "", " ", "-", "--", "\x00", "ü", "a" * 300, "--seed",
    "--rows", "20", "--strategy", "prior", "nonsense", "--trust", "os.system", "--normal", "a",
    "--debug ", ".", "..", "--model", "--picture", "--list", "--verify",
]  # fmt: skip
PATTERNS = [
    ["fit", "{bad}", "-l", "label", "-m", "svc", "-o", "out.skops"],
    ["fit", "old.csv", "{bad}", "-l", "label", "-m", "lsdaksvm", "-o", "out.skops"],
    ["fit", "old.csv", "{bad}", "-l", "label", "-m", "adapt-logistic", "-o", "out.skops"],
    ["predict", "model.skops", "{bad}", "-o", "out.csv"],
    ["predict", "{bad}", "new.csv", "-o", "out.csv"],
    ["select", "model.skops", "{bad}", "-n", "2", "-o", "out.parquet"],
    ["info", "{bad}"],
    ["fit", "-c", "{bad}", "-o", "out.skops"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from shiftlearn.cli.app import run

    place = tmp_path_factory.mktemp("fuzz")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    frame = pl.DataFrame(
        {"x": X[:, 0], "colour": ["r", "g"] * 20, "label": [int(v) for v in X[:, 0] > 0]}
    )
    frame.write_csv(place / "old.csv")
    frame.drop("label").write_csv(place / "new.csv")
    frame.write_parquet(place / "old.parquet")
    (place / "bad.csv").write_text("x,y\n1\n2,3,4\n")
    (place / "old.svm").write_text("1 1:0.5 2:1\n-1 1:2\n" * 10)
    (place / "settings.toml").write_text('source = "old.csv"\nlabel = "label"\nmethod = "svc"\n')
    arguments = ["fit", str(place / "old.csv"), "-l", "label", "-m", "logistic", "-o"]
    with contextlib.redirect_stdout(io.StringIO()):
        assert run([*arguments, str(place / "model.skops")]) == 0
    return place


def call(arguments, monkeypatch):
    from shiftlearn.cli.app import run

    out, err = io.StringIO(), io.StringIO()
    stdin = type("In", (), {"buffer": io.BytesIO(b"x,colour\n1,r\n"), "isatty": lambda self: False})
    monkeypatch.setattr(sys, "stdin", stdin())
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


def check(arguments, folder, monkeypatch):
    """Run one call; it ends with a known code, a short message and whole files or none."""
    before = {path.name for path in folder.iterdir()}
    code, out, err = call(arguments, monkeypatch)
    said = f"{arguments!r}\n{out}\n{err}"
    assert code in (0, 1, 2, 3), said
    assert "Traceback" not in out + err, said
    errors = [line for line in err.splitlines() if "warning" not in line]
    if code:
        assert len(errors) <= 3 and errors[0].startswith("shiftlearn: error: "), said
    after = {path.name for path in folder.iterdir()} - before
    assert not {name for name in after if name.startswith(".")}, said
    made = {"out.csv", "out.skops", "out.toml", "out.parquet", "out.html", "shift-report.html"}
    for name in after & made:
        if code:
            raise AssertionError(f"{name} was written by a call that failed: {said}")
    for name in after:
        path = folder / name
        if path.is_file():
            path.unlink()


def malformed(rng, folder):
    """Bytes of one of the good files with something wrong, or nothing good at all."""
    names = ["old.csv", "new.csv", "old.parquet", "old.svm", "model.skops", "settings.toml"]
    content = bytearray((folder / rng.choice(names)).read_bytes())
    kind = rng.randrange(7)
    if kind == 0:
        content = content[: rng.randrange(len(content) + 1)]
    elif kind == 1:
        for _ in range(rng.randrange(1, 20)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == 2:
        content = bytearray(rng.randbytes(rng.randrange(400)))
    elif kind == 3:
        place = rng.randrange(len(content))
        content[place:place] = rng.choice([b",", b"\n", b'"', b"\x00", b"\xff\xfe", b"NaN,inf\n"])
    elif kind == 4:
        lines = bytes(content).split(b"\n")
        rng.shuffle(lines)
        content = bytearray(b"\n".join(lines))
    elif kind == 5:
        content = content * rng.randrange(2, 4)
    else:
        content = bytearray(b"x,colour,label\n" + b"1e999,,\n" * rng.randrange(1, 5))
    return bytes(content)


def throw(seed, count, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SHIFTLEARN_RESULTS", str(folder))
    rng = random.Random(seed)
    for number in range(count):
        if number % 2:
            suffix = rng.choice([".csv", ".parquet", ".svm", ".skops", ".toml", ""])
            bad = folder / f"thrown{suffix}"
            bad.write_bytes(malformed(rng, folder))
            arguments = [part.format(bad=bad.name) for part in rng.choice(PATTERNS)]
        else:
            arguments = rng.choices(WORDS, k=rng.randrange(1, 9))
            # Whole demonstrations and studies are no malformed calls, and take their time.
            if {"demo", "study", "compare", "report"} & set(arguments[:1]):
                arguments.append("--nonsense")
        check(arguments, folder, monkeypatch)


def test_a_hundred_malformed_calls(folder, monkeypatch):
    throw(0, 100, folder, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_thousand_malformed_calls(seed, folder, monkeypatch):
    throw(seed, 100, folder, monkeypatch)
