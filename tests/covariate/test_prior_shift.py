"""Moved class proportions: estimates, intervals, correction, and the test of the assumption."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import priors as oracle
from shiftlearn import DomainKFold, PriorShiftCorrector, stack_domains
from shiftlearn.covariate.assumptions import largest_difference
from shiftlearn.covariate.priors import Calibration, black_box_priors, em_priors
from shiftlearn.errors import NoTargetWarning

METHODS = ["em", "bbse"]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks([PriorShiftCorrector(LogisticRegression(), random_state=0)])
def test_sklearn_contract(estimator, check):
    check(estimator)


def drawn(counts, seed, by=(0.0, 0.0)):
    """Rows of three overlapping classes, so many of each."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(["a", "b", "c"])[: len(counts)], counts)
    center = 2.0 * np.repeat(np.arange(len(counts)), counts)
    return rng.normal(center[:, None] * [1.0, 0.5]) + by, y


def corrector(method="em", **given):
    given = {"n_bootstrap": 40, "random_state": 0, **given}
    return PriorShiftCorrector(LogisticRegression(), method, **given)


@pytest.fixture
def moved():
    Xs, ys = drawn([300, 300, 300], 0)
    Xt, yt = drawn([500, 150, 50], 1)
    return (*stack_domains(Xs, ys, Xt), Xt, yt)


@pytest.mark.parametrize("method", METHODS)
def test_the_proportions_are_found_and_the_correction_helps(moved, method):
    X, y, d, Xt, yt = moved
    model = corrector(method).fit(X, y, sample_domain=d)
    truth = np.array([500, 150, 50]) / 700
    assert model.target_priors_ == pytest.approx(truth, abs=0.07)
    assert model.target_priors_.sum() == pytest.approx(1.0)
    low, high = model.target_priors_interval_.T
    assert np.all(low <= model.target_priors_) and np.all(model.target_priors_ <= high)
    assert np.all(high - low < 0.25) and np.any(high - low > 0.02)
    assert model.score(Xt, yt) > model.estimator_.score(Xt, yt) + 0.02
    assert model.predict_proba(Xt).sum(axis=1) == pytest.approx(np.ones(len(Xt)))
    assert model.class_weights_ == pytest.approx(model.target_priors_ * 3)


@pytest.mark.parametrize("method", METHODS)
def test_intervals_cover(method):
    truth, inside = np.array([0.6, 0.3, 0.1]), []
    for seed in range(8):
        Xs, ys = drawn([150, 150, 150], 2 * seed)
        Xt, _ = drawn([180, 90, 30], 2 * seed + 1)
        model = corrector(method, random_state=seed).fit(*stack_domains(Xs, ys, Xt)[:2])
        low, high = model.target_priors_interval_.T
        inside.extend((low <= truth) & (truth <= high))
    assert np.mean(inside) > 0.7  # of 24, at a nominal 0.9


def test_em_is_the_papers_iteration():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 2, 0.5], size=200)
    priors = np.array([0.2, 0.5, 0.3])
    assert em_priors(p, priors) == pytest.approx(oracle.em(p, priors), abs=1e-4)


def test_black_box_is_the_inverse_of_the_confusion_matrix():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=900)
    guess = np.where(rng.random(900) < 0.8, codes, rng.integers(0, 3, size=900))
    predicted = rng.choice(3, p=[0.5, 0.3, 0.2], size=500)
    expected = oracle.black_box(guess, codes, predicted, 3)
    assert black_box_priors(guess, codes, predicted, 3) == pytest.approx(expected / expected.sum())
    only = np.zeros(500, dtype=int)  # the inverse alone would be negative elsewhere
    found = black_box_priors(guess, codes, only, 3)
    assert found.min() >= 0 and found[0] == pytest.approx(1.0, abs=0.1)


def test_calibration_undoes_a_wrong_temperature():
    rng = np.random.default_rng(0)
    for k in (2, 3):
        logits = rng.normal(size=(4000, k))
        codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        wrong = true**3 / (true**3).sum(axis=1, keepdims=True)
        fitted = Calibration.fit(wrong, codes)
        assert fitted.temperature == pytest.approx(1 / 3, rel=0.15)
        assert np.abs(fitted.apply(wrong) - true).max() < 0.06


def test_overconfident_classifiers_are_calibrated_first():
    Xs, ys = drawn([300, 300], 0)
    Xt, _ = drawn([500, 100], 1)
    X, y, d = stack_domains(np.c_[Xs, Xs, Xs], ys, np.c_[Xt, Xt, Xt])  # thrice the evidence
    model = PriorShiftCorrector(GaussianNB(), random_state=0, n_bootstrap=0)
    model.fit(X, y, sample_domain=d)
    assert model.calibration_.temperature < 0.6
    assert model.target_priors_[0] == pytest.approx(5 / 6, abs=0.05)
    assert np.array_equal(model.target_priors_interval_[:, 0], model.target_priors_)


def test_equal_proportions_change_little():
    Xs, ys = drawn([300, 300, 300], 0)
    Xt, _ = drawn([200, 200, 200], 1)
    X, y, d = stack_domains(Xs, ys, Xt)
    model = corrector().fit(X, y, sample_domain=d)
    assert model.target_priors_ == pytest.approx(np.full(3, 1 / 3), abs=0.1)
    assert np.mean(model.predict(Xt) == model.estimator_.predict(Xt)) > 0.9


