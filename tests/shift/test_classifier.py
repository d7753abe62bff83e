"""Domain AUC."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from oracles.shift import auc_and_variance
from shiftlearn.metrics import domain_auc
from shiftlearn.shift.classifier import _auc_and_variance


@pytest.mark.parametrize("seed", range(5))
def test_auc_and_its_variance_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 9, 23) / 4, rng.integers(2, 11, 17) / 4
    assert _auc_and_variance(source, target) == pytest.approx(auc_and_variance(source, target))


def test_moved_normals_have_the_closed_form():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3000, 1)), rng.normal(1.0, size=(2000, 1))
    result = domain_auc(X, Y, LinearDiscriminantAnalysis(), level=0.999, random_state=0)
    expected = norm.cdf(1 / np.sqrt(2))
    assert result.low < expected < result.high
    assert result.high - result.low < 0.05
    assert result.auc == pytest.approx(np.mean(result.fold_aucs))
    assert len(result.fold_aucs) == 5


def test_interval_covers_the_truth():
    expected, hits = norm.cdf(0.8 / np.sqrt(2)), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(100, 1)), rng.normal(0.8, size=(60, 1))
        result = domain_auc(X, Y, LinearDiscriminantAnalysis(), level=0.9, random_state=0)
        hits += result.low <= expected <= result.high
    assert 0.83 <= hits / 200 <= 0.96


def test_nothing_moved_is_one_half():
    rng = np.random.default_rng(0)
    result = domain_auc(rng.normal(size=(300, 3)), rng.normal(size=(300, 3)), random_state=0)
    assert result.low < 0.5 < result.high


def test_the_default_sees_what_a_line_cannot():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    Y /= np.sqrt(np.sum(Y**2, axis=1, keepdims=True)) / 2  # on a circle, same mean
    line = domain_auc(X, Y, LogisticRegression(), random_state=0)
    assert line.auc < 0.6 < 0.8 < domain_auc(X, Y, random_state=0).auc


def test_disjoint_samples_keep_an_honest_interval():
    X, Y = np.linspace(0, 1, 20)[:, None], np.linspace(5, 6, 30)[:, None]
    result = domain_auc(X, Y, LogisticRegression(), random_state=0)
    assert (result.auc, result.high) == (1.0, 1.0)
    assert result.low == pytest.approx(0.025 ** (1 / 20))


def test_sparse_scores_and_decision_functions_serve():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 4)) + 1, rng.normal(size=(150, 4))
    X[X < 1], Y[Y < 1] = 0, 0
    sparse = domain_auc(sp.csr_array(X), sp.csr_array(Y), random_state=0)
    machine = domain_auc(sp.csr_array(X), Y, LinearSVC(), random_state=0)
    assert sparse.auc == pytest.approx(machine.auc, abs=0.03)
    assert sparse.low > 0.6


def test_same_seed_same_answer_and_rows_are_drawn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 2)), rng.normal(0.5, size=(300, 2))
    first, second = (domain_auc(X, Y, max_rows=100, random_state=3) for _ in range(2))
    assert first == second
    assert first.high - first.low > 1.5 * (lambda r: r.high - r.low)(
        domain_auc(X, Y, random_state=3)
    )


def test_the_classifier_is_not_fitted_itself():
    model = LogisticRegression()
    domain_auc(np.arange(20.0)[:, None], np.arange(20.0)[:, None] + 3, model, random_state=0)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"cv": 1}, ValueError, "cv must be an integer >= 2"),
        ({"cv": 6}, ValueError, "cv=6 needs at least 12 rows in each sample, got 10 in X"),
        ({"level": 0}, ValueError, "level must lie"),
        ({"classifier": object()}, TypeError, "classifier must have predict_proba"),
    ],
)
def test_bad_input(change, error, message):
    rows = np.arange(10.0)[:, None]
    with pytest.raises(error, match=message):
        domain_auc(rows, rows, **change)
