"""Adapting to a stream of labelled rows: the answers of rows in memory."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftlearn import AdaptLogisticRegression, AdaptSVC, Blocks, PrototypeSVC, RandomFourier

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3))


def draw(n, move, k):
    X = RNG.normal(size=(n, 4)) + move
    return X, (X @ W[:, :k] + RNG.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("features", [None, RandomFourier(10, gamma=0.2, random_state=0)])
@pytest.mark.parametrize("trust", ["learned", 0.5])
def test_answers_of_memory_and_of_any_blocking(k, features, trust):
    source = LogisticRegression().fit(*draw(300, 0.0, k))
    X, y = draw(240, 0.7, k)
    model = AdaptLogisticRegression(
        source, features=features, trust=trust, class_weight="balanced", tol=1e-9
    )
    expected = model.fit(X, y).predict_proba(X)
    trusts = model.trust_
    domain = np.full(240, -1)
    for rows in (240, 31):
        model.fit(Blocks.from_arrays(X, y, domain, rows=rows))
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
        np.testing.assert_allclose(model.trust_, trusts, atol=1e-6)
    parts = list(model.predict_proba(Blocks.from_arrays(X, rows=100)))
    np.testing.assert_allclose(np.concatenate(parts), model.predict_proba(X))


def test_a_class_without_rows_and_rows_without_a_label():
    source = LogisticRegression().fit(*draw(300, 0.0, 3))
    X, y = draw(120, 0.7, 3)
    y = y.astype(object)
    y[y == 2] = None
    model = AdaptLogisticRegression(source, tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.fit(X, y).predict_proba(X)
        assert model.intercept_[2] == 0 and abs(model.intercept_.sum()) < 1e-12
        found = model.fit(Blocks.from_arrays(X, y, rows=50)).predict_proba(X)
    assert model.intercept_[2] == 0 and abs(model.intercept_.sum()) < 1e-12
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_machines_of_few_rows_predict_blocks():
    X, y = draw(60, 0.0, 2)
    source = LogisticRegression().fit(X, y)
    for model in (AdaptSVC(source).fit(X, y), PrototypeSVC(random_state=0).fit(X, y)):
        parts = list(model.predict(Blocks.from_arrays(X, rows=25)))
        np.testing.assert_array_equal(np.concatenate(parts), model.predict(X))


def test_what_cannot_be_done_is_said():
    X, y = draw(60, 0.0, 2)
    blocks = Blocks.from_arrays(X, y)
    with pytest.raises(ValueError, match="is not fitted and there are no labelled source rows"):
        AdaptLogisticRegression(LogisticRegression()).fit(blocks)
    with pytest.raises(ValueError, match='source_transform="scale"'):
        AdaptLogisticRegression(source_transform="scale").fit(blocks)
    with pytest.raises(TypeError, match="AdaptSVC cannot be fitted from blocks"):
        AdaptSVC(LogisticRegression().fit(X, y)).fit(blocks)
