"""Scores without target labels: their formulas, their searches, bad input."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from domains.tiny import TinyMachine
from oracles import scorers as oracle
from shiftlearn import LSDAKSVC, SVC, DomainKFold, stack_domains
from shiftlearn.covariate.logistic_ratio import LogisticRatio
from shiftlearn.errors import NoOverlapWarning
from shiftlearn.metrics import (
    CircularValidationScorer,
    DeepEmbeddedScorer,
    ImportanceWeightedScorer,
    PredictionEntropyScorer,
    SoftNeighborhoodDensityScorer,
)

READING_LABELS = [ImportanceWeightedScorer, DeepEmbeddedScorer, CircularValidationScorer]
ALL = [*READING_LABELS, PredictionEntropyScorer, SoftNeighborhoodDensityScorer]


def moved(m=120, n=90, by=0.7, seed=0):
    """Two classes along a line; the target's inputs moved, the rule did not."""
    rng = np.random.default_rng(seed)
    Xs, Xt = rng.normal(size=(m, 2)), rng.normal([by, 0.0], size=(n, 2))
    ys, yt = ((X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int) for X in (Xs, Xt))
    return Xs, ys, Xt, yt


@pytest.fixture
def fold():
    """A fitted model, and held-out rows of both domains."""
    Xs, ys, Xt, yt = moved()
    model = LogisticRegression().fit(Xs[:60], ys[:60])
    X, y, d = stack_domains(Xs[60:], ys[60:], Xt)
    return model, X, y, d, LogisticRatio().fit(Xs[60:], Xt), (Xs[60:], ys[60:], Xt, yt)


def test_importance_weighted_means_are_the_sums_of_the_definition(fold):
    model, X, y, d, ratio, (Xs, ys, _, _) = fold
    right = (model.predict(Xs) == ys).astype(float)
    for normalized, plain in ((False, oracle.plain_weighted), (True, oracle.self_normalised)):
        found = ImportanceWeightedScorer(normalized=normalized).estimate(
            model, X, y, sample_domain=d
        )
        value, error = plain(ratio.weights_, right)
        assert found.value == pytest.approx(value, rel=1e-12)
        assert found.standard_error == pytest.approx(error, rel=1e-12)
        assert found.effective_sample_size == pytest.approx(ratio.effective_sample_size_)


def test_the_control_variate_is_the_regression_on_the_weights(fold):
    model, X, y, d, ratio, (Xs, ys, _, _) = fold
    right = (model.predict(Xs) == ys).astype(float)
    found = DeepEmbeddedScorer().estimate(model, X, y, sample_domain=d)
    assert found.value == pytest.approx(oracle.control_variate(ratio.weights_, right), rel=1e-12)
    plain = ImportanceWeightedScorer(normalized=False).estimate(model, X, y, sample_domain=d)
    assert found.standard_error < plain.standard_error


def test_a_constant_score_has_no_error_after_the_control_variate(fold):
    model, X, y, d, _, _ = fold
    scorer = DeepEmbeddedScorer(lambda labels, predicted: np.ones(len(labels)))
    found = scorer.estimate(model, X, y, sample_domain=d)
    assert found.value == pytest.approx(1.0)
    assert found.standard_error == pytest.approx(0.0, abs=1e-12)


def test_row_metrics(fold):
    model, X, y, d, ratio, (Xs, ys, _, _) = fold
    p = model.predict_proba(Xs)
    log_loss = np.log(p[np.arange(len(ys)), ys])
    brier = -((p - np.eye(2)[ys]) ** 2).sum(axis=1)
    for metric, rows in (("neg_log_loss", log_loss), ("neg_brier_score", brier)):
        value = ImportanceWeightedScorer(metric)(model, X, y, sample_domain=d)
        assert value == pytest.approx(oracle.self_normalised(ratio.weights_, rows)[0])


def test_a_class_unknown_to_the_model_counts_as_wrong():
    model = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    X, y = np.array([[0.0], [1.0], [0.5], [0.5]]), np.array(["a", "c", None, None], dtype=object)
    score = lambda metric: ImportanceWeightedScorer(metric)(model, X, y)  # noqa: E731
    assert score("accuracy") == pytest.approx(0.5)
    assert score("neg_log_loss") < 0.4 * math.log(1e-15)
    assert -1.6 < score("neg_brier_score") < -0.8


