"""Kernel mean matching: against a general solver, its optimality conditions, its limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from oracles.matching import kernel_mean_matching, rbf
from shiftlearn import KernelMeanMatching, Nystroem, RandomFourier
from shiftlearn.errors import InfeasibleError, NoOverlapWarning


def samples(m=60, n=45, d=3, by=0.6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(by, 0.8, size=(n, d))


def conditions(K, kappa, fitted, B):
    """The largest violation, over the multiplier ν of the sum, written from the specification."""
    beta, g = fitted.weights_, K @ fitted.weights_ - kappa
    least, most = fitted.bounds_
    room = 1e-9 * most
    # (Kβ - κ)_i + ν is >= 0 at 0, <= 0 at B, 0 between; ν <= 0 at the least sum, >= 0 at the most.
    lower = max((-g[beta < B]).max(initial=-np.inf), 0.0 if beta.sum() > least + room else -np.inf)
    upper = min((-g[beta > 0]).min(initial=np.inf), 0.0 if beta.sum() < most - room else np.inf)
    return max(0.0, lower - upper)


@pytest.mark.parametrize("B", [1.2, 3.0, 1000.0])
@pytest.mark.parametrize("eps", [None, 0.0, 0.1])
@pytest.mark.parametrize("d", [1, 3])
def test_against_a_general_solver(B, eps, d):
    Xs, Xt = samples(d=d)
    m, n = len(Xs), len(Xt)
    fitted = KernelMeanMatching(gamma=0.5, B=B, eps=eps).fit(Xs, Xt)
    K, kappa = rbf(Xs, Xs, 0.5), rbf(Xs, Xt, 0.5).sum(axis=1) * m / n
    width = (np.sqrt(m) - 1) / np.sqrt(m) if eps is None else eps
    _, objective = kernel_mean_matching(K, kappa, B, width)
    proof = fitted.certificate_
    assert proof.converged and proof.violation <= 1e-7
    assert proof.objective == pytest.approx(objective, rel=1e-7)
    assert proof.gap >= proof.objective - objective - 1e-6 * abs(objective)
    assert proof.relative_gap < 1e-7
    beta = fitted.weights_
    assert beta.min() >= 0 and beta.max() <= B
    assert m * (1 - width) * (1 - 1e-10) <= beta.sum() <= m * (1 + width) * (1 + 1e-10)
    assert conditions(K, kappa, fitted, B) <= 2e-7


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_other_kernels_reach_the_optimum(kernel):
    Xs, Xt = samples()
    fitted = KernelMeanMatching(kernel, gamma=0.3, coef0=1.0, degree=2, B=5.0).fit(Xs, Xt)
    K = fitted.kernel_.block(Xs, Xs, np.float64)
    kappa = fitted.kernel_.block(Xs, Xt, np.float64).sum(axis=1) * len(Xs) / len(Xt)
    width = (np.sqrt(len(Xs)) - 1) / np.sqrt(len(Xs))
    _, objective = kernel_mean_matching(K, kappa, 5.0, width)
    assert fitted.certificate_.objective == pytest.approx(objective, rel=1e-6)
    assert fitted.certificate_.converged


def test_the_program_is_the_distance_of_the_means():
    Xs, Xt = samples()
    fitted = KernelMeanMatching(gamma=0.5).fit(Xs, Xt)
    m, n, beta = len(Xs), len(Xt), fitted.weights_
    target = rbf(Xt, Xt, 0.5).sum() / n**2
    cross = (beta @ rbf(Xs, Xt, 0.5)).sum() / (m * n)
    distance = beta @ rbf(Xs, Xs, 0.5) @ beta / m**2 - 2 * cross + target
    assert 2 / m**2 * fitted.certificate_.objective + target == pytest.approx(distance, abs=1e-9)
    assert fitted.mismatch_ == pytest.approx(distance / target, abs=1e-6)


@given(
    st.integers(1, 14), st.integers(1, 8), st.integers(1, 3), st.floats(0.5, 20), st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_any_small_problem_is_solved(m, n, d, B, seed):
    rng = np.random.default_rng(seed)
    Xs = rng.integers(0, 3, size=(m, d)).astype(float)  # with repeated rows
    Xt = rng.integers(0, 3, size=(n, d)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoOverlapWarning)
        fitted = KernelMeanMatching(gamma=0.7, B=B, eps=0.5).fit(Xs, Xt)
    K, kappa = rbf(Xs, Xs, 0.7), rbf(Xs, Xt, 0.7).sum(axis=1) * m / n
    assert fitted.certificate_.converged
    assert conditions(K, kappa, fitted, B) <= 2e-7
    assert fitted.weights_.min() >= 0 and fitted.weights_.max() <= B
    assert 0.5 * m - 1e-9 <= fitted.weights_.sum() <= 1.5 * m + 1e-9


def test_identical_domains_have_weights_near_one():
    X = np.random.default_rng(0).normal(size=(400, 2))
    fitted = KernelMeanMatching(eps=0.01, B=2.0).fit(X, X)
    assert fitted.mismatch_ < 1e-9
    assert fitted.weights_.mean() == pytest.approx(1, abs=0.011)
    assert np.corrcoef(X[:, 0], fitted.weights_)[0, 1] == pytest.approx(0, abs=0.1)


def test_weights_rise_towards_the_target():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(500, 1)), rng.normal(1, size=(400, 1))
    beta = KernelMeanMatching(B=10.0, gamma=0.5).fit(Xs, Xt).weights_
    assert np.average(Xs[:, 0], weights=beta) == pytest.approx(Xt.mean(), abs=0.15)


def test_disjoint_domains_warn_and_have_the_least_sum():
    Xs, Xt = samples(by=60.0)
    with pytest.warns(NoOverlapWarning, match="unmatched"):
        fitted = KernelMeanMatching(gamma=0.5, eps=0.9).fit(Xs, Xt)
    assert fitted.weights_.sum() == pytest.approx(0.1 * len(Xs))
    with pytest.warns(NoOverlapWarning):
        none = KernelMeanMatching(gamma=0.5, eps=1.0).fit(Xs, Xt)
    assert np.all(none.weights_ < 1e-6) and none.verdict_.startswith("useless")


def test_order_of_rows_and_repetitions_of_the_target_do_not_matter():
    Xs, Xt = samples()
    base = KernelMeanMatching(gamma=2.0).fit(Xs, Xt).weights_
    order = np.random.default_rng(1).permutation(len(Xs))
    turned = KernelMeanMatching(gamma=2.0).fit(Xs[order], np.r_[Xt, Xt]).weights_
    assert turned == pytest.approx(base[order], abs=1e-4)


def test_sparse_rows_are_dense_rows():
    Xs, Xt = samples()
    Xs, Xt = Xs * (Xs > 0), Xt * (Xt > 0)
    dense = KernelMeanMatching(gamma=2.0).fit(Xs, Xt)
    thin = KernelMeanMatching(gamma=2.0).fit(sparse.csr_array(Xs), sparse.csr_matrix(Xt))
    assert thin.certificate_.objective == pytest.approx(dense.certificate_.objective, rel=1e-9)


@pytest.mark.parametrize("features", [Nystroem(40, random_state=0), RandomFourier(40)])
def test_in_a_feature_space(features):
    Xs, Xt = samples(150, 100)
    features = clone(features).set_params(gamma=0.3, random_state=0)
    ridge = 1e-4
    fitted = KernelMeanMatching(features=features, ridge=ridge, B=4.0).fit(Xs, Xt)
    Z, T = fitted.features_.transform(Xs), fitted.features_.transform(Xt)
    size = ridge * len(Xs) * np.mean(np.sum(Z**2, axis=1))
    K, kappa = Z @ Z.T + size * np.eye(len(Z)), Z @ T.sum(axis=0) * len(Z) / len(T)
    width = (np.sqrt(len(Xs)) - 1) / np.sqrt(len(Xs))
    beta, objective = kernel_mean_matching(K, kappa, 4.0, width)
    assert fitted.certificate_.converged
    assert fitted.certificate_.objective == pytest.approx(objective, rel=1e-7)
    assert fitted.weights_ == pytest.approx(beta, abs=1e-4)


def test_rows_on_demand_agree_with_the_matrix():
    Xs, Xt = samples(80, 60, 6)
    whole = KernelMeanMatching(gamma=1.0).fit(Xs, Xt)
    with pytest.warns(UserWarning, match="on demand"):
        parts = KernelMeanMatching(gamma=1.0, memory_limit=40_000).fit(Xs, Xt)
    assert parts.certificate_.violation <= 1e-7
    assert parts.weights_ == pytest.approx(whole.weights_, abs=1e-4)


def test_the_operator_with_a_slack_is_the_padded_matrix():
    from shiftlearn.covariate.matching import WithSlack
    from shiftlearn.kernels import MatrixOperator

    K = rbf(samples(6)[0], samples(6)[0], 0.5)
    padded = np.pad(K, (0, 1))
    operator = WithSlack(MatrixOperator(K))
    every, some = np.arange(7), np.array([1, 4, 6])
    assert np.allclose(operator.block(every, None, np.float64), padded)
    assert np.allclose(operator.block(some, every[3:], np.float64), padded[some][:, 3:])
    assert np.allclose(operator.product(some, np.ones(3), np.float64), padded[:, some].sum(axis=1))
    assert np.allclose(operator.diagonal(), np.diag(padded))
    for rows in (some, some[:2]):
        part = operator.restrict(rows)
        assert np.allclose(
            part.block(np.arange(len(rows)), None, np.float64), padded[rows][:, rows]
        )


def test_a_callback_stops_with_a_feasible_answer():
    Xs, Xt = samples(120, 90, d=2)
    whole = KernelMeanMatching(gamma=0.2).fit(Xs, Xt)
    with pytest.warns(ConvergenceWarning, match="violation"):
        fitted = KernelMeanMatching(gamma=0.2, callback=lambda event: True).fit(Xs, Xt)
    assert fitted.certificate_.n_iter < whole.certificate_.n_iter
    assert fitted.weights_.min() >= 0
    excess = fitted.certificate_.objective - whole.certificate_.objective
    assert -1e-9 <= excess <= fitted.certificate_.gap + 1e-6


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"B": 0.3, "eps": 0.5}, "B=0.3 and eps=0.5 contradict"),
        ({"B": 0.0}, "B must be"),
        ({"eps": -0.1}, "eps must be"),
        ({"eps": np.nan}, "eps must be"),
        ({"tol": 0}, "tol must be"),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
        ({"kernel": "cubic"}, "kernel must be"),
        ({"features": Nystroem(5), "ridge": 0.0}, "ridge must be"),
    ],
)
def test_wrong_parameters(parameters, message):
    Xs, Xt = samples()
    model = KernelMeanMatching(**parameters)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(Xs, Xt)
    assert isinstance(caught.value, InfeasibleError) == ("contradict" in message)
    assert not hasattr(model, "weights_")
