"""OneClassSVM against scikit-learn and its own facts."""

import pickle

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from shiftlearn import OneClassSVM, stack_domains
from shiftlearn.machines.formulations import quantile_offset

TIGHT = {"tol": 1e-7}


def rows(n=300, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("nu", [0.013, 0.1, 0.5, 0.9])
def test_agrees_with_sklearn(nu, kernel, weighted):
    X = rows() + 3.0
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=300) if weighted else None
    ours = OneClassSVM(nu, kernel=kernel, coef0=1.0, **TIGHT).fit(X, sample_weight=weights)
    reference = sklearn.svm.OneClassSVM(nu=nu, kernel=kernel, coef0=1.0, tol=1e-7)
    reference.fit(X, sample_weight=weights)
    size = np.abs(reference.score_samples(X)).max()
    np.testing.assert_allclose(ours.score_samples(X) / size, reference.score_samples(X) / size,
                               atol=2e-5)  # fmt: skip
    low, high = ours.offset_interval_
    assert low - 2e-5 * size <= reference.offset_[0] <= high + 2e-5 * size
    assert ours.dual_coef_.sum() == pytest.approx(reference.dual_coef_.sum())
    K = ours.dual_coef_[0] @ ours.score_samples(X)[ours.support_]
    assert ours.certificate_.objective == pytest.approx(0.5 * K, rel=1e-5)


def test_default_tolerance_is_relative_to_the_scores():
    X = rows(3000, 20)
    ours = OneClassSVM(0.1).fit(X)
    reference = sklearn.svm.OneClassSVM(nu=0.1, tol=1e-6).fit(X)
    best = 0.5 * float(reference.dual_coef_[0] @ reference.score_samples(X)[reference.support_])
    assert ours.certificate_.converged and ours.certificate_.violation <= 1e-3
    assert ours.certificate_.objective - best <= 5e-4 * best
    assert ours.certificate_.gap >= ours.certificate_.objective - best
    assert ours.offset_ == pytest.approx(reference.offset_[0], rel=1e-3)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_scale_of_a_linear_kernel_does_not_matter(scale):
    X = rows() + 3.0
    plain = OneClassSVM(0.2, kernel="linear", **TIGHT).fit(X)
    scaled = OneClassSVM(0.2, kernel="linear", **TIGHT).fit(scale * X)
    np.testing.assert_allclose(
        scaled.decision_function(scale * X) / scale**2, plain.decision_function(X), atol=1e-3
    )


def test_rows_around_the_origin_leave_no_half_space():
    X = rows()
    model = OneClassSVM(0.05, kernel="linear").fit(X)
    assert model.certificate_.converged
    assert np.abs(model.coef_).max() < 1e-2 * np.abs(X).max()


def test_share_outside_is_bounded_by_nu():
    X = rows(1000)
    for nu in (0.05, 0.2):
        model = OneClassSVM(nu, **TIGHT).fit(X)
        assert (model.decision_function(X) < -1e-5).mean() <= nu + 1e-9
        assert len(model.support_) / 1000 >= nu
        np.testing.assert_array_equal(
            model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1)
        )


def test_nu_one_is_the_kernel_mean():
    X = rows(100)
    model = OneClassSVM(1.0, gamma=0.3).fit(X)
    np.testing.assert_allclose(model.dual_coef_, 1.0)
    scores = rbf_kernel(X, gamma=0.3).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), scores, rtol=1e-6)
    assert model.offset_ == pytest.approx(scores.max(), rel=1e-6)


def test_quantile_rule_against_a_search():
    rng = np.random.default_rng(0)
    for _ in range(200):
        h = rng.integers(0, 6, size=8) / 2.0
        w = rng.integers(1, 4, size=8).astype(float)
        total = rng.choice([rng.uniform(0.1, w.sum()), float(rng.integers(1, int(w.sum())))])
        low, high = quantile_offset(h, w, total)
        losses = [-rho * total + w @ np.maximum(0, rho - h) for rho in np.linspace(-1, 4, 501)]
        for rho in (low, 0.5 * (low + high), high):
            assert -rho * total + w @ np.maximum(0, rho - h) <= min(losses) + 1e-9


def test_weight_algebra():
    X = rows(200)
    repeats = np.random.default_rng(0).integers(0, 3, size=200)
    weighted = OneClassSVM(0.3, gamma=0.2, **TIGHT).fit(X, sample_weight=repeats)
    repeated = OneClassSVM(0.3, gamma=0.2, **TIGHT).fit(np.repeat(X, repeats, axis=0))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-4
    )


def test_sparse_precomputed_and_target_rows():
    X = rows()
    model = OneClassSVM(0.2, gamma=0.3, **TIGHT).fit(X)
    scores = model.decision_function(X)
    given = sparse.csr_array(X)
    of_sparse = OneClassSVM(0.2, gamma=0.3, **TIGHT).fit(given)
    np.testing.assert_allclose(of_sparse.decision_function(given), scores, atol=1e-4)
    K = rbf_kernel(X, gamma=0.3)
    of_matrix = OneClassSVM(0.2, kernel="precomputed", **TIGHT).fit(K)
    np.testing.assert_allclose(of_matrix.decision_function(K), scores, atol=1e-4)
    narrow = of_matrix.decision_function(K[:, of_matrix.support_])
    np.testing.assert_allclose(narrow, of_matrix.decision_function(K), atol=1e-12)
    both, _, domain = stack_domains(X, np.zeros(300, int), X + 50)
    mixed = OneClassSVM(0.2, gamma=0.3, **TIGHT).fit(both, sample_domain=domain)
    np.testing.assert_allclose(mixed.decision_function(X), scores, atol=1e-4)


def test_features_make_the_machine_linear():
    X = rows(800)
    features = Nystroem(gamma=0.3, n_components=60, random_state=0)
    model = OneClassSVM(0.2, features=features, tol=1e-6).fit(X)
    Z = model.features_.transform(X)
    linear = OneClassSVM(0.2, kernel="linear", tol=1e-6).fit(Z)
    size = np.abs(linear.score_samples(Z)).max()
    np.testing.assert_allclose(
        model.decision_function(X) / size, linear.decision_function(Z) / size, atol=1e-4
    )
    assert model.coef_.shape == (1, 60)


def test_pickle_keeps_the_answer():
    X = rows()
    model = OneClassSVM().fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.5, np.nan, "half"])
def test_bad_nu_is_named(nu):
    with pytest.raises(ValueError, match="nu must be a finite number > 0"):
        OneClassSVM(nu).fit(rows(10))
