"""Effective sample size and the tail of importance weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import genpareto

from oracles.shift import pareto_shape
from shiftlearn.metrics import effective_sample_size, pareto_k, pareto_verdict


def test_equal_weights_count_fully_and_one_weight_counts_one():
    assert effective_sample_size(np.full(17, 0.3)) == pytest.approx(17)
    assert effective_sample_size([0.0, 5.0, 0.0]) == 1
    assert effective_sample_size([1.0, 1.0, 0.0]) == pytest.approx(2)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=30), st.floats(1e-300, 1e300))
def test_effective_sample_size_is_scale_free_and_between_one_and_n(weights, scale):
    if max(weights) < 1e-3:
        return
    base = effective_sample_size(weights)
    assert 1 - 1e-9 <= base <= len(weights) + 1e-9
    if max(weights) * scale < 1e308 and min(w for w in weights if w > 0) * scale > 1e-290:
        assert effective_sample_size(np.array(weights) * scale) == pytest.approx(base)


@pytest.mark.parametrize("k", [-0.3, 0.1, 0.3, 0.5, 0.7, 1.0, 1.5])
def test_exact_pareto_samples_give_their_shape_back(k):
    n = 100_000
    quantiles = genpareto.ppf((np.arange(n) + 0.5) / n, k)
    assert pareto_k(quantiles) == pytest.approx(k, abs=0.06)


@pytest.mark.parametrize("k", [0.2, 0.8])
def test_agrees_with_maximum_likelihood_on_random_samples(k):
    rng = np.random.default_rng(0)
    weights = np.sort(genpareto.rvs(k, size=20_000, random_state=rng))
    tail = int(3 * np.sqrt(20_000))
    fitted, _, _ = genpareto.fit(weights[-tail:] - weights[-tail - 1], floc=0)
    assert pareto_k(weights) == pytest.approx(fitted, abs=0.05)


@pytest.mark.parametrize("n", [30, 100, 400])
def test_is_the_published_estimate(n):
    weights = np.random.default_rng(n).pareto(1.5, size=n)
    assert pareto_k(weights) == pytest.approx(pareto_shape(weights), rel=1e-9)


def test_normal_weights_have_a_light_tail():
    rng = np.random.default_rng(0)
    assert pareto_k(np.abs(rng.normal(size=10_000))) < 0.2
    heavy = np.exp(0.5 * rng.normal(scale=2.0, size=10_000) ** 2)  # exact shape 1 - 1/4 of a ratio
    assert pareto_k(heavy) > 0.7


def test_scale_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    weights = rng.pareto(2.0, size=500)
    base = pareto_k(weights)
    assert pareto_k(weights[::-1] * 1e200) == pytest.approx(base)
    assert pareto_k(rng.permutation(weights) * 1e-200) == pytest.approx(base)


def test_weights_without_a_tail():
    assert pareto_k(np.ones(100)) == -np.inf
    assert np.isnan(pareto_k(np.arange(1.0, 20.0)))
    clipped = np.minimum(np.random.default_rng(0).pareto(1.0, size=1000), 1.0)
    assert pareto_k(clipped) == -np.inf
    one_large = np.r_[np.ones(99), 50.0]
    assert np.isnan(pareto_k(one_large))


@pytest.mark.parametrize(
    "k, n, word",
    [
        (-np.inf, 100, "reliable"),
        (0.4, 10_000, "reliable"),
        (0.6, 10_000, "usable"),
        (0.6, 100, "unreliable"),
        (0.8, 10_000, "unreliable"),
        (1.2, 10_000, "useless"),
        (np.nan, 10_000, "unknown"),
    ],
)
def test_verdicts(k, n, word):
    assert pareto_verdict(k, n).startswith(word)


@pytest.mark.parametrize("measure", [effective_sample_size, pareto_k])
@pytest.mark.parametrize(
    "weights, message",
    [
        ([], "non-empty 1d array"),
        (np.ones((2, 2)), "1d array"),
        ([1.0, -2.0], "non-negative, got .*-2.0"),
        ([1.0, np.nan], "finite"),
        ([0.0, 0.0], "all zero"),
    ],
)
def test_bad_weights(measure, weights, message):
    with pytest.raises(ValueError, match=message):
        measure(weights)
