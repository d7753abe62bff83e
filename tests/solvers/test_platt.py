"""Platt's sigmoid against known answers, a slow oracle and scikit-learn's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import _sigmoid_calibration

from oracles import platt as oracle
from shiftlearn.solvers.platt import fit_platt, fit_platt_batch


def overlapping(rng, n, scale=1.0, shift=0.0):
    positive = rng.random(n) < 0.4
    return shift + scale * (rng.normal(size=n) + 1.2 * positive), positive


@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 1e9])
def test_one_positive_one_negative(size):
    # By symmetry B = 0, and p(size) must be the target 2/3.
    sigmoid = fit_platt([size, -size], [True, False])
    assert sigmoid.slope * size == pytest.approx(-math.log(2), rel=1e-8)
    assert abs(sigmoid.offset) < 1e-8
    assert sigmoid.converged


@pytest.mark.parametrize("score", [0.0, 0.1, -1e6])
def test_equal_scores_give_the_mean_target(score):
    sigmoid = fit_platt([score] * 5, [True, False, False, False, False])
    mean = (2 / 3 + 4 / 6) / 5
    assert sigmoid.slope == 0
    assert sigmoid.probability(score) == pytest.approx(mean, abs=1e-9)
    assert sigmoid.mean_target == pytest.approx(mean)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_oracle(seed):
    rng = np.random.default_rng(seed)
    scores, positive = overlapping(rng, int(rng.integers(3, 60)), 10.0 ** rng.integers(-2, 3))
    weights = rng.uniform(0.1, 3.0, len(scores))
    sigmoid = fit_platt(scores, positive, sample_weight=weights)
    a, b = oracle.fit(scores, positive, weights)
    np.testing.assert_allclose([sigmoid.slope, sigmoid.offset], [a, b], rtol=1e-6, atol=1e-8)
    ours = oracle.objective(float(sigmoid.slope), float(sigmoid.offset), scores, positive, weights)
    assert ours <= oracle.objective(a, b, scores, positive, weights) + 1e-12


def test_agrees_with_scikit_learn():
    scores, positive = overlapping(np.random.default_rng(0), 400, 3.0)
    weights = np.random.default_rng(1).uniform(0.2, 2, 400)
    sigmoid = fit_platt(scores, positive, sample_weight=weights)
    a, b = _sigmoid_calibration(scores, positive, sample_weight=weights)
    np.testing.assert_allclose([sigmoid.slope, sigmoid.offset], [a, b], rtol=2e-3)


def test_separated_classes_far_from_the_origin():
    scores = np.concatenate([np.linspace(1e8, 1e8 + 1, 20), np.linspace(1e8 + 3, 1e8 + 4, 30)])
    sigmoid = fit_platt(scores, np.arange(50) >= 20)
    p = sigmoid.probability(scores)
    assert sigmoid.converged and (np.diff(p) >= 0).all()
    assert p.mean() == pytest.approx(sigmoid.mean_target, abs=1e-7)
    a, b = oracle.fit(scores - 1e8, np.arange(50) >= 20, np.ones(50))
    np.testing.assert_allclose(p, 1 / (1 + np.exp(a * (scores - 1e8) + b)), atol=1e-6)


def test_falling_sigmoid_becomes_the_mean_target():
    scores, positive = [2.0, 1.0, -1.0, -2.0], [False, False, True, True]
    fitted = fit_platt(scores, positive)
    assert fitted.slope > 0
    flat = fitted.rising()
    assert flat.slope == 0 and flat.probability([-3.0, 5.0]) == pytest.approx([0.5, 0.5])
    up = fit_platt(scores, [not y for y in positive])
    assert up.rising().slope == up.slope < 0


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_weights_are_repetitions(seed):
    rng = np.random.default_rng(seed)
    scores, positive = overlapping(rng, 12)
    counts = rng.integers(0, 4, 12)
    weighted = fit_platt(scores, positive, sample_weight=counts.astype(float))
    repeated = fit_platt(np.repeat(scores, counts), np.repeat(positive, counts))
    np.testing.assert_allclose(
        weighted.probability(scores), repeated.probability(scores), atol=1e-7
    )


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.floats(-100, 100))
@settings(max_examples=30, deadline=None)
def test_probabilities_do_not_depend_on_the_units(seed, scale, shift):
    scores, positive = overlapping(np.random.default_rng(seed), 15)
    plain, moved = fit_platt(scores, positive), fit_platt(scale * scores + shift, positive)
    np.testing.assert_allclose(
        plain.probability(scores), moved.probability(scale * scores + shift), atol=1e-6
    )


def test_each_vector_for_itself_and_any_number_of_threads():
    rng = np.random.default_rng(4)
    sizes = rng.integers(0, 40, 900)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    scores, positive = overlapping(rng, indptr[-1])
    weights = rng.uniform(0, 2, indptr[-1])
    one, two = (
        fit_platt_batch(indptr, scores, positive, weights=weights, n_jobs=n) for n in (1, 2)
    )
    for name in ("slope", "offset", "n_iter", "violation"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.converged.all()
    for b in (0, 17, 899):
        part = slice(indptr[b], indptr[b + 1])
        alone = fit_platt(scores[part], positive[part], sample_weight=weights[part])
        assert (alone.slope, alone.offset) == (one.slope[b], one.offset[b])


def test_columns():
    rng = np.random.default_rng(5)
    scores, labels = rng.normal(size=(30, 3)), rng.random((30, 3)) < 0.5
    fitted = fit_platt(scores, labels)
    shared = fit_platt(scores, labels[:, 1])
    assert fitted.slope.shape == (3,) and fitted.probability(scores).shape == (30, 3)
    for c in range(3):
        assert fitted.slope[c] == fit_platt(scores[:, c], labels[:, c]).slope
    assert shared.slope[1] == fitted.slope[1]


def test_empty_vector_is_undecided():
    fitted = fit_platt_batch([0, 0], [], [])
    assert fitted.probability([3.0]) == pytest.approx([0.5]) and fitted.converged.all()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([0, 2], [1.0, np.nan], [1, 0]), "scores contains NaN"),
        (([0, 1], [1.0, 2.0], [1, 0]), "indptr must rise from 0 to the length of scores"),
        (([0, 2], [1.0, 2.0], [1, 2]), "positive must hold True and False"),
        (([0, 2], [1.0, 2.0], [1]), "positive must have shape"),
        (([0, 2], [[1.0, 2.0]], [1, 0]), "scores must be a flat array"),
    ],
)
def test_bad_batches(arguments, match):
    with pytest.raises(ValueError, match=match):
        fit_platt_batch(*arguments)


def test_bad_single_vectors():
    with pytest.raises(ValueError, match="weights must not be negative"):
        fit_platt([1.0, 2.0], [1, 0], sample_weight=[1, -1])
    with pytest.raises(ValueError, match="positive must have shape"):
        fit_platt([1.0, 2.0], [1, 0, 1])
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        fit_platt([1.0, 2.0], [1, 0], sample_weight=[1.0])
    with pytest.raises(ValueError, match="scores must have shape"):
        fit_platt(np.zeros((2, 2, 2)), [1, 0])
