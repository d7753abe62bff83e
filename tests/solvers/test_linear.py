"""The linear solver against an interior-point oracle, known answers, limits and bad input."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from oracles.linear import dual_optimum
from shiftlearn.errors import InfeasibleError
from shiftlearn.solvers.linear import LinearProblem, solve_linear

KINDS = ("plain", "duplicates", "zeros", "offset", "scaled", "contradictory")


def random_problem(seed, kind, *, largest=40):
    """A problem of every shape that the solver promises to take."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, largest)), int(rng.integers(1, 15))
    X = rng.normal(size=(n, d))
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    elif kind == "zeros":
        X[rng.random(n) < 0.4] = 0.0
    elif kind == "offset":
        X += 10 * rng.normal(size=d)
    elif kind == "scaled":
        X *= 10.0 ** rng.uniform(-2, 2, size=d)
    elif kind == "contradictory":
        X = np.concatenate([X, X])
        signs = np.concatenate([signs, -signs])
    n = len(X)
    upper = np.full(n, 10.0 ** rng.uniform(-3, 3))
    if rng.random() < 0.4:
        upper = upper * rng.uniform(0, 2, n) * (rng.random(n) < 0.8)
    linear = -np.ones(n) if rng.random() < 0.5 else 2 * rng.normal(size=n) - 1
    diagonal = None
    if rng.random() < 0.3:
        diagonal = 0.5 / np.where(upper > 0, upper, 1.0)
        if rng.random() < 0.5:
            upper = np.where(upper > 0, np.inf, 0.0)
    total = None
    if rng.random() < 0.6:
        total = 0.0
        if np.isfinite(upper).all() and rng.random() < 0.4:
            low, high = -upper[signs < 0].sum(), upper[signs > 0].sum()
            total = float(rng.choice([low, high, rng.uniform(low, high)]))
    return LinearProblem(X, linear, upper, signs, total, diagonal)


def check_answer(problem, answer):
    """Feasible, consistent with its own parts, and the certificate adds up."""
    a, certificate = answer.alpha, answer.certificate
    signs = np.ones(len(a)) if problem.signs is None else problem.signs
    diagonal = 0.0 if problem.diagonal is None else problem.diagonal
    assert (a >= 0).all() and (a <= problem.upper).all()
    if problem.total is not None:
        size = max(1.0, abs(problem.total), np.abs(a).sum())
        assert abs(signs @ a - problem.total) <= 1e-12 * size
    X = problem.X.toarray() if sparse.issparse(problem.X) else np.asarray(problem.X, dtype=float)
    w = X.T @ (signs * a)
    np.testing.assert_allclose(answer.weights, w, atol=1e-9 * (1 + np.abs(w).max()))
    value = 0.5 * w @ w + 0.5 * np.sum(diagonal * a * a) + problem.linear @ a
    assert certificate.objective == pytest.approx(value, rel=1e-9, abs=1e-9)
    gradient = signs * (X @ w) + diagonal * a + problem.linear
    np.testing.assert_allclose(answer.gradient, gradient, atol=1e-8 * (1 + np.abs(gradient).max()))
    if problem.diagonal is None:
        slope = answer.gradient - answer.multiplier * signs
        gap = np.sum(a * np.maximum(slope, 0) + (problem.upper - a) * np.maximum(-slope, 0))
        assert certificate.gap == pytest.approx(gap, rel=1e-6, abs=1e-9)


def check_against_oracle(problem, answer):
    optimum = dual_optimum(
        problem.X, problem.linear, problem.upper, problem.signs, problem.total, problem.diagonal
    )
    scale = max(1.0, abs(optimum))
    assert abs(answer.certificate.objective - optimum) <= 1e-6 * scale
    assert answer.certificate.objective - optimum <= answer.certificate.gap + 2e-8 * scale


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_oracle(kind, seed):
    problem = random_problem(seed, kind)
    answer = solve_linear(problem, tol=1e-8)
    check_answer(problem, answer)
    check_against_oracle(problem, answer)
    if kind in ("plain", "duplicates", "zeros", "contradictory"):
        assert answer.certificate.converged


