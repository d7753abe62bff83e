"""The facts of a report: right where the answer is known, bounded, plain, the same by a seed."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import false_discovery_control
from sklearn.linear_model import LogisticRegression

from shiftlearn import shift_report
from shiftlearn.report import to_html, to_json, to_markdown
from shiftlearn.report.features import adjusted
from shiftlearn.report.pictures import feature_picture

QUICK = {"test_rows": 150, "n_permutations": 40}


def table(n, moved, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 8 * moved, 10, n),
            "colour": rng.choice(["red", "green"], n, p=[0.5 + 0.3 * moved, 0.5 - 0.3 * moved]),
            "gaps": np.where(rng.random(n) < 0.3 * moved, np.nan, rng.normal(size=n)),
            "noise": rng.normal(size=n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    return frame, np.array(["old", "young"])[(frame["age"] < 40).to_numpy() * 1]


@pytest.fixture(scope="module")
def moved():
    (Xs, ys), (Xt, yt) = table(400, 0, 0), table(300, 1, 1)
    return Xs, ys, Xt, yt


@pytest.fixture(scope="module")
def facts(moved):
    Xs, ys, Xt, _ = moved
    return shift_report(Xs, Xt, ys, names=("then", "now"), **QUICK)


def test_what_moved_is_named_and_ranked(facts):
    assert facts["shift"]["moved"] and facts["shift"]["domain_auc"]["low"] > 0.5
    found = [f["name"] for f in facts["features"] if f["moved"]]
    assert set(found) == {"age", "colour", "gaps"}
    sizes = [f["divergence"] for f in facts["features"][:3]]
    assert sizes == sorted(sizes, reverse=True)
    kinds = {f["name"]: f["kind"] for f in facts["features"]}
    assert kinds == {
        "age": "numbers", "colour": "categories", "gaps": "numbers", "noise": "numbers",
        "day": "dates",
    }  # fmt: skip
    gaps = next(f for f in facts["features"] if f["name"] == "gaps")
    assert gaps["source"]["missing"] == 0.0 and 0.2 < gaps["target"]["missing"] < 0.4


def test_nothing_moved():
    (Xs, ys), (Xt, yt) = table(400, 0, 2), table(300, 0, 3)
    facts = shift_report(Xs, Xt, ys, yt, **QUICK)
    assert not facts["shift"]["moved"] and "no proof" in facts["shift"]["verdict"]
    assert not any(f["moved"] for f in facts["features"])
    assert facts["advice"][0]["step"] == "keep the model"
    assert facts["weights"]["share"] > 0.7 and facts["support"]["share"] < 0.05


def test_false_alarms_are_held():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 300)), rng.normal(size=(200, 300))
    from shiftlearn.report.features import feature_facts
    from shiftlearn.report.rows import Side

    found = feature_facts(Side(X, None, 200), Side(Y, None, 200))
    assert sum(f["p_value"] < 0.05 for f in found) >= 5  # without adjustment there are many
    assert sum(f["moved"] for f in found) <= 1


def test_adjusted_p_values_are_those_of_scipy():
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(adjusted(p), false_discovery_control(p))


def test_classes(moved):
    Xs, ys, Xt, yt = moved
    seen = shift_report(Xs, Xt, ys, yt, **QUICK)["classes"]
    assert seen["known"] == "labels" and seen["moved"] and "other proportions" in seen["words"]
    np.testing.assert_allclose(sum(seen["target"]), 1)
    assert shift_report(Xs, Xt, **QUICK)["classes"]["known"] == "nothing"
    new = np.where(np.arange(len(yt)) % 5 == 0, "never seen", yt)
    assert "never seen" in shift_report(Xs, Xt, ys, new, **QUICK)["classes"]["words"]


def test_few_labels_are_used_and_unlabelled_rows_are_not(moved):
    Xs, ys, Xt, yt = moved
    few = np.where(np.arange(len(yt)) < 30, yt.astype(object), None)
    facts = shift_report(Xs, Xt, ys, few, **QUICK)
    assert facts["data"]["target_labels"] == 30
    assert facts["model"]["target_measured"]["rows"] == 30
    assert facts["advice"][0]["use"] == "AdaptCV"


def test_a_model_of_the_user(moved):
    Xs, ys, Xt, yt = moved
    model = LogisticRegression().fit(Xs[["age"]].to_numpy(), ys)
    facts = shift_report(
        Xs[["age"]].to_numpy(), Xt[["age"]].to_numpy(), ys, yt, model=model, **QUICK
    )
    assert facts["model"]["source_accuracy"] > 0.95 and "as given" in facts["model"]["model"]
    low, high = (facts["model"]["target_measured"][k] for k in ("low", "high"))
    assert low <= facts["model"]["target_measured"]["accuracy"] <= high


def test_more_rows_are_drawn_and_recorded():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3000, 2)), rng.normal(1, size=(500, 2))
    facts = shift_report(X, Y, max_rows=1000, **QUICK)
    assert facts["data"]["subsampled"] == {
        "columns": {"source": 1000, "target": 500},
        "all columns together": {"source": 150, "target": 150},
    }
    assert "1000 and 500" in to_html(facts) and "1000" in to_markdown(facts)


@pytest.mark.parametrize("kind", [pl.DataFrame, np.asarray, sparse.csr_array])
def test_tables_of_every_sort(moved, kind):
    Xs, ys, Xt, _ = moved
    a, b = (X[["age", "noise"]] for X in (Xs, Xt))
    if kind is pl.DataFrame:
        first, second = pl.from_pandas(a), pl.from_pandas(b)
    else:
        first, second = kind(a.to_numpy()), kind(b.to_numpy())
    facts = shift_report(first, second, ys, **QUICK)
    assert [f["moved"] for f in facts["features"]] == [True, False]
    assert "NaN" not in to_json(facts)


def test_the_same_by_the_same_seed(moved):
    Xs, ys, Xt, _ = moved
    first, second = (shift_report(Xs, Xt, ys, **QUICK) for _ in range(2))
    first["settings"].pop("seconds"), second["settings"].pop("seconds")
    assert to_json(first) == to_json(second)


def test_forms(facts, tmp_path, moved):
    Xs, _, Xt, _ = moved
    assert json.loads(to_json(facts)) == facts
    text = to_markdown(facts)
    assert "| age | numbers |" in text and text.count("\n## ") == 6
    page = to_html(facts)
    assert page.startswith("<!DOCTYPE html>") and "prefers-color-scheme: dark" in page
    for word in ("http://", "https://", "src=", "@import", "url("):
        assert word not in page
    for suffix in (".html", ".md", ".json"):
        shift_report(Xs, Xt, path=tmp_path / f"r{suffix}", **QUICK)
    assert len(list(tmp_path.iterdir())) == 3


def test_names_of_columns_are_text_not_markup(tmp_path):
    rng = np.random.default_rng(0)
    name = "</script><script>alert(1)</script>|x"
    X, Y = (pd.DataFrame({name: rng.normal(m, 1, 60), "b": ["<i>"] * 60}) for m in (0, 3))
    facts = shift_report(X, Y, **QUICK)
    page = to_html(facts)
    assert "<script>alert" not in page and page.count("</script>") == 3
    assert "<i>" not in feature_picture(facts["features"][1], ("a", "b"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X_target": np.zeros((300, 3))}, "X_target"),
        ({"X_source": np.zeros((5, 5)), "X_target": np.zeros((50, 5))}, "at least 20"),
        ({"y_source": ["a"]}, "y_source has 1 labels"),
        ({"path": "report.pdf"}, r"\.html, \.md or \.json"),
        ({"test_rows": 3}, "test_rows"),
    ],
)
def test_wrong_input(moved, change, words):
    Xs, _, Xt, _ = moved
    given = {"X_source": Xs, "X_target": Xt, **QUICK, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        shift_report(**given)