def test_weighting_finds_what_the_plain_mean_misses():
    errors = {"weighted": [], "plain": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        Xs, Xt = rng.normal(size=(800, 1)), rng.normal(1.2, size=(800, 1))
        rule = lambda X: (np.abs(X[:, 0]) < 1).astype(int)  # noqa: E731
        X, y, d = stack_domains(Xs, rule(Xs), Xt)
        model = LogisticRegression().fit(Xs, (Xs[:, 0] > -1).astype(int))
        truth = model.score(Xt, rule(Xt))
        errors["weighted"].append(ImportanceWeightedScorer()(model, X, y, sample_domain=d) - truth)
        errors["plain"].append(model.score(Xs, rule(Xs)) - truth)
    assert np.abs(errors["weighted"]).mean() < 0.05 < 0.1 < np.abs(errors["plain"]).mean()


def test_standard_errors_are_of_the_right_size():
    values, errors = [], []
    for seed in range(60):
        Xs, ys, Xt, _ = moved(100, 4000, 0.5, seed)
        model = LogisticRegression(C=0.01).fit(*moved(50, 5, 0.5, 1000)[:2])
        known = FixedRatio(lambda X: np.exp(0.5 * X[:, 0] - 0.125))
        X, y, d = stack_domains(Xs, ys, Xt)
        found = ImportanceWeightedScorer(ratio=known).estimate(model, X, y, sample_domain=d)
        values.append(found.value)
        errors.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.3)


class FixedRatio(LogisticRatio):
    """The true ratio, for tests of what uses it."""

    def __init__(self, function=None):
        super().__init__()
        self.function = function

    def _fit(self, source, target):
        return np.log(self.function(source))


def test_entropy_and_density_are_the_loops(fold):
    model, X, y, d, _, (_, _, Xt, _) = fold
    p = model.predict_proba(Xt)
    entropy = PredictionEntropyScorer().estimate(model, X, y, sample_domain=d)
    assert entropy.value == pytest.approx(-oracle.mean_entropy(p), rel=1e-12)
    assert 0 < entropy.standard_error < 0.1
    for temperature in (0.05, 0.5):
        found = SoftNeighborhoodDensityScorer(temperature)(model, X, y, sample_domain=d)
        assert found == pytest.approx(oracle.soft_neighbourhood_density(p, temperature))


def test_density_does_not_depend_on_the_blocks(fold, monkeypatch):
    model, X, y, d, _, _ = fold
    whole = SoftNeighborhoodDensityScorer()(model, X, y, sample_domain=d)
    monkeypatch.setattr("shiftlearn.trust.scorers._VALUES_PER_BLOCK", 700)
    assert SoftNeighborhoodDensityScorer()(model, X, y, sample_domain=d) == pytest.approx(whole)


def test_equal_predictions_have_the_largest_density():
    class Same:
        def predict_proba(self, X):
            return np.tile([0.3, 0.7], (len(X), 1))

    assert SoftNeighborhoodDensityScorer()(Same(), np.zeros((9, 1))) == pytest.approx(math.log(8))


def test_the_way_back_is_a_clone_on_the_predicted_target(fold):
    model, X, y, d, _, (Xs, ys, Xt, _) = fold
    back = clone(model).fit(Xt, model.predict(Xt))
    found = CircularValidationScorer().estimate(model, X, y, sample_domain=d)
    assert found.value == back.score(Xs, ys)
    share = found.value
    assert found.standard_error == pytest.approx(math.sqrt(share * (1 - share) / (len(ys) - 1)))


@pytest.mark.parametrize("routing", [False, True])
def test_the_way_back_of_a_method_with_domains(routing):
    Xs, ys, Xt, _ = moved(60, 50)
    X, y, d = stack_domains(Xs, ys, Xt)
    seen = []

    class Seeing(TinyMachine):
        def fit(self, X, y, *, sample_domain=None):
            seen.append((np.array(X), list(y), sample_domain))
            return super().fit(X, y, sample_domain=sample_domain)

    with sklearn.config_context(enable_metadata_routing=routing):
        model = make_pipeline(StandardScaler(), Seeing())
        name = "sample_domain" if routing else "seeing__sample_domain"
        model.fit(X, y, **{name: d})
        score = CircularValidationScorer()(model, X, y, sample_domain=d)
    assert 0.6 < score <= 1
    rows, labels, domains = seen[-1]
    assert len(rows) == 110
    assert np.array_equal(np.array(labels[:50]), model.predict(Xt))
    assert set(labels[50:]) == {-1}
    assert np.array_equal(domains >= 0, np.arange(110) < 50)


