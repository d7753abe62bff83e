"""A source is a black box: never refitted, never changed, kept by clones; its errors are named."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftlearn import AdaptCV, AdaptLogisticRegression, AdaptSVC, ScoreEnsemble
from shiftlearn.errors import ScaleWarning

ADAPTERS = [
    AdaptSVC(gamma=0.5), AdaptSVC(kernel="linear"), AdaptLogisticRegression(), ScoreEnsemble(),
    AdaptCV(),
]  # fmt: skip


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)


class Counting(ClassifierMixin, BaseEstimator):
    """A source that counts how often it is fitted."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@pytest.fixture
def source(rows):
    Counting.fits = 0
    return Counting().fit(*rows)


def with_source(adapter, source):
    return clone(adapter).set_params(source=source)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_clone_keeps_a_fitted_source(adapter, source):
    twin = clone(with_source(adapter, source))
    assert twin.source is source
    many = clone(with_source(adapter, [source, len]))
    assert many.source[0] is source and many.source[1] is len
    fresh = Counting()
    assert clone(with_source(adapter, fresh)).source is not fresh


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_fit_neither_refits_nor_changes_the_source(adapter, source, rows):
    before = pickle.dumps(source)
    X, y = rows
    model = with_source(adapter, source).fit(X, 1 - y)
    model.predict(X)
    assert Counting.fits == 1 and pickle.dumps(source) == before and model.source is source


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_searches_never_refit_the_source(adapter, source, rows):
    X, y = rows
    name = "cv" if isinstance(adapter, AdaptCV) else "C"
    values = [2, 3] if name == "cv" else [0.1, 1.0]
    search = GridSearchCV(with_source(adapter, source), {name: values}, cv=3).fit(X, y)
    assert Counting.fits == 1 and search.best_estimator_.source is source
    assert cross_val_score(with_source(adapter, source), X, y, cv=3).min() > 0.5
    assert Counting.fits == 1


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_in_a_pipeline_the_source_sees_the_transformed_rows(adapter, source, rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), with_source(adapter, source)).fit(X, y)
    assert pipeline[-1].source is source and Counting.fits == 1
    assert clone(pipeline)[-1].source is source
    assert pipeline.score(X, y) > 0.6


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_pickling_takes_the_source_along(adapter, source, rows):
    X, y = rows
    model = with_source(adapter, source).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_a_data_frame_reaches_the_source_as_it_is(adapter, rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "c"])), LogisticRegression()
    ).fit(frame, y)
    model = with_source(adapter, pipeline).fit(frame, 1 - y)
    assert model.predict(frame).shape == (60,)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_an_unfitted_source_is_fitted_on_the_source_rows(adapter, rows):
    X, y = rows
    domain = np.repeat([1, -1], 30)
    fresh = Counting()
    Counting.fits = 0
    model = with_source(adapter, fresh).fit(X, y, sample_domain=domain)
    assert Counting.fits == 1 and not hasattr(fresh, "classes_")
    assert model.predict(X).shape == (60,)
    if not isinstance(adapter, ScoreEnsemble):
        with pytest.raises(ValueError, match=r"source \(Counting\) is not fitted"):
            with_source(adapter, fresh).fit(X, y)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_scores_may_be_given_instead_of_asked(adapter, source, rows):
    X, y = rows
    f = source.decision_function(X)
    asked = with_source(adapter, source).fit(X, y)
    given = clone(adapter).fit(X, y, source_scores=f)
    ours = given.decision_function(X, source_scores=f)
    np.testing.assert_allclose(ours, asked.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="source_scores is needed"):
        given.decision_function(X)


@pytest.mark.parametrize("adapter", ADAPTERS[:3], ids=repr)
def test_a_stored_model_gets_its_source_back(adapter, source, rows):
    X, y = rows
    model = with_source(adapter, source).fit(X, y)
    bare = clone(adapter).fit(X, y, source_scores=source.decision_function(X))
    again = bare.set_source(source).decision_function(X)
    np.testing.assert_allclose(again, model.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="must hold 1 models"):
        bare.set_source([source, source])


def broken(kind):
    def scores(X):
        values = {
            "nan": np.full(len(X), np.nan),
            "inf": np.full(len(X), np.inf),
            "shape": np.zeros(len(X) + 1),
            "cube": np.zeros((len(X), 2, 2)),
            "words": np.full(len(X), "a"),
        }
        if kind == "raises":
            raise RuntimeError("the database is gone")
        return values[kind]

    return scores


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nan", r"source \(scores\) gave NaN or infinity at 60 of 60 rows"),
        ("inf", "gave NaN or infinity"),
        ("shape", r"gave scores of shape \(61,\) for 60 rows"),
        ("cube", r"gave scores of shape \(60, 2, 2\)"),
        ("words", "must give numbers"),
        ("raises", "raised RuntimeError when asked for scores: the database is gone"),
    ],
)
@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_errors_name_the_source(adapter, kind, words, rows):
    model = with_source(adapter, broken(kind))
    with pytest.raises(ValueError, match=words):
        model.fit(*rows)
    assert not hasattr(model, "classes_") and not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("adapter", ADAPTERS, ids=repr)
def test_other_classes_are_refused(adapter, rows):
    X, y = rows
    source = LogisticRegression().fit(X, np.array(["cat", "dog"])[y])
    with pytest.raises(ValueError, match=r"knows the classes \['cat', 'dog'\], but y holds"):
        with_source(adapter, source).fit(X, y)
    with pytest.raises(ValueError, match="source must be a classifier"):
        with_source(adapter, "model.pkl").fit(X, y)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_scores_on_a_wrong_scale_bring_a_warning(size, rows):
    X, y = rows
    wrong = size * (1 + np.abs(X[:, 0]))
    with pytest.warns(ScaleWarning, match="margin of 1. Use source_transform"):
        AdaptSVC(gamma=0.5).fit(X, y, source_scores=wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaptSVC(gamma=0.5, source_transform="scale").fit(X, y, source_scores=wrong)


def test_probabilities_become_margins_or_log_odds(rows):
    X, y = rows
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    q = forest.predict_proba(X)[:, 1]
    model = AdaptSVC(forest, gamma=0.5).fit(X, y)
    by_hand = AdaptSVC(gamma=0.5).fit(X, y, source_scores=2 * q - 1)
    ours = by_hand.decision_function(X, source_scores=2 * q - 1)
    np.testing.assert_allclose(model.decision_function(X), ours, atol=1e-6)
    logit = AdaptSVC(forest, gamma=0.5, source_transform="logit").fit(X, y)
    q = q.clip(1e-6, 1 - 1e-6)
    odds = np.log(q / (1 - q))
    by_hand = AdaptSVC(gamma=0.5).fit(X, y, source_scores=odds)
    ours = by_hand.decision_function(X, source_scores=odds)
    np.testing.assert_allclose(logit.decision_function(X), ours, atol=1e-5)


def test_weights_and_parameters_out_of_range(rows):
    X, y = rows
    for bad in (
        {"C": -1.0}, {"C": np.nan}, {"source_weights": "best"}, {"source_weights": [1.0, 2.0]},
        {"source_transform": "log"}, {"kernel_scale": "max"}, {"unseen": "drop"},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(bad))):
            AdaptSVC(lambda X: X[:, 0], gamma=0.5, **bad).fit(X, y)
    for bad in ({"trust": "full"}, {"trust": [1.0, 2.0]}, {"trust_penalty": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            AdaptLogisticRegression(lambda X: X[:, 0], **bad).fit(X, y)
