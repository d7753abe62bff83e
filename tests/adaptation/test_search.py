"""AdaptCV: what is averaged, the guard, folds, companions, edge cases, bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from shiftlearn import AdaptCV, AdaptLogisticRegression, AdaptSVC
from shiftlearn.adaptation.averaging import average_weights, held_out_folds
from shiftlearn.datasets import make_rotated_moons

FEW = [("source", None), ("small", AdaptLogisticRegression(C=1.0)),
       ("margin", AdaptSVC(gamma=0.5, source_transform="scale", kernel_scale="mean"))]  # fmt: skip


def log_odds(model, X):
    q = model.predict_proba(X)[:, 1].clip(1e-6, 1 - 1e-6)
    return np.log(q / (1 - q))


@pytest.fixture
def shift():
    """A source, its model, and new rows whose boundary has moved."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    old = LogisticRegression().fit(X, y)
    new = rng.normal(size=(300, 4)) + 1.0
    return X, y, old, new, (new[:, 0] - 0.5 * new[:, 1] > 0.5).astype(int)


def test_weights_maximise_the_held_out_likelihood():
    rng = np.random.default_rng(0)
    p, omega, prior = rng.uniform(0.05, 1, (30, 4)), rng.uniform(0.5, 2, 30), np.full(4, 0.5)

    def cost(z):
        w = np.exp(z) / np.exp(z).sum()
        return -omega @ np.log(p @ w) - prior @ np.log(w)

    found = minimize(cost, np.zeros(4), tol=1e-12).x
    best = np.exp(found) / np.exp(found).sum()
    np.testing.assert_allclose(average_weights(p, omega, prior), best, atol=2e-3)


@pytest.mark.parametrize(("n", "folds"), [(2, 2), (10, 10), (11, 5), (60, 5)])
def test_folds_cover_every_row_once_with_classes_spread(n, folds):
    codes = np.arange(n) % 2
    found = held_out_folds(codes, "auto", np.random.RandomState(0))
    assert len(found) == folds
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in found])), np.arange(n))
    for kept, out in found:
        assert not set(kept) & set(out) and len(kept) + len(out) == n
        if n == 60:
            assert np.bincount(codes[out]).tolist() == [6, 6]


def test_learns_a_moved_boundary_and_leaves_the_source(shift):
    _, _, old, X, y = shift
    before = old.coef_.copy()
    model = AdaptCV(old).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > old.score(X[60:], y[60:]) + 0.1
    assert not model.guard_.kept_source and model.guard_.gain > 0
    np.testing.assert_array_equal(old.coef_, before)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    f = model.decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-f)), p[:, 1])


def test_the_average_is_that_of_its_parts(shift):
    _, _, old, X, y = shift
    model = AdaptCV(old, candidates=FEW, guard=False).fit(X[:40], y[:40])
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    small = AdaptLogisticRegression(old, C=1.0).fit(X[:40], y[:40])
    margin = AdaptSVC(
        gamma=0.5, source_transform="scale", kernel_scale="mean"
    ).fit(X[:40], y[:40], source_scores=log_odds(old, X[:40]))  # fmt: skip
    f = margin.decision_function(X, source_scores=log_odds(old, X))
    temperature = model._used[[one.candidate.name for one, _ in model._used].index("margin")][0]
    parts = {
        "source": old.predict_proba(X)[:, 1],
        "small": small.predict_proba(X)[:, 1],
        "margin": 1 / (1 + np.exp(-temperature.temperature * f)),
    }
    by_hand = sum(model.weights_[name] * part for name, part in parts.items())
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], by_hand, atol=1e-5)
    results = model.cv_results_
    assert results["name"] == ["source", "small", "margin"]
    assert results["weight"] == list(model.weights_.values())
    assert model.best_name_ == max(model.weights_, key=model.weights_.get)
    assert model.best_params_["C"] == 1.0


