"""Blocks: where they come from, what is checked on the way, and that walking them twice works."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from shiftlearn import LSSVC, Blocks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")


def joined(blocks, field=0):
    parts = [block[field] for block in blocks]
    return np.concatenate([p.toarray() if sparse.issparse(p) else p for p in parts])


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
def test_arrays_come_back_whole(rows):
    blocks = Blocks.from_arrays(X, Y, np.arange(50), sample_weight=np.ones(50), rows=rows)
    for _ in range(2):
        np.testing.assert_array_equal(joined(blocks), X)
        np.testing.assert_array_equal(joined(blocks, 1), Y)
        np.testing.assert_array_equal(joined(blocks, 2), np.arange(50))
    assert [block.start for block in blocks] == list(range(0, 50, rows))


def test_sparse_rows_and_frames():
    np.testing.assert_array_equal(joined(Blocks.from_arrays(sparse.csr_array(X), rows=8)), X)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        blocks = Blocks.from_arrays(frame, rows=8)
        np.testing.assert_array_equal(joined(blocks), X)
        assert blocks.feature_names == ("a", "b", "c")


def test_parquet_folder_is_read_in_the_order_of_its_names(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=Y, where=np.arange(50) % 2 - 1)
    for part in range(5):
        frame[10 * part : 10 * part + 10].to_parquet(tmp_path / f"part-{part}.parquet")
    blocks = Blocks.from_parquet(tmp_path, label="label", domain="where", rows=7)
    np.testing.assert_array_equal(joined(blocks), X)
    np.testing.assert_array_equal(joined(blocks, 1), Y)
    np.testing.assert_array_equal(joined(blocks, 2), frame["where"])
    few = Blocks.from_parquet(tmp_path / "part-0.parquet", columns=["c", "a"])
    np.testing.assert_array_equal(joined(few), X[:10][:, [2, 0]])


def test_parquet_names_are_checked_at_once(tmp_path):
    pd.DataFrame({"a": [1.0], "t": ["x"]}).to_parquet(tmp_path / "one.parquet")
    with pytest.raises(ValueError, match="label: there is no column 'y'"):
        Blocks.from_parquet(tmp_path, label="y")
    with pytest.raises(ValueError, match="columns: \\['b'\\]"):
        Blocks.from_parquet(tmp_path, columns=["b"])
    with pytest.raises(ValueError, match=r"column 't' holds .*string, not numbers"):
        list(Blocks.from_parquet(tmp_path))
    with pytest.raises(FileNotFoundError, match="neither a Parquet file nor a folder"):
        Blocks.from_parquet(tmp_path / "none")


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight(tmp_path, zero_based):
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    rows[0, 0] = rows[-1, -1] = 1.0
    path = tmp_path / "rows.txt"
    dump_svmlight_file(rows, np.arange(50) % 3, str(path), zero_based=zero_based)
    blocks = Blocks.from_svmlight(path, rows=7, domain=-1)
    np.testing.assert_allclose(joined(blocks), rows)
    np.testing.assert_array_equal(joined(blocks, 1), np.arange(50) % 3)
    assert set(joined(blocks, 2)) == {-1}


def test_svmlight_says_where_a_line_is_wrong(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1 1:2.0\n0 2:x\n")
    with pytest.raises(ValueError, match=r"rows.txt, line 2: .* is not label index:value"):
        list(Blocks.from_svmlight(path))
    with pytest.raises(ValueError, match="outside the 1 columns"):
        path.write_text("1 1:2.0\n0 2:1\n")
        list(Blocks.from_svmlight(path, n_features=1, zero_based=False))


def made(*blocks):
    return Blocks(lambda: iter(blocks))


def test_columns_are_put_in_order_by_name():
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_array_equal(joined(made(frame[:25], frame[25:][["c", "a", "b"]])), X)
    with pytest.raises(ValueError, match=r"block 1 has other columns .* missing \['a'\]"):
        list(made(frame, frame.rename(columns={"a": "d"})))


@pytest.mark.parametrize(
    "blocks, message",
    [
        ([X, X[:, :2]], "block 1 has 2 columns, the blocks before it have 3"),
        ([X, np.full((4, 3), np.nan)], r"block 1, row 0 \(row 50 of all\) contains NaN"),
        ([sparse.csr_array([[0.0, 1.0], [np.inf, 0.0]])], r"block 0, row 1 \(row 1 of all\)"),
        ([(X, Y[:3])], r"block 0: y has shape \(3,\); X has 50 rows"),
        ([(X, Y, None, None, None)], "block 0 is a tuple of 5"),
        ([X[0]], "block 0: X must be a matrix"),
        ([np.array([["a"]])], "block 0: X must hold numbers"),
        ([], "make gave no rows"),
        ([X[:0]], "make gave no rows"),
    ],
)
def test_bad_blocks_are_named(blocks, message):
    with pytest.raises(ValueError, match=message):
        list(made(*blocks))


def test_a_used_up_iterator_is_noticed():
    rows = iter([(X, Y, None)])
    blocks = Blocks(lambda: rows)
    with pytest.raises(ValueError, match="same iterator a second time"):
        LSSVC(kernel="linear").fit(blocks)
    with pytest.raises(TypeError, match="make must be a function"):
        Blocks([X])


def test_empty_blocks_and_mixed_dtypes_do_no_harm():
    parts = [X[:10], X[:0], X[10:30].astype(np.float32), X[30:]]
    labels = [Y[:10], Y[:0], Y[10:30], Y[30:]]
    whole = LSSVC(kernel="linear").fit(X, Y)
    model = LSSVC(kernel="linear").fit(made(*((x, y, None) for x, y in zip(parts, labels))))
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-5)
    assert model.classes_.tolist() == ["no", "yes"]
