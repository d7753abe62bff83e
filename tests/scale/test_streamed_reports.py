"""Reports and estimates from blocks: those of the rows where they are few, of a draw where not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from shiftlearn import AccuracyEstimator, Blocks, shift_report
from shiftlearn.datasets import make_gaussian_shift
from shiftlearn.statistics.reservoir import draw_table

XS, YS, XT, YT = make_gaussian_shift(random_state=0).split()
FAST = {"n_permutations": 50, "test_rows": 100}


def same_facts(a, b):
    """All but the times; NaN is equal to NaN in words."""
    return [{k: repr(v) for k, v in facts.items() if k != "settings"} for facts in (a, b)]


@pytest.mark.parametrize("rows", [1000, 37])
def test_a_report_of_few_rows_is_that_of_memory(rows):
    whole = shift_report(XS, XT, YS, **FAST)
    found = shift_report(
        Blocks.from_arrays(XS, YS, rows=rows), Blocks.from_arrays(XT, rows=rows), **FAST
    )
    one, other = same_facts(found, whole)
    assert one == other


def test_a_report_of_many_rows_says_how_many_were_drawn():
    frames = [pd.DataFrame(X, columns=["a", "b"][: X.shape[1]]) for X in (XS[:, :2], XT[:, :2])]
    reports = [
        shift_report(
            *(Blocks.from_arrays(frame, rows=rows) for frame in frames), max_rows=150, **FAST
        )
        for rows in (1000, 37)
    ]
    one, other = same_facts(*reports)
    assert one == other
    data = reports[0]["data"]
    assert data["source_rows"] == len(XS) and data["target_rows"] == len(XT)
    assert data["subsampled"]["columns"] == {"source": 150, "target": 150}
    assert {column["name"] for column in reports[0]["features"]} == {"a", "b"}


def test_a_draw_is_even_and_does_not_depend_on_blocks():
    X = np.arange(20_000.0)[:, None]
    drawn = [draw_table(Blocks.from_arrays(X, rows=r), None, 2000) for r in (20_000, 999)]
    np.testing.assert_array_equal(drawn[0].rows, drawn[1].rows)
    assert drawn[0].n_all == 20_000 and drawn[0].labels is None
    counts = np.histogram(drawn[0].rows, bins=10, range=(0, 20_000))[0]
    assert counts.sum() == 2000 and counts.min() > 140 and counts.max() < 260


def test_a_draw_from_dask():
    da = pytest.importorskip("dask.array")
    import dask

    with dask.config.set(scheduler="synchronous"):
        drawn = draw_table(da.from_array(XS, chunks=(70, XS.shape[1])), None, 10_000)
    np.testing.assert_array_equal(drawn.rows, XS)


def test_estimates_of_accuracy():
    model = LogisticRegression().fit(XS[::2], YS[::2])
    whole = AccuracyEstimator().fit(model, XS[1::2], YS[1::2])
    expected = whole.estimate(XT)
    estimator = AccuracyEstimator().fit(model, Blocks.from_arrays(XS[1::2], YS[1::2], rows=40))
    assert estimator.estimate(Blocks.from_arrays(XT, rows=61)) == expected
    n, m = len(XS[1::2]), len(XT)
    assert estimator.sampled_rows_ == {"source": (n, n), "target": (m, m)}
    labels = YT.astype(object)
    labels[10:] = None
    assert estimator.estimate(Blocks.from_arrays(XT, labels, rows=61)) == whole.estimate(XT, labels)
    with pytest.raises(ValueError, match="requires y to be passed"):
        AccuracyEstimator().fit(model, Blocks.from_arrays(XS))