def test_a_single_predicted_class_is_the_constant_on_the_way_back():
    X, y = np.array([[-1.0], [1.0], [2.0], [9.0], [9.5]]), np.array(["a", "b", "b", None, None])
    model = LogisticRegression().fit(X[:3], ["a", "b", "b"])
    assert CircularValidationScorer()(model, X, y) == pytest.approx(2 / 3)
    assert CircularValidationScorer("neg_brier_score")(model, X, y) == pytest.approx(-2 / 3)


@pytest.mark.parametrize("scorer", ALL)
def test_target_labels_are_never_read(scorer):
    Xs, ys, Xt, yt = moved()
    X, d = np.r_[Xs, Xt], np.repeat([2, -3], [len(Xs), len(Xt)])
    model = LogisticRegression().fit(Xs[::2], ys[::2])
    values = [scorer()(model, X, np.r_[ys, t], sample_domain=d) for t in (yt, 1 - yt, yt * 0 + 7)]
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("scorer", ALL)
@pytest.mark.parametrize("kind", ["plain", "pipeline", "domains"])
def test_in_a_search_with_routing(scorer, kind):
    X, y, d = stack_domains(*moved())  # no marks in y: only what is routed tells the domains apart
    estimator, grid = {
        "plain": (SVC(kernel="linear"), {"C": [0.01, 1.0]}),
        "pipeline": (
            make_pipeline(StandardScaler(), LSDAKSVC(kernel="linear")),
            {"lsdaksvc__alignment": [0.0, 10.0]},
        ),
        "domains": (TinyMachine(), {"share": [0.0, 1.0]}),
    }[kind]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            estimator,
            grid,
            cv=DomainKFold(3, score_on="both"),
            scoring=scorer(),
            error_score="raise",
        ).fit(X, y, sample_domain=d)
    scores = search.cv_results_["mean_test_score"]
    assert np.all(np.isfinite(scores))
    if scorer is PredictionEntropyScorer:
        assert scores[0] != scores[1]


@pytest.mark.parametrize("scorer", ALL)
def test_sample_domain_is_requested(scorer):
    assert scorer().get_metadata_routing().score.requests == {"sample_domain": True}


@pytest.mark.parametrize("scorer", READING_LABELS)
def test_several_scorers_at_once_with_routing(scorer):
    X, y, d = stack_domains(*moved())
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            TinyMachine(),
            {"share": [0.0, 1.0]},
            cv=DomainKFold(3, score_on="both"),
            scoring={"one": scorer(), "two": PredictionEntropyScorer()},
            refit="one",
            error_score="raise",
        ).fit(X, y, sample_domain=d)
    assert np.all(np.isfinite(search.cv_results_["mean_test_one"]))


@pytest.mark.parametrize("scorer", ALL)
def test_in_a_search_without_routing_by_the_marks(scorer):
    X, y, d = stack_domains(*moved()[:3])
    search = GridSearchCV(
        TinyMachine(),
        {"share": [0.0, 1.0]},
        cv=DomainKFold(3, score_on="both"),
        scoring=scorer(),
        error_score="raise",
    )
    without = search.fit(X, y, sample_domain=d, groups=d).cv_results_["mean_test_score"]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(search).fit(X, y, sample_domain=d).cv_results_["mean_test_score"]
    assert np.array_equal(without, routed)


@pytest.mark.parametrize("scorer", READING_LABELS)
def test_target_rows_given_once_for_folds_of_the_source(scorer):
    Xs, ys, Xt, yt = moved()
    X, y, d = stack_domains(Xs, ys, Xt, yt)  # all labels there: nothing in y marks the target
    cv = DomainKFold(3, score_on="source")
    search = GridSearchCV(
        SVC(kernel="linear"), {"C": [0.01, 1.0]}, cv=cv, scoring=scorer(X_target=Xt),
        error_score="raise",
    )  # fmt: skip
    search.fit(X, y, sample_domain=d, groups=d)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@pytest.mark.parametrize("scorer", [PredictionEntropyScorer, SoftNeighborhoodDensityScorer])
