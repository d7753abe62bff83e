"""ReweightedClassifier: what it hands over, to whom, and scikit-learn's contract."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC as TheirLinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import (
    SVC,
    DomainKFold,
    KDERatio,
    KernelMeanMatching,
    LogisticRatio,
    ReweightedClassifier,
    stack_domains,
)
from shiftlearn.covariate.handing_over import systematic_draw
from shiftlearn.errors import NoOverlapWarning, NoTargetWarning

DRAWS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weighted rows are drawn at random"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ReweightedClassifier(LogisticRegression()),
        ReweightedClassifier(LogisticRegression(), KDERatio(), mode="resample", random_state=0),
    ],
    expected_failed_checks=lambda model: DRAWS if model.mode == "resample" else {},
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def moved(m=200, n=150, seed=0):
    rng = np.random.default_rng(seed)
    Xs, Xt = rng.normal(size=(m, 2)), rng.normal([1.2, 0.0], 0.6, size=(n, 2))
    rule = lambda X: np.where(np.cos(1.5 * X[:, 0]) * X[:, 1] > 0, "up", "down")  # noqa: E731
    return Xs, rule(Xs), Xt, rule(Xt)


def test_weights_are_those_of_the_ratio_and_reach_the_classifier():
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt)
    model = ReweightedClassifier(LogisticRegression(C=2.0)).fit(X, y, sample_domain=d)
    w = LogisticRatio().fit(Xs, Xt).weights_
    assert model.weights_ == pytest.approx(w)
    direct = LogisticRegression(C=2.0).fit(Xs, ys, sample_weight=w)
    assert np.allclose(model.predict_proba(Xt), direct.predict_proba(Xt))
    assert np.array_equal(model.decision_function(Xt), direct.decision_function(Xt))
    assert model.predict_log_proba(Xt) == pytest.approx(direct.predict_log_proba(Xt))


def test_it_helps_where_a_simple_classifier_is_wrong_about_the_rule():
    Xs, ys, Xt, yt = moved(600, 400)
    X, y, d = stack_domains(Xs, ys, Xt)
    plain = LogisticRegression().fit(Xs, ys).score(Xt, yt)
    for ratio in (None, KernelMeanMatching(B=20.0), KDERatio()):
        model = ReweightedClassifier(LogisticRegression(), ratio).fit(X, y, sample_domain=d)
        assert model.score(Xt, yt) > plain + 0.05


def test_source_rows_without_a_label_only_describe_the_source():
    Xs, ys, Xt, _ = moved()
    labels = ys.astype(object)
    labels[::3] = None
    X, y, d = stack_domains(Xs, labels, Xt)
    model = ReweightedClassifier(LogisticRegression()).fit(X, y, sample_domain=d)
    w = LogisticRatio().fit(Xs, Xt).weights_
    assert model.weights_ == pytest.approx(w[labels != None])  # noqa: E711


def test_target_labels_and_callers_arrays_are_left_alone():
    Xs, ys, Xt, yt = moved()
    X, y, d = stack_domains(Xs, ys, Xt, yt)
    before = X.copy(), y.copy(), d.copy()
    a = ReweightedClassifier(LogisticRegression()).fit(X, y, sample_domain=d)
    y2 = y.copy()
    y2[d < 0] = "never read"
    b = ReweightedClassifier(LogisticRegression()).fit(X, y2, sample_domain=d)
    assert np.array_equal(a.decision_function(Xt), b.decision_function(Xt))
    assert all(np.array_equal(now, then) for now, then in zip((X, y, d), before))


def test_sample_weights_enter_the_loss_alone():
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt)
    omega = np.where(np.arange(len(X)) % 4 == 0, 0.0, np.linspace(0.5, 2, len(X)))
    model = ReweightedClassifier(LogisticRegression()).fit(
        X, y, sample_domain=d, sample_weight=omega
    )
    w = LogisticRatio().fit(Xs, Xt).weights_ * omega[: len(Xs)]
    direct = LogisticRegression().fit(Xs, ys, sample_weight=w)
    assert np.allclose(model.decision_function(Xt), direct.decision_function(Xt), atol=1e-3)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.classes_, self.given_ = np.unique(y), sample_weight
        self.rows_, self.note_ = np.array(X), note
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("kind", ["plain", "pipeline", "search"])
def test_weights_arrive_through_pipelines_and_searches(routing, kind):
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt)
    inner = {
        "plain": lambda: Recorder(),
        "pipeline": lambda: make_pipeline(StandardScaler(), Recorder()),
        "search": lambda: GridSearchCV(make_pipeline(StandardScaler(), Recorder()), {}, cv=2),
    }[kind]()
    with sklearn.config_context(enable_metadata_routing=routing):
        model = ReweightedClassifier(inner).fit(X, y, sample_domain=d)
    fitted = model.estimator_
    fitted = getattr(fitted, "best_estimator_", fitted)
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    assert last.given_ == pytest.approx(model.weights_)


@pytest.mark.parametrize("routing", [False, True])
def test_other_fit_parameters_are_handed_on(routing):
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt)
    with sklearn.config_context(enable_metadata_routing=routing):
        inner = Recorder().set_fit_request(note=True) if routing else Recorder()
        model = ReweightedClassifier(inner).fit(X, y, sample_domain=d, note="hello")
        assert model.estimator_.note_ == "hello"
        if routing:
            outer = make_pipeline(StandardScaler(), ReweightedClassifier(inner))
            outer.fit(X, y, sample_domain=d, note="routed")
            assert outer[-1].estimator_.note_ == "routed"


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "inner",
    [
        SVC(kernel="linear"),
        HistGradientBoostingClassifier(max_iter=5),
        CalibratedClassifierCV(TheirLinearSVC(), cv=2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_in_searches_and_pipelines(routing, inner):
    X, y, d = stack_domains(*moved())
    with sklearn.config_context(enable_metadata_routing=routing):
        model = make_pipeline(StandardScaler(), ReweightedClassifier(inner))
        grid = {"reweightedclassifier__ratio": [None, KernelMeanMatching(B=5.0)]}
        search = GridSearchCV(model, grid, cv=DomainKFold(2), error_score="raise")
        if routing:
            search.fit(X, y, sample_domain=d)
        else:
            search.fit(X, y, reweightedclassifier__sample_domain=d, groups=d)
    assert np.all(search.cv_results_["mean_test_score"] > 0.4)


def test_voting_under_routing():
    X, y, d = stack_domains(*moved())
    with sklearn.config_context(enable_metadata_routing=True):
        members = [("a", LogisticRegression().set_fit_request(sample_weight=True))]
        model = ReweightedClassifier(VotingClassifier(members)).fit(X, y, sample_domain=d)
    direct = ReweightedClassifier(LogisticRegression()).fit(X, y, sample_domain=d)
    assert np.array_equal(model.predict(X), direct.predict(X))


def test_tables_with_words_inside_a_pipeline():
    Xs, ys, Xt, _ = moved()
    frame = pd.DataFrame(np.r_[Xs, Xt], columns=["a", "b"])
    frame["colour"] = np.where(frame["a"] > 0, "red", "blue")
    y, d = np.r_[ys, ["?"] * len(Xt)], np.repeat([1, -1], [len(Xs), len(Xt)])
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(encode, ReweightedClassifier(LogisticRegression()))
    model.fit(frame, y, reweightedclassifier__sample_domain=d)
    assert set(model.predict(frame)) <= {"up", "down"}


def test_drawn_rows_stand_for_the_weights():
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt)
    neighbours = KNeighborsClassifier(3)
    with pytest.raises(ValueError, match='mode="resample"'):
        ReweightedClassifier(neighbours).fit(X, y, sample_domain=d)
    model = ReweightedClassifier(neighbours, mode="resample", random_state=0)
    model.fit(X, y, sample_domain=d)
    rows = model.estimator_._fit_X
    w = model.weights_
    assert len(rows) == len(Xs)
    assert rows[:, 0].mean() == pytest.approx(np.average(Xs[:, 0], weights=w), abs=0.05)
    again = clone(model).fit(X, y, sample_domain=d)
    assert np.array_equal(rows, again.estimator_._fit_X)


def test_systematic_draws_round_up_or_down_and_keep_every_class():
    rng = np.random.RandomState(0)
    weights, codes = rng.exponential(size=50), rng.randint(0, 3, size=50)
    weights[codes == 2] = 1e-9
    for _ in range(20):
        drawn = systematic_draw(weights, codes, rng)
        counts = np.bincount(drawn, minlength=50)
        expected = 50 * weights / weights.sum()
        most = codes < 2
        assert np.all(np.abs(counts - expected)[most] < 1 + 1e-9)
        assert set(codes[drawn]) == {0, 1, 2}


def test_without_target_rows_it_is_the_classifier():
    Xs, ys, Xt, _ = moved()
    with pytest.warns(NoTargetWarning):
        model = ReweightedClassifier(LogisticRegression()).fit(Xs, ys)
    direct = LogisticRegression().fit(Xs, ys)
    assert np.array_equal(model.decision_function(Xt), direct.decision_function(Xt))
    assert model.ratio_ is None and np.all(model.weights_ == 1)


def test_disjoint_domains_warn_and_train_anyway():
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt + 1000.0)
    with pytest.warns(NoOverlapWarning) as caught:
        model = ReweightedClassifier(
            LogisticRegression(), KernelMeanMatching(gamma=1.0, eps=1.0)
        ).fit(X, y, sample_domain=d)
    assert "unmatched" in str(caught[0].message)
    assert set(model.predict(Xs)) <= {"up", "down"}


def test_methods_are_those_of_the_classifier():
    assert hasattr(ReweightedClassifier(LogisticRegression()), "predict_proba")
    assert not hasattr(ReweightedClassifier(SVC()), "predict_proba")
    assert hasattr(ReweightedClassifier(SVC()), "decision_function")
    assert not hasattr(ReweightedClassifier(KNeighborsClassifier()), "decision_function")


def test_cross_validation_without_routing():
    X, y, d = stack_domains(*moved())
    scores = cross_val_score(
        ReweightedClassifier(LogisticRegression()),
        X, y, groups=d, cv=DomainKFold(3), params={"sample_domain": d},
    )  # fmt: skip
    assert np.all(scores > 0.3)


@pytest.mark.parametrize(
    "model, error, message",
    [
        (ReweightedClassifier(LogisticRegression(), mode="both"), ValueError, "mode must be"),
        (ReweightedClassifier(LogisticRegression), TypeError, "estimator must be"),
        (ReweightedClassifier(LogisticRegression(), "kmm"), TypeError, "ratio must be"),
    ],
)
def test_wrong_parameters(model, error, message):
    X, y, d = stack_domains(*moved()[:3])
    with pytest.raises(error, match=message):
        model.fit(X, y, sample_domain=d)
    assert not hasattr(model, "estimator_")


def test_wrong_rows():
    Xs, ys, Xt, _ = moved()
    X, y, d = stack_domains(Xs, ys, Xt)
    model = ReweightedClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.repeat("up", len(X)), sample_domain=d)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 2, np.nan, X), y, sample_domain=d)
    with pytest.raises(ValueError, match="no source row"):
        model.fit(X, y, sample_domain=np.full(len(X), -1))
    with pytest.raises(ValueError, match="sample_domain has 3 entries"):
        model.fit(X, y, sample_domain=[1, 1, -1])