def test_held_out_rows_are_not_seen(shift):
    """The held-out likelihood of one candidate equals a plain loop over the folds."""
    _, _, old, X, y = shift
    splitter = KFold(4)
    model = AdaptCV(old, candidates=FEW[:2], cv=splitter, guard=False).fit(X[:40], y[:40])
    logs = np.zeros(40)
    for kept, out in splitter.split(X[:40]):
        part = AdaptLogisticRegression(old, C=1.0).fit(X[kept], y[kept])
        p = part.predict_proba(X[out])[np.arange(len(out)), y[out]]
        logs[out] = np.log(0.99 * p + 0.005)
    assert model.cv_results_["held_out_log_likelihood"][1] == pytest.approx(logs.mean(), abs=1e-6)
    listed = AdaptCV(old, candidates=FEW[:2], cv=list(splitter.split(X[:40])), guard=False)
    assert listed.fit(X[:40], y[:40]).cv_results_ == model.cv_results_


def test_the_guard_keeps_a_source_that_nothing_beats(shift):
    X, _, old, _, _ = shift
    rng = np.random.default_rng(1)
    new = 0.5 * rng.normal(size=(40, 4))
    labels = (rng.random(40) < old.predict_proba(new)[:, 1]).astype(int)
    model = AdaptCV(old).fit(new, labels)
    assert model.guard_.kept_source and "kept" in model.guard_.verdict
    np.testing.assert_allclose(model.predict_proba(X), old.predict_proba(X), atol=1e-6)
    assert model.best_name_ == "source alone" and model.best_estimator_ is None
    free = AdaptCV(old, guard=False).fit(new, labels)
    assert not free.guard_.kept_source
    assert np.abs(free.predict_proba(X) - old.predict_proba(X)).max() > 1e-3


def test_picking_one(shift):
    _, _, old, X, y = shift
    model = AdaptCV(old, candidates=FEW, averaging=False).fit(X[:40], y[:40])
    assert sorted(model.weights_.values()) == [0.0, 0.0, 1.0]
    best = int(np.argmax(model.cv_results_["held_out_log_likelihood"]))
    assert model.best_name_ == FEW[best][0]


def test_source_rows_bring_a_union_and_a_companion(shift):
    Xs, ys, old, Xt, yt = shift
    X, y = np.vstack([Xs, Xt[:20]]), np.concatenate([ys, yt[:20]])
    domain = np.repeat([1, -1], [300, 20])
    model = AdaptCV(old).fit(X, y, sample_domain=domain)
    assert "union" in model.weights_ and len(model.companions_.members) == 1
    alone = AdaptCV(old, companions=None).fit(X, y, sample_domain=domain)
    assert not alone.companions_.members
    forest = RandomForestClassifier(10, random_state=0).fit(Xs, ys)
    beside = AdaptCV(forest).fit(X, y, sample_domain=domain).companions_.members[0].model
    assert hasattr(beside, "coef_")
    none = AdaptCV().fit(X, y, sample_domain=domain)
    assert len(none.sources_.members) == 1 and none.score(Xt, yt) > 0.7
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[310:] = None
    fewer = AdaptCV().fit(X, labels, sample_domain=domain)
    assert fewer.target_class_count_.sum() == 10


def test_rows_drawn_by_class_get_the_proportions_of_the_source(shift):
    Xs, ys, old, Xt, yt = shift
    rare = np.flatnonzero((ys == 0) | (np.arange(300) % 5 == 0))
    few = np.concatenate([np.flatnonzero(yt == c)[:8] for c in (0, 1)])
    for chosen in (few, np.r_[few, few[:4]]):
        X, y = np.vstack([Xs[rare], Xt[chosen]]), np.concatenate([ys[rare], yt[chosen]])
        domain = np.repeat([1, -1], [len(rare), len(chosen)])
        model = AdaptCV(old, candidates=FEW[:1], guard=False).fit(X, y, sample_domain=domain)
        p = old.predict_proba(Xt[chosen])[np.arange(len(chosen)), yt[chosen]].clip(1e-6, 1 - 1e-6)
        shares = np.bincount(ys[rare]) / len(rare)
        counts = np.bincount(yt[chosen])
        weights = (shares / counts)[yt[chosen]] if chosen is few else np.ones(len(chosen))
        expected = np.average(np.log(0.99 * p + 0.005), weights=weights)
        found = model.cv_results_["held_out_log_likelihood"][0]
        assert found == pytest.approx(expected, abs=1e-6)


