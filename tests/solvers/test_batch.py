"""The batch solver against exact answers, slow oracles and scikit-learn."""

from __future__ import annotations

import _thread
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC

from oracles import batch as oracle
from shiftlearn.solvers.batch import BatchProblem, solve_batch, solve_shared


def random_batch(rng, n_rows, sizes, C=1.0, general=False):
    rows = [rng.choice(n_rows, size, replace=size > n_rows) for size in sizes]
    signs = [rng.choice([-1.0, 1.0], size) for size in sizes]
    upper = [C * rng.uniform(0.2, 1.0, size) for size in sizes]
    linear = [rng.normal(-0.7, 1.0, size) if general else -np.ones(size) for size in sizes]
    return BatchProblem.from_lists(rows, signs, upper, linear)


def part(problem, b):
    where = slice(problem.indptr[b], problem.indptr[b + 1])
    return tuple(getattr(problem, k)[where] for k in ("rows", "signs", "linear", "upper"))


def same_bits(left, right, pairs):
    for b, c in pairs:
        assert left.alpha_of(b).tobytes() == right.alpha_of(c).tobytes()
        for name in ("intercept", "objective", "violation", "gap", "n_iter"):
            assert getattr(left, name)[b] == getattr(right, name)[c], name


# Known answers


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 1e6])
@pytest.mark.parametrize("distance", [0.1, 1.0, 30.0])
def test_two_rows(C, distance):
    rng = np.random.default_rng(3)
    direction = rng.normal(size=4)
    X = rng.normal(size=(2, 4))
    X[1] = X[0] + distance * direction / np.linalg.norm(direction)
    problem = BatchProblem.from_lists([[0, 1]], [[1, -1]], C)
    solution = solve_batch(X, problem, tol=1e-10, return_coef=True)
    alpha = min(C, 2 / distance**2)
    np.testing.assert_allclose(solution.alpha, alpha, rtol=1e-9)
    np.testing.assert_allclose(solution.coef[0], alpha * (X[0] - X[1]), rtol=1e-8, atol=1e-12)
    middle = solution.coef[0] @ X.mean(0) + solution.intercept[0]
    assert abs(middle) < 1e-8 * (1 + alpha * distance * np.linalg.norm(X))


def test_weak_exemplar_does_not_fire_with_two_negatives():
    rng = np.random.default_rng(0)
    fired = {1: [], 2: [], 5: []}
    for n_negatives in fired:
        for _ in range(20):
            X = rng.normal(size=(1 + n_negatives, 3))
            distances = np.linalg.norm(X[1:] - X[0], axis=1)
            C = 1e-3 / distances.max() ** 2
            signs = [[1.0] + [-1.0] * n_negatives]
            problem = BatchProblem.from_lists([range(1 + n_negatives)], signs, C)
            solution = solve_batch(X, problem, tol=1e-10, return_coef=True)
            score = X[0] @ solution.coef[0] + solution.intercept[0]
            scores = X[1:] @ solution.coef[0] + solution.intercept[0]
            assert score - scores.min() <= 1.01 * C * distances.max() ** 2 + 1e-9
            fired[n_negatives].append(score > 0)
    assert all(fired[1]) and not any(fired[2]) and not any(fired[5])


def test_hard_margin_exemplar_fires():
    rng = np.random.default_rng(1)
    for _ in range(20):
        X = rng.normal(size=(8, 5))
        nearest = X[1 + np.argmin(np.linalg.norm(X[1:] - X[0], axis=1))] - X[0]
        keep = np.flatnonzero((X - X[0]) @ nearest > 0)
        problem = BatchProblem.from_lists([[0, *keep]], [[1.0] + [-1.0] * len(keep)], 1e8)
        solution = solve_batch(X, problem, tol=1e-6, return_coef=True)
        assert solution.converged.all()
        np.testing.assert_allclose(X[0] @ solution.coef[0] + solution.intercept[0], 1, atol=1e-4)