def test_scorers_of_predictions_take_all_rows_where_nothing_is_said(scorer):
    Xs, ys, Xt, yt = moved()
    model = LogisticRegression().fit(Xs, ys)
    assert scorer()(model, Xt) == scorer()(model, Xt, yt) == scorer()(model, Xt, None)
    X, y, d = stack_domains(Xs, ys, Xt)
    assert scorer()(model, X, y) == scorer()(model, Xt)
    scores = cross_val_score(
        LogisticRegression(), X, np.r_[ys, yt], groups=d, cv=DomainKFold(3), scoring=scorer()
    )
    assert np.all(np.isfinite(scores))


def test_scores_without_probabilities_are_log_odds():
    Xs, ys, Xt, _ = moved()
    model = SVC(kernel="linear").fit(Xs, ys)
    f = model.decision_function(Xt)
    p = 1 / (1 + np.exp(-f))
    expected = -oracle.mean_entropy(np.column_stack([1 - p, p]))
    assert PredictionEntropyScorer()(model, Xt) == pytest.approx(expected)


def test_features_of_a_pipeline_let_tables_be_compared():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue"], 90), "x": rng.normal(size=90)})
    y, d = (frame["colour"] == "red").astype(int).to_numpy(), np.repeat([1, -1], [50, 40])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(frame[["colour"]][:50], y[:50])
    for scorer in (DeepEmbeddedScorer(), ImportanceWeightedScorer(features="pipeline")):
        assert scorer(model, frame[["colour"]], y, sample_domain=d) == pytest.approx(1.0, abs=0.2)


def test_features_may_be_a_transformer_or_a_function(fold):
    model, X, y, d, _, _ = fold
    scaler = StandardScaler().fit(X)
    a = ImportanceWeightedScorer(features=scaler)(model, X, y, sample_domain=d)
    b = ImportanceWeightedScorer(features=scaler.transform)(model, X, y, sample_domain=d)
    assert a == b


def test_disjoint_domains_warn():
    Xs, ys, Xt, _ = moved(by=60.0)
    X, y, d = stack_domains(Xs, ys, Xt)
    with pytest.warns(NoOverlapWarning, match="hardly any"):
        ImportanceWeightedScorer()(LogisticRegression().fit(Xs, ys), X, y, sample_domain=d)


@pytest.mark.parametrize(
    "scorer, y, d, message",
    [
        (ImportanceWeightedScorer(), [0, 1], None, "enable metadata routing"),
        (ImportanceWeightedScorer(), [0, 1], [1, 1], 'score_on="both"'),
        (CircularValidationScorer(), [0, 1], [-1, -1], "no labelled source row"),
        (DeepEmbeddedScorer(), [None, None], None, "no labelled source row"),
        (PredictionEntropyScorer(), [0, 1], [1, 1], "no target row"),
        (SoftNeighborhoodDensityScorer(), [0, 1], [1, -1], "At least 2 target rows"),
        (SoftNeighborhoodDensityScorer(0.0), [0, 1], [-1, -1], "temperature"),
        (ImportanceWeightedScorer("speed"), [0, 1], [1, -1], "metric must be"),
        (ImportanceWeightedScorer(lambda y, p: 1.0), [0, 1], [1, -1], "one number a row"),
        (ImportanceWeightedScorer(features="all"), [0, 1], [1, -1], "features must be"),
    ],
)
def test_bad_input(scorer, y, d, message):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=message):
        scorer(model, np.array([[0.0], [1.0]]), y, sample_domain=d)


def test_a_model_that_says_nothing_is_refused():
    with pytest.raises(TypeError, match="neither predict_proba nor decision_function"):
        PredictionEntropyScorer()(object(), np.zeros((2, 1)))


@pytest.mark.parametrize("scorer", ALL)
def test_parameters_survive_cloning(scorer):
    assert repr(clone(scorer())) == repr(scorer())