@pytest.mark.parametrize("kind", KINDS)
def test_gap_bounds_the_distance_of_unfinished_answers(kind):
    for seed in range(100, 106):
        problem = random_problem(seed, kind)
        answer = solve_linear(problem, tol=1e-8, max_iter=2)
        check_answer(problem, answer)
        best = solve_linear(problem, tol=1e-8).certificate.objective
        distance = answer.certificate.objective - best
        assert -1e-7 * max(1.0, abs(best)) <= distance
        assert distance <= answer.certificate.gap * (1 + 1e-9) + 1e-7 * max(1.0, abs(best))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
def test_certificate_proves_itself(seed, kind):
    problem = random_problem(seed, kind, largest=25)
    answer = solve_linear(problem, tol=1e-6)
    check_answer(problem, answer)
    assert answer.certificate.gap >= 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1300))
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_oracle_at_length(kind, seed):
    problem = random_problem(seed, kind, largest=120)
    answer = solve_linear(problem, tol=1e-8)
    check_answer(problem, answer)
    check_against_oracle(problem, answer)


def separable_pair(total):
    X = np.array([[1.0], [3.0]])
    return LinearProblem(X, -np.ones(2), np.full(2, 10.0), np.array([-1.0, 1.0]), total)


def test_known_answer_with_group():
    answer = solve_linear(separable_pair(0.0), tol=1e-10)
    np.testing.assert_allclose(answer.alpha, [0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(answer.weights, [1.0], atol=1e-9)
    assert answer.multiplier == pytest.approx(2.0)  # the boundary lies at x = 2
    assert answer.certificate.objective == pytest.approx(-0.5)


def test_known_answer_without_group():
    answer = solve_linear(separable_pair(None), tol=1e-10)
    # min w²/2 + 10 (1 + w)+ + 10 (1 - 3w)+: the kink at w = 1/3, slopes -30 + 10 + w and 10 + w.
    np.testing.assert_allclose(answer.weights, [1 / 3], atol=1e-9)
    assert answer.multiplier == 0.0
    assert answer.multiplier_interval == (0.0, 0.0)


@pytest.mark.parametrize("p, expected", [(-1.0, 2.0), (1.0, 0.0), (0.0, 1.5)])
def test_zero_row_goes_to_the_bound_its_gradient_points_to(p, expected):
    problem = LinearProblem(np.zeros((1, 3)), np.array([p]), np.array([2.0]))
    answer = solve_linear(problem, start=np.array([1.5]))
    assert answer.alpha[0] == expected
    assert answer.certificate.gap == 0.0


def test_single_row():
    x = np.array([[3.0, 4.0]])
    answer = solve_linear(LinearProblem(x, np.array([-1.0]), np.array([5.0])), tol=1e-12)
    assert answer.alpha[0] == pytest.approx(1 / 25)


def test_rows_without_cost_are_not_used():
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(30, 4)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    upper = np.where(np.arange(30) < 20, 1.0, 0.0)
    whole = solve_linear(LinearProblem(X, -np.ones(30), upper, signs, 0.0), tol=1e-10)
    part = solve_linear(
        LinearProblem(X[:20], -np.ones(20), np.ones(20), signs[:20], 0.0), tol=1e-10
    )
    assert (whole.alpha[20:] == 0).all()
    np.testing.assert_allclose(whole.weights, part.weights, atol=1e-8)
    assert whole.multiplier == pytest.approx(part.multiplier, abs=1e-8)


def test_duplicate_rows_are_one_row_of_twice_the_cost():
    rng = np.random.default_rng(1)
    X, signs = rng.normal(size=(25, 3)), np.where(rng.random(25) < 0.5, 1.0, -1.0)
    p = rng.normal(size=25) - 1
    once = solve_linear(LinearProblem(X, p, np.full(25, 2.0), signs, 0.0), tol=1e-10)
    twice = solve_linear(
        LinearProblem(np.vstack([X, X]), np.tile(p, 2), np.ones(50), np.tile(signs, 2), 0.0),
        tol=1e-10,
    )
    np.testing.assert_allclose(once.weights, twice.weights, atol=1e-8)


def test_group_makes_the_answer_blind_to_a_shift_of_the_columns():
    rng = np.random.default_rng(2)
    X, signs = rng.normal(size=(60, 4)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    here = solve_linear(LinearProblem(X, -np.ones(60), np.ones(60), signs, 0.0), tol=1e-9)
    shift = np.array([5.0, -3.0, 1.0, 10.0])
    there = solve_linear(LinearProblem(X + shift, -np.ones(60), np.ones(60), signs, 0.0), tol=1e-9)
    np.testing.assert_allclose(here.weights, there.weights, atol=1e-7)
    assert there.multiplier - here.multiplier == pytest.approx(shift @ here.weights, abs=1e-6)


def test_multiplier_interval_without_free_rows():
    # Both rows at their bound: every b between the two kinks minimises the primal.
    X = np.array([[1.0], [-1.0]])
    problem = LinearProblem(X, -np.ones(2), np.full(2, 0.1), np.array([1.0, -1.0]), 0.0)
    answer = solve_linear(problem, tol=1e-10)
    np.testing.assert_allclose(answer.alpha, [0.1, 0.1])
    w = 0.2
    assert answer.multiplier_interval == pytest.approx((w - 1, 1 - w))
    assert answer.multiplier == pytest.approx(0.0, abs=1e-12)


def test_multiplier_of_one_sided_rows_is_the_nearest_to_zero():
    X = np.array([[1.0], [2.0]])
    answer = solve_linear(LinearProblem(X, -np.ones(2), np.ones(2), np.ones(2), 0.0))
    assert (answer.alpha == 0).all()
    assert answer.multiplier_interval == (-np.inf, -1.0)
    assert answer.multiplier == -1.0


@pytest.mark.parametrize("total", [2.5, -2.1])
def test_infeasible_total_is_named(total):
    signs = np.array([1.0, 1.0, -1.0])
    problem = LinearProblem(np.ones((3, 1)), np.zeros(3), np.array([1.0, 1.0, 2.0]), signs, total)
    with pytest.raises(InfeasibleError, match=r"total.*between -2 and 2"):
        solve_linear(problem)


def test_total_at_the_edge_of_feasibility():
    signs, upper = np.array([1.0, 1.0, -1.0]), np.array([1.0, 0.3, 2.0])
    problem = LinearProblem(np.eye(3), np.array([5.0, -1.0, -3.0]), upper, signs, 1.3)
    answer = solve_linear(problem, tol=1e-9)
    np.testing.assert_allclose(answer.alpha, [1.0, 0.3, 0.0])
    assert answer.certificate.converged


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"linear": np.zeros(3)}, "linear must have shape"),
        ({"upper": np.zeros(3)}, "upper must have shape"),
        ({"signs": np.ones(3)}, "signs must have shape"),
        ({"upper": np.array([1.0, -1.0])}, "upper must be at least 0"),
        ({"upper": np.array([1.0, np.nan])}, "upper must be at least 0"),
        ({"upper": np.array([1.0, np.inf])}, "upper must be finite"),
        ({"diagonal": np.ones(1)}, "diagonal must have shape"),
        ({"diagonal": np.array([1.0, -1.0])}, "diagonal must be at least 0"),
        ({"linear": np.array([0.0, np.nan])}, "linear must be finite"),
        ({"signs": np.array([1.0, 0.5])}, "signs must be"),
    ],
)
def test_bad_problems_are_named(changes, message):
    parts = {"X": np.ones((2, 2)), "linear": np.zeros(2), "upper": np.ones(2), **changes}
    with pytest.raises(ValueError, match=message):
        solve_linear(LinearProblem(**parts))


