"""Every public estimator comes back from a file as it was, in another process too."""

import inspect
import json
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shiftlearn
from shiftlearn import AdaptLogisticRegression, AdaptSVC, DomainStandardizer, load, save
from shiftlearn.datasets import make_rotated_moons
from shiftlearn.files import describe
from shiftlearn.files.trees import GrownKDTree

MOONS = make_rotated_moons(30, n_per_moon=30, random_state=0)
X, DOMAIN = MOONS.data, MOONS.domain
NAMES = np.array(["down", "up"])
Y = NAMES[(MOONS.target > 0).astype(int)]
OUTPUTS = ("predict", "predict_proba", "decision_function", "transform", "weights", "score_samples")
# Not estimators that are fitted and asked: what ShiftSearchCV and the like wrap is tested by them.
NOT_HERE = {"ReweightedClassifier", "SelfTrainingAdapter", "PriorShiftCorrector"}


def is_estimator(thing):
    return inspect.isclass(thing) and issubclass(thing, BaseEstimator)


ESTIMATORS = sorted(n for n in shiftlearn._HOME if is_estimator(getattr(shiftlearn, n)))


def fitted(name):
    """The estimator with its defaults, fitted on the moons in the way that it wants."""
    kind = getattr(shiftlearn, name)
    needs = [
        p.name for p in inspect.signature(kind).parameters.values() if p.default is inspect._empty
    ]
    model = kind(**({"estimator": LogisticRegression()} if "estimator" in needs else {}))
    source = DOMAIN >= 0
    parameters = inspect.signature(model.fit).parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "X_source" in parameters and "classifier" not in parameters:
            return model.fit(X[source], X[~source])
        if "classifier" in parameters:
            return model.fit(LogisticRegression().fit(X, Y), X[source], Y[source])
        if "sample_domain" in parameters:
            return model.fit(X, Y, sample_domain=DOMAIN)
        return model.fit(X, Y)


def answers(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = X[DOMAIN < 0]
        named = {name: getattr(model, name, None) for name in OUTPUTS}
        found = {name: np.asarray(ask(rows)) for name, ask in named.items() if callable(ask)}
        if hasattr(model, "weights_"):
            found["weights_"] = np.asarray(model.weights_)
        if hasattr(model, "estimate"):
            found["estimate"] = np.asarray(tuple(model.estimate(rows)))
    return found


def assert_same(first, second):
    assert first.keys() == second.keys() and first
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)
        assert values.dtype == second[name].dtype


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_comes_back(name, tmp_path):
    model = fitted(name)
    path = save(model, tmp_path / "model.skops")
    again = load(path)
    assert type(again) is type(model)
    assert_same(answers(model), answers(again))
    assert describe(path)["class"] == f"{type(model).__module__}.{name}"
    clone(again)  # parameters are there
    assert_same(answers(model), answers(load(save(again, tmp_path / "second.skops"))))


def test_another_process_predicts_the_same(other_process, tmp_path):
    source = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X[DOMAIN >= 0], Y[DOMAIN >= 0]
    )
    model = AdaptSVC(source, C=3.0).fit(X[DOMAIN < 0][::3], Y[DOMAIN < 0][::3])
    save(model, tmp_path / "model.skops")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, json, numpy as np, shiftlearn\n"
        "model = shiftlearn.load(sys.argv[1])\n"
        "X = np.load(sys.argv[2])\n"
        "print(json.dumps([model.decision_function(X).tolist(), model.predict(X).tolist()]))"
    )
    scores, labels = json.loads(other_process(code, tmp_path / "model.skops", tmp_path / "X.npy"))
    assert scores == model.decision_function(X).tolist()
    assert labels == model.predict(X).tolist()


def test_labels_keep_their_type(tmp_path):
    for labels in (Y, Y == "up", (Y == "up").astype(np.int32), np.where(Y == "up", 1.0, -1.0)):
        model = shiftlearn.SVC().fit(X, labels)
        again = load(save(model, tmp_path / "m"))
        assert again.classes_.dtype == model.classes_.dtype
        assert again.predict(X).tolist() == model.predict(X).tolist()


def test_parameters_with_odd_keys_come_back(tmp_path):
    weights = {False: 2.0, True: 0.5}
    model = shiftlearn.SVC(class_weight=weights).fit(X, Y == "up")
    assert load(save(model, tmp_path / "m")).class_weight == weights
    maps = DomainStandardizer().fit(X, sample_domain=DOMAIN)
    again = load(save(maps, tmp_path / "m"))
    np.testing.assert_array_equal(maps.transform(X), again.transform(X))


def test_pipelines_with_scikit_learn_inside(tmp_path):
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X, Y)
    again = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("tree", [KDTree, BallTree])
@pytest.mark.parametrize(
    ("metric", "options"),
    [("euclidean", {}), ("manhattan", {}), ("chebyshev", {}), ("minkowski", {"p": 3})],
)
def test_neighbour_trees_are_grown_again(tree, metric, options, tmp_path):
    grown = tree(X, leaf_size=7, metric=metric, **options)
    again = load(save(grown, tmp_path / "m"))
    for first, second in zip(grown.query(X, k=4), again.query(X, k=4), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_grown_tree_can_be_pickled(tmp_path):
    import pickle

    again = load(save(KDTree(X), tmp_path / "m"))
    assert isinstance(again, GrownKDTree)
    twice = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(twice.query(X, k=2)[1], again.query(X, k=2)[1])


@pytest.mark.parametrize("kind", [AdaptSVC, AdaptLogisticRegression])
def test_without_its_source_and_with_it_again(kind, tmp_path):
    source = GaussianNB().fit(X[DOMAIN >= 0], Y[DOMAIN >= 0])
    model = kind(source).fit(X[DOMAIN < 0][::3], Y[DOMAIN < 0][::3])
    path = save(model, tmp_path / "m", source=False)
    assert model.source is source  # the model in memory keeps its own
    assert describe(path)["source"] is False
    bare = load(path)
    assert bare.source is None
    with pytest.raises(ValueError, match="source_scores is needed"):
        bare.predict(X)
    np.testing.assert_array_equal(
        bare.set_source(source).decision_function(X), model.decision_function(X)
    )


def test_a_chain_without_its_source(tmp_path):
    source = GaussianNB().fit(X[DOMAIN >= 0], Y[DOMAIN >= 0])
    rows, labels = X[DOMAIN < 0], Y[DOMAIN < 0]
    model = AdaptSVC(source).fit(rows[::4], labels[::4]).partial_fit(rows[1::4], labels[1::4])
    expected = model.decision_function(X)
    bare = load(save(model, tmp_path / "m", source=False))
    with pytest.raises(ValueError, match="source_scores is needed"):
        bare.predict(X)
    np.testing.assert_array_equal(bare.set_source(source).decision_function(X), expected)
    np.testing.assert_array_equal(model.decision_function(X), expected)


def test_notes_are_read_without_the_model(tmp_path):
    notes = {"label": "kind", "columns": ["a", "b"]}
    path = save(shiftlearn.SVC(), tmp_path / "m", notes=notes)
    facts = describe(path)
    assert facts["notes"] == notes and facts["shiftlearn"] == shiftlearn.__version__
    assert set(facts["packages"]) == {"numpy", "scipy", "scikit-learn", "skops"}
