"""Jensen-Shannon divergence."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from oracles.shift import (
    jensen_shannon_leave_one_out,
    jensen_shannon_of_normals,
    jensen_shannon_one_column,
)
from shiftlearn.metrics import feature_jensen_shannon, jensen_shannon


def samples(m=60, n=40, p=1, move=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, p)), rng.normal(size=(n, p)) * 1.3 + move


@pytest.mark.parametrize("move", [0.0, 1.0, 30.0])
def test_one_column_is_the_integral_of_plain_densities(move):
    X, Y = samples(move=move)
    expected = jensen_shannon_one_column(X[:, 0], Y[:, 0])
    assert jensen_shannon(X, Y) == pytest.approx(expected, abs=1e-4)


def test_two_columns_of_independent_noise_add_little():
    X, Y = samples(2000, 2000)
    rng = np.random.default_rng(1)
    wide_x, wide_y = (np.c_[rows, rng.normal(size=2000)] for rows in (X, Y))
    assert jensen_shannon(wide_x, wide_y) == pytest.approx(jensen_shannon(X, Y), abs=0.03)


@pytest.mark.parametrize("p", [3, 5])
@pytest.mark.parametrize("move", [0.0, 0.5, 3.0])
def test_many_columns_are_the_sum_over_rows(p, move):
    X, Y = samples(25, 18, p, move)
    expected = np.clip(jensen_shannon_leave_one_out(X, Y), 0, 1)
    assert jensen_shannon(X, Y) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mean, std", [(0.0, 1.0), (1.0, 1.0), (2.0, 0.5), (0.0, 3.0)])
def test_normals_have_the_value_of_the_quadrature(mean, std):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20_000, 1)), rng.normal(mean, std, size=(20_000, 1))
    expected = jensen_shannon_of_normals(mean, std)
    assert jensen_shannon(X, Y) == pytest.approx(expected, abs=0.015)
    by_classifier = jensen_shannon(
        X, Y, method="classifier", classifier=QuadraticDiscriminantAnalysis(), random_state=0
    )
    assert by_classifier == pytest.approx(expected, abs=0.02)


def test_classifier_form_corrects_for_unequal_sizes():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5_000, 1)), rng.normal(2.0, size=(500, 1))
    value = jensen_shannon(
        X, Y, method="classifier", classifier=QuadraticDiscriminantAnalysis(), random_state=0
    )
    assert value == pytest.approx(jensen_shannon_of_normals(2.0, 1.0), abs=0.03)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_limits_and_invariances(p):
    X, Y = samples(80, 70, p, 0.7)
    value = jensen_shannon(X, Y)
    assert 0 < value < 1
    assert jensen_shannon(Y, X) == pytest.approx(value)
    assert jensen_shannon(X[::-1], Y) == pytest.approx(value)
    assert jensen_shannon(1e3 * X + 7, 1e3 * Y + 7) == pytest.approx(value, abs=1e-6)
    assert jensen_shannon(X, Y + 1e6) == pytest.approx(1.0, abs=1e-3)
    assert jensen_shannon(np.c_[X, np.ones(80)], np.c_[Y, np.ones(70)]) == pytest.approx(
        value, abs=1e-9
    )


def test_equal_samples_on_the_grid_are_zero():
    X, _ = samples(p=2)
    assert jensen_shannon(X, X) == 0.0


def test_columns_that_are_constant_in_one_domain_or_both():
    X, Y = np.zeros((20, 1)), np.ones((30, 1))
    assert jensen_shannon(X, X) == 0.0
    assert jensen_shannon(X, Y) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    assert jensen_shannon(X, rng.normal(5.0, size=(30, 1))) > 0.9
    wide = np.repeat(X, 4, axis=1)
    assert jensen_shannon(wide, wide) == 0.0
    assert jensen_shannon(wide, wide + 1) == pytest.approx(1.0)


def test_auto_takes_the_classifier_for_many_columns_and_sparse_rows():
    X, Y = samples(150, 150, 12, 1.0)
    assert jensen_shannon(X, Y, random_state=0) == jensen_shannon(
        X, Y, method="classifier", random_state=0
    )
    assert 0 < jensen_shannon(sp.csr_array(X), sp.csr_array(Y), random_state=0) < 1


def test_each_column_by_itself():
    X, Y = samples(50, 40, 3)
    Y[:, 1] = X[:40, 1] + 50
    values = feature_jensen_shannon(X, Y)
    assert values == pytest.approx(
        [jensen_shannon(X[:, [j]], Y[:, [j]]) for j in range(3)], abs=1e-12
    )
    assert values[1] == pytest.approx(1.0, abs=1e-6)
    assert feature_jensen_shannon(sp.csr_array(X), sp.csr_array(Y)) == pytest.approx(values)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"method": "histogram"}, ValueError, "method must be"),
        ({"X": np.zeros((1, 2))}, ValueError, "minimum of 2"),
        ({"Y": np.zeros((5, 3))}, ValueError, "same columns, got 2 and 3"),
        ({"method": "classifier", "classifier": object()}, TypeError, "must have predict_proba"),
    ],
)
def test_bad_input(change, error, message):
    X, Y = samples(p=2)
    with pytest.raises(error, match=message):
        jensen_shannon(**({"X": X, "Y": Y} | change))
