"""Row blocks, map-reduce and moments against plain NumPy."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from shiftlearn import resources
from shiftlearn.statistics import Moments, map_reduce, row_blocks

CUTS = [0, 1, 4, 5, 17, 30, 38, 40]  # seven uneven blocks of 40 rows


def plain_moments(X, w):
    """The textbook formulas in extended precision."""
    X, w = np.asarray(X, dtype=np.longdouble), np.asarray(w, dtype=np.longdouble)
    mean = (w[:, None] * X).sum(axis=0) / w.sum()
    centred = X - mean
    return mean, np.einsum("i,ij,ik->jk", w, centred, centred)


def forms(X, tmp_path):
    """The same matrix in every form that rows come in."""
    path = tmp_path / "rows.npy"
    np.save(path, X)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    pieces = [X[a:b] for a, b in itertools.pairwise(CUTS)]
    return {
        "dense": X,
        "fortran": np.asfortranarray(X),
        "list": X.tolist(),
        "memmap": np.load(path, mmap_mode="r"),
        "csr_matrix": sparse.csr_matrix(X),
        "csr int64": wide,
        "csc": sparse.csc_array(X),
        "list of blocks": pieces,
        "generator": (piece for piece in pieces),
        "make": lambda: iter(pieces),
        "sparse blocks": [sparse.csr_array(piece) for piece in pieces],
    }


def test_every_form_gives_the_same_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.arange(40)
    for name, form in forms(X, tmp_path).items():
        rows, labels, nothing = zip(*row_blocks(form, y, None, rows=7))
        dense = np.vstack([b.toarray() if hasattr(b, "toarray") else b for b in rows])
        np.testing.assert_array_equal(dense, X, err_msg=name)
        np.testing.assert_array_equal(np.concatenate(labels), y)
        assert set(nothing) == {None}


def test_blocks_share_memory_and_can_be_walked_again():
    X = np.ones((10, 2))
    S = sparse.csr_array(np.eye(10))
    blocks = row_blocks(X, rows=4)
    assert [len(b) for (b,) in blocks] == [len(b) for (b,) in blocks] == [4, 4, 2]
    assert all(np.shares_memory(X, b) for (b,) in blocks)
    assert all(np.shares_memory(S.data, b.data) for (b,) in row_blocks(S, rows=4))


def test_a_walked_iterator_says_so():
    blocks = row_blocks(b for b in [np.ones((2, 2))])
    assert len(list(blocks)) == 1
    with pytest.raises(ValueError, match="fresh iterator"):
        list(blocks)


def test_tuples_of_a_stream_pass_through():
    items = [(np.ones((2, 1)), np.zeros(2), None), (np.ones((3, 1)), np.ones(3), None)]
    got = list(row_blocks(items, np.arange(5)))
    assert [len(item) for item in got] == [4, 4]
    np.testing.assert_array_equal(got[1][3], [2, 3, 4])


def test_block_size_follows_the_memory_limit():
    X = np.zeros((100_000, 50))
    most = max(len(b) for (b,) in row_blocks(X, memory_limit=1 << 20))
    assert most * 50 * 8 * 8 <= 1 << 20
    assert len(list(row_blocks(X))) > 2


@pytest.mark.parametrize("rows", [0, -1, 2.5, True])
def test_bad_rows(rows):
    with pytest.raises(ValueError, match="rows must be"):
        row_blocks(np.ones((3, 1)), rows=rows)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match=r"arrays\[1\] has 3 rows, X has 4"):
        row_blocks(np.ones((4, 1)), None, np.ones(3))
    with pytest.raises(ValueError, match=r"arrays\[0\] has 3 rows"):
        list(row_blocks([np.ones((4, 1))], np.ones(3)))


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
def test_map_reduce_keeps_the_order_and_the_bits(n_jobs):
    X = np.random.default_rng(1).normal(size=(999, 13)) * 10.0 ** np.arange(13)
    expected = 0.0
    for (block,) in row_blocks(X, rows=10):
        with resources.serial_blas():
            expected = expected + block.T @ block
    got = map_reduce(lambda b: b[0].T @ b[0], row_blocks(X, rows=10), np.add, n_jobs)
    assert (got == expected).all()
    order = map_reduce(lambda i: [i], range(50), lambda a, b: a + b, n_jobs)
    assert order == list(range(50))


def test_map_reduce_pulls_few_blocks_at_a_time():
    pulled, done = [], []

    def stream():
        for i in range(100):
            assert len(pulled) - len(done) < 20
            pulled.append(i)
            yield i

    assert map_reduce(lambda i: done.append(i) or i, stream(), lambda a, b: a + b, 2) == 4950


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_map_reduce_raises_what_the_function_raises(n_jobs):
    with pytest.raises(ZeroDivisionError):
        map_reduce(lambda i: 1 // (i - 3), range(1000), lambda a, b: a + b, n_jobs)
    with pytest.raises(ValueError, match="blocks is empty"):
        map_reduce(lambda i: i, [], lambda a, b: a + b, n_jobs)


def test_serial_blas_is_counted_and_restored():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def limits():
        return sorted(p["num_threads"] for p in threadpoolctl.threadpool_info())

    before = limits()
    with resources.serial_blas():
        thread = threading.Thread(target=lambda: map_reduce(lambda i: i, range(3), max, 1))
        thread.start()
        thread.join()
        blas = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
        assert {p["num_threads"] for p in blas} == {1}
    assert limits() == before


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_of_one_block_and_of_seven(offset, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) + offset
    w = rng.integers(0, 4, size=40).astype(float)
    mean, scatter = plain_moments(X, w)
    for name, form in forms(X, tmp_path).items():
        moments = Moments()
        for block, weights in row_blocks(form, w, rows=7):
            moments.update(block, weights)
        values = moments.finish()
        np.testing.assert_allclose(values.mean, mean, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(values.scatter, scatter, rtol=1e-9, atol=1e-10, err_msg=name)
        assert values.weight == w.sum()
        assert values.count == np.count_nonzero(w)
        np.testing.assert_allclose(values.covariance, values.scatter / w.sum())


def test_seven_uneven_blocks_agree_to_1e10():
    X = np.random.default_rng(3).normal(size=(40, 5)) + 3.0
    one = Moments().update(X).finish()
    parts = [Moments().update(X[a:b]) for a, b in itertools.pairwise(CUTS)]
    seven = Moments()
    for part in parts:
        seven.merge(part)
    np.testing.assert_allclose(seven.finish().mean, one.mean, rtol=1e-10)
    np.testing.assert_allclose(seven.finish().scatter, one.scatter, rtol=1e-10)
    np.testing.assert_allclose(parts[1].finish().mean, X[1:4].mean(axis=0), rtol=1e-14)


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_diagonal_moments(sparse_rows):
    X = np.random.default_rng(4).normal(size=(40, 4)) * (np.arange(4) > 0)
    X[::3] = 0.0
    w = np.arange(40) % 3
    _, scatter = plain_moments(X, w)
    moments = Moments(diagonal=True)
    for block, weights in row_blocks(sparse.csr_array(X) if sparse_rows else X, w, rows=11):
        moments.update(block, weights)
    np.testing.assert_allclose(moments.finish().scatter, np.diag(scatter), atol=1e-12)


def test_weights_are_repeats():
    X = np.random.default_rng(5).normal(size=(12, 2))
    w = np.arange(12) % 3
    weighted, repeated = Moments().update(X, w).finish(), Moments().update(np.repeat(X, w, 0))
    np.testing.assert_allclose(weighted.scatter, repeated.finish().scatter, rtol=1e-12)
    np.testing.assert_allclose(weighted.mean, repeated.finish().mean, rtol=1e-12)


def test_moments_refuse_bad_input():
    with pytest.raises(ValueError, match="no row"):
        Moments().update(np.ones((2, 2)), [0, 0]).finish()
    with pytest.raises(ValueError, match="weights must be finite"):
        Moments().update(np.ones((2, 2)), [1, -1])
    with pytest.raises(ValueError, match="weights has shape"):
        Moments().update(np.ones((2, 2)), [1])
    with pytest.raises(ValueError, match="matrix of shape"):
        Moments().update(np.ones(2))
    with pytest.raises(ValueError, match="3 columns, blocks before 2"):
        Moments().update(np.ones((2, 2))).update(np.ones((2, 3)))
    with pytest.raises(ValueError, match="diagonal="):
        Moments().merge(Moments(diagonal=True))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 31), st.integers(0, 2**32 - 1))
def test_any_shape_any_cut(n, d, rows, seed):
    X = np.random.default_rng(seed).normal(size=(n, d)) * 100
    moments = Moments()
    for (block,) in row_blocks(X, rows=rows):
        moments.update(block)
    mean, scatter = plain_moments(X, np.ones(n))
    np.testing.assert_allclose(moments.finish().mean, mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moments.finish().scatter, scatter, rtol=1e-10, atol=1e-8)
