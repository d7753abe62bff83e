"""The batched path against the straight loop: sets exactly, machines to 1e-6."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import prototypes as oracle
from shiftlearn import ExemplarSVC, PrototypeSVC
from shiftlearn.datasets import make_isolated, make_spirals
from shiftlearn.prototypes.models import TrainingSet, exemplar_models, train
from shiftlearn.prototypes.rules import Rules
from shiftlearn.prototypes.shifting import Draws, shift
from shiftlearn.prototypes.table import Columns, Table


def blobs(n, d, n_classes, seed, *, grid=False):
    """Classes in scattered blobs; ``grid`` rounds the rows, so that distances tie and rows meet."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    y[:n_classes] = np.arange(n_classes)
    X = (
        rng.normal(size=(n, d))
        + 1.5 * rng.normal(size=(2 * n_classes, d))[y + n_classes * rng.integers(0, 2, n)]
    )
    return (np.round(X) if grid else X), y


def data_of(Z, y, weights=None):
    weights = np.ones(len(y)) if weights is None else weights
    table = Table(np.ascontiguousarray(Z))
    return TrainingSet(table, y.astype(np.int32), weights, int(y.max()) + 1)


def sets_of(ensemble):
    return [set(part.tolist()) for part in np.split(ensemble.rows, ensemble.indptr[1:-1])]


def fitted_exemplars(data, k=7, C=100.0, rules=None):
    first = exemplar_models(data, np.arange(data.n_rows), k, 1)
    every = np.ones(len(first), dtype=bool)
    return train(data, first, every, C, rules or Rules(), tol=1e-10, max_iter=10**7, n_jobs=1)


def as_oracle(ensemble, y):
    """The oracle's dictionaries with the sets and machines of an ensemble."""
    models = []
    for i, rows in enumerate(sets_of(ensemble)):
        label = int(ensemble.codes[i])
        P = {j for j in rows if y[j] == label}
        b, A, B, cap = ensemble.figures[:, i]
        models.append(
            {"exemplar": int(ensemble.exemplars[i]), "label": label, "P": P, "N": rows - P,
             "w": ensemble.coef[i], "b": b, "A": A, "B": B, "cap": cap}
        )  # fmt: skip
    return models


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 9), st.integers(2, 4))
def test_negatives_are_those_of_the_loop(seed, grid, k, n_classes):
    X, y = blobs(40, 3, n_classes, seed, grid=grid)
    found = exemplar_models(data_of(X, y), np.arange(40), k, 1)
    for i, rows in enumerate(sets_of(found)):
        assert rows - {i} == set(oracle.choose_negatives(X, y, i, k))


@pytest.mark.parametrize("C", [100.0, 1.0, 0.05])
@pytest.mark.parametrize("grid", [False, True])
def test_exemplar_machines_are_those_of_the_loop(C, grid):
    X, y = blobs(60, 4, 3, 1, grid=grid)
    Z = Columns.of(X, "range").apply(X).matrix
    data = data_of(Z, y)
    ensemble = fitted_exemplars(data, C=C)
    for i, model in enumerate(as_oracle(ensemble, y)):
        expected = dict(model)
        oracle.train(Z, expected, C, np.ones(60))
        np.testing.assert_allclose(model["w"], expected["w"], atol=1e-6)
        assert model["b"] == pytest.approx(expected["b"], abs=1e-6)
        for f in (-1.0, 0.3, 5.0):
            ours = 1 / (1 + np.exp(model["A"] * min(f, model["cap"]) + model["B"]))
            assert ours == pytest.approx(oracle.probability(expected, f), abs=1e-6), i


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(own_claims=True, drop="silent", keep_classes=False),
        Rules(own_claims=True),
        Rules(drop="silent", keep_classes=False),
    ],
)
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_one_shift_is_that_of_the_loop(rules, rate):
    X, y = blobs(90, 3, 3, 5)
    Z = Columns.of(X, "range").apply(X).matrix
    data = data_of(Z, y)
    ensemble = fitted_exemplars(data)
    ours = shift(data, ensemble, Draws(rate, 11), 2, rules, 1).ensemble
    theirs = oracle.shift(
        Z, y, as_oracle(ensemble, y), rate, 11, 2, own=rules.own_claims, drop=rules.drop,
        keep=rules.keep_classes,
    )  # fmt: skip
    assert ours.exemplars.tolist() == [m["exemplar"] for m in theirs]
    assert sets_of(ours) == [m["P"] | m["N"] for m in theirs]


@pytest.mark.parametrize("name", ["isolated", "spirals", "blobs"])
def test_a_whole_fit_is_that_of_the_loop(name):
    X, y = {
        "isolated": lambda: (make_isolated(1).data[::8], make_isolated(1).target[::8]),
        "spirals": lambda: (make_spirals().data[::2], make_spirals().target[::2]),
        "blobs": lambda: blobs(100, 5, 4, 3),
    }[name]()
    if name == "spirals":
        y = np.arange(len(y)) % 3
    model = PrototypeSVC(4, C=100.0, hard_negative_rate=0.05, random_state=3, tol=1e-10).fit(X, y)
    Z = Columns.of(X, "range").apply(X).matrix
    kept, scores, sizes, best = oracle.fit(
        Z, np.asarray(y), model.validation_indices_, rate=0.05, shifts=4, seed=seed_of(X, y, 3)
    )
    assert model.n_models_per_iteration_.tolist() == sizes
    assert model.best_iteration_ == best
    np.testing.assert_allclose(model.validation_scores_, scores)
    assert model.exemplars_.tolist() == [m["exemplar"] for m in kept]
    for i, m in enumerate(kept):
        assert set(model.positive_sets_[i].tolist()) == m["P"]
        assert set(model.negative_sets_[i].tolist()) == m["N"]
    n_classes = len(model.classes_)
    probabilities = [oracle.predict_proba(kept, z, n_classes) for z in Z]
    np.testing.assert_allclose(model.predict_proba(X), probabilities, atol=1e-5)


def seed_of(X, y, random_state):
    """The seed of the draws: what the generator gives after the rows to hold out."""
    from sklearn.utils import check_random_state

    from shiftlearn.prototypes.training import hold_out

    rng = check_random_state(random_state)
    hold_out(np.unique(y, return_inverse=True)[1].astype(np.int32), 0.25, rng, True)
    return int(rng.randint(np.iinfo(np.int32).max))


def test_the_two_row_machine_is_known():
    """α = min(C, 2/δ²), the plane in the middle."""
    X, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0, 1])
    for C in (100.0, 0.01):
        model = ExemplarSVC(C=C, scale=None, tol=1e-10).fit(X, y)
        alpha = min(C, 2 / 25)
        np.testing.assert_allclose(model.coef_[1], alpha * (X[1] - X[0]), atol=1e-9)
        assert model.coef_[1] @ X.mean(axis=0) + model.intercept_[1] == pytest.approx(0, abs=1e-9)


def test_small_costs_silence_machines_with_several_negatives():
    """C δ² far below 2 and two negatives: no machine fires even on its exemplar."""
    X, y = np.array([[0.0], [1.0], [1.1]]), np.array([0, 1, 1])
    fires = [
        X[0] @ m.coef_[0] + m.intercept_[0] > 0
        for m in (ExemplarSVC(C=C, scale=None).fit(X, y) for C in (0.01, 100.0))
    ]
    assert fires == [False, True]
