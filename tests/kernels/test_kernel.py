"""Values, products, diagonals and gradients of every kernel against plain sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from oracles.kernels import matrix
from shiftlearn.kernels import Kernel, resolve_kernel

NAMES = ["linear", "rbf", "poly", "sigmoid", "laplacian"]
FORMS = ["dense", "int32", "int64", "csr_array"]
EXACT, SINGLE = 1e-12, 2e-5


def rows(n=7, d=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[np.abs(X) < 0.4] = 0.0
    return X


def form(X, kind, dtype=np.float64):
    if kind == "dense":
        return X.astype(dtype)
    if kind == "csr_array":
        return sparse.csr_array(X.astype(dtype))
    S = sparse.csr_matrix(X.astype(dtype))
    S.indices, S.indptr = S.indices.astype(kind), S.indptr.astype(kind)
    return S


def kernel(name):
    return Kernel(name, gamma=0.7, degree=3, coef0=0.4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_blocks_and_products(name, kind, dtype):
    A, B = rows(7), rows(9, seed=1)
    truth = matrix(name, A, B)
    block = kernel(name).block(form(A, kind), form(B, kind), dtype)
    assert block.dtype == dtype
    limit = EXACT if dtype == np.float64 else SINGLE
    np.testing.assert_allclose(block, truth, rtol=limit, atol=limit)
    coef = np.random.default_rng(2).normal(size=(9, 2))
    product = kernel(name).product(form(A, kind), form(B, kind), coef, dtype)
    np.testing.assert_allclose(product, truth @ coef, rtol=5 * limit, atol=5 * limit)
    one = kernel(name).product(form(A, kind), form(B, kind), coef[:, 0], dtype)
    np.testing.assert_allclose(one, product[:, 0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_float32_rows_give_the_values_of_those_rows(name):
    A, B = rows(6).astype(np.float32), rows(5, seed=1).astype(np.float32)
    truth = matrix(name, A.astype(np.float64), B.astype(np.float64))
    np.testing.assert_allclose(kernel(name).block(A, B, np.float64), truth, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(NAMES), st.integers(1, 70), st.integers(1, 70), st.integers(1, 40),
    st.integers(0, 3), st.sampled_from([1, 2]),
)  # fmt: skip
def test_every_shape(name, n, m, d, seed, threads):
    A, B = rows(n, d, seed), rows(m, d, seed + 10)
    small = Kernel(name, gamma=0.1, degree=2, coef0=0.4)
    truth = matrix(name, A, B, gamma=0.1, degree=2)
    block = small.block(A, B, np.float32, n_jobs=threads)
    np.testing.assert_allclose(block, truth, rtol=1e-4, atol=1e-4 * max(1, np.abs(truth).max()))
    sparse_block = small.block(sparse.csr_array(A), sparse.csr_array(B), np.float64, threads)
    np.testing.assert_allclose(sparse_block, truth, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_diagonal(name, kind):
    X = rows()
    diagonal = kernel(name).diagonal(form(X, kind))
    np.testing.assert_allclose(diagonal, np.diag(matrix(name, X, X)), rtol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "int32"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_against_differences(name, kind):
    Z, x, step = rows(6), rows(1, seed=3)[0] + 0.013, 1e-6
    truth = np.empty(Z.shape)
    for k in range(Z.shape[1]):
        e = step * np.eye(Z.shape[1])[k]
        high, low = matrix(name, Z, (x + e)[None]), matrix(name, Z, (x - e)[None])
        truth[:, k] = (high - low)[:, 0] / (2 * step)
    found = kernel(name).gradient(form(Z, kind), x)
    np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-8)
    coef = np.random.default_rng(4).normal(size=(2, 6))
    X = np.stack([x, x])
    weighted = kernel(name).weighted_gradient(coef, form(Z, kind), X)
    np.testing.assert_allclose(weighted, coef @ truth, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("exact", [True, False])
def test_gradient_of_a_callable(exact):
    def function(A, B):
        return np.cosh(0.3 * np.asarray(A) @ np.asarray(B).T)

    if exact:
        function.gradient = lambda Z, x: 0.3 * np.sinh(0.3 * Z @ x)[:, None] * Z
    Z, x = rows(), rows(1, seed=5)[0]
    truth = 0.3 * np.sinh(0.3 * Z @ x)[:, None] * Z
    found = resolve_kernel(function).gradient(Z, x)
    np.testing.assert_allclose(found, truth, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_rows_far_from_the_origin_lose_nothing(name):
    near = rows(30, 4)
    far = near + 1e5
    np.testing.assert_allclose(
        kernel(name).block(far, far), kernel(name).block(near, near), atol=2e-5
    )


def test_a_kernel_matrix_is_symmetric_and_one_on_its_diagonal():
    X = rows(200, 3)
    K = Kernel("rbf", gamma=2.0).block(X, X)
    np.testing.assert_allclose(np.diag(K), 1.0, atol=5e-6)
    np.testing.assert_allclose(K, K.T, atol=5e-6)
    assert K.max() <= 1 + 5e-6 and K.min() >= 0


def test_threads_change_nothing():
    X, coef = rows(3000, 20), np.random.default_rng(0).normal(size=3000)
    one, two = (kernel("rbf").block(X, X[:700], n_jobs=j) for j in (1, 2))
    np.testing.assert_array_equal(one, two)
    one, two = (kernel("rbf").product(X, X, coef, n_jobs=j) for j in (1, 2))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


def test_exponents_out_of_range_are_zero_not_garbage():
    X = np.array([[0.0], [1e3], [3e3]])
    np.testing.assert_allclose(Kernel("rbf", gamma=1.0).block(X, X), np.eye(3), atol=1e-30)


def test_no_rows():
    X = rows()
    assert kernel("rbf").block(X[:0], X).shape == (0, 7)
    np.testing.assert_array_equal(kernel("rbf").product(X, X[:0], np.zeros(0)), np.zeros(7))


def test_a_fractional_degree_and_the_zeroth():
    X = np.abs(rows())
    half = Kernel("poly", gamma=1.0, degree=1.5, coef0=1.0)
    np.testing.assert_allclose(half.block(X, X, np.float64), (X @ X.T + 1) ** 1.5)
    np.testing.assert_array_equal(Kernel("poly", degree=0).block(X, X), np.ones((7, 7)))
    assert not half.positive and Kernel("poly", degree=2).positive
    with pytest.raises(ValueError, match=r"degree=1.5 is not whole.*falls to -"):
        half.block(X, -10 * X)
    with pytest.raises(ValueError, match=r"degree=0.5 is not whole"):
        Kernel("poly", degree=0.5, coef0=-1e3).diagonal(X)


def test_callable_kernels_are_checked():
    X = rows()
    with pytest.raises(ValueError, match=r"shape \(7, 3\) for 7 and 7 rows"):
        resolve_kernel(lambda A, B: np.ones((7, 3))).block(X, X)
    with pytest.raises(ValueError, match="NaN or infinity"):
        resolve_kernel(lambda A, B: np.full((7, 7), np.nan)).block(X, X)
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for 1 and 1 rows"):
        resolve_kernel(lambda A, B: np.ones((2, 2))).diagonal(X)
    with pytest.raises(ValueError, match="NaN or infinity"):
        resolve_kernel(lambda A, B: A @ B.T * np.nan).diagonal(X)


def test_precomputed_has_no_rows():
    given = resolve_kernel("precomputed")
    with pytest.raises(ValueError, match="no blocks"):
        given.block(rows(), rows())
    with pytest.raises(ValueError, match="no gradient"):
        given.weighted_gradient(np.ones((1, 7)), rows(), rows(1))


@pytest.mark.parametrize("X", [rows(50), sparse.csr_array(rows(50))], ids=["dense", "sparse"])
def test_gamma_rules(X):
    entries = rows(50)
    assert resolve_kernel("rbf", "auto", X=X).gamma == 1 / 5
    assert resolve_kernel("rbf", "scale", X=X).gamma == pytest.approx(1 / (5 * entries.var()))
    assert resolve_kernel("rbf", "scale", X=X * 0).gamma == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": np.nan}, "gamma must be"),
        ({"gamma": "wide"}, "gamma must be"),
        ({"kernel": "poly", "degree": -1}, "degree must be"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        resolve_kernel(**parameters, X=rows())
