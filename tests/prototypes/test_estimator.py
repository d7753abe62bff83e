"""What users see: readings, reproducibility, explanations, going on, large n, files."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftlearn import ExemplarSVC, PrototypeSVC
from shiftlearn.datasets import make_isolated, make_spirals
from shiftlearn.prototypes import choice, shifting
from shiftlearn.prototypes.choice import COSTS, RATES


@pytest.fixture(scope="module")
def rows():
    d = make_isolated(0)
    return d.data, np.where(d.target == 1, "inside", "around")


@pytest.fixture(scope="module")
def model(rows):
    return PrototypeSVC(hard_negative_rate=0.02, C=100.0, random_state=0).fit(*rows)


def test_readings_pin_their_values(rows):
    X, y = rows
    spec = PrototypeSVC(
        reading="spec", C=1.0, hard_negative_rate=0.5, scale=None, random_state=0
    ).fit(X, y)
    assert (spec.C_, spec.hard_negative_rate_, spec.scale_) == (100.0, 0.005, "range")
    literal = PrototypeSVC(reading="literal", C=7.0, random_state=0).fit(X, y)
    assert (literal.C_, literal.scale_) == (1.0, None)
    default = PrototypeSVC(C=3.0, hard_negative_rate=0.1, scale="standard", random_state=0)
    default.fit(X, y)
    assert (default.C_, default.hard_negative_rate_, default.scale_) == (3.0, 0.1, "standard")


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("products", [1, 1e5, 1e12])
def test_threads_and_blocks_change_nothing(rows, model, n_jobs, products, monkeypatch):
    monkeypatch.setattr(shifting, "BLOCK_PRODUCTS", products)
    other = PrototypeSVC(hard_negative_rate=0.02, C=100.0, random_state=0, n_jobs=n_jobs).fit(*rows)
    assert np.array_equal(other.exemplars_, model.exemplars_)
    assert np.array_equal(other.coef_, model.coef_)
    assert np.array_equal(other.predict_proba(rows[0]), model.predict_proba(rows[0]))


def test_rows_predict_alike_alone_and_together(rows, model):
    X = rows[0][:70]
    alone = np.array([model.decision_function(x[None])[0] for x in X])
    assert np.array_equal(alone, model.decision_function(X))


def test_two_classes_rank_by_their_probabilities(rows, model):
    p, f = model.predict_proba(rows[0]), model.decision_function(rows[0])
    np.testing.assert_array_equal(f, p[:, 1] - p[:, 0])
    assert np.array_equal(model.predict(rows[0]) == "inside", f > 0)


def test_scores_of_several_classes(rows):
    X = rows[0]
    y = make_isolated(0).ids
    model = PrototypeSVC(random_state=0).fit(X, y)
    silent = model.silent_rows(X)
    f, p = model.decision_function(X), model.predict_proba(X)
    assert (f[silent] < 0).all()
    assert (f[~silent] >= 0).all()
    np.testing.assert_allclose(f[silent], p[silent] - 1)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.classes_[f.argmax(axis=1)], model.predict(X))


def test_attributes_speak_of_the_rows_given(rows, model):
    X, y = rows
    assert np.array_equal(model.prototypes_, X[model.exemplars_])
    assert np.array_equal(model.prototype_classes_, y[model.exemplars_])
    held = set(model.validation_indices_)
    for e, c, P, N in zip(
        model.exemplars_, model.prototype_classes_, model.positive_sets_, model.negative_sets_
    ):
        assert e in P
        assert set(y[P]) == {c}
        assert c not in set(y[N])
        assert not held & ({*P} | {*N})
    assert (
        model.best_iteration_
        == np.flatnonzero(model.validation_scores_ == model.validation_scores_.max()).max()
    )
    assert model.n_models_per_iteration_[model.best_iteration_] == len(model.exemplars_)
    assert model.certificate_.converged
    assert model.certificate_.gap < 1e-3 * abs(model.certificate_.objective)


def test_an_explanation_adds_up_to_the_prediction(rows, model):
    X, _ = rows
    p = model.predict_proba(X[:60])
    for x, chances, found in zip(X, p, model.explain(X[:60])):
        assert found.label == model.predict(x[None])[0]
        assert found.silent == model.silent_rows(x[None])[0]
        if found.silent:
            assert len(found.votes) == 1
            continue
        sums = [sum(v.probability for v in found.votes if v.label == c) for c in model.classes_]
        np.testing.assert_allclose(np.array(sums) / sum(sums), chances, atol=1e-9)
        order = [v.probability for v in found.votes]
        assert order == sorted(order, reverse=True)
        best = found.votes[0]
        assert best.exemplar == model.exemplars_[best.model]
        half = (X.max(axis=0) - X.min(axis=0)) / 2
        assert best.distance == pytest.approx(np.linalg.norm((x - X[best.exemplar]) / half))
        assert str(best.exemplar) in str(found)


def test_apply_names_the_nearest_firing_prototype(rows, model):
    X, _ = rows
    places = model.apply(X[:80])
    for place, found in zip(places, model.explain(X[:80])):
        mine = [v for v in found.votes if v.label == found.label]
        assert place == min(mine, key=lambda v: v.distance).model


@pytest.mark.parametrize("C", [100.0, "auto"])
def test_shifts_can_go_on(rows, C):
    X, y = rows
    long = PrototypeSVC(6, C=C, hard_negative_rate=0.02, random_state=5).fit(X, y)
    step = PrototypeSVC(2, C=C, hard_negative_rate=0.02, random_state=5, warm_start=True).fit(X, y)
    for shifts in (3, 6):
        step.set_params(n_shifts=shifts).fit(X, y)
    assert np.array_equal(step.exemplars_, long.exemplars_)
    assert np.array_equal(step.coef_, long.coef_)
    assert step.n_models_per_iteration_.tolist() == long.n_models_per_iteration_.tolist()
    with pytest.raises(ValueError, match="X, y, sample_weight or a parameter"):
        step.fit(X[::-1], y)
    with pytest.raises(ValueError, match="n_shifts must be at least 6"):
        step.set_params(n_shifts=5).fit(X, y)


def test_exemplars_can_be_drawn(rows):
    X, y = rows
    model = PrototypeSVC(max_exemplars=100, random_state=0).fit(X, y)
    assert 90 <= model.n_models_per_iteration_[0] <= 100
    assert model.score(X, y) > 0.8


def test_new_hard_negatives_can_be_limited(rows):
    X, y = rows
    few = PrototypeSVC(
        1, hard_negative_rate=1.0, max_hard_negatives=2, validation_fraction=0.1, random_state=0
    ).fit(X, y)
    assert few.n_models_per_iteration_.size == 2
    assert max(len(s) for s in few.negative_sets_) <= 7 + 2


def test_the_choice_is_made_on_held_out_rows_and_trained_on_all(rows):
    X, y = rows
    model = PrototypeSVC(random_state=0).fit(X, y)
    assert model.C_ in COSTS
    assert model.hard_negative_rate_ in RATES
    used = set(np.concatenate([*model.positive_sets_, *model.negative_sets_]).tolist())
    assert used & set(model.validation_indices_.tolist())
    one = PrototypeSVC(hard_negative_rate=0.3, random_state=0).fit(X, y)
    assert one.hard_negative_rate_ == 0.3
    other = PrototypeSVC(C=100.0, random_state=0).fit(X, y)
    assert other.C_ == 100.0
    used = set(np.concatenate([*other.positive_sets_, *other.negative_sets_]).tolist())
    assert not used & set(other.validation_indices_.tolist())


def test_the_choice_is_the_best_candidate():
    """Rows with a fifth of the labels wrong: whatever is chosen, no candidate did better on V."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(160) < 0.2)
    model = PrototypeSVC(3, tol=1e-3, random_state=0).fit(X, y)
    found = {}
    for C, rate in {(C, RATES[0]) for C in COSTS} | {(model.C_, r) for r in RATES}:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choice, "COSTS", (C,))
            patch.setattr(choice, "RATES", (rate,))
            found[C, rate] = PrototypeSVC(3, tol=1e-3, random_state=0).fit(X, y)
    best = max(m.validation_scores_.max() for m in found.values())
    assert model.validation_scores_.max() == best
    chosen = found[model.C_, model.hard_negative_rate_]
    assert np.array_equal(chosen.coef_, model.coef_)