@pytest.mark.parametrize("parameter", [{"tol": 0.0}, {"max_iter": 0}, {"start": np.zeros(3)}])
def test_bad_parameters_are_named(parameter):
    problem = LinearProblem(np.ones((2, 2)), np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match=next(iter(parameter))):
        solve_linear(problem, **parameter)


def sparse_rows(n=300, d=80, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.1, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("total", [None, 0.0])
def test_dense_and_both_sparse_forms_agree(total):
    X, signs = sparse_rows()
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    answers = [
        solve_linear(LinearProblem(form, -np.ones(300), np.ones(300), signs, total), tol=1e-9)
        for form in (X.toarray(), X, wide, X.astype(np.float32).astype(np.float64))
    ]
    for other in answers[1:3]:
        np.testing.assert_allclose(other.weights, answers[0].weights, atol=1e-7)
        assert other.multiplier == pytest.approx(answers[0].multiplier, abs=1e-6)
    np.testing.assert_allclose(answers[3].weights, answers[0].weights, atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_float32_rows_are_taken_as_they_are(form):
    X, signs = sparse_rows()
    X = X.toarray().astype(np.float32)
    single = solve_linear(LinearProblem(form(X), -np.ones(300), np.ones(300), signs, 0.0), tol=1e-9)
    double = solve_linear(
        LinearProblem(X.astype(np.float64), -np.ones(300), np.ones(300), signs, 0.0), tol=1e-9
    )
    np.testing.assert_allclose(single.weights, double.weights, atol=1e-7)


def test_rows_in_other_orders_and_read_only():
    X, signs = sparse_rows()
    dense = X.toarray()
    reference = solve_linear(LinearProblem(dense, -np.ones(300), np.ones(300), signs), tol=1e-6)
    locked = dense.copy()
    locked.flags.writeable = False
    padded = np.zeros((600, 160))
    padded[::2, ::2] = dense
    for form in (np.asfortranarray(dense), locked, padded[::2, ::2]):
        answer = solve_linear(LinearProblem(form, -np.ones(300), np.ones(300), signs), tol=1e-6)
        assert answer.alpha.tobytes() == reference.alpha.tobytes()
    locked_sparse = X.copy()
    for part in (locked_sparse.data, locked_sparse.indices, locked_sparse.indptr):
        part.flags.writeable = False
    solve_linear(LinearProblem(locked_sparse, -np.ones(300), np.ones(300), signs))


def test_corrupt_sparse_rows_are_refused():
    X, signs = sparse_rows()
    X.indices[5] = 10_000
    with pytest.raises(ValueError, match="column index"):
        solve_linear(LinearProblem(X, -np.ones(300), np.ones(300), signs))


def tall_problem(n=20_000, d=12, total=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signs = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.5, 1.0, -1.0)
    return LinearProblem(X, -np.ones(n), np.full(n, 0.3), signs, total)


@pytest.mark.parametrize("total", [None, 0.0])
def test_newton_and_descent_agree(total, monkeypatch):
    problem = tall_problem(3000, 5, total)
    by_descent = solve_linear(problem, tol=1e-6)
    monkeypatch.setattr("shiftlearn.solvers.linear._tall", lambda state: True)
    by_newton = solve_linear(problem, tol=1e-6)
    assert by_newton.certificate.converged and by_descent.certificate.converged
    assert by_newton.certificate.n_iter < by_descent.certificate.n_iter
    np.testing.assert_allclose(by_newton.weights, by_descent.weights, atol=1e-5)
    assert by_newton.multiplier == pytest.approx(by_descent.multiplier, abs=1e-5)


@pytest.mark.parametrize("dense_limit", [2000, 0])
@pytest.mark.parametrize("shape", [(60, 20), (40, 90)])
def test_each_way_to_a_newton_step(dense_limit, shape, monkeypatch):
    """Moments of the columns, of the rows, and conjugate gradients."""
    monkeypatch.setattr("shiftlearn.solvers.linear._tall", lambda state: True)
    monkeypatch.setattr("shiftlearn.solvers.linear_newton._DENSE", dense_limit)
    rng = np.random.default_rng(3)
    X, signs = rng.normal(size=shape), np.where(rng.random(shape[0]) < 0.5, 1.0, -1.0)
    for total in (None, 0.0):
        problem = LinearProblem(X, -np.ones(shape[0]), np.ones(shape[0]), signs, total)
        answer = solve_linear(problem, tol=1e-7)
        assert answer.certificate.converged
        check_against_oracle(problem, answer)


def test_many_rows_begin_with_a_sample():
    problem = tall_problem(60_000, 8)
    answer = solve_linear(problem, tol=1e-6)
    assert answer.certificate.converged
    assert answer.certificate.gap <= 1e-6 * abs(answer.certificate.objective)


@pytest.mark.parametrize("make", [tall_problem, lambda: random_problem(7, "plain")])
def test_same_bytes_for_any_number_of_threads_and_again(make):
    answers = [solve_linear(make(), tol=1e-6, n_jobs=jobs) for jobs in (1, 2, 3, 2)]
    assert len({answer.alpha.tobytes() for answer in answers}) == 1
    assert len({answer.multiplier for answer in answers}) == 1


def test_order_of_the_rows_is_drawn_from_random_state():
    X, signs = sparse_rows()
    problem = LinearProblem(X, -np.ones(300), np.ones(300), signs)
    fixed = [solve_linear(problem, random_state=seed).alpha.tobytes() for seed in (1, 1, 2)]
    assert fixed[0] == fixed[1] != fixed[2]
    drawn = solve_linear(problem, random_state=np.random.RandomState(0))
    assert drawn.certificate.converged


@pytest.mark.parametrize("total", [None, 0.0])
def test_warm_start_needs_fewer_iterations(total):
    X, signs = sparse_rows(1000, 60)
    problem = LinearProblem(X, -np.ones(1000), np.ones(1000), signs, total)
    first = solve_linear(problem, tol=1e-6)
    again = solve_linear(problem, tol=1e-6, start=first.alpha)
    assert again.certificate.n_iter == 0
    dearer = LinearProblem(X, -np.ones(1000), np.full(1000, 1.05), signs, total)
    warm = solve_linear(dearer, tol=1e-6, start=np.append(first.alpha[:-1], 7.0))
    cold = solve_linear(dearer, tol=1e-6)
    assert warm.certificate.objective == pytest.approx(cold.certificate.objective, rel=1e-6)
    assert warm.certificate.n_iter < cold.certificate.n_iter


@pytest.mark.parametrize("problem", [tall_problem(), random_problem(3, "plain", largest=40)])
def test_callback_stops_with_a_certified_answer(problem):
    seen = []

    def stop(event):
        seen.append(event)
        return True

    answer = solve_linear(problem, tol=1e-12, callback=stop)
    assert len(seen) == 1 and 0 <= seen[0].fraction <= 1
    check_answer(problem, answer)


def test_threads_of_python_do_not_disturb_each_other():
    problems = [random_problem(seed, "plain") for seed in range(8)]
    serial = [solve_linear(problem).alpha.tobytes() for problem in problems]
    with ThreadPoolExecutor(8) as pool:
        together = [a.alpha.tobytes() for a in pool.map(solve_linear, problems)]
    assert together == serial


LONG_RUNS = {
    "descent": """
        columns = rng.integers(0, 20_000, 2_000_000)
        entries = rng.normal(size=2_000_000), columns, np.arange(0, 2_000_001, 100)
        X = sparse.csr_matrix(entries, shape=(20_000, 20_000))
        problem = LinearProblem(X, -np.ones(20000), np.full(20000, 1e6), y[:20000], 0.0)
    """,
    "newton": """
        X = rng.normal(size=(200_000, 100))
        problem = LinearProblem(X, -np.ones(200_000), np.full(200_000, 1e4), y, 0.0)
    """,
}


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("run", LONG_RUNS)
def test_interrupt_is_heard_at_once(run):
    program = """
        import numpy as np
        from scipy import sparse
        from shiftlearn.solvers.linear import LinearProblem, solve_linear
        rng = np.random.default_rng(0)
        y = np.where(rng.random(200_000) < 0.5, 1.0, -1.0)
        {setup}
        print("ready", flush=True)
        while True:
            solve_linear(problem, tol=1e-14)
    """
    setup = textwrap.dedent(LONG_RUNS[run]).strip()
    source = textwrap.dedent(program).format(setup=setup)
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        _, errors = process.communicate(timeout=30)
        waited = time.perf_counter() - start
    assert "KeyboardInterrupt" in errors
    assert waited < 0.5 + float(os.environ.get("SHIFTLEARN_TEST_SLACK", 1.0))
