"""The search and its guard: what is chosen, when the source is kept, bad input, contract."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import MongeMapper, SelfTrainingAdapter, ShiftSearchCV, stack_domains
from shiftlearn.errors import NoTargetWarning
from shiftlearn.metrics import PredictionEntropyScorer
from shiftlearn.trust.guard import expected_difference, guard

CANDIDATES = [
    ("source", LogisticRegression()),
    ("monge", make_pipeline(MongeMapper(), LogisticRegression())),
    ("self", SelfTrainingAdapter(LogisticRegression())),
]


def problem(n=250, m=250, move=True, seed=0, classes=2, d=4):
    rng = np.random.default_rng(seed)
    centres = 1.7 * np.random.default_rng(5).normal(size=(classes, d))
    ys, yt = rng.integers(0, classes, n), rng.integers(0, classes, m)
    Xs, Xt = (centres[y] + rng.normal(size=(len(y), d)) for y in (ys, yt))
    if move:
        Xt = Xt * np.linspace(0.6, 1.8, d) + np.linspace(-1.0, 1.0, d)
    return Xs, ys, Xt, yt


def fitted(Xs, ys, Xt, *given, **options):
    X, y, domain = stack_domains(Xs, ys, Xt)
    return ShiftSearchCV(*given, random_state=0, **options).fit(X, y, sample_domain=domain)


@pytest.mark.parametrize("candidates", ["default", CANDIDATES], ids=["default", "own"])
def test_no_shift_is_no_reason_to_adapt(candidates):
    Xs, ys, Xt, _ = problem(move=False)
    search = fitted(Xs, ys, Xt, candidates)
    assert search.best_name_ == "source" and not search.guard_.adapt
    assert search.guard_.verdict.startswith("No reason to adapt: no shift is seen")
    plain = LogisticRegression(max_iter=1000).fit(Xs, ys).predict(Xt)
    np.testing.assert_array_equal(search.predict(Xt), plain)


def test_where_sensors_changed_it_adapts_and_gains():
    gains = []
    for seed in range(3):
        Xs, ys, Xt, yt = problem(300, 300, seed=seed, classes=3, d=6)
        search = fitted(Xs, ys, Xt)
        plain = LogisticRegression().fit(Xs, ys).score(Xt, yt)
        gains.append(search.score(Xt, yt) - plain)
        assert set(search.cv_results_["candidate"]) >= {"source", "committee"}
    assert np.mean(gains) > 0 and min(gains) > -0.01


def test_guard_can_be_left_out():
    Xs, ys, Xt, _ = problem(move=False)
    search = fitted(Xs, ys, Xt, CANDIDATES, guard=False)
    assert search.best_name_ == search.chosen_name_ != "source"
    assert not search.guard_.adapt


def test_expected_difference_by_its_definition():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    one, other = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    value, low, high = expected_difference(one, other, p, 0)
    gains = [p[i, one[i]] - p[i, other[i]] for i in range(200)]
    assert value == pytest.approx(np.mean(gains))
    reach = 1.645 * np.std(gains) / np.sqrt(200)
    assert (high - low) / 2 == pytest.approx(reach, rel=0.15)
    assert expected_difference(one, one, p, 0) == (0.0, 0.0, 0.0)


def test_verdicts_in_words():
    p = np.tile([0.9, 0.1], (50, 1))
    zero, one = np.zeros(50, dtype=int), np.ones(50, dtype=int)
    arguments = {"opinions": p, "proportions": None, "seed": 0}
    unseen = guard("c", zero, one, shift_p_value=0.5, **arguments)
    same = guard("c", zero, zero, shift_p_value=0.001, **arguments)
    unknown = guard("c", zero, one, shift_p_value=0.001, **arguments)
    assert "no shift is seen" in unseen.verdict and "no prediction" in same.verdict
    assert "cannot tell the classes apart" in unknown.verdict
    assert unseen.difference == pytest.approx(0.8) and str(unseen) == unseen.verdict


def test_a_loss_is_refused():
    Xs, ys, Xt, _ = problem()

    class Flip(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    honest = [("a", LogisticRegression(C=0.5)), ("b", LogisticRegression(C=0.2))]
    search = fitted(Xs, ys, Xt, [*honest, ("flip", Flip())])
    assert search.chosen_name_ != "flip"
    results = dict(zip(search.cv_results_["candidate"], search.cv_results_["difference"]))
    assert results["flip"] < -0.3


def test_target_labels_are_not_read():
    Xs, ys, Xt, yt = problem()
    X, domain = np.vstack([Xs, Xt]), np.repeat([0, -1], [len(Xs), len(Xt)])
    first, again = (
        ShiftSearchCV(CANDIDATES, random_state=0).fit(
            X, np.concatenate([ys, labels]), sample_domain=domain
        )
        for labels in (yt, np.random.default_rng(0).permutation(yt))
    )
    np.testing.assert_array_equal(first.predict_proba(Xt), again.predict_proba(Xt))
    assert first.guard_.verdict == again.guard_.verdict


def test_any_candidates_and_labels_of_any_type():
    Xs, ys, Xt, _ = problem()
    names = np.array(["no", "yes"])[ys]
    mixed = [
        ("margins", LinearSVC()),
        ("tree", DecisionTreeClassifier(random_state=0)),
        ("neighbours", KNeighborsClassifier()),
    ]
    search = fitted(Xs, names, Xt, mixed, guard=False)
    assert search.cv_results_["candidate"][0] == "source"
    assert search.predict(Xt).dtype == names.dtype
    assert search.predict_proba(Xt).shape == (len(Xt), 2)


def test_a_scorer_chooses_by_folds():
    Xs, ys, Xt, _ = problem()
    search = fitted(Xs, ys, Xt, CANDIDATES, PredictionEntropyScorer(), cv=3)
    scores = dict(zip(search.cv_results_["candidate"], search.cv_results_["score"]))
    best = max(("monge", "self"), key=scores.__getitem__)
    assert search.chosen_name_ == best and scores["source"] != 0


@pytest.mark.parametrize("m", [1, 3])
def test_hardly_any_target_rows(m):
    Xs, ys, Xt, _ = problem(m=m)
    search = fitted(Xs, ys, Xt, [("self", SelfTrainingAdapter(LogisticRegression()))])
    assert search.best_name_ == "source"


def test_more_columns_than_rows_and_a_class_that_is_absent():
    Xs, ys, Xt, yt = problem(50, 40, classes=3, d=70)
    Xs[:, 1] = Xt[:, 1] = 5.0
    search = fitted(Xs, ys, Xt[yt != 0])
    assert np.isfinite(search.predict_proba(Xt)).all()


def test_without_target_rows():
    Xs, ys, _, _ = problem()
    with pytest.warns(NoTargetWarning):
        search = ShiftSearchCV().fit(Xs, ys)
    assert search.best_name_ == "source" and "no target rows" in search.guard_.verdict


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": "all"}, "candidates must be"),
        ({"candidates": []}, "candidates must be"),
        ({"candidates": [("a", 1)]}, "candidates must be"),
        ({"candidates": [CANDIDATES[0], CANDIDATES[0]]}, "different names"),
        ({"scoring": "accuracy"}, "scoring must be"),
        ({"guard": "yes"}, "guard must be"),
        ({"cv": 1}, "cv must be"),
    ],
)
def test_wrong_parameters(options, message):
    Xs, ys, Xt, _ = problem(40, 30)
    with pytest.raises(ValueError, match=message):
        fitted(Xs, ys, Xt, **options)


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks([ShiftSearchCV()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
