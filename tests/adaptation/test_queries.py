"""select_queries: the printed rules against their formulas, priors in their order, bad input."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from shiftlearn import AdaptSVC, select_queries


def first_column(X):
    return np.asarray(X)[:, 0]


@pytest.fixture
def pool():
    rng = np.random.default_rng(0)
    return np.c_[1.5 * rng.normal(size=80), rng.normal(size=80)]


@pytest.mark.parametrize("pi", [0.0, 0.1, 0.5, 0.8, 1.0])
def test_prior_is_the_expected_loss(pi, pool):
    rows, info = select_queries(first_column, pool, 80, "prior", class_prior=pi, return_info=True)
    f = pool[:, 0]
    loss = pi * np.maximum(0, 1 - f) + (1 - pi) * np.maximum(0, 1 + f)
    np.testing.assert_allclose(info.scores, loss)
    np.testing.assert_allclose(loss[rows], np.sort(loss)[::-1])
    inside = np.abs(f) <= 1
    np.testing.assert_allclose(loss[inside], 1 + (1 - 2 * pi) * f[inside])
    assert (info.class_prior, info.prior_from) == (pi, "class_prior")


def test_a_prior_for_each_row(pool):
    pi = np.random.default_rng(1).random(80)
    _, info = select_queries(first_column, pool, 3, "prior", class_prior=pi, return_info=True)
    f = pool[:, 0]
    loss = pi * np.maximum(0, 1 - f) + (1 - pi) * np.maximum(0, 1 + f)
    np.testing.assert_allclose(info.scores, loss)


def test_best_worst_orders_beyond_the_margin(pool):
    far = pool + np.sign(pool) * 5  # every clipped loss is 0
    rows = select_queries(first_column, far, 10, "best-worst")
    np.testing.assert_array_equal(rows, np.argsort(np.abs(far[:, 0]), kind="stable")[:10])


def test_several_classes_use_the_best_other(pool):
    y = np.digitize(pool[:, 0], [-1, 1])
    model = LogisticRegression().fit(pool, y)
    rows = select_queries(model, pool, 5, "best-worst")
    top = np.sort(model.decision_function(pool), axis=1)
    np.testing.assert_array_equal(rows, np.argsort(top[:, -1] - top[:, -2], kind="stable")[:5])


def test_ties_fall_to_the_smaller_index_or_to_a_draw():
    X = np.zeros((20, 1))
    assert select_queries(first_column, X, 4, "best-worst").tolist() == [0, 1, 2, 3]
    draws = {
        tuple(select_queries(first_column, X, 4, "best-worst", random_state=s)) for s in range(5)
    }
    assert len(draws) > 1


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(0, 40),
    st.sampled_from(["diverse", "prior", "best-worst", "random"]),
    st.integers(0, 5),
)
def test_rows_differ_and_labelled_ones_are_left_out(n, wanted, strategy, n_excluded):
    rng = np.random.default_rng(n)
    X = rng.integers(0, 3, size=(n, 2)).astype(float) - 1  # many duplicates
    excluded = rng.permutation(n)[:n_excluded]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = select_queries(first_column, X, wanted, strategy, exclude=excluded, random_state=0)
    assert len(rows) == len(set(rows.tolist())) == min(wanted, n - len(excluded))
    assert not set(rows.tolist()) & set(excluded.tolist())


def test_the_prior_comes_from_the_first_that_knows(pool):
    y = (pool[:, 1] > 1).astype(int)
    source = LogisticRegression().fit(pool, y)

    def origin(model):
        return select_queries(model, pool, 1, "prior", return_info=True)[1]

    found = origin(source)
    predicted = source.predict(pool).mean()
    assert found.prior_from == "predictions in the pool"
    assert found.class_prior == pytest.approx(predicted)
    few = np.r_[np.flatnonzero(y == 1)[:3], np.flatnonzero(y == 0)[:3]]
    adapted = AdaptSVC(source, gamma=0.5).fit(pool[few], y[few])
    found = origin(adapted)
    assert found.prior_from == "labelled target rows" and found.class_prior == 0.5
    domain = np.repeat([1, -1], [len(y), 6])
    both = np.vstack([pool, pool[few]]), np.r_[y, y[few]]
    aware = AdaptSVC(gamma=0.5).fit(*both, sample_domain=domain)
    found = origin(aware)
    assert found.prior_from == "source_class_count_"
    assert found.class_prior == pytest.approx(y.mean())
    with pytest.warns(UserWarning, match="Nothing is known of the class proportions"):
        found = select_queries(lambda X: np.ones(len(X)), pool, 1, "prior", return_info=True)[1]
    assert found.class_prior == 0.5


def test_diverse_spreads_and_repeats():
    rng = np.random.default_rng(0)
    centres = 10 * rng.normal(size=(6, 3))
    X = np.repeat(centres, 30, axis=0) + 0.1 * rng.normal(size=(180, 3))
    model = LogisticRegression().fit(X, rng.integers(0, 2, 180))
    for seed in (None, 1, 2):
        rows = select_queries(model, X, 24, random_state=seed)
        assert np.bincount(rows // 30, minlength=6).min() >= 2
    rows = select_queries(model, X, 6)
    np.testing.assert_array_equal(rows, select_queries(model, X, 6))
    assert len(set(select_queries(model, sparse.csr_matrix(X), 6) // 30)) >= 4


def test_diverse_prefers_what_the_model_cannot_tell():
    X = np.random.default_rng(0).uniform(-3, 3, size=(600, 2))
    chosen = np.abs(X[select_queries(first_column, X, 60), 0])
    assert chosen.mean() < np.abs(X[:, 0]).mean() - 0.2


def test_any_classifier_and_the_iterative_variant(pool):
    y = (pool[:, 0] + pool[:, 1] > 0).astype(int)
    forest = RandomForestClassifier(10, random_state=0).fit(pool[:20], y[:20])
    rows = select_queries(forest, pool, 6, "best-worst")
    q = forest.predict_proba(pool)[:, 1]
    assert np.abs(q[rows] - 0.5).max() <= np.sort(np.abs(q - 0.5))[5] + 1e-12
    adapted = AdaptSVC(forest, gamma=0.5).fit(pool[rows], y[rows])
    more = select_queries(adapted, pool, 6, "best-worst", exclude=rows)
    assert not set(more) & set(rows)


def test_large_pools_are_quick():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50))
    start = time.process_time()
    rows = select_queries(first_column, X, 100)
    assert time.process_time() - start < 8  # on a busy machine; the figure is 2 s
    assert len(set(rows.tolist())) == 100


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"strategy": "entropy"}, "strategy must be one of"),
        ({"n_queries": -1}, "n_queries must be a whole number"),
        ({"n_queries": 2.5}, "n_queries must be a whole number"),
        ({"exclude": [99]}, "exclude must hold row numbers"),
        ({"exclude": [0.5]}, "exclude must hold row numbers"),
        ({"class_prior": 1.5, "strategy": "prior"}, "class_prior must hold probabilities"),
        ({"class_prior": [0.5, 0.2, 0.1], "strategy": "prior"}, "class_prior must be"),
        ({"model": "svc"}, "source must be a classifier"),
        ({"model": LogisticRegression()}, "must be one fitted classifier"),
    ],
)
def test_bad_input(parameters, words, pool):
    given = {"model": first_column, "n_queries": 2, "strategy": "best-worst", **parameters}
    model, n = given.pop("model"), given.pop("n_queries")
    with pytest.raises(ValueError, match=words):
        select_queries(model, pool, n, **given)
