"""LSSVC: the facts of its algebra, and awkward input."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from shiftlearn import LSSVC

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"kernel": "poly", "C": 0.1}])
def test_scores_of_all_classes_sum_to_one_everywhere(options):
    model = LSSVC(**options).fit(X, Y)
    anywhere = np.random.default_rng(0).normal(size=(50, 4)) * 5
    np.testing.assert_allclose(model.decision_function(anywhere).sum(axis=1), 1.0, atol=1e-8)
    assert model.intercept_.sum() == pytest.approx(1.0)


def test_two_classes_are_the_difference_of_the_one_hot_machine():
    X2, y2 = X[50:], Y[50:]
    model = LSSVC(C=3.0, gamma=0.3).fit(X2, y2)
    K = rbf_kernel(X2, gamma=0.3)
    from shiftlearn.kernels import MatrixOperator
    from shiftlearn.solvers.least_squares import solve_dual

    one_hot = solve_dual(MatrixOperator(K), np.eye(2)[y2 - 1], np.full(100, 3.0))
    scores = K @ one_hot.dual + one_hot.intercept
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], model.decision_function(X2), atol=1e-9)
    assert model.certificate_.objective == pytest.approx(2 * one_hot.certificate.objective)


def test_linear_form_is_ridge():
    X2, y2 = X[50:], Y[50:]
    for rows in (X2, sparse.csr_array(X2)):
        model = LSSVC(C=2.0, kernel="linear").fit(rows, y2)
        ridge = Ridge(alpha=0.5).fit(X2, np.where(y2 == 2, 1.0, -1.0))
        np.testing.assert_allclose(model.coef_[0], ridge.coef_, rtol=1e-7)
        assert model.intercept_[0] == pytest.approx(ridge.intercept_, rel=1e-7)


def test_more_columns_than_rows_use_the_rows():
    Xw, yw = make_classification(40, 200, random_state=0)
    model = LSSVC(C=0.1, kernel="linear").fit(Xw, yw)
    ridge = Ridge(alpha=10.0).fit(Xw, 2.0 * yw - 1)
    np.testing.assert_allclose(model.coef_[0], ridge.coef_, atol=1e-8)
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ Xw[model.support_], atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weight_algebra(kernel):
    repeats = np.random.default_rng(0).integers(0, 4, size=150)
    weighted = LSSVC(kernel=kernel, gamma=0.3).fit(X, Y, sample_weight=repeats)
    repeated = LSSVC(kernel=kernel, gamma=0.3).fit(np.repeat(X, repeats, axis=0), Y.repeat(repeats))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )
    scaled = LSSVC(kernel=kernel, gamma=0.3, C=2.0).fit(X, Y, sample_weight=repeats / 2)
    np.testing.assert_allclose(
        weighted.decision_function(X), scaled.decision_function(X), atol=1e-8
    )


def test_precomputed_sparse_and_features():
    scores = LSSVC(gamma=0.3).fit(X, Y).decision_function(X)
    K = rbf_kernel(X, gamma=0.3)
    given = LSSVC(kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(given.decision_function(K), scores, atol=1e-8)
    of_sparse = LSSVC(gamma=0.3).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(of_sparse.decision_function(X), scores, atol=1e-8)
    features = Nystroem(gamma=0.3, n_components=150, random_state=0)
    explicit = LSSVC(features=features).fit(X, Y)
    np.testing.assert_allclose(explicit.decision_function(X), scores, atol=1e-5)


def test_certificate_is_tight_and_reported():
    model = LSSVC(C=1e4).fit(X, Y)
    assert model.certificate_.converged and model.certificate_.gap < 1e-9
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_too_many_rows_name_the_remedy():
    with pytest.raises(ValueError, match=r"memory_limit .* features=Nystroem"):
        LSSVC(memory_limit=10_000).fit(X, Y)


def test_indefinite_kernel_warns():
    with pytest.warns(ConvergenceWarning, match="without a bound on the gap"):
        model = LSSVC(kernel="sigmoid", gamma=1.0, coef0=1.0, C=100.0).fit(X, Y)
    assert np.isnan(model.certificate_.gap)


@pytest.mark.parametrize("parameters", [{"C": 0}, {"tol": -1.0}, {"kernel": "x"}])
def test_bad_parameters_are_named(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} must be"):
        LSSVC(**parameters).fit(X, Y)