@pytest.mark.parametrize("kind, verdict", [
    ("same", "nothing moved"),
    ("proportions", "class proportions moved"),
    ("inputs", "inputs moved"),
])  # fmt: skip
@pytest.mark.parametrize("method", METHODS)
def test_which_assumption_the_data_support(kind, verdict, method):
    counts = [250, 80, 30] if kind == "proportions" else [120, 120, 120]
    Xs, ys = drawn([150, 150, 150], 10)
    Xt, _ = drawn(counts, 11, by=(0.9, -0.9) if kind == "inputs" else (0.0, 0.0))
    X, y, d = stack_domains(Xs, ys, Xt)
    found = corrector(method).compare_assumptions(
        X, y, sample_domain=d, classifier=LogisticRegression(), n_bootstrap=60
    )
    assert found.verdict == verdict
    assert verdict in str(found) and "cannot be seen" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("counts, which", [([90] * 3, 0), ([150, 80, 40], 1)])
def test_a_true_hypothesis_is_seldom_refuted(counts, which):
    p_values = []
    for seed in range(60):
        Xs, ys = drawn([100, 100, 100], 2 * seed)
        X, y, d = stack_domains(Xs, ys, drawn(counts, 2 * seed + 1)[0])
        found = corrector(random_state=seed).compare_assumptions(
            X, y, sample_domain=d, classifier=LogisticRegression(), n_bootstrap=60
        )
        p_values.append((found.no_shift_p_value, found.proportions_p_value)[which])
    assert np.mean(np.array(p_values) < 0.1) < 0.22  # 0.1 and two standard errors


def test_the_largest_difference_is_found_pair_by_pair():
    rng = np.random.default_rng(0)
    a, b, w = rng.integers(0, 6, 30), rng.integers(1, 7, 20), rng.exponential(size=30)
    worst = max(abs(w[a <= s].sum() / w.sum() - np.mean(b <= s)) for s in range(7))
    assert largest_difference(a.astype(float), w, b.astype(float)) == pytest.approx(worst)


def test_target_labels_are_never_read(moved):
    X, y, d, _, _ = moved
    one = corrector(n_bootstrap=0).fit(X, y, sample_domain=d)
    filled = y.copy()
    filled[d < 0] = "zebra"
    two = corrector(n_bootstrap=0).fit(X, filled, sample_domain=d)
    assert np.array_equal(one.target_priors_, two.target_priors_)


def test_without_target_rows_nothing_is_corrected():
    Xs, ys = drawn([50, 100], 0)
    with pytest.warns(NoTargetWarning):
        model = corrector().fit(Xs, ys)
    direct = LogisticRegression().fit(Xs, ys)
    assert np.array_equal(model.predict_proba(Xs), direct.predict_proba(Xs))
    assert model.target_priors_ == pytest.approx([1 / 3, 2 / 3])
    assert model.target_priors_interval_.shape == (2, 2)


@pytest.mark.parametrize("routing", [False, True])
def test_in_searches_and_pipelines(moved, routing):
    X, y, d, _, yt = moved
    y = y.copy()
    y[d < 0] = yt
    with sklearn.config_context(enable_metadata_routing=routing):
        forest = RandomForestClassifier(5, random_state=0)
        model = make_pipeline(StandardScaler(), PriorShiftCorrector(forest, n_bootstrap=0))
        grid = {"priorshiftcorrector__method": METHODS}
        search = GridSearchCV(model, grid, cv=DomainKFold(2), error_score="raise")
        y = y.astype(str)
        if routing:
            search.fit(X, y, sample_domain=d)
        else:
            search.fit(X, y, priorshiftcorrector__sample_domain=d, groups=d)
    assert np.all(search.cv_results_["mean_test_score"] > 0.7)


def test_splitters_as_folds(moved):
    X, y, d, _, _ = moved
    model = corrector(n_bootstrap=0, cv=StratifiedKFold(3)).fit(X, y, sample_domain=d)
    assert model.target_priors_[0] > 0.6
    assert clone(model).set_params(cv=LeaveOneOut())._check_parameters() is None


@pytest.mark.parametrize(
    "model, error, message",
    [
        (corrector("ml"), ValueError, "method must be"),
        (corrector(cv=1), ValueError, "cv must be"),
        (corrector(cv="five"), ValueError, "cv must be"),
        (corrector(level=1.0), ValueError, "level must"),
        (corrector(n_bootstrap=-1), ValueError, "n_bootstrap must be"),
        (PriorShiftCorrector(LinearSVC()), TypeError, "CalibratedClassifierCV"),
        (PriorShiftCorrector("lr"), TypeError, "estimator must be"),
    ],
)
def test_wrong_parameters(moved, model, error, message):
    X, y, d, _, _ = moved
    with pytest.raises(error, match=message):
        model.fit(X, y, sample_domain=d)
    assert not hasattr(model, "estimator_")


def test_wrong_rows(moved):
    X, y, d, _, _ = moved
    with pytest.raises(ValueError, match="one class"):
        corrector().fit(X, np.repeat("a", len(X)), sample_domain=d)
    lonely = np.array(["a"] * len(X))
    lonely[0] = "b"
    with pytest.raises(ValueError, match="class 'b' has 1 row in the source"):
        corrector().fit(X, lonely, sample_domain=d)
    with pytest.raises(ValueError, match="no target row"):
        corrector().compare_assumptions(X, np.where(d < 0, "a", y), sample_domain=abs(d))
    with pytest.raises(ValueError, match="NaN"):
        corrector().fit(np.where(X > 3, np.nan, X), y, sample_domain=d)