def test_one_row_without_intercept():
    X = np.array([[2.0, 1.0]])
    for margin, C in [(0.3, 1.0), (-4.0, 0.5), (1.5, 1.0)]:
        problem = BatchProblem.from_lists([[0]], [[-1]], C, [[margin - 1]])
        solution = solve_batch(X, problem, fit_intercept=False, tol=1e-12)
        assert solution.alpha[0] == pytest.approx(np.clip((1 - margin) / 5, 0, C), abs=1e-15)


def test_one_class_with_intercept():
    X = np.random.default_rng(0).normal(size=(3, 2))
    problem = BatchProblem.from_lists(
        [[0, 1, 2]] * 4,
        [[1] * 3, [-1] * 3, [1] * 3, [-1] * 3],
        5.0,
        [[-1, -1, -1], [-1, -1, -1], [2, 3, 1.5], [1.5, 2, 3]],
    )
    solution = solve_batch(X, problem)
    assert (solution.alpha == 0).all() and solution.converged.all()
    np.testing.assert_array_equal(solution.intercept, [1, -1, 0, 0])
    np.testing.assert_array_equal(solution.gap, 0)


def test_empty_problems():
    X = np.ones((2, 2))
    problem = BatchProblem.from_lists([[], [0, 1], []], [[], [1, -1], []], 2.0)
    solution = solve_batch(X, problem, return_coef=True)
    assert solution.intercept[0] == 0 and (solution.coef[0] == 0).all() and solution.converged.all()
    assert len(solve_batch(X, BatchProblem.from_arrays([0], [], []))) == 0
    assert len(solve_shared(np.ones((3, 3)), np.ones((3, 0)))) == 0
    assert len(solve_shared(np.ones((0, 0)), np.ones((0, 2)))) == 2


def test_rows_without_cost_are_left_out():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(9, 3))
    signs, upper = rng.choice([-1.0, 1.0], 9), rng.uniform(0.5, 2, 9)
    upper[[1, 4, 8]] = 0
    keep = np.flatnonzero(upper)
    problem = BatchProblem.from_lists([range(9), keep], [signs, signs[keep]], [upper, upper[keep]])
    solution = solve_batch(X, problem, tol=1e-11, return_coef=True)
    assert (solution.alpha_of(0)[upper == 0] == 0).all()
    np.testing.assert_allclose(solution.coef[0], solution.coef[1], atol=1e-9)
    np.testing.assert_allclose(solution.intercept[0], solution.intercept[1], atol=1e-9)
    nothing = solve_batch(X, BatchProblem.from_lists([range(9)], [signs], 0.0))
    assert nothing.intercept[0] == 0 and nothing.gap[0] == 0


def test_duplicates_share_the_cost():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6, 3))
    signs = np.array([1, -1, 1, -1, -1, 1.0])
    twice = BatchProblem.from_lists([[*range(6), 0, 1]], [[*signs, 1, -1]], 0.7)
    double = BatchProblem.from_lists([range(6)], [signs], [[1.4, 1.4, 0.7, 0.7, 0.7, 0.7]])
    for intercept in (True, False):
        settings = {"tol": 1e-11, "return_coef": True, "fit_intercept": intercept}
        left, right = solve_batch(X, twice, **settings), solve_batch(X, double, **settings)
        np.testing.assert_allclose(left.coef, right.coef, atol=1e-9)
        np.testing.assert_allclose(left.intercept, right.intercept, atol=1e-9)


def test_coincident_opposite_rows_cancel():
    X = np.array([[1.0, 2.0], [1.0, 2.0]])
    solution = solve_batch(X, BatchProblem.from_lists([[0, 1]], [[1, -1]], 3.0), return_coef=True)
    np.testing.assert_array_equal(solution.coef, 0)
    np.testing.assert_array_equal(solution.alpha, 3.0)
    assert solution.intercept[0] == 0 and solution.converged.all()


def test_zero_rows_go_to_their_bounds():
    X = np.zeros((3, 2))
    problem = BatchProblem.from_lists([[0, 1, 2]], [[1, 1, -1]], 2.0, [[-1, 0.5, -2]])
    solution = solve_batch(X, problem, fit_intercept=False)
    np.testing.assert_array_equal(solution.alpha, [2, 0, 2])
    assert solution.converged.all() and solution.gap[0] == 0


