"""Streams that are wrong or odd: what is said, and what does no harm."""

import sys

import numpy as np
import pandas as pd
import pytest

from shiftlearn import LSSVC, Blocks, LinearSVC, ShiftCommittee, load, save
from shiftlearn.statistics.passes import open_stream

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(int)


def made(*blocks):
    return Blocks(lambda: iter(blocks))


@pytest.mark.parametrize("model", [LSSVC(kernel="linear"), LinearSVC(tol=1e-6)])
def test_a_block_with_one_class_does_no_harm(model):
    order = np.argsort(Y, kind="stable")
    whole = model.fit(Blocks.from_arrays(X[order], Y[order])).coef_.copy()
    half = np.searchsorted(Y[order], 1)
    parts = [(X[order][:half], Y[order][:half], None), (X[order][half:], Y[order][half:], None)]
    np.testing.assert_allclose(model.fit(made(*parts)).coef_, whole, atol=1e-6)
    with pytest.raises(ValueError, match="y holds 1 class on the rows to train on"):
        model.fit(made(parts[0]))


def test_dtypes_may_change_between_blocks():
    whole = LSSVC(kernel="linear").fit(Blocks.from_arrays(np.round(4 * X), Y))
    rounded = np.round(4 * X)
    kinds = [np.int8, np.float32, np.int64, np.float64]
    parts = [(rounded[i::4].astype(kind), Y[i::4], None) for i, kind in enumerate(kinds)]
    model = LSSVC(kernel="linear").fit(made(*parts))
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
    with pytest.raises(ValueError, match="block 1: X must hold numbers"):
        LSSVC(kernel="linear").fit(made((X, Y, None), (X.astype(str), Y, None)))
    with pytest.raises(ValueError, match="text in some blocks and numbers in others"):
        LSSVC(kernel="linear").fit(made((X, Y, None), (X, Y.astype(str), None)))


def test_tables_predict_by_name_without_a_warning():
    frame = pd.DataFrame(X, columns=list("abc"))
    model = LSSVC(kernel="linear").fit(made((frame[:60], Y[:60], None), (frame[60:], Y[60:], None)))
    mixed = Blocks.from_arrays(frame[["c", "a", "b"]], rows=50)
    np.testing.assert_array_equal(np.concatenate(list(model.predict(mixed))), model.predict(frame))
    with pytest.raises(ValueError, match=r"missing \['a'\], unexpected \['d'\]"):
        model.predict(Blocks.from_arrays(frame.rename(columns={"a": "d"})))


def test_no_dask_is_said_with_the_extra(monkeypatch):
    collection = type("Collection", (), {"__dask_graph__": None, "to_delayed": None})()
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"shiftlearn\[dask\]"):
        open_stream(collection, None, None, None, "")
    model = LSSVC(kernel="linear").fit(X, Y)
    with pytest.raises(ImportError, match=r"shiftlearn\[dask\]"):
        model.predict(collection)


def test_a_streamed_committee_is_saved(tmp_path):
    domain = np.where(np.arange(120) % 2, 1, -1)
    model = ShiftCommittee(random_state=0).fit(Blocks.from_arrays(X, Y, domain))
    again = load(save(model, tmp_path / "committee.skops"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
