"""The kernel two-sample test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from oracles.shift import mmd_unbiased
from shiftlearn.kernels import Kernel
from shiftlearn.metrics import mmd_test
from shiftlearn.shift.mmd import _unbiased, median_gamma
from shiftlearn.shift.sums import FeatureSums, KernelSums


def samples(m=40, n=30, p=3, move=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, p)), rng.normal(size=(n, p)) + move


KERNELS = {
    "rbf": lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2)),
    "laplacian": lambda x, z: np.exp(-0.3 * np.sum(np.abs(x - z))),
    "linear": lambda x, z: x @ z,
    "poly": lambda x, z: (0.3 * x @ z + 1.0) ** 2,
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_statistic_is_that_of_the_definition(name, make):
    X, Y = samples(move=0.5)
    X[X < 0], Y[Y < 0] = 0, 0
    result = mmd_test(
        make(X), make(Y), kernel=name, gamma=0.3, degree=2, coef0=1.0, n_permutations=3
    )
    assert result.statistic == pytest.approx(mmd_unbiased(X, Y, KERNELS[name]), abs=1e-12)


def test_a_callable_kernel_serves():
    X, Y = samples(move=0.5)
    result = mmd_test(X, Y, kernel=lambda A, B: np.asarray(A) @ np.asarray(B).T, n_permutations=3)
    assert result.statistic == pytest.approx(mmd_unbiased(X, Y, KERNELS["linear"]), abs=1e-12)


@pytest.mark.parametrize("budget", [1, 1 << 30])
def test_every_reassignment_is_the_statistic_of_its_split(budget):
    X, Y = samples(m=9, n=14)
    pooled, rng = np.concatenate([X, Y]), np.random.default_rng(3)
    marks = np.array([rng.permutation(23) < 9 for _ in range(20)]).T
    sums = KernelSums(pooled, Kernel("rbf", gamma=0.3), budget, None)
    sums.dtype = np.float32 if budget == 1 else np.float64
    values = _unbiased(*sums(marks, 9 / 23), 9, 14)
    expected = [mmd_unbiased(pooled[s], pooled[~s], KERNELS["rbf"]) for s in marks.T]
    assert values == pytest.approx(expected, abs=1e-6 if budget == 1 else 1e-12)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear"])
def test_features_give_the_statistic_of_their_own_kernel(name):
    X, Y = samples(m=9, n=14)
    pooled, kernel = np.concatenate([X, Y]), Kernel(name, gamma=0.3)
    sums = FeatureSums(pooled, kernel, 64, 1, np.random.RandomState(0))
    marks = np.array([np.arange(23) < 9, np.arange(23) >= 14]).T
    values = _unbiased(*sums(marks, 9 / 23), 9, 14)
    rows = np.asarray(sums.map(pooled), dtype=float)
    expected = [mmd_unbiased(rows[s], rows[~s], KERNELS["linear"]) for s in marks.T]
    assert values == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_features_approach_the_kernel(name):
    X, _ = samples(m=30)
    far = X + 1e7
    kernel = Kernel(name, gamma=0.3)
    Z = FeatureSums(far, kernel, 200_000, 1, np.random.RandomState(0)).map(far)
    assert np.allclose(Z @ Z.T, pairwise_kernels(X, metric=name, gamma=0.3), atol=0.02)


def test_features_of_sparse_rows_are_those_of_dense_rows_up_to_a_shift():
    X, Y = samples(300, 200, move=0.3)
    dense = mmd_test(X, Y, method="features", n_permutations=9, random_state=0)
    sparse = mmd_test(
        sp.csr_array(X), sp.csr_array(Y), method="features", n_permutations=9, random_state=0
    )
    assert sparse.statistic == pytest.approx(dense.statistic, abs=1e-6)


def test_moved_normals_have_the_closed_form():
    rng = np.random.default_rng(1)
    p, gamma, move = 2, 0.5, 1.0
    values = [
        mmd_test(
            rng.normal(size=(400, p)),
            rng.normal([move, 0], size=(300, p)),
            gamma=gamma,
            n_permutations=1,
        ).statistic
        for _ in range(40)
    ]
    same = (1 + 4 * gamma) ** (-p / 2)
    expected = 2 * same * (1 - np.exp(-gamma * move**2 / (1 + 4 * gamma)))
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 4 * error < 0.2 * expected


@pytest.mark.parametrize("method", ["exact", "features"])
def test_p_values_are_uniform_where_nothing_moved(method):
    p = np.array(
        [
            mmd_test(
                *samples(25, 20, seed=s),
                method=method,
                n_features=100,
                n_permutations=19,
                random_state=s,
            ).p_value
            for s in range(400)
        ]
    )
    assert set(np.round(p * 20)) <= set(range(1, 21))  # (k + 1) / (n + 1)
    counts = np.bincount(np.round(p * 20).astype(int), minlength=21)[1:]
    assert np.sum((counts - 20) ** 2 / 20) < 43.8  # chi-square, 19 degrees, 0.001
    assert np.mean(p <= 0.05) < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 400)


def test_statistic_is_unbiased_where_nothing_moved():
    values = [mmd_test(*samples(20, 30, seed=s), n_permutations=1).statistic for s in range(300)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(300)
    assert np.min(values) < 0


def test_threshold_and_p_value_agree():
    for seed in range(60):
        result = mmd_test(
            *samples(12, 15, move=0.5, seed=seed), n_permutations=99, random_state=seed
        )
        assert (result.statistic > result.threshold) == (result.p_value <= 0.05)
    few = mmd_test(*samples(), n_permutations=10, level=0.05)
    assert few.threshold == np.inf and few.p_value > 0.05


def test_equal_samples_have_p_value_near_one():
    X, _ = samples()
    result = mmd_test(X, X, n_permutations=50, random_state=0)
    assert result.statistic < 0 and result.p_value > 0.9
    constant = mmd_test(np.ones((4, 2)), np.ones((5, 2)), n_permutations=9)
    assert constant.p_value == 1.0


def test_swapping_shifting_and_row_order_do_not_matter():
    X, Y = samples(move=0.4)
    base = mmd_test(X, Y, gamma=0.3, n_permutations=1).statistic
    for other in ((Y, X), (X + 100, Y + 100), (X[::-1], Y[::-1])):
        assert mmd_test(*other, gamma=0.3, n_permutations=1).statistic == pytest.approx(base)


def test_scaling_does_not_matter_with_the_median():
    X, Y = samples(move=0.4)
    base, scaled = (mmd_test(f * X, f * Y, n_permutations=1, random_state=0) for f in (1, 1e3))
    assert scaled.statistic == pytest.approx(base.statistic)


def test_median_gamma_is_that_of_all_pairs():
    X, _ = samples()
    distances = [np.sum((X[i] - X[j]) ** 2) for i in range(40) for j in range(i)]
    rng = np.random.RandomState(0)
    assert median_gamma(X, "rbf", rng) == pytest.approx(0.5 / np.median(distances))
    assert median_gamma(X, "poly", rng) == "scale"


def test_same_seed_same_answer_whatever_the_blocks():
    X, Y = samples(300, 200, move=0.1)
    base, again, small = (
        mmd_test(X, Y, random_state=0, n_permutations=50, memory_limit=limit)
        for limit in ("auto", "auto", 1)
    )
    assert np.array_equal(base.null, again.null)
    assert small.null == pytest.approx(base.null, abs=1e-12)
    assert small.p_value == base.p_value


def test_large_samples_take_features_in_bounded_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20_000, 4)), rng.normal(size=(15_000, 4))
    Y[:, 0] += 0.1
    tracemalloc.start()
    result = mmd_test(X, Y, n_permutations=60, n_features=200, memory_limit=2**25, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.method == "features"
    assert result.p_value < 0.05
    assert peak < 3 * 2**25
    assert mmd_test(X[:300], Y[:300], kernel="poly", n_permutations=3).method == "exact"


def test_frames_are_matched_by_name():
    X, Y = samples(move=0.4)
    frame_x = pd.DataFrame(X, columns=list("abc"))
    frame_y = pd.DataFrame(Y[:, ::-1], columns=list("cba"))
    base = mmd_test(X, Y, random_state=0, n_permutations=3)
    assert mmd_test(frame_x, frame_y, random_state=0, n_permutations=3).statistic == base.statistic


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_permutations": 0}, "n_permutations must be an integer >= 1"),
        ({"level": 1.0}, "level must lie"),
        ({"method": "fast"}, "method must be"),
        ({"method": "features", "kernel": "poly"}, 'needs kernel "rbf"'),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"n_features": 1}, "n_features must be"),
        ({"Y": np.zeros((3, 2))}, "same columns, got 3 and 2"),
        ({"Y": np.zeros((1, 3))}, "minimum of 2"),
        ({"X": np.full((3, 3), np.nan)}, "X contains NaN"),
        ({"Y": np.full((3, 3), np.inf)}, "Y contains infinity"),
        ({"X": np.zeros(3)}, "2D array"),
    ],
)
def test_bad_input(change, message):
    X, Y = samples()
    with pytest.raises(ValueError, match=message):
        mmd_test(**({"X": X, "Y": Y} | change))


def test_device_arrays_are_refused_with_the_remedy():
    Tensor = type("Tensor", (), {"__module__": "torch"})
    with pytest.raises(TypeError, match=r"X is a torch array.*X\.cpu\(\)\.numpy\(\)"):
        mmd_test(Tensor(), np.zeros((3, 3)))