# Oracles


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("general", [True, False])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_against_enumeration(intercept, general, C):
    rng = np.random.default_rng(int(C * 100) + 2 * intercept + general)
    X = rng.normal(size=(8, 3))
    X[3], X[5] = X[2], 0.0
    problem = random_batch(rng, 8, rng.integers(1, 6, 15), C, general)
    solution = solve_batch(
        X, problem, fit_intercept=intercept, tol=1e-11, return_coef=True, n_jobs=1
    )
    assert solution.converged.all()
    for b in range(len(problem)):
        rows, s, p, upper = part(problem, b)
        K = X[rows] @ X[rows].T
        a, objective = oracle.by_enumeration(K, s, p, upper, intercept)
        scale = max(1.0, abs(objective))
        assert abs(solution.objective[b] - objective) < 1e-8 * scale
        assert solution.objective[b] - objective <= solution.gap[b] + 1e-12 * scale
        np.testing.assert_allclose(solution.coef[b], (s * a) @ X[rows], atol=1e-7)
        if intercept:
            expected = oracle.intercept_of(K, s, p, upper, a)
            assert solution.intercept[b] == pytest.approx(expected, abs=1e-7)


def degenerate_batch(rng):
    """Rows on a grid or badly scaled, repeated, contradictory; costs from tiny to huge, some 0."""
    columns = rng.integers(1, 4)
    grid = rng.integers(-2, 3, (6, columns)).astype(float)
    X = grid if rng.random() < 0.5 else rng.normal(size=(6, columns)) * 10.0 ** rng.integers(-1, 3)
    sizes = rng.integers(1, 5, 20)
    C = 10.0 ** rng.integers(-4, 6)
    upper = [C * rng.choice([1, 0.5, 0.25, 0.25, 0], size) for size in sizes]
    linear = [rng.choice([-1, -1, -1, -0.5, 0, 0.5], size) for size in sizes]
    rows = [rng.integers(0, 6, size) for size in sizes]
    signs = [rng.choice([-1.0, 1.0], size) for size in sizes]
    return X, BatchProblem.from_lists(rows, signs, upper, linear)


def check_degenerate(seed, intercept):
    X, problem = degenerate_batch(np.random.default_rng(seed))
    settings = {"fit_intercept": intercept, "max_iter": 20_000, "n_jobs": 1}
    tight = solve_batch(X, problem, tol=1e-11, return_coef=True, **settings)
    loose = solve_batch(X, problem, **settings)
    assert loose.converged.all()
    undecided = 0
    for b in range(len(problem)):
        rows, s, p, upper = part(problem, b)
        K = X[rows] @ X[rows].T
        assert tight.violation[b] <= 1e-11 + 1e-13 * upper.sum() * K.max(initial=0)
        try:
            a, objective = oracle.by_enumeration(K, s, p, upper, intercept)
        except ArithmeticError:
            undecided += 1
            continue
        scale = max(1.0, abs(objective))
        assert abs(tight.objective[b] - objective) <= 1e-8 * scale
        assert loose.objective[b] - objective <= loose.gap[b] + 1e-8 * scale
        w = (s * a) @ X[rows]
        assert np.abs(tight.coef[b] - w).max() <= 1e-6 * max(1.0, np.abs(w).max())
        if intercept:
            b0 = oracle.intercept_of(K, s, p, upper, a)
            assert abs(tight.intercept[b] - b0) <= 1e-6 * max(1.0, abs(b0))
    return undecided / len(problem)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_degenerate_problems(seed, intercept):
    assert check_degenerate(seed, intercept) < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
def test_many_degenerate_problems(intercept):
    undecided = [check_degenerate(seed, intercept) for seed in range(100, 400)]
    assert np.mean(undecided) < 0.05


