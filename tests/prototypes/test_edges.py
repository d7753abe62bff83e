"""The edge cases of the method, one test each, and bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from shiftlearn import ExemplarSVC, PrototypeSVC
from shiftlearn.prototypes.rules import Rules
from shiftlearn.prototypes.shifting import _staying
from shiftlearn.prototypes.training import Trace, hold_out


def two_blobs(n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    return rng.normal(size=(n, d)) + 4.0 * y[:, None], y


def test_one_class_is_refused():
    X, _ = two_blobs()
    with pytest.raises(ValueError, match=r"1 class .*at least 2 classes"):
        PrototypeSVC().fit(X, np.zeros(40))


def test_a_class_with_one_row_keeps_its_model():
    X, y = two_blobs()
    y[7] = 2
    model = PrototypeSVC(random_state=0).fit(X, y)
    assert 7 not in model.validation_indices_
    assert 7 in model.exemplars_
    assert set(model.prototype_classes_) == {0, 1, 2}


def test_classes_too_small_to_give_rows_give_none():
    rng = np.random.RandomState(0)
    codes = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2], dtype=np.int32)
    held = hold_out(codes, 0.25, rng, True)
    assert np.bincount(codes[held], minlength=3).tolist() == [2, 0, 1]
    held = hold_out(codes, 0.9, rng, False)
    assert set(np.delete(codes, held)) == {0, 1, 2}


def test_nothing_held_out_keeps_the_last_iterate_and_warns_once():
    X, y = two_blobs()
    with pytest.warns(UserWarning, match="the last one is kept") as caught:
        model = PrototypeSVC(3, validation_fraction=0.0, random_state=0).fit(X, y)
    assert len(caught) == 1
    assert model.best_iteration_ == len(model.n_models_per_iteration_) - 1
    assert np.isnan(model.validation_scores_).all()


def test_coincident_rows_of_other_classes_are_no_negatives():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    model = ExemplarSVC(scale=None).fit(X, [0, 1, 1, 0])
    assert model.negative_sets_[0].tolist() == [2]
    assert model.negative_sets_[1].tolist() == [3]


def test_a_model_without_negatives_never_fires():
    X = np.zeros((4, 2))
    model = ExemplarSVC(scale=None).fit(X, [0, 1, 0, 1])
    assert all(len(s) == 0 for s in model.negative_sets_)
    assert (model.intercept_ == -1).all()
    assert model.silent_rows(X).all()
    assert (model.predict(X) == 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_coincident_rows_of_one_class_go_to_the_first_model():
    X = np.array([[0.0], [0.0], [0.2], [5.0], [5.2]])
    with pytest.warns(UserWarning, match="the last one"):
        model = PrototypeSVC(1, C=100.0, validation_fraction=0, random_state=0).fit(
            X, [0, 0, 0, 1, 1]
        )
    claimed_first = set(model.positive_sets_[model.exemplars_.tolist().index(0)])
    assert {1, 2} <= claimed_first


def test_constant_columns_do_not_count():
    X, y = two_blobs()
    wide = np.column_stack([X, np.full(40, 7.0)])
    a, b = (PrototypeSVC(random_state=0).fit(Z, y) for Z in (X, wide))
    other = np.column_stack([X, np.full(40, -1e6)])
    assert np.array_equal(a.exemplars_, b.exemplars_)
    np.testing.assert_allclose(b.predict_proba(other), a.predict_proba(X))
    assert (b.coef_[:, 2] == 0).all()


def test_more_negatives_than_there_are():
    X, y = two_blobs(10)
    assert max(len(s) for s in ExemplarSVC(n_negatives=100).fit(X, y).negative_sets_) <= 5


def test_all_models_may_go_where_the_rules_allow():
    """Literal reading, C so small that no model fires: all are silent and training stops."""
    rng = np.random.default_rng(0)
    X, y = 1e-4 * rng.normal(size=(60, 2)), np.arange(60) % 2
    model = PrototypeSVC(reading="literal", random_state=0).fit(X, y)
    assert model.best_iteration_ == 0
    assert len(model.exemplars_) == model.n_models_per_iteration_[0]


def test_silent_rows_go_to_the_largest_score():
    X, y = two_blobs()
    model = PrototypeSVC(random_state=0).fit(X, y)
    far = np.array([[2.0, 2.0], [-300.0, 300.0], [200.0, -310.0]])
    rows = np.concatenate([X, far, np.random.default_rng(1).uniform(-50, 50, (300, 2))])
    scores = rows @ model.coef_.T + model.intercept_
    silent = model.silent_rows(rows)
    assert np.array_equal(silent, ~(scores > 0).any(axis=1))
    labels = model.prototype_classes_[scores.argmax(axis=1)]
    assert np.array_equal(model.predict(rows)[silent], labels[silent])


@pytest.mark.parametrize("drop", ["unclaimed", "silent", "silent-same", "silent-others"])
def test_every_rule_for_dropping(drop):
    class Two:
        codes = np.array([0, 0, 1])

    claimed = np.array([1, 0, 0])
    counts = np.array([[2, 1, 0], [0, 1, 0], [1, 1, 0]])
    expected = {"unclaimed": [1, 0, 1], "silent": [1, 1, 1], "silent-same": [1, 1, 1]}
    found = _staying(Two, claimed, counts, Rules(drop=drop))
    assert found.tolist() == [bool(v) for v in expected.get(drop, [1, 1, 1])]
    assert not _staying(Two, claimed, counts, Rules(drop=drop, keep_classes=False))[2]


def test_without_hard_negatives_only_the_split_is_random():
    X, y = two_blobs(60)
    fits = [PrototypeSVC(hard_negative_rate=0, random_state=s).fit(X, y) for s in (1, 1)]
    assert np.array_equal(fits[0].exemplars_, fits[1].exemplars_)


def test_no_shifts_hold_nothing_out():
    X, y = two_blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = PrototypeSVC(0, validation_fraction=0.5).fit(X, y)
        b = ExemplarSVC().fit(X, y)
    assert len(a.exemplars_) == len(X)
    assert a.validation_indices_.size == 0
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_weights_scale_the_cost_and_zero_removes():
    X, y = two_blobs()
    y[3] = 1 - y[3]
    a = ExemplarSVC(C=5.0, tol=1e-10).fit(X, y)
    b = ExemplarSVC(C=1.0, tol=1e-10).fit(X, y, sample_weight=np.full(40, 5.0))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-7)
    weights = np.ones(40)
    weights[[0, 3]] = 0
    c = PrototypeSVC(random_state=0).fit(X, y, sample_weight=weights)
    d = PrototypeSVC(random_state=0).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(c.decision_function(X), d.decision_function(X), atol=1e-12)
    assert np.array_equal(c.exemplars_, np.flatnonzero(weights)[d.exemplars_])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_must_be_finite(bad):
    X, y = two_blobs()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PrototypeSVC().fit(X, y)


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@pytest.mark.parametrize("scale", ["range", "standard", None])
@pytest.mark.parametrize("offset", [0.0, 2020.0])
def test_sparse_rows_give_the_dense_model(scale, offset):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.5)
    X[:, 2] = offset + rng.random(150)
    y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 3] > 0).astype(int)
    dense, thin = (
        PrototypeSVC(scale=scale, hard_negative_rate=0.05, random_state=0).fit(Z, y)
        for Z in (X, sparse.csr_matrix(X))
    )
    assert np.array_equal(dense.exemplars_, thin.exemplars_)
    np.testing.assert_array_equal(dense.coef_, thin.coef_)
    for rows in (X, sparse.csc_matrix(X)):
        np.testing.assert_allclose(
            dense.predict_proba(rows), thin.predict_proba(X), rtol=1e-7, atol=1e-9
        )
        assert np.array_equal(thin.apply(rows), dense.apply(X))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_negatives": 0}, "n_negatives must be a whole number >= 1, got 0"),
        ({"n_negatives": 2.5}, "n_negatives must be a whole number"),
        ({"n_shifts": -1}, "n_shifts must be a whole number >= 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be >= 0 and < 1, got 1.0"),
        ({"validation_fraction": -0.1}, "validation_fraction"),
        ({"hard_negative_rate": 1.5}, "hard_negative_rate must be .*<= 1"),
        ({"hard_negative_rate": "some"}, "hard_negative_rate"),
        ({"C": 0.0}, "C must be a finite number > 0"),
        ({"C": "best"}, "C must be"),
        ({"scale": "unit"}, 'scale must be "range", "standard" or None'),
        ({"reading": "lazy"}, "reading must be one of"),
        ({"max_exemplars": 0}, "max_exemplars"),
        ({"max_hard_negatives": 0}, "max_hard_negatives"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    X, y = two_blobs()
    with pytest.raises(ValueError, match=words):
        PrototypeSVC(**arguments).fit(X, y)


@pytest.mark.parametrize(("later", "expected"), [(True, 3), (False, 1)])
def test_equal_iterates_go_by_the_rule(later, expected):
    trace = Trace(ensemble=[0], best=[0])
    for size, score in enumerate([0.5, 0.8, 0.7, 0.8, 0.6], start=1):
        trace.ensemble = [0] * size
        trace.see(score, 0.0, later)
    assert trace.best_iteration == expected
    assert len(trace.best) == expected + 1
