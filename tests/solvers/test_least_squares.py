"""Least squares in both spaces against the plain linear system."""

import numpy as np
import pytest
from scipy import sparse

from shiftlearn.kernels import MatrixOperator, resolve_kernel
from shiftlearn.solvers.least_squares import solve_dual, solve_primal


def bordered_system(K, Y, costs):
    """The whole system at once, by NumPy."""
    n = len(K)
    system = np.zeros((n + 1, n + 1))
    system[0, 1:] = system[1:, 0] = 1.0
    system[1:, 1:] = K + np.diag(1 / costs)
    answer = np.linalg.solve(system, np.vstack([np.zeros((1, Y.shape[1])), Y]))
    return answer[1:], answer[0]


def problem(n=60, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)) + 2.0, rng.normal(size=(n, k))
    return X, Y, rng.uniform(0.1, 5.0, size=n)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_dual_solves_the_bordered_system(kernel):
    X, Y, costs = problem()
    operator = resolve_kernel(kernel, "scale", 3, 1.0, X).operator(X)
    answer = solve_dual(operator, Y, costs)
    K = operator.block(np.arange(60), None, np.float64)
    dual, intercept = bordered_system(K, Y, costs)
    np.testing.assert_allclose(answer.dual, dual, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(answer.intercept, intercept, rtol=1e-7)
    assert answer.certificate.converged and 0 <= answer.certificate.gap < 1e-12


def test_float32_matrix_is_refined_to_the_same_answer():
    X, Y, costs = problem(300)
    operator = resolve_kernel("rbf", "scale", 3, 0.0, X).operator(X)
    double = solve_dual(operator, Y, 100 * costs)
    single = solve_dual(operator, Y, 100 * costs, memory_limit=300 * 300 * 4 + 100)
    np.testing.assert_allclose(single.dual, double.dual, rtol=1e-5, atol=1e-6)
    assert single.certificate.n_iter > double.certificate.n_iter
    with pytest.raises(ValueError, match="features=Nystroem"):
        solve_dual(operator, Y, costs, memory_limit=1000)


def test_gap_is_the_distance():
    X, Y, costs = problem()
    K = X @ X.T
    dual, _ = bordered_system(K, Y, costs)

    def dual_value(A):
        return float(
            (A * Y).sum() - 0.5 * (A * (K @ A)).sum() - 0.5 * (A**2 / costs[:, None]).sum()
        )

    answer = solve_dual(MatrixOperator(K), Y, costs)
    assert answer.certificate.objective == pytest.approx(dual_value(dual), rel=1e-10)
    rng = np.random.default_rng(1)
    A = dual + 1e-2 * rng.normal(size=dual.shape)
    A -= A.mean(axis=0)
    b = rng.normal(size=3)
    slack = Y - K @ A - b
    primal = 0.5 * (A * (K @ A)).sum() + 0.5 * costs @ (slack**2).sum(axis=1)
    residual = slack - A / costs[:, None]
    assert primal - dual_value(A) == pytest.approx(0.5 * costs @ (residual**2).sum(axis=1))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_primal_and_dual_are_the_same_machine(kind, fit_intercept):
    X, Y, costs = problem(200)
    rows = {"dense": X, "sparse": sparse.csr_array(X), "float32": X.astype(np.float32)}[kind]
    primal = solve_primal(rows, Y, costs, fit_intercept=fit_intercept)
    dual = solve_dual(MatrixOperator(X @ X.T), Y, costs, fit_intercept=fit_intercept)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if kind == "float32" else {"rtol": 1e-8, "atol": 1e-9}
    np.testing.assert_allclose(primal.weights, X.T @ dual.dual, **tolerance)
    np.testing.assert_allclose(primal.intercept, dual.intercept, **tolerance)
    np.testing.assert_allclose(primal.dual, dual.dual, **tolerance)
    assert primal.certificate.objective == pytest.approx(dual.certificate.objective, rel=1e-5)
    assert primal.certificate.converged


def test_primal_gap_bounds_the_distance():
    X, Y, costs = problem(200)
    answer = solve_primal(X, Y, costs)
    dual = solve_dual(MatrixOperator(X @ X.T), Y, costs)
    assert answer.certificate.objective - dual.certificate.objective <= (
        answer.certificate.gap + 1e-9 * answer.certificate.objective
    )


def test_indefinite_matrix_is_solved_without_a_bound():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(20, 20))
    K = K + K.T
    Y, costs = rng.normal(size=(20, 1)), np.full(20, 5.0)
    answer = solve_dual(MatrixOperator(K), Y, costs)
    dual, _ = bordered_system(K, Y, costs)
    np.testing.assert_allclose(answer.dual, dual, rtol=1e-6)
    assert np.isnan(answer.certificate.gap) and not answer.certificate.converged