def test_far_optimum_along_a_direction_without_curvature():
    """Four rows in the plane: steps along two variables alone need over 200,000 of them."""
    X = np.array([[-1.0, -2.0], [1.0, -1.0], [2.0, 1.0], [-2.0, -1.0]])
    problem = BatchProblem.from_lists(
        [range(4)], [[-1, 1, -1, 1]], [[5e4, 1e5, 1e5, 2.5e4]], [[-0.5, 0, -1, 0.5]]
    )
    solution = solve_batch(X, problem, max_iter=1_000)
    assert solution.converged.all()
    assert solution.objective[0] == pytest.approx(-37500.18402777778, rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.05, 30.0])
def test_against_interior_point(intercept, kernel, C):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 6))
    problem = random_batch(rng, 60, [2, 7, 8, 9, 16, 17, 31, 40], C, general=True)
    settings = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0}
    values = {
        "linear": X @ X.T,
        "rbf": rbf_kernel(X, gamma=0.3),
        "poly": (0.3 * X @ X.T + 1) ** 2,
    }[kernel]
    tight = solve_batch(X, problem, fit_intercept=intercept, tol=1e-10, **settings)
    loose = solve_batch(X, problem, fit_intercept=intercept, tol=1e-2, **settings)
    assert tight.converged.all() and loose.converged.all()
    for b in range(len(problem)):
        rows, s, p, upper = part(problem, b)
        K = values[np.ix_(rows, rows)]
        _, objective = oracle.by_interior_point(K, s, p, upper, intercept)
        scale = max(1.0, abs(objective))
        assert abs(tight.objective[b] - objective) < 1e-8 * scale
        assert loose.objective[b] - tight.objective[b] <= loose.gap[b] + 1e-10 * scale
        assert (loose.alpha_of(b) >= 0).all() and (loose.alpha_of(b) <= upper).all()
        if intercept:
            assert abs(s @ loose.alpha_of(b)) < 1e-12 * (1 + loose.alpha_of(b).sum())


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e6])
def test_hard_problems_are_certified(C):
    rng = np.random.default_rng(12)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0) * np.array([1.0, 1e-3, 1e2])
    problem = random_batch(rng, 40, rng.integers(2, 40, 30), C)
    for intercept in (True, False):
        solution = solve_batch(X, problem, fit_intercept=intercept, max_iter=2_000)
        assert np.isfinite(solution.objective).all() and (solution.gap >= 0).all()
        better = solve_batch(
            X, problem, fit_intercept=intercept, max_iter=20_000, start=solution.alpha
        )
        scale = 1e-9 * (1 + np.abs(better.objective))
        assert (better.objective <= solution.objective + scale).all()
        assert (solution.objective - better.objective <= solution.gap + scale).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_against_scikit_learn(kernel):
    rng = np.random.default_rng(13)
    X, new = rng.normal(size=(300, 10)), rng.normal(size=(50, 10))
    rows = [rng.choice(300, size, replace=False) for size in (8, 12, 60, 164)]
    signs = [np.where(X[r, 0] + 0.5 * rng.normal(size=len(r)) > 0, 1.0, -1.0) for r in rows]
    for s in signs:
        s[:2] = 1, -1
    problem = BatchProblem.from_lists(rows, signs, 2.0)
    solution = solve_batch(X, problem, kernel=kernel, gamma=0.1, tol=1e-8)
    for b, r in enumerate(rows):
        peer = SVC(kernel=kernel, C=2.0, gamma=0.1, tol=1e-8).fit(X[r], signs[b])
        block = new @ X[r].T if kernel == "linear" else rbf_kernel(new, X[r], gamma=0.1)
        ours = block @ (signs[b] * solution.alpha_of(b)) + solution.intercept[b]
        # LIBSVM holds Q in float32
        np.testing.assert_allclose(ours, peer.decision_function(new), atol=5e-5)


