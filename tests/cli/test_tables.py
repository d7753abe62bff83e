"""Tables in every format; what is missing is named; output is whole or not there."""

import gzip
import io
import sys

import numpy as np
import polars as pl
import pytest

from shiftlearn.cli.tables import Table, check_output, matched, read_table, widened, write_table

FRAME = pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "z"], "kind": ["u", "v", None]})


@pytest.fixture
def written(tmp_path):
    def write(suffix):
        path = tmp_path / f"rows{suffix}"
        if suffix == ".parquet":
            FRAME.write_parquet(path)
        elif suffix == ".csv.gz":
            path.write_bytes(gzip.compress(FRAME.write_csv().encode()))
        elif suffix == "-folder":
            path.mkdir()
            FRAME[:1].write_parquet(path / "part-0.parquet")
            FRAME[1:].select("kind", "b", "a").write_parquet(path / "part-1.parquet")
        else:
            FRAME.write_csv(path, separator={".tsv": "\t", ".ssv": ";"}.get(suffix, ","))
        return str(path)

    return write


@pytest.mark.parametrize(
    "suffix", [".csv", ".tsv", ".ssv", ".parquet", ".csv.gz", "-folder", ".unknown"]
)
def test_every_format(written, suffix):
    table = read_table(written(suffix), "kind")
    assert table.columns == ["a", "b"] and len(table) == 3
    assert table.labels.tolist() == ["u", "v", None]
    assert table.rows["a"].to_list() == [1, 2, None] and table.rows["b"].to_list() == [
        "x",
        None,
        "z",
    ]


@pytest.mark.parametrize("name", ["rows.svm", "rows.libsvm", "rows.txt"])
def test_libsvm(tmp_path, name):
    path = tmp_path / name
    path.write_text("1 1:0.5 3:2\n-1 2:1 # a remark\nnan 1:1\n")
    table = read_table(str(path))
    assert table.sparse and table.rows.shape == (3, 3) and table.labels.tolist() == [1, -1, None]
    assert widened(table, 5, "").rows.shape == (3, 5)
    with pytest.raises(ValueError, match="has 3 columns, but the model has 2"):
        widened(table, 2, "the model")


@pytest.mark.parametrize("content", [FRAME.write_csv().encode(), b"1 1:2 2:3\n0 1:1\n"])
def test_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO(content)}))
    assert len(read_table("-")) == (2 if b":" in content else 3)


def test_parquet_on_standard_input(monkeypatch):
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": buffer}))
    assert read_table("-").columns == ["a", "b", "kind"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, None, 3], [1, None, 3]),
        ([1.0, 2.0, 1.0], [1, 2, 1]),
        ([True, False, True], [True, False, True]),
        (["a", "b", "NA"], ["a", "b", None]),
    ],
)
def test_labels_are_plain(tmp_path, values, expected):
    path = tmp_path / "rows.csv"
    pl.DataFrame({"x": [1, 2, 3], "y": values}).write_csv(path)
    labels = read_table(str(path), "y").labels.tolist()
    assert labels == expected and [type(v) for v in labels] == [type(v) for v in expected]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("no.csv", None, ["no.csv", "there is no file"]),
        ("empty.csv", b"", ["empty.csv"]),
        ("names.csv", b"a,b\n", ["names.csv", "no rows"]),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", ["ragged.csv"]),
        ("twice.csv", b"a,a\n1,2\n", ["twice"]),
        ("latin.csv", b"a,b\n\xe9,1\n", ["utf-8"]),
        ("broken.parquet", b"PAR1 and nothing", ["broken.parquet", "parquet"]),
        ("none.parquet", b"", ["none.parquet"]),
        ("bad.svm", b"1 1:x\n", ["bad.svm", "libsvm"]),
        ("empty.svm", b"", ["empty.svm"]),
    ],
)
def test_broken_files_are_value_errors(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError) as caught:
        read_table(str(path))
    for word in words:
        assert word in str(caught.value)


def test_columns_are_matched_by_name():
    table = Table("new.csv", pl.DataFrame({"b": [1], "a": [2]}))
    assert matched(table, ["a", "b"], "the model").rows.row(0) == (2, 1)
    with pytest.raises(ValueError, match=r"new\.csv.*missing: c; not known: b"):
        matched(table, ["a", "c"], "the model")


def test_a_label_that_is_not_there(written):
    with pytest.raises(ValueError, match=r"no column 'type'.*a, b, kind"):
        read_table(written(".csv"), "type", label_needed=True)
    assert read_table(written(".csv"), "type").labels is None


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_output(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    write_table({"kind": ["u", "v"], "score": np.array([0.5, 1.0])}, str(path))
    again = read_table(str(path))
    assert again.columns == ["kind", "score"] and again.rows["kind"].to_list() == ["u", "v"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("path", "words"),
    [("out.xlsx", "suffix"), ("out", "suffix"), ("no/folder/out.csv", "there is no folder")],
)
def test_output_is_checked_before_the_work(path, words):
    with pytest.raises(ValueError, match=words):
        check_output(path)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail(*_, **__):
        raise OSError("full")

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    with pytest.raises(OSError):
        write_table({"a": [1]}, str(path))
    assert path.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["out.csv"]
