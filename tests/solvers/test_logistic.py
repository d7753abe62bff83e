"""Logistic loss and regression: derivatives, scikit-learn's answers, forms of the rows, weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from oracles import logistic as oracle
from shiftlearn.solvers import newton
from shiftlearn.solvers.logistic import logistic_problem, solve_logistic
from shiftlearn.solvers.losses import Layout


def made(n=60, d=4, k=3, m=0, seed=0, scale=1.0):
    """Rows, classes, weights, offsets and shared columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * scale
    y = np.argmax(X @ rng.normal(size=(d, k)) + 2 * rng.gumbel(size=(n, k)), axis=1)
    y[:k] = np.arange(k)
    columns = 1 if k == 2 else k
    weights = rng.uniform(0, 2, size=n)
    return X, y, weights, rng.normal(size=(n, columns)), rng.normal(size=(n, m, columns))


def centred(intercept):
    return intercept - (intercept.mean() if len(intercept) > 1 else 0.0)


FORMS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "blocks": lambda X: [X[:1], X[1:4], X[4:5], X[5:20], X[20:33], X[33:59], X[59:]],
}


@pytest.mark.parametrize("hessian", ["exact", "products"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("m", [0, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_objective_and_derivatives(k, m, fit_intercept, hessian, form):
    X, y, weights, offset, shared = made(k=k, m=m, n=25)
    problem, layout = logistic_problem(
        FORMS[form](X),
        y,
        penalty=0.3,
        sample_weight=weights,
        offset=offset,
        shared=shared if m else None,
        shared_penalty=0.7,
        shared_center=0.5,
        fit_intercept=fit_intercept,
        hessian=hessian,
        rows=7,
    )
    search = newton._Search(problem, 1e-6, 1)
    parameters = np.random.default_rng(1).normal(size=layout.size)
    point = search.at(parameters)
    W, b, theta = layout.parts(parameters)

    def value(w):
        return search.at(w, 0).value

    expected = oracle.objective(W, b, theta, X, y, weights, offset, shared, 0.3, 0.7, 0.5)
    assert point.value == pytest.approx(expected, rel=1e-12)
    assert value(parameters) == point.value
    gradient = oracle.numerical_gradient(value, parameters)
    np.testing.assert_allclose(point.gradient, gradient, rtol=1e-6, atol=1e-6)
    bent = np.column_stack(
        [
            oracle.numerical_gradient(lambda w, j=j: search.at(w, 1).gradient[j], parameters)
            for j in range(layout.size)
        ]
    )
    matrix = point.hessian
    if hessian == "products":
        matrix = np.column_stack([point.hessian(e) for e in np.eye(layout.size)])
    np.testing.assert_allclose(matrix, bent, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_the_preconditioner_is_close_to_the_inverse(form):
    """For dense rows the averaged curvature ⊗ Gram, for sparse rows the diagonal."""
    X, y, weights, _, _ = made(n=300, k=4)
    X = X @ np.diag([1, 10, 0.1, 1]) + (X[:, :1] if form == "dense" else 0)
    problem, layout = logistic_problem(
        FORMS[form](X), y, sample_weight=weights, hessian="products", penalty=1e-2
    )
    point = newton._Search(problem, 1e-6, 1).at(np.full(layout.size, 0.01))
    matrix = np.column_stack([point.hessian(e) for e in np.eye(layout.size)])
    inverse = point.hessian.preconditioner()
    product = np.column_stack([inverse(column) for column in matrix])
    values = np.sort(np.linalg.eigvals(product).real)[1:]  # the flat direction left out
    assert values[-1] / values[0] < (5 if form == "dense" else 30)
    plain = np.sort(np.linalg.eigvalsh(matrix))[1:]
    assert plain[-1] / plain[0] > 1e4


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("hessian", ["exact", "products"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agreement_with_scikit_learn(k, hessian, form, fit_intercept):
    X, y, weights, _, _ = made(k=k)
    peer = LogisticRegression(
        C=0.7, tol=1e-12, max_iter=500, solver="newton-cholesky", fit_intercept=fit_intercept
    ).fit(X, y, weights)
    fit = solve_logistic(
        FORMS[form](X),
        y,
        penalty=1 / 0.7,
        sample_weight=weights,
        fit_intercept=fit_intercept,
        hessian=hessian,
        tol=1e-11,
    )
    np.testing.assert_allclose(fit.coef, peer.coef_, atol=1e-8)
    np.testing.assert_allclose(fit.intercept, centred(peer.intercept_), atol=1e-8)
    assert fit.certificate.converged and fit.certificate.violation <= 1e-11
    np.testing.assert_allclose(fit.coef.sum(axis=0) * (k > 2), 0, atol=1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_float32_rows_are_taken_as_they_are(k):
    X, y, *_ = made(k=k)
    narrow = X.astype(np.float32)
    for form in (lambda a: a, sparse.csr_array):
        for hessian in ("exact", "products"):
            fit = solve_logistic(form(narrow), y, tol=1e-10, hessian=hessian)
            wide = solve_logistic(narrow.astype(np.float64), y, tol=1e-10)
            assert fit.coef.dtype == np.float64
            np.testing.assert_allclose(fit.coef, wide.coef, atol=1e-6)


def test_whole_numbers_do_not_overflow():
    X = np.random.default_rng(0).integers(-120, 120, size=(50, 3)).astype(np.int8)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[:5] = 1 - y[:5]
    expected = solve_logistic(X.astype(float), y, tol=1e-9)
    for rows in (X, sparse.csr_array(X)):
        for hessian in ("exact", "products"):
            fit = solve_logistic(rows, y, tol=1e-9, hessian=hessian)
            np.testing.assert_allclose(fit.coef, expected.coef, atol=1e-7)


@pytest.mark.parametrize("hessian", ["exact", "products"])
@pytest.mark.parametrize("k", [2, 3])
def test_weights_are_repeats_and_zero_is_removal(k, hessian):
    X, y, _, offset, shared = made(k=k, m=1)
    weights = np.arange(len(y)) % 3
    given = {"tol": 1e-11, "hessian": hessian}
    weighted = solve_logistic(X, y, sample_weight=weights, offset=offset, shared=shared, **given)
    every = np.repeat(np.arange(len(y)), weights)
    repeated = solve_logistic(
        X[every], y[every], offset=offset[every], shared=shared[every], **given
    )
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-9)
    np.testing.assert_allclose(weighted.shared, repeated.shared, atol=1e-9)
    doubled = solve_logistic(X, y, sample_weight=np.full(len(y), 2.0), penalty=2.0, **given)
    np.testing.assert_allclose(doubled.coef, solve_logistic(X, y, **given).coef, atol=1e-9)


def test_a_column_of_zeros_changes_nothing():
    X, y, *_ = made(k=2)
    one = solve_logistic(X, y, penalty=0.5, tol=1e-12)
    wider = solve_logistic(np.hstack([X, np.zeros((len(X), 1))]), y, penalty=0.5, tol=1e-12)
    np.testing.assert_allclose(wider.coef[:, :4], one.coef, atol=1e-10)
    assert wider.coef[0, 4] == 0


def test_known_answer_of_intercepts_alone():
    y = np.repeat([0, 1, 2], [5, 3, 2])
    fit = solve_logistic(np.zeros((10, 1)), y, tol=1e-12)
    np.testing.assert_allclose(
        fit.intercept, np.log([5, 3, 2]) - np.mean(np.log([5, 3, 2])), atol=1e-10
    )
    two = solve_logistic(np.zeros((10, 1)), y > 0, tol=1e-12)
    np.testing.assert_allclose(two.intercept, 0.0, atol=1e-12)


def test_trust_in_a_perfect_offset_and_its_limits():
    X, y, _, _, shared = made(k=3, m=1, n=200, d=2)
    fixed = solve_logistic(X, y, shared=shared, shared_penalty=1e9, shared_center=1.0, tol=1e-9)
    offset = solve_logistic(X, y, offset=shared[:, 0], tol=1e-9)
    np.testing.assert_allclose(fixed.shared, 1, atol=1e-5)
    np.testing.assert_allclose(fixed.coef, offset.coef, atol=1e-4)
    free = solve_logistic(X, y, shared=shared, shared_penalty=0.0, tol=1e-10)
    assert free.certificate.objective < min(
        fixed.certificate.objective, solve_logistic(X, y).certificate.objective
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("hessian", ["exact", "products"])
def test_the_gap_is_a_bound(k, fit_intercept, hessian):
    X, y, weights, *_ = made(k=k, seed=3)
    given = {"sample_weight": weights, "fit_intercept": fit_intercept, "hessian": hessian}
    best = solve_logistic(X, y, tol=1e-13, **given).certificate.objective
    for max_iter in range(7):
        rough = solve_logistic(X, y, tol=1e-13, max_iter=max_iter, **given).certificate
        assert rough.objective - best <= rough.gap + 1e-12
    if hessian == "exact" or not fit_intercept:
        assert rough.gap < 1e-6


def test_separable_rows_without_penalty_end_and_prove_nothing():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    for hessian in ("exact", "products"):
        fit = solve_logistic(X, [0, 0, 1, 1], penalty=0.0, hessian=hessian, tol=1e-12, max_iter=8)
        certificate = fit.certificate
        assert not certificate.converged and certificate.n_iter <= 8
        assert certificate.gap == np.inf and certificate.violation > 1e-12
        assert np.all(np.isfinite(fit.coef)) and fit.coef[0, 0] > 2
    stopped = solve_logistic(X, [0, 0, 1, 1], penalty=0.0, tol=1e-6)
    assert stopped.certificate.gap == np.inf  # stationary to the tolerance, yet no minimum


@pytest.mark.parametrize("hessian", ["exact", "products"])
def test_unpenalised_classes_are_centred(hessian):
    X, y, *_ = made(k=3, n=200)
    fit = solve_logistic(X, y, penalty=0.0, hessian=hessian, tol=1e-10)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(fit.coef.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(fit.coef, peer.coef_ - peer.coef_.mean(axis=0), atol=1e-4)


def test_scores_of_any_size_stay_finite():
    X, y, *_ = made(k=3, scale=1e4)
    for hessian in ("exact", "products"):
        fit = solve_logistic(X, y, penalty=1e-6, hessian=hessian, max_iter=200)
        assert np.isfinite(fit.certificate.objective)
    for k in (2, 3):
        wide = solve_logistic(X[:, :1] * 1e-4, y % k, offset=np.full((60, 1 if k == 2 else k), 1e6))
        assert np.isfinite(wide.certificate.objective) and wide.certificate.converged


def test_start_and_threads():
    X, y, *_ = made(k=3, n=500)
    first = solve_logistic(X, y, rows=60, tol=1e-9, n_jobs=1)
    second = solve_logistic(X, y, rows=60, tol=1e-9, n_jobs=3)
    assert (first.coef == second.coef).all()
    again = solve_logistic(X, y, start=first.parameters, tol=1e-9)
    assert again.certificate.n_iter == 0


def test_hessian_is_chosen_by_its_cost():
    dense = np.random.default_rng(0).normal(size=(2000, 30))
    y = np.arange(2000) % 2
    text = sparse.random(2000, 5000, density=0.01, random_state=0, format="csr")
    assert logistic_problem(dense, y)[0].objective.exact
    assert not logistic_problem(text, y)[0].objective.exact
    assert not logistic_problem(dense, np.arange(2000) % 20)[0].objective.exact


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"y": [0.5] * 6}, ValueError, "y must be a vector of whole numbers"),
        ({"y": [0] * 6}, ValueError, "at least two classes"),
        ({"y": [0, 1, 2, -1, 0, 1]}, ValueError, "y must lie in"),
        ({"n_classes": 2, "y": [0, 1, 2, 0, 1, 2]}, ValueError, "n_classes=2"),
        ({"y": [0, 1]}, ValueError, "arrays|y has 2"),
        ({"X": np.full((6, 2), np.nan)}, ValueError, "X contains NaN"),
        ({"X": np.full((6, 2), "a")}, TypeError, "X must hold numbers"),
        ({"X": np.ones(6)}, ValueError, "X must be a matrix"),
        ({"penalty": -1}, ValueError, "penalty must be"),
        ({"penalty": np.nan}, ValueError, "penalty must be"),
        ({"hessian": "guess"}, ValueError, "hessian must be"),
        ({"sample_weight": [1] * 5}, ValueError, "sample_weight has shape"),
        ({"sample_weight": [-1] * 6}, ValueError, "sample_weight must be"),
        ({"sample_weight": [0] * 6}, ValueError, "sample_weight must be"),
        ({"offset": np.ones(5)}, ValueError, "offset has shape"),
        ({"offset": [np.inf] * 6}, ValueError, "offset contains"),
        ({"shared": np.ones((5, 1))}, ValueError, "shared has shape"),
        ({"shared": np.ones((6, 2)), "shared_penalty": [1.0]}, ValueError, "shared_penalty has"),
    ],
)
def test_bad_input(given, error, match):
    arguments = {"X": np.arange(12.0).reshape(6, 2), "y": [0, 1, 0, 1, 0, 1], **given}
    with pytest.raises(error, match=match):
        solve_logistic(**arguments)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 25),
    d=st.integers(1, 5),
    k=st.integers(2, 4),
    m=st.integers(0, 2),
    rows=st.integers(1, 26),
    seed=st.integers(0, 2**32 - 1),
)
def test_exact_products_blocks_and_sparse_agree(n, d, k, m, rows, seed):
    n = max(n, k)
    X, y, weights, offset, shared = made(n=n, d=d, k=k, m=m, seed=seed)
    given_ = {
        "n_classes": k,
        "sample_weight": weights + 0.1,
        "offset": offset,
        "shared": shared if m else None,
        "tol": 1e-10,
    }
    exact = solve_logistic(X, y, hessian="exact", **given_)
    other = solve_logistic(sparse.csr_array(X), y, hessian="products", rows=rows, **given_)
    assert exact.certificate.converged and other.certificate.converged
    np.testing.assert_allclose(exact.coef, other.coef, atol=1e-6)
    np.testing.assert_allclose(exact.shared, other.shared, atol=1e-6)


def test_layout_of_the_parameters():
    W, b, theta = Layout(2, 3, True, 1).parts(np.arange(10.0))
    np.testing.assert_array_equal(W, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(b, [6, 7, 8])
    np.testing.assert_array_equal(theta, [9])
