"""Nystroem and RandomFourier: the kernels they stand for, derivatives, scikit-learn's rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import Nystroem, RandomFourier
from shiftlearn.features import resolve_features

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "laplacian": {"gamma": 0.2},
}


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def exact(X, Z, kernel, **parameters):
    return pairwise_kernels(X, Z, metric=kernel, **parameters)


@parametrize_with_checks([Nystroem(), RandomFourier(), Nystroem(landmarks="pivoted")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_all_rows_as_landmarks_give_the_kernel(kernel, form):
    X = rows()
    Z = Nystroem(40, kernel=kernel, **KERNELS[kernel], random_state=0).fit_transform(form(X))
    np.testing.assert_allclose(Z @ Z.T, exact(X, X, kernel, **KERNELS[kernel]), atol=1e-5)


@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
def test_features_are_projections_on_the_landmarks(landmarks):
    """z(x)ᵀz(x') = k(x, L) K(L, L)⁻¹ k(L, x'), and the kernel itself at the landmarks."""
    X, new = rows(200), rows(20, seed=1)
    nystroem = Nystroem(12, gamma=0.3, landmarks=landmarks, random_state=0).fit(X)
    L = X[nystroem.landmark_indices_]
    np.testing.assert_array_equal(L, nystroem.landmarks_)
    assert len(np.unique(nystroem.landmark_indices_)) == 12
    k = exact(new, L, "rbf", gamma=0.3)
    expected = k @ np.linalg.solve(exact(L, L, "rbf", gamma=0.3), k.T)
    Z = nystroem.transform(new)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-7)
    np.testing.assert_allclose(
        nystroem.transform(L) @ Z.T, exact(L, new, "rbf", gamma=0.3), atol=1e-7
    )


def test_pivoted_landmarks_explain_more_than_uniform_ones():
    """Nine tenths of the rows lie in one spot, which uniform landmarks spend themselves on."""
    X = np.vstack([1e-3 * rows(900, 4), 5 * rows(100, 4, seed=1)])
    K = exact(X, X, "rbf", gamma=0.1)
    errors = {}
    for landmarks in ("uniform", "pivoted"):
        lost = []
        for seed in range(5):
            map_ = Nystroem(40, gamma=0.1, landmarks=landmarks, random_state=seed)
            Z = map_.fit_transform(X)
            lost.append(np.trace(K - Z @ Z.T))
        errors[landmarks] = np.median(lost)
    assert errors["pivoted"] < 0.75 * errors["uniform"]


def test_more_landmarks_never_explain_less():
    X = rows(100)
    traces = []
    for n in (5, 20, 60, 100):
        Z = Nystroem(n, gamma=0.3, random_state=0).fit_transform(X)
        traces.append(np.sum(Z**2))
    assert traces == sorted(traces)
    assert traces[-1] == pytest.approx(100, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_landmarks_of_low_rank_give_finite_features(dtype):
    X = np.repeat(rows(3), 10, axis=0).astype(dtype)
    nystroem = Nystroem(30, gamma=0.3, random_state=0)
    Z = nystroem.fit_transform(X)
    assert Z.shape == (30, 3) and Z.dtype == dtype
    np.testing.assert_allclose(Z @ Z.T, exact(X, X, "rbf", gamma=0.3), atol=1e-5)
    linear = Nystroem(20, kernel="linear", random_state=0).fit(rows(50, 4).astype(dtype))
    assert linear.transform(rows(5, 4).astype(dtype)).shape == (5, 4)


def test_given_landmarks():
    X, L = rows(), rows(7, seed=2)
    nystroem = Nystroem(landmarks=L, gamma=0.5).fit(X)
    assert nystroem.transform(X).shape == (40, 7) and len(nystroem.landmark_indices_) == 0
    Z = nystroem.transform(L)
    np.testing.assert_allclose(Z @ Z.T, exact(L, L, "rbf", gamma=0.5), atol=1e-8)
    with pytest.raises(ValueError, match="features"):
        Nystroem(landmarks=rows(7, 4)).fit(X)


def test_dense_and_sparse_rows_may_be_mixed():
    X = rows()
    for fitted, given in ((X, sparse.csr_array(X)), (sparse.csr_array(X), X)):
        nystroem = Nystroem(10, gamma=0.3, random_state=0).fit(fitted)
        reference = Nystroem(10, gamma=0.3, random_state=0).fit_transform(X)
        np.testing.assert_allclose(
            np.abs(nystroem.transform(given)), np.abs(reference), rtol=1e-6, atol=1e-8
        )


def test_small_memory_gives_the_same_features():
    X = rows(3000)
    small = Nystroem(20, gamma=0.3, random_state=0, memory_limit=1 << 16).fit(X)
    large = Nystroem(20, gamma=0.3, random_state=0).fit(X)
    np.testing.assert_allclose(small.transform(X), large.transform(X), atol=1e-10)
    pivoted = Nystroem(20, gamma=0.3, landmarks="pivoted", random_state=0, memory_limit=1 << 18)
    assert len(np.unique(pivoted.fit(X).landmark_indices_)) == 20


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_fourier_features_approach_the_kernel(kernel):
    X = rows(20)
    K = exact(X, X, kernel, gamma=0.3)
    errors = []
    for size in (100, 1600, 25600):
        fourier = RandomFourier(size, kernel=kernel, gamma=0.3, random_state=0)
        Z = fourier.fit_transform(X)
        np.testing.assert_allclose(np.sum(Z**2, axis=1), 1.0)
        errors.append(np.sqrt(np.mean((Z @ Z.T - K) ** 2)))
    assert errors[2] < 0.01 and errors[0] > 2 * errors[1] > 4 * errors[2]


def test_an_odd_number_of_fourier_features_is_unbiased():
    X = rows(5)
    products = []
    for seed in range(3000):
        Z = RandomFourier(3, gamma=0.3, random_state=seed).fit_transform(X)
        products.append(Z @ Z.T)
    error = np.std(products, axis=0) / np.sqrt(len(products))
    bias = np.abs(np.mean(products, axis=0) - exact(X, X, "rbf", gamma=0.3))
    assert np.all(bias < 5 * error + 1e-12)


def repr_of_map(map_):
    kernel = map_.kernel if isinstance(map_.kernel, str) else "callable"
    return f"{type(map_).__name__}-{kernel}"


MAPS = [
    *(Nystroem(15, kernel=k, **p, random_state=0) for k, p in KERNELS.items()),
    Nystroem(15, kernel=lambda A, B: np.cosh(0.3 * A @ B.T), random_state=0),
    RandomFourier(16, gamma=0.3, random_state=0),
    RandomFourier(17, kernel="laplacian", gamma=0.3, random_state=0),
]


@pytest.mark.parametrize("map_", MAPS, ids=repr_of_map)
def test_derivatives_of_the_maps(map_):
    X, new = rows(), rows(6, seed=1)
    map_ = clone(map_).fit(X)
    J = map_.jacobian(new)
    k = map_.transform(new).shape[1]
    assert J.shape == (6, k, 3)
    for j in range(3):
        step = 1e-5 * np.eye(3)[j]
        slope = (map_.transform(new + step) - map_.transform(new - step)) / 2e-5
        np.testing.assert_allclose(J[:, :, j], slope, rtol=2e-4, atol=2e-5)
    W = rows(6, k, seed=2)
    pulled = np.einsum("ik,ikj->ij", W, J)
    np.testing.assert_allclose(map_.pullback(new, W), pulled, rtol=1e-6, atol=1e-8)
    alike = np.einsum("k,ikj->ij", W[0], J)
    np.testing.assert_allclose(map_.pullback(new, W[0]), alike, rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="W has shape"):
        map_.pullback(new, W[:, :-1])


def test_the_same_seed_gives_the_same_bytes():
    X = rows(300)
    for map_ in (
        Nystroem(20, landmarks="pivoted", random_state=3),
        RandomFourier(20, random_state=3),
    ):
        first, second = clone(map_).fit_transform(X), clone(map_).fit_transform(X)
        assert (first == second).all()


def test_names_and_output_containers():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rows(), columns=["a", "b", "c"])
    for map_ in (Nystroem(5, random_state=0), RandomFourier(4, random_state=0)):
        frame = map_.set_output(transform="pandas").fit_transform(X)
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == list(map_.get_feature_names_out())
        assert frame.columns[0] == f"{type(map_).__name__.lower()}0"


@pytest.mark.parametrize(
    ("map_", "match"),
    [
        (Nystroem(0), "n_components"),
        (Nystroem(2.5), "n_components"),
        (Nystroem(landmarks="best"), "landmarks must be"),
        (Nystroem(threshold=1.0), "threshold"),
        (Nystroem(kernel="precomputed"), "precomputed"),
        (Nystroem(kernel="nearest"), "kernel must be"),
        (Nystroem(gamma=-1.0), "gamma"),
        (Nystroem(kernel=lambda A, B: -np.ones((len(A), len(B)))), "no positive eigenvalue"),
        (RandomFourier(7.5), "n_components"),
        (RandomFourier(0), "n_components"),
        (RandomFourier(kernel="poly"), "kernel must be"),
    ],
)
def test_bad_parameters(map_, match):
    with pytest.raises(ValueError, match=match):
        map_.fit(rows())


def test_resolve_features():
    X = rows()
    assert resolve_features(None, X) is None
    given = Nystroem(5, random_state=0)
    fitted = resolve_features(given, X)
    assert fitted is not given and not hasattr(given, "landmarks_")
    np.testing.assert_array_equal(fitted.transform(X), clone(given).fit_transform(X))
    for wrong in ("rbf", 3, Nystroem):
        with pytest.raises(ValueError, match="features must be None or a transformer"):
            resolve_features(wrong, X)