# Kernels and representations


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_give_the_same_bits(kernel, dtype):
    rng = np.random.default_rng(14)
    table = rng.normal(size=(80, 600)) * (rng.random((80, 600)) < 0.05)
    table[7] = 0
    X = sparse.csr_matrix(table.astype(dtype))
    problem = random_batch(rng, 80, [1, 3, 8, 15, 40, 9, 8], 10.0)
    settings = {"kernel": kernel, "gamma": 0.5, "tol": 1e-9, "return_coef": kernel == "linear"}
    dense = solve_batch(X.toarray(), problem, **settings)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for same in (X, wide, sparse.csc_array(X)):
        other = solve_batch(same, problem, **settings)
        same_bits(dense, other, [(b, b) for b in range(len(problem))])
        if kernel == "linear":
            assert dense.coef.tobytes() == other.coef.tobytes()


def test_unsorted_and_repeated_columns():
    X = np.array([[3.0, 0, 1], [0, 2, 0]])
    messy = sparse.csr_matrix(([1.0, 2.0, 1.0, 2.0], [2, 0, 0, 1], [0, 3, 4]), shape=(2, 3))
    problem = BatchProblem.from_lists([[0, 1]], [[1, -1]], 9.0)
    same_bits(solve_batch(X, problem), solve_batch(messy, problem), [(0, 0)])
    assert not messy.has_sorted_indices


def test_precomputed_gram_matrix_of_any_kernel():
    rng = np.random.default_rng(15)
    X = rng.normal(size=(50, 4))
    problem = random_batch(rng, 50, [5, 8, 20], 3.0)
    given = solve_batch(rbf_kernel(X, gamma=0.2), problem, kernel="precomputed", tol=1e-9)
    ours = solve_batch(X, problem, kernel="rbf", gamma=0.2, tol=1e-9)
    np.testing.assert_allclose(given.objective, ours.objective, rtol=1e-10)
    np.testing.assert_allclose(given.intercept, ours.intercept, atol=1e-7)
    K = laplacian_kernel(X, gamma=0.1)
    for gram in (K, K.astype(np.float32)):
        assert solve_batch(gram, problem, kernel="precomputed").converged.all()


def test_exponential_is_accurate():
    X = np.linspace(0, 26.5, 200)[:, None]
    pairs = [[0, i] for i in range(1, 200)]
    problem = BatchProblem.from_lists(pairs, [[1, -1]] * 199, 1e300, -1.0)
    solution = solve_batch(X, problem, kernel="rbf", tol=1e-14)
    expected = 1 / -np.expm1(-(X[1:, 0] ** 2))
    np.testing.assert_allclose(solution.alpha[::2], expected, rtol=1e-13)


def test_many_columns_and_wide_panels():
    rng = np.random.default_rng(16)
    for d in (1, 7, 255, 256, 257, 700):
        X = rng.normal(size=(30, d)) / np.sqrt(d)
        problem = random_batch(rng, 30, [8, 23], 1.0)
        linear = solve_batch(X, problem, tol=1e-10)
        gram = solve_batch(X @ X.T, problem, kernel="precomputed", tol=1e-10)
        np.testing.assert_allclose(linear.objective, gram.objective, rtol=1e-9)


def test_indefinite_kernel_ends_feasible_and_unproved():
    rng = np.random.default_rng(17)
    X = rng.normal(size=(40, 4))
    problem = random_batch(rng, 40, [8, 30, 12], 10.0)
    solution = solve_batch(X, problem, kernel="sigmoid", gamma=2.0, coef0=-1.0, max_iter=20_000)
    assert np.isnan(solution.gap).all() and not solution.converged.any()
    assert (solution.alpha >= 0).all() and (solution.alpha <= problem.upper).all()
    wild = np.where(rng.random((12, 12)) < 0.5, -1.0, 1.0)
    other = solve_shared(
        wild + wild.T, rng.choice([-1.0, 1.0], (12, 5)), convex=False, max_iter=20_000
    )
    assert np.isnan(other.certificate.gap) and not other.certificate.converged


