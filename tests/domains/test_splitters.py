"""Splitters that keep both domains in training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domains.tiny import TinyMachine
from shiftlearn import DomainKFold, SourceTargetSplit, stack_domains
from shiftlearn.domains import labelled_accuracy

SPLITTERS = [
    DomainKFold(3),
    DomainKFold(3, shuffle=True, random_state=0),
    SourceTargetSplit(0.3, random_state=0),
]


def tables(seed=0, n_source=30, n_target=24):
    rng = np.random.default_rng(seed)
    ys = np.arange(n_source) % 2
    yt = np.arange(n_target) % 3 % 2
    Xs = rng.normal(size=(n_source, 2)) + ys[:, None] * 4
    Xt = rng.normal(size=(n_target, 2)) + yt[:, None] * 4 + 1
    return Xs, ys, Xt, yt


@given(st.integers(2, 6), st.integers(0, 40), st.integers(6, 40), st.booleans(), st.integers(0, 9))
def test_folds_partition_the_target_and_leave_the_rest_in_training(k, n, m, shuffle, seed):
    rng = np.random.default_rng(seed)
    d = rng.permutation(np.repeat([2, -1, -4], [n, m // 2, m - m // 2]))
    y = rng.integers(0, 3, n + m)
    tests = []
    for train, test in DomainKFold(k, shuffle=shuffle, random_state=0).split(y[:, None], y, d):
        assert sorted([*train, *test]) == list(range(n + m))
        tests.append(test)
    assert sorted(np.concatenate(tests)) == np.flatnonzero(d < 0).tolist()
    for domain in (-1, -4):
        for label in range(3):
            counts = [np.sum((d[t] == domain) & (y[t] == label)) for t in tests]
            assert max(counts) - min(counts) <= 1
    sizes = [len(t) for t in tests]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(2, 60), st.floats(0.05, 0.95), st.integers(0, 99))
def test_random_splits_draw_in_proportion(m, size, seed):
    rng = np.random.default_rng(seed)
    d, y = np.repeat([0, -1], [5, m]), rng.integers(0, 3, 5 + m)
    for train, test in SourceTargetSplit(size, n_splits=2, random_state=seed).split(d, y, d):
        assert len(np.unique(test)) == len(test) == min(m - 1, max(1, round(m * size)))
        assert sorted([*train, *test]) == list(range(5 + m))
        assert (d[test] < 0).all()
        for label in range(3):
            expected = np.sum((d < 0) & (y == label)) * len(test) / m
            assert abs(np.sum(y[test] == label) - expected) < 1 + 1e-9


def test_every_row_is_drawn_about_equally_often():
    y = np.repeat([0, 1], [7, 3])
    counts = np.zeros(10)
    for _, test in SourceTargetSplit(0.3, n_splits=3000, random_state=0).split(y, y, -np.ones(10)):
        counts[test] += 1
    assert np.all(np.abs(counts / 3000 - 0.3) < 0.04)


def test_scoring_on_the_source_or_on_both():
    d, y = np.array([1] * 6 + [-1] * 4), np.array([0, 1] * 5)
    for score_on, scored in (("source", range(6)), ("both", range(10))):
        tests = [t for _, t in DomainKFold(2, score_on=score_on).split(y, y, d)]
        assert sorted(np.concatenate(tests)) == list(scored)


def test_unlabelled_rows_stay_in_training():
    d = np.array([1, 1, -1, -1, -1, -1])
    y = np.array(["a", "b", None, "a", "b", None], dtype=object)
    for train, test in DomainKFold(2).split(y, y, sample_domain=d):
        assert {2, 5} <= set(train)
        assert len(test) == 1


@pytest.mark.parametrize("y", [None, np.array(["a", "b", None, None, None, None], dtype=object)])
def test_a_target_without_any_label_is_scored_whole(y):
    d = np.array([1, 1, -1, -1, -1, -1])
    tests = [t for _, t in DomainKFold(2).split(d, y, groups=d)]
    assert sorted(np.concatenate(tests)) == [2, 3, 4, 5]


def test_same_seed_same_splits_and_shuffling_shuffles():
    d, y = np.array([1] * 6 + [-1] * 30), np.arange(36) % 2
    first, second, other = (
        [t.tolist() for _, t in DomainKFold(3, shuffle=True, random_state=s).split(y, y, d)]
        for s in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.parametrize("domain", [[1, -1, -1], pd.Series([1, -1, -1], index=[5, 5, 5])])
def test_domains_of_any_kind_are_read(domain):
    assert len(list(DomainKFold(2).split(np.zeros((3, 1)), None, domain))) == 2


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: DomainKFold(1), "n_splits must be an integer >= 2"),
        (lambda: DomainKFold(2.5), "n_splits must be an integer"),
        (lambda: DomainKFold(score_on="all"), 'score_on must be "target"'),
        (lambda: SourceTargetSplit(0.0), "test_size must be"),
        (lambda: SourceTargetSplit(1.0), "test_size must be"),
        (lambda: SourceTargetSplit(n_splits=0), "n_splits must be"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({}, "needs the domain of each row"),
        ({"groups": [1, -1]}, "groups has 2 entries, but X has 4 rows"),
        ({"sample_domain": [1, 1, 1, 1]}, "no target row"),
        ({"groups": [1, 1, -1, -1], "sample_domain": [1, -1, -1, -1]}, "they differ"),
        ({"sample_domain": [1, 1, 1, -1]}, "rows to score"),
    ],
)
def test_bad_input(splitter, kwargs, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(np.zeros((4, 1)), [0, 1, 0, 1], **kwargs))


def test_a_test_size_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match="test_size=4 leaves none of the 4 rows"):
        list(SourceTargetSplit(4).split(np.zeros((4, 1)), None, [-1] * 4))


def data(kind, labelled):
    Xs, ys, Xt, yt = tables()
    if kind == "text":
        ys, yt = np.array(["no", "yes"])[ys], np.array(["no", "yes"])[yt]
    yt = yt.astype(object)
    if labelled == "partly":
        yt[::3] = None
    X, y, d = stack_domains(Xs, ys, Xt, yt)
    return (pd.DataFrame(X, columns=["a", "b"]) if kind == "frame" else X), y, d


@pytest.fixture(params=[False, True], ids=["unrouted", "routed"])
def routed(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
@pytest.mark.parametrize("kind", ["int", "text", "frame"])
@pytest.mark.parametrize("labelled", ["fully", "partly"])
def test_grid_search(cv, kind, labelled, routed):
    X, y, d = data(kind, labelled)
    search = GridSearchCV(TinyMachine(), {"share": [0.0, 1.0]}, cv=cv, error_score="raise")
    search.fit(X, y, sample_domain=d, groups=d)  # one call for both worlds
    assert np.all(search.cv_results_["mean_test_score"] > 0.5)
    assert len(search.best_estimator_.domains_) == len(d)
    assert search.predict(X).dtype.kind == ("U" if kind == "text" else "i")
    if routed:
        again = clone(search).fit(X, y, sample_domain=d)
        assert np.array_equal(
            again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
        )


def test_grid_search_over_a_pipeline(routed):
    X, y, d = data("frame", "partly")
    pipe = make_pipeline(StandardScaler(), TinyMachine())
    search = GridSearchCV(
        pipe, {"tinymachine__share": [0.0, 1.0]}, cv=DomainKFold(3), error_score="raise"
    )
    fit_params = {"sample_domain": d} if routed else {"tinymachine__sample_domain": d, "groups": d}
    search.fit(X, y, **fit_params)
    assert np.all(search.cv_results_["mean_test_score"] > 0.5)


def test_pipeline_alone(routed):
    X, y, d = data("int", "partly")
    pipe = make_pipeline(StandardScaler(), TinyMachine())
    name = "sample_domain" if routed else "tinymachine__sample_domain"
    assert pipe.fit(X, y, **{name: d}).score(X, y) > 0.5


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_cross_validate(cv, routed):
    X, y, d = data("text", "partly")
    params = {"params": {"sample_domain": d}}
    if not routed:
        params["groups"] = d
    result = cross_validate(
        TinyMachine(), X, y, cv=cv, scoring=["accuracy", "f1_macro"], error_score="raise", **params
    )
    assert np.all(result["test_accuracy"] > 0.5)
    scores = cross_val_score(TinyMachine(), X, y, cv=cv, error_score="raise", **params)
    assert np.all(scores > 0.5)


def test_fully_labelled_integers_serve_the_named_scores(routed):
    X, y, d = data("int", "fully")
    params = {"sample_domain": d} if routed else {"sample_domain": d, "groups": d}
    search = GridSearchCV(
        TinyMachine(), {"share": [1.0]}, cv=DomainKFold(3), scoring="accuracy", error_score="raise"
    )
    assert search.fit(X, y, **params).best_score_ > 0.5


def test_score_compares_the_labelled_rows_with_their_own_predictions():
    assert labelled_accuracy([None, 1, 0], [0, 1, 0]) == 1.0
    assert labelled_accuracy(["a", np.nan, "b"], ["a", "b", "a"], [3.0, 1.0, 1.0]) == 0.75


def test_score_needs_a_label():
    X, y, d = data("int", "fully")
    model = TinyMachine().fit(X, y, sample_domain=d)
    with pytest.raises(ValueError, match="y holds no label"):
        model.score(X[:2], [None, None])
    weights = np.zeros(len(y))
    weights[-1] = 2.0
    assert model.score(X, y, sample_weight=weights) in (0.0, 1.0)


def test_requests_are_preset():
    requests = TinyMachine().get_metadata_routing()
    assert requests.fit.requests == {"sample_domain": True}
    assert requests.predict.requests == {"sample_domain": True, "allow_source": True}
    assert DomainKFold().get_metadata_routing().split.requests == {
        "groups": True,
        "sample_domain": True,
    }


def test_splitters_show_their_parameters():
    assert repr(DomainKFold(3)).startswith("DomainKFold(n_splits=3")
    assert DomainKFold(4).get_n_splits() == 4
    assert SourceTargetSplit().get_n_splits() == 1