def test_it_lives_in_pipelines_searches_and_files(rows):
    X, y = rows
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PrototypeSVC(3, random_state=0)),
        {"prototypesvc__C": [1.0, 100.0]}, cv=2,
    ).fit(X, y)  # fmt: skip
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(copy.predict(X), search.predict(X))


def test_a_file_gives_the_model_back(rows, model, tmp_path):
    pytest.importorskip("skops", reason="needs the extra `files`")
    from shiftlearn import load, save

    save(model, tmp_path / "model.skops")
    back = load(tmp_path / "model.skops")
    assert np.array_equal(back.predict_proba(rows[0]), model.predict_proba(rows[0]))


def test_a_callback_stops_and_the_model_stands(rows):
    told = []

    def stop(event):
        told.append(event.phase)
        return len(told) == 3

    model = PrototypeSVC(8, C=100.0, hard_negative_rate=0.005, random_state=0, callback=stop).fit(
        *rows
    )
    assert model.n_iter_ == 3
    assert model.score(*rows) > 0.7


def test_target_rows_are_left_out(rows):
    X, y = rows
    domain = np.where(np.arange(len(X)) % 5 == 0, -1, 0)
    a = PrototypeSVC(2, random_state=0).fit(X, y, sample_domain=domain)
    b = PrototypeSVC(2, random_state=0).fit(X[domain == 0], y[domain == 0])
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X))
    assert (domain[a.exemplars_] == 0).all()


def test_invariances(rows):
    """Moved and stretched columns, renamed labels: the same ensemble."""
    X, y = rows
    a = PrototypeSVC(4, random_state=0).fit(X, y)
    b = PrototypeSVC(4, random_state=0).fit(X * [8.0, 0.25] + [64.0, -32.0], y == "inside")
    assert np.array_equal(a.exemplars_, b.exemplars_)
    assert np.array_equal(a.predict(X) == "inside", b.predict(X * [8.0, 0.25] + [64.0, -32.0]))


def test_shifts_improve_on_exemplars_where_regions_are_isolated(rows):
    X, y = rows
    test = make_isolated(9)
    expected = np.where(test.target == 1, "inside", "around")
    shifted = PrototypeSVC(random_state=0).fit(X, y).score(test.data, expected)
    assert shifted > ExemplarSVC().fit(X, y).score(test.data, expected) + 0.1
    assert shifted > 0.8


def test_spirals_need_no_kernel():
    d = make_spirals()
    assert ExemplarSVC().fit(d.data, d.target).score(d.data, d.target) > 0.5
