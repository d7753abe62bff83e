"""Class proportions: found where they moved, not believed where the rows moved."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftlearn.trust.members import unseen_probabilities
from shiftlearn.trust.proportions import black_box_proportions, find_proportions
from shiftlearn.views.rows import SourceRows


def clouds(counts, rng, d=5):
    centres = 2.0 * np.random.default_rng(7).normal(size=(len(counts), d))
    y = np.repeat(np.arange(len(counts)), counts)
    return centres[y] + rng.normal(size=(len(y), d)), y


def found(counts_s, counts_t, move=0.0):
    rng = np.random.default_rng(0)
    (Xs, ys), (Xt, _) = clouds(counts_s, rng), clouds(counts_t, rng)
    Xt = Xt + move
    rows = SourceRows(Xs, ys, np.ones(len(ys)), len(counts_s))
    unseen = unseen_probabilities(None, rows, 0)
    mean = LogisticRegression().fit(Xs, ys).predict_proba(Xt).mean(axis=0)
    return find_proportions(Xs, ys, np.ones(len(ys)), unseen, Xt, mean)


def test_moved_proportions_are_found():
    result = found([300, 300, 300], [60, 60, 480])
    assert result.moved and result.known and result.explained > 0.8
    np.testing.assert_allclose(result.target, [0.1, 0.1, 0.8], atol=0.08)
    assert "proportions moved by about" in result.words()


@pytest.mark.parametrize("move", [0.0, np.array([3.0, -3.0, 3.0, 3.0, -3.0])])
def test_nothing_or_moved_rows_are_not_taken_for_moved_proportions(move):
    result = found([300, 300, 300], [300, 300, 300], move)
    assert not result.moved
    np.testing.assert_allclose(result.target, [1 / 3] * 3)
    assert "No evidence" in result.words()


def test_the_estimate_solves_the_mixture_exactly():
    rng = np.random.default_rng(1)
    mixing = rng.dirichlet(np.ones(4), size=4)  # a row for each class
    codes = np.repeat(np.arange(4), 10)
    q = np.array([0.1, 0.2, 0.0, 0.7])
    estimate, condition = black_box_proportions(mixing[codes], codes, np.ones(40), q @ mixing)
    np.testing.assert_allclose(estimate, q, atol=1e-10)
    assert condition == pytest.approx(np.linalg.cond(mixing.T))


def test_weights_are_repetitions():
    rng = np.random.default_rng(2)
    unseen, codes = rng.dirichlet(np.ones(3), size=30), np.repeat(np.arange(3), 10)
    k = rng.integers(1, 4, 30)
    p = np.array([0.3, 0.4, 0.3])
    weighted = black_box_proportions(unseen, codes, k.astype(float), p)
    repeated = black_box_proportions(
        np.repeat(unseen, k, 0), np.repeat(codes, k), np.ones(k.sum()), p
    )
    np.testing.assert_allclose(weighted[0], repeated[0], atol=1e-12)


def test_classes_that_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    codes, rows = np.repeat([0, 1], 50), rng.normal(size=(100, 3))
    flat = np.full((100, 2), 0.5) + 1e-4 * (codes[:, None] == np.arange(2))
    result = find_proportions(rows, codes, np.ones(100), flat, rows + 1, flat.mean(axis=0))
    assert not result.known and not result.moved and "confuses" in result.words()


def test_constant_columns_alone():
    codes, rows = np.repeat([0, 1], 5), np.ones((10, 2))
    p = np.eye(2)[codes]
    result = find_proportions(rows, codes, np.ones(10), p, rows, np.array([0.1, 0.9]))
    assert not result.moved and result.explained == 0.0
