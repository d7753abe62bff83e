"""Pivoted Cholesky against the textbook loop, and its promise about the trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.pivoted import plain
from shiftlearn.features import pivoted_cholesky
from shiftlearn.kernels import Kernel


def gram(n=60, d=4, seed=0, gamma=0.3):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, Kernel("rbf", gamma=gamma).block(X, X, np.float64)


@pytest.mark.parametrize("tol", [1e-1, 1e-4, 1e-8])
@pytest.mark.parametrize("way", ["whole", "rows", "drawn"])
def test_the_trace_is_kept(tol, way):
    X, K = gram()
    low = pivoted_cholesky(
        Kernel("rbf", gamma=0.3).operator(X),
        tol=tol,
        memory_limit="auto" if way == "whole" else 60 * 60 * 8,
        random_state=np.random.RandomState(0) if way == "drawn" else None,
    )
    left = K - low.factor @ low.factor.T
    assert np.trace(left) <= tol * np.trace(K) * (1 + 1e-6)
    assert low.residual == pytest.approx(np.trace(left) / np.trace(K), abs=1e-12)
    assert np.linalg.eigvalsh(left)[0] > -1e-12
    np.testing.assert_allclose(left[low.pivots], 0, atol=1e-9)
    assert len(np.unique(low.pivots)) == low.factor.shape[1]
    if way != "drawn":
        assert low.factor.shape[1] <= plain(K, tol)[0].shape[1] * 1.3 + 2


def test_the_whole_matrix_gives_the_textbook_factor():
    _, K = gram()
    expected, pivots = plain(K, 1e-6)
    low = pivoted_cholesky(K, tol=1e-6)
    np.testing.assert_array_equal(low.pivots, pivots)
    np.testing.assert_allclose(low.factor, expected, atol=1e-9)


@pytest.mark.parametrize("limit", ["auto", 40 * 40 * 8])
def test_low_rank_is_found(limit):
    X = np.random.default_rng(1).normal(size=(40, 3))
    K = X @ X.T
    low = pivoted_cholesky(K, memory_limit=limit)
    assert low.factor.shape == (40, 3)
    np.testing.assert_allclose(low.factor @ low.factor.T, K, atol=1e-12)


def test_rank_and_memory_are_limits_and_the_residual_says_so():
    _, K = gram()
    low = pivoted_cholesky(K, max_rank=5)
    assert low.factor.shape == (60, 5) and low.residual > 1e-3
    assert pivoted_cholesky(K, memory_limit=60 * 8 * 4).factor.shape == (60, 4)


def test_an_outlier_does_not_take_all():
    """A tight cloud and one far row: two pivots explain nearly everything."""
    X = np.vstack([1e-2 * np.random.default_rng(0).normal(size=(50, 2)), [[100.0, 100.0]]])
    K = Kernel("rbf", gamma=0.5).block(X, X, np.float64)
    low = pivoted_cholesky(K, tol=1e-3)
    assert 50 in low.pivots and low.factor.shape[1] == 2


def test_zero_matrix():
    low = pivoted_cholesky(np.zeros((4, 4)))
    assert low.factor.shape[0] == 4 and low.residual == 0.0
    np.testing.assert_array_equal(low.factor @ low.factor.T, 0)


@pytest.mark.parametrize(
    ("matrix", "given_", "match"),
    [
        (np.ones((2, 3)), {}, "square"),
        (np.empty((0, 0)), {}, "not empty"),
        (-np.eye(2), {}, "positive semidefinite"),
        (np.diag([1.0, np.nan]), {}, "positive semidefinite"),
        (np.eye(2), {"tol": -1.0}, "tol"),
        (np.eye(2), {"max_rank": 0}, "max_rank"),
    ],
)
def test_bad_input(matrix, given_, match):
    with pytest.raises(ValueError, match=match):
        pivoted_cholesky(matrix, **given_)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 10),
    seed=st.integers(0, 2**32 - 1),
    draw=st.booleans(),
    copies=st.integers(1, 3),
)
def test_any_shape_with_duplicates(n, d, seed, draw, copies):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 3, size=d), copies, axis=0)
    K = X @ X.T
    low = pivoted_cholesky(
        K,
        tol=1e-10,
        memory_limit=8 * len(K) * len(K),
        random_state=np.random.RandomState(seed % 1000) if draw else None,
    )
    assert np.trace(K - low.factor @ low.factor.T) <= 1.1e-10 * np.trace(K)
    assert low.factor.shape[1] <= min(n, d)