# Many problems on the same rows


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [3, 8, 14, 57])
def test_shared_rows_equal_separate_problems(intercept, n):
    rng = np.random.default_rng(18)
    X = rng.normal(size=(n, 5))
    signs = rng.choice([-1.0, 1.0], (n, 6))
    upper, linear = rng.uniform(0, 2, (n, 6)), rng.normal(-1, 0.5, (n, 6))
    K = rbf_kernel(X, gamma=0.2)
    shared = solve_shared(K, signs, upper=upper, linear=linear, fit_intercept=intercept, tol=1e-9)
    problem = BatchProblem.from_lists([range(n)] * 6, signs.T, upper.T, linear.T)
    single = solve_batch(K, problem, kernel="precomputed", fit_intercept=intercept, tol=1e-9)
    same_bits(shared, single, [(c, c) for c in range(6)])
    assert shared.columns().shape == (n, 6)
    one = solve_shared(
        K, signs[:, [4]], upper=upper[:, [4]], linear=linear[:, [4]],
        fit_intercept=intercept, tol=1e-9,
    )  # fmt: skip
    same_bits(shared, one, [(4, 0)])
    again = solve_shared(
        K, signs, upper=upper, linear=linear, fit_intercept=intercept, tol=1e-6,
        start=shared.columns(),
    )  # fmt: skip
    assert (again.n_iter <= 1).all()


# The answer to a problem is its own


@pytest.mark.parametrize("intercept", [True, False])
def test_composition_order_and_threads_do_not_matter(intercept):
    rng = np.random.default_rng(19)
    X = rng.normal(size=(200, 9)).astype(np.float32)
    sizes = rng.integers(1, 40, 300)
    problem = random_batch(rng, 200, sizes, 5.0)
    settings = {"kernel": "rbf", "gamma": 0.1, "fit_intercept": intercept}
    whole = solve_batch(X, problem, n_jobs=1, **settings)
    same_bits(whole, solve_batch(X, problem, n_jobs=3, **settings), [(b, b) for b in range(300)])
    order = rng.permutation(300)[:50]
    pieces = [part(problem, b) for b in order]
    shuffled = BatchProblem.from_lists(*([q[k] for q in pieces] for k in (0, 1, 3, 2)))
    same_bits(whole, solve_batch(X, shuffled, **settings), zip(order, range(50), strict=True))


def test_threads_at_once():
    rng = np.random.default_rng(20)
    X = rng.normal(size=(100, 5))
    problem = random_batch(rng, 100, [8] * 200, 5.0)
    expected = solve_batch(X, problem)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: solve_batch(X, problem, n_jobs=2), range(8)))
    for answer in answers:
        assert answer.alpha.tobytes() == expected.alpha.tobytes()


def test_interrupt_stops_at_once():
    rng = np.random.default_rng(23)
    X = rng.normal(size=(400, 40))
    sizes = [400] * 400
    problem = random_batch(rng, 400, sizes, 1e5)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    before = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        solve_batch(X, problem, tol=1e-12, n_jobs=2)
    assert time.perf_counter() - before < 2.0  # a crowded machine; alone it is about 0.3


# Starting from an answer


@pytest.mark.parametrize("intercept", [True, False])
def test_warm_start(intercept):
    rng = np.random.default_rng(21)
    X = rng.normal(size=(100, 5))
    problem = random_batch(rng, 100, rng.integers(2, 30, 50), 5.0)
    settings = {"fit_intercept": intercept, "tol": 1e-8, "return_coef": True}
    cold = solve_batch(X, problem, **settings)
    warm = solve_batch(X, problem, start=cold.alpha, **settings)
    assert warm.n_iter.sum() <= 0.05 * cold.n_iter.sum()
    wild = solve_batch(X, problem, start=rng.normal(size=len(problem.rows)) * 100, **settings)
    assert wild.converged.all()
    np.testing.assert_allclose(wild.coef, cold.coef, atol=1e-6)
    np.testing.assert_allclose(wild.intercept, cold.intercept, atol=1e-6)
    sums = np.add.reduceat(wild.dual_coef, wild.indptr[:-1])
    assert not intercept or np.abs(sums).max() < 1e-12