def test_several_sources_and_several_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(240, 3))
    y = np.array(["a", "b", "c"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] > 0.4)]
    sources = [LogisticRegression().fit(X, y), GaussianNB().fit(X, y)]
    new = X + np.array([0.6, 0.0, 0.0])
    model = AdaptCV(sources).fit(new[:45], y[:45])
    assert model.score(new, y) > max(s.score(new, y) for s in sources)
    assert model.decision_function(new).shape == (240, 3)
    two = AdaptCV(sources).fit(new[:45][y[:45] != "c"], y[:45][y[:45] != "c"])
    assert two.classes_.tolist() == ["a", "b", "c"] and two.predict_proba(new).shape == (240, 3)


def test_sparse_and_dense_rows_agree(shift):
    _, _, old, X, y = shift
    dense = AdaptCV(old).fit(X[:30], y[:30])
    same = AdaptCV(old).fit(sparse.csr_matrix(X[:30]), y[:30])
    np.testing.assert_allclose(
        dense.predict_proba(X), same.predict_proba(sparse.csr_matrix(X)), atol=2e-3
    )


def test_more_columns_than_rows_change_nothing_but_coordinates(shift):
    _, _, old, X, y = shift
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 60)))[0][:4]
    f, g = old.decision_function(X[:30]), old.decision_function(X)
    narrow = AdaptCV(candidates=[FEW[0], FEW[1]]).fit(X[:30], y[:30], source_scores=f)
    wide = AdaptCV(candidates=[FEW[0], FEW[1]]).fit(X[:30] @ turn, y[:30], source_scores=f)
    np.testing.assert_allclose(
        narrow.predict_proba(X, source_scores=g), wide.predict_proba(X @ turn, source_scores=g),
        atol=1e-4,
    )  # fmt: skip


def test_moons_need_a_kernel():
    moons = make_rotated_moons(40, random_state=0)
    Xs, ys, Xt, yt = moons.split()
    rows = np.random.default_rng(0).permutation(len(yt))[:60]
    source = LogisticRegression().fit(Xs, ys)
    linear = AdaptLogisticRegression(source, C=100.0).fit(Xt[rows], yt[rows])
    assert AdaptCV(source).fit(Xt[rows], yt[rows]).score(Xt, yt) > linear.score(Xt, yt) + 0.02


def test_the_same_seed_gives_the_same_bytes(shift):
    _, _, old, X, y = shift
    one, two = (AdaptCV(old, random_state=3).fit(X[:30], y[:30]).predict_proba(X) for _ in "12")
    assert one.tobytes() == two.tobytes()


def test_no_row_and_one_row_are_the_source(shift):
    _, _, old, X, y = shift
    for n in (0, 1):
        model = AdaptCV(old).fit(X[:n], y[:n])
        np.testing.assert_allclose(model.predict_proba(X), old.predict_proba(X), atol=1e-6)
        assert model.guard_.kept_source
    with pytest.raises(ValueError, match=r"at least 2"):
        AdaptCV().fit(X[:1], y[:1])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"cv": 1}, 'cv must be "auto", a number'),
        ({"cv": "loo"}, 'cv must be "auto", a number'),
        ({"candidates": "all"}, 'candidates must be "default" or a list'),
        ({"candidates": []}, "candidates must be"),
        ({"candidates": [AdaptSVC()]}, r"must hold pairs \(name, estimator\)"),
        ({"candidates": [("a", None), ("a", AdaptSVC())]}, "different names"),
        ({"candidates": [("a", "svc")]}, "candidate 'a' must be an estimator"),
        ({"companions": "forest"}, 'companions must be "auto" or None'),
    ],
)
def test_bad_parameters_are_named_before_any_work(parameters, words, shift):
    _, _, old, X, y = shift
    model = AdaptCV(old, **parameters)
    with pytest.raises(ValueError, match=words):
        model.fit(X[:20], y[:20])
    assert not hasattr(model, "classes_")
