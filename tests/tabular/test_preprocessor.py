"""Tables of every sort: kinds of columns, gaps, unknown values, the same from pandas and polars."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from shiftlearn import LSDAKSVC, tabular_preprocessor
from shiftlearn.tabular import column_kinds

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "it",
    "rains",
]


def columns(n=60, seed=0):
    rng = np.random.default_rng(seed)
    day = dt.date(2024, 1, 1)
    return {
        "age": [None if i % 7 == 0 else float(v) for i, v in enumerate(rng.integers(20, 80, n))],
        "income": rng.lognormal(10, 1, n).tolist(),
        "member": (rng.random(n) > 0.5).tolist(),
        "colour": [
            None if i % 11 == 0 else str(c) for i, c in enumerate(rng.choice(["r", "g"], n))
        ],
        "joined": [day + dt.timedelta(days=int(v)) for v in rng.integers(0, 900, n)],
        "seen": [f"2025-03-{1 + v:02d} 0{v % 9}:30" for v in rng.integers(0, 27, n)],
        "note": [" ".join(rng.choice(WORDS, 7)) for _ in range(n)],
    }


KINDS = {
    "age": "numbers", "income": "numbers", "member": "numbers", "colour": "categories",
    "joined": "dates", "seen": "dates", "note": "text",
}  # fmt: skip


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_kinds(frame):
    assert column_kinds(frame(columns())) == KINDS


def test_pandas_and_polars_give_the_same():
    first = tabular_preprocessor(text_components=5)
    second = clone(first)
    a = first.fit_transform(pd.DataFrame(columns()))
    b = second.fit_transform(pl.DataFrame(columns()))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert np.isfinite(a).all()
    assert first.get_feature_names_out().tolist() == second.get_feature_names_out().tolist()
    assert a.shape[1] == len(first.get_feature_names_out())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_other_rows_other_order_unknown_values(frame):
    model = tabular_preprocessor(text_components=5).fit(frame(columns()))
    other = columns(20, seed=1)
    other["colour"] = ["violet"] * 20
    other["age"] = [None] * 20
    shuffled = dict(reversed(other.items()))
    np.testing.assert_array_equal(model.transform(frame(other)), model.transform(frame(shuffled)))
    names = model.get_feature_names_out().tolist()
    found = model.transform(frame(other))
    colours = [names.index(name) for name in names if name.startswith("colour")]
    assert not found[:, colours].any()


def test_scales_and_gaps_by_hand():
    table = pd.DataFrame({"a": [1.0, np.nan, 5.0, 3.0], "b": ["x", None, "y", "x"]})
    model = tabular_preprocessor().fit(table)
    filled = np.array([1.0, 3.0, 5.0, 3.0])
    gaps = np.array([0.0, 1.0, 0.0, 0.0])
    expected = np.column_stack(
        [
            (filled - filled.mean()) / filled.std(),
            (gaps - gaps.mean()) / gaps.std(),
            [0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0],
        ]
    )  # fmt: skip
    np.testing.assert_allclose(model.transform(table), expected)
    assert model.get_feature_names_out().tolist() == [
        "a", "missingindicator_a", "b_(missing)", "b_x", "b_y",
    ]  # fmt: skip


def test_dates_by_hand():
    table = pd.DataFrame({"d": ["2000-01-01", "2001-07-02 12:00", None, "2000-12-31T23:00Z"]})
    step = tabular_preprocessor().fit(table).named_transformers_["dates"]
    parts = step.named_steps["read"].transform(table)
    assert parts[0].tolist() == [0.0, 0.0, 1.0, 5.0, 0.0]  # a Saturday
    assert parts[1, 3:].tolist() == [0.0, 12.0] and 1.4 < parts[1, 0] < 1.6
    assert np.isnan(parts[2]).all() and parts[3, 4] == 23.0


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2", "x"], "categories"),
        ([True, False, None], "numbers"),
        ([1, "a", None], "categories"),
        ([None, None, None], "numbers"),
        (["2024-01-01", None, "2024-05-05"], "dates"),
        (["2024-01-01", "soon", "later"], "categories"),
        ([dt.datetime(2024, 1, 1, 3), None, dt.datetime(2024, 1, 2)], "dates"),
        (["", " ", "a"], "categories"),
        (["same words in every row here"] * 3, "categories"),
    ],
)
def test_kinds_of_objects(values, kind):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    assert column_kinds(array) == {0: kind}
    assert np.isfinite(tabular_preprocessor().fit_transform(array)).all()


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series(["a", "b", None], dtype="category"),
        pd.Series(["a", "b", None], dtype="string"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.to_datetime(pd.Series(["2024-01-01", None, "2024-02-02"])),
        pd.to_datetime(pd.Series(["2024-01-01", None, "2024-02-02"])).dt.tz_localize("Asia/Tokyo"),
        pl.Series("s", ["a", "b", None], dtype=pl.Categorical),
        pl.Series("s", [dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 2)]),
        pl.Series("s", [None, None, None]),
        pl.Series("s", [1, 2, None], dtype=pl.Decimal(10, 2)),
    ],
)
def test_columns_of_every_type(series):
    frame = series.rename("s").to_frame()
    assert np.isfinite(tabular_preprocessor().fit_transform(frame)).all()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"l": [[1], [2]]}), ["'l'", "leave it out"]),
        (pd.DataFrame({"l": [[1], [2]]}), ["'l'", "leave it out"]),
        (pd.DataFrame({"t": pd.to_timedelta([1, 2])}), ["'t'"]),
    ],
)
def test_columns_of_no_use_are_named(frame, words):
    with pytest.raises(ValueError) as caught:
        tabular_preprocessor().fit(frame)
    for word in words:
        assert word in str(caught.value)


def test_a_column_that_changed_its_kind_is_named():
    model = tabular_preprocessor().fit(pd.DataFrame({"age": [1.0, 2.0], "day": ["2024-01-01"] * 2}))
    with pytest.raises(ValueError, match=r"'age' holds 'old' in row 1.*number"):
        model.transform(pd.DataFrame({"age": ["3", "old"], "day": ["2024-01-01"] * 2}))
    with pytest.raises(ValueError, match="'day' holds 'soon'"):
        model.transform(pd.DataFrame({"age": [1.0], "day": ["soon"]}))
    with pytest.raises(ValueError, match="missing"):
        model.transform(pd.DataFrame({"age": [1.0]}))


def test_rare_categories_share_a_column():
    values = [f"id{i}" for i in range(200)]
    found = tabular_preprocessor(max_categories=10).fit_transform(pd.DataFrame({"id": values}))
    assert found.shape == (200, 10)


def test_sparse_text():
    table = pd.DataFrame(columns())
    found = tabular_preprocessor(text_components=None).fit_transform(table[["note", "income"]])
    assert hasattr(found, "tocsr") and found.shape == (60, 12)


def test_in_a_pipeline_with_domains_and_saved(tmp_path):
    pytest.importorskip("skops", reason="needs the extra `files`")
    from shiftlearn import load, save

    table = pd.DataFrame(columns(80))
    y = np.array(["no", "yes"])[(table["income"] > table["income"].median()).to_numpy() * 1]
    domain = np.where(np.arange(80) < 50, 0, -1)
    model = make_pipeline(tabular_preprocessor(text_components=4), LSDAKSVC())
    model.fit(table, y, lsdaksvc__sample_domain=domain)
    again = load(save(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(model.decision_function(table), again.decision_function(table))


def test_labels_are_never_read():
    table = pd.DataFrame(columns())
    first = tabular_preprocessor().fit(table, np.arange(60)).transform(table)
    second = tabular_preprocessor().fit(table, None).transform(table)
    np.testing.assert_array_equal(first, second)


def test_set_output_and_clone():
    table = pd.DataFrame(columns())
    model = clone(tabular_preprocessor(text_components=3)).set_output(transform="pandas")
    found = model.fit_transform(table)
    assert list(found.columns) == model.get_feature_names_out().tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(tabular_preprocessor(), LogisticRegression()).fit(table, table["member"])
