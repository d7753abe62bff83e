"""Every kind of problem in the room against an independent interior point."""

import numpy as np
import pytest
from scipy import sparse

from oracles import adaptation as oracle
from shiftlearn import AdaptLogisticRegression, AdaptSVC

GAMMA = 0.3


def rows(seed, n=24, d=4, classes=2, sources=1, size=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    columns = () if classes == 2 else (classes,)
    scores = [size * rng.normal(size=(n, *columns)) for _ in range(sources)]
    return X, y, scores


def same_up_to_intercept(ours, theirs, y, costs):
    """Equal but for b, which is not unique: then both have the same loss."""
    loss = [costs @ (1 - y * f).clip(0) for f in (ours, theirs)]
    shift = (ours - theirs).mean()
    return relative(ours - shift, theirs) < 1e-4 and np.isclose(
        *loss, rtol=1e-5, atol=1e-6 * costs.sum()
    )


def relative(ours, theirs):
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("gamma", [None, GAMMA])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", ["dense", "float32", "sparse", "precomputed"])
def test_two_classes(C, gamma, intercept, form):
    X, y, (f,) = rows(seed=3, size=2.0)
    if form == "float32":
        X = X.astype(np.float32)
    K = oracle.gram(X, X, gamma)
    data = {"sparse": sparse.csr_matrix(X), "precomputed": K}.get(form, X)
    kernel = "precomputed" if form == "precomputed" else "linear" if gamma is None else "rbf"
    model = AdaptSVC(C=C, kernel=kernel, gamma=GAMMA, fit_intercept=intercept, tol=1e-6)
    model.fit(data, y, source_scores=f)
    signs = np.where(y == 1, 1.0, -1.0)
    value, values, _, _ = oracle.primal(K, signs, f, np.full(24, C), intercept=intercept)
    assert model.certificate_.objective == pytest.approx(-value, rel=1e-5, abs=1e-6)
    ours = model.decision_function(data, source_scores=f)
    assert same_up_to_intercept(ours, values, signs, np.full(24, C))
    if not intercept:
        assert relative(ours, values) < 1e-4
        assert oracle.dual(K, signs, f, np.full(24, C))[0] == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("gamma", [None, GAMMA])
@pytest.mark.parametrize("sources", [1, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_learned_weights(gamma, sources, intercept):
    X, y, scores = rows(seed=5, sources=sources)
    model = AdaptSVC(
        kernel="linear" if gamma is None else "rbf", gamma=GAMMA, C=2.0, tol=1e-6,
        source_weights="learned", source_penalty=3.0, fit_intercept=intercept,
    ).fit(X, y, source_scores=scores)  # fmt: skip
    signs, F = np.where(y == 1, 1.0, -1.0), np.stack(scores, axis=1)
    value, values, theta, _ = oracle.primal(
        oracle.gram(X, X, gamma), signs, F, np.full(24, 2.0), penalty=3.0, intercept=intercept
    )
    assert model.certificate_.objective == pytest.approx(-value, rel=1e-5)
    assert np.allclose(model.source_weights_, theta, atol=1e-4)
    ours = model.decision_function(X, source_scores=scores)
    assert same_up_to_intercept(ours, values, signs, np.full(24, 2.0))


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("gamma", [None, GAMMA])
def test_several_classes_are_one_problem_each(learned, gamma):
    X, y, (f,) = rows(seed=7, classes=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = AdaptSVC(
        kernel="linear" if gamma is None else "rbf", gamma=GAMMA, C=3.0, tol=1e-6,
        source_weights="learned" if learned else None, class_weight={1: 2.0},
    ).fit(X, y, source_scores=f, sample_weight=weights)  # fmt: skip
    costs = 3.0 * weights * np.where(y == 1, 2.0, 1.0)
    ours = model.decision_function(X, source_scores=f)
    for c in range(3):
        signs = np.where(y == c, 1.0, -1.0)
        _, values, _, _ = oracle.primal(
            oracle.gram(X, X, gamma), signs, f[:, c], costs, penalty=1.0 if learned else None
        )
        assert relative(ours[:, c], values) < 1e-4


def test_unit_of_the_kernel_and_of_the_scores():
    X, y, (f,) = rows(seed=9, classes=3, size=40.0)
    model = AdaptSVC(
        C=5.0, kernel="linear", tol=1e-6, source_transform="scale", kernel_scale="mean",
        source_weights="learned", source_penalty=2.0,
    ).fit(X, y, source_scores=f)  # fmt: skip
    centred = f - f.mean(axis=1, keepdims=True)
    centred /= np.median(np.abs(centred))
    K = oracle.gram(X, X) / (X**2).sum(axis=1).mean()
    ours = model.decision_function(X, source_scores=f)
    total = 0.0
    for c in range(3):
        signs = np.where(y == c, 1.0, -1.0)
        value, values, _, _ = oracle.primal(K, signs, centred[:, c], np.full(24, 5.0), penalty=2.0)
        total += value
        assert relative(ours[:, c], values) < 1e-4
    assert model.certificate_.objective == pytest.approx(-total, rel=1e-5)


@pytest.mark.parametrize("gamma", [None, GAMMA])
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_bound_on_decision_values_holds(gamma, learned, tol):
    X, y, (f,) = rows(seed=11, n=40)
    parameters = {
        "kernel": "linear" if gamma is None else "rbf",
        "gamma": GAMMA,
        "C": 10.0,
        "source_weights": "learned" if learned else None,
    }
    loose = AdaptSVC(tol=tol, **parameters).fit(X, y, source_scores=f)
    tight = AdaptSVC(tol=1e-8, **parameters).fit(X, y, source_scores=f)
    new = np.random.default_rng(1).normal(size=(50, 4))
    g = np.ones(50)
    away = np.abs(
        loose.decision_function(new, source_scores=g)
        - tight.decision_function(new, source_scores=g)
    )
    bound = loose.decision_bound(new, source_scores=g)
    assert np.all(away <= bound + 2e-6)  # prediction with tol >= 1e-5 has float32 kernel values
    assert bound.max() < (5.0 if tol > 1e-2 else 0.5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sources", [0, 1, 2])
@pytest.mark.parametrize("shape", [(24, 4), (12, 30)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_logistic(classes, sources, shape, kind):
    X, y, scores = rows(13, *shape, classes=classes, sources=sources)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    given = {"source_scores": scores if sources > 1 else scores[0]} if sources else {}
    model = AdaptLogisticRegression(C=4.0, trust_penalty=0.5, tol=1e-9)
    model.fit(kind(X), y, sample_weight=weights, **given)
    cubes = [f.reshape(len(y), -1) for f in scores]
    if classes > 2:
        cubes = [f - f.mean(axis=1, keepdims=True) for f in cubes]
    k = 1 if classes == 2 else classes
    F = np.stack(cubes, axis=1) if sources else np.zeros((len(y), 0, k))
    costs = 4.0 * weights / np.average((X**2).sum(axis=1), weights=weights)
    value, values, theta = oracle.logistic(X, y, F, costs, classes, penalty=0.5)
    assert model.certificate_.objective == pytest.approx(value, rel=1e-7)
    assert np.allclose(model.trust_, theta, atol=1e-4)
    ours = model.decision_function(kind(X), **given)
    centred = values - values.mean(axis=1, keepdims=True) if classes > 2 else values[:, 0]
    ours = ours - ours.mean(axis=1, keepdims=True) if classes > 2 else ours
    assert relative(ours, centred) < 1e-4