def test_stopped_early_is_honest():
    rng = np.random.default_rng(22)
    X = rng.normal(size=(60, 3))
    problem = random_batch(rng, 60, [50] * 3, 100.0)
    solution = solve_batch(X, problem, max_iter=5)
    best = solve_batch(X, problem, tol=1e-9)
    assert not solution.converged.any() and (solution.n_iter == 5).all()
    assert (solution.objective - best.objective <= solution.gap + 1e-9).all()
    certificate = solution.certificate
    assert not certificate.converged and certificate.n_iter == 15
    assert certificate.gap == pytest.approx(solution.gap.sum())
    assert solution.certificate_of(1).gap == solution.gap[1]


def test_overflow_is_not_called_converged():
    X = np.array([[1e200, 0.0], [0.0, 1e200]])
    problem = BatchProblem.from_lists([[0, 1]], [[1, -1]], 1.0)
    solution = solve_batch(X, problem)
    assert not solution.converged.any()


# Wrong input


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"rows": [0, 9]}, ValueError, "rows must lie in 0..3"),
        ({"rows": [-1, 0]}, ValueError, "rows must lie in 0..3"),
        ({"rows": [0.5, 1.0]}, ValueError, "rows must be a flat array of integers"),
        ({"indptr": [0, 1]}, ValueError, "indptr must rise"),
        ({"indptr": [0, 3, 2]}, ValueError, "indptr must rise"),
        ({"indptr": []}, ValueError, "indptr must rise"),
        ({"signs": [1, 0]}, ValueError, "signs must be"),
        ({"signs": [1, -1, 1]}, ValueError, "signs must have shape"),
        ({"upper": [1, np.inf]}, ValueError, "upper contains NaN or infinity"),
        ({"upper": [1, -1]}, ValueError, "upper must not be negative"),
        ({"linear": [np.nan, 0]}, ValueError, "linear contains NaN"),
        ({"linear": [1, 2, 3]}, ValueError, "linear must have shape"),
        ({"X": np.full((4, 2), np.nan)}, ValueError, "X contains NaN"),
        ({"X": np.ones(4)}, ValueError, "X must have two dimensions"),
        ({"X": np.full((4, 2), "a")}, TypeError, "X must hold real numbers"),
        ({"kernel": "cosine"}, ValueError, "kernel must be one of"),
        ({"kernel": "precomputed"}, ValueError, "square Gram matrix"),
        ({"kernel": "rbf", "return_coef": True}, ValueError, "return_coef"),
        ({"kernel": "rbf", "gamma": -1.0}, ValueError, "gamma must not be negative"),
        ({"gamma": np.nan}, ValueError, "gamma contains NaN"),
        ({"tol": -1}, ValueError, "tol must be"),
        ({"tol": np.nan}, ValueError, "tol must be"),
        ({"max_iter": -1}, ValueError, "max_iter must not"),
        ({"start": [1.0]}, ValueError, "start must have shape"),
        ({"start": [1.0, np.nan]}, ValueError, "start contains NaN"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    ],
)
def test_bad_input(change, error, message):
    given = {"indptr": [0, 2], "rows": [0, 1], "signs": [1, -1], "X": np.ones((4, 2)), **change}
    with pytest.raises(error, match=message):
        batch = {k: given.pop(k) for k in list(given) if k in BatchProblem.__slots__}
        solve_batch(given.pop("X"), BatchProblem.from_arrays(**batch), **given)


def test_bad_shared_input():
    K = np.eye(3)
    with pytest.raises(ValueError, match="K must be a square"):
        solve_shared(np.ones((3, 2)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="signs must have one row"):
        solve_shared(K, np.ones((2, 1)))
    with pytest.raises(ValueError, match="K contains NaN"):
        solve_shared(K * np.nan, np.ones((3, 1)))
    with pytest.raises(ValueError, match="upper must have shape"):
        solve_shared(K, np.ones((3, 1)), upper=np.ones(2))
    with pytest.raises(ValueError, match="one list per problem"):
        BatchProblem.from_lists([[0, 1]], [[1]])
