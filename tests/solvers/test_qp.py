"""The solver of the one quadratic program against an interior point on the dense matrix."""

from dataclasses import replace

import numpy as np
import pytest

from oracles.qp import plain, solve_plain
from shiftlearn.errors import InfeasibleError
from shiftlearn.kernels import MatrixOperator as Dense
from shiftlearn.solvers import decomposition
from shiftlearn.solvers.qp import Problem, solve

TOL = 1e-7


def gram(rng, n):
    """Positive semidefinite matrices of many kinds: full rank, low rank, with twins and zeros."""
    X = rng.normal(size=(n, int(rng.integers(1, 6))))
    X[rng.random(n) < 0.2] = X[0]
    X[rng.random(n) < 0.1] = 0.0
    if rng.random() < 0.5:
        return np.exp(-rng.choice([0.01, 0.5, 20.0]) * ((X[:, None] - X) ** 2).sum(2))
    K = X @ X.T
    return K if rng.random() < 0.5 else K + 0.1 * np.eye(n)


def random_problem(seed, largest=40):
    """A feasible problem: any number of groups, boxes tiny to huge, r inside or at an edge."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, largest + 1))
    upper = np.full(n, 10.0 ** rng.choice([-4, -1, 0, 1, 4]))
    if rng.random() < 0.5:
        upper *= (rng.random(n) + 0.01) * np.where(rng.random(n) < 0.1, 1e-3, 1.0)
    signs = np.where(rng.random(n) < rng.choice([0.5, 0.9, 1.0]), 1.0, -1.0)
    linear = rng.choice([-1, 0, 1]) * np.where(rng.random() < 0.5, 1.0, rng.normal(size=n))
    count = int(rng.choice([0, 1, 1, 2, 4]))
    if count == 0:
        return Problem(Dense(gram(rng, n)), linear, upper, signs)
    groups = rng.integers(-1 if rng.random() < 0.3 else 0, count, size=n)
    totals = _reachable(rng, groups, count, signs, upper)
    return Problem(Dense(gram(rng, n)), linear, upper, signs, groups, totals)


def _reachable(rng, groups, count, signs, upper):
    """Sums that some point of the box has: zero where it is reachable, inside, or at an edge."""
    a = upper * rng.random(len(upper))
    totals = np.array([(signs * a)[groups == g].sum() for g in range(count)])
    highest = [upper[(groups == g) & (signs > 0)].sum() for g in range(count)]
    lowest = [-upper[(groups == g) & (signs < 0)].sum() for g in range(count)]
    kind = rng.choice(["inside", "zero", "high", "low"], p=[0.3, 0.5, 0.1, 0.1])
    choices = {"inside": totals, "zero": 0 * totals, "high": highest, "low": lowest}
    return np.array(choices[kind], dtype=np.float64)


def check(problem, tol=TOL):
    """Feasible, as good as the oracle, and with a certificate that tells the truth."""
    solution = solve(problem, tol=tol)
    full, *oracle = solve_plain(problem)
    a, certificate = solution.alpha, solution.certificate
    assert full.infeasibility(a) <= 1e-9 * max(1.0, full.upper.max())
    assert a.min() >= 0 and (a <= full.upper).all()
    found, least = full.objective(a), full.objective(oracle[0])
    unit = max(1.0, abs(least))
    assert certificate.converged or certificate.gap <= 1e-6 * unit
    assert found - least <= 1e-6 * unit
    assert certificate.objective == pytest.approx(found, rel=1e-7, abs=1e-7 * unit)
    assert certificate.gap >= found - least - full.gap(*oracle) - 1e-8 * unit
    assert full.violation(a, solution.multipliers) <= 2 * tol
    np.testing.assert_allclose(solution.gradient, full.Q @ a + full.p, atol=1e-6 * unit)


@pytest.mark.parametrize("chunk", range(10))
def test_random_problems(chunk):
    for seed in range(50 * chunk, 50 * chunk + 50):
        check(random_problem(seed))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(20))
def test_ten_thousand_random_problems(chunk):
    for seed in range(1000 + 500 * chunk, 1500 + 500 * chunk):
        check(random_problem(seed, largest=60))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_variables(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 5)) * 10.0 ** rng.uniform(-1, 1, size=5)
    signs = np.where(X[:, 0] + rng.normal(size=1000) > 0, 1.0, -1.0)
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(2))
    groups = np.zeros(1000, dtype=np.intp)
    check(Problem(Dense(K), -np.ones(1000), np.full(1000, 10.0), signs, groups, np.zeros(1)))


def test_bound_holds_when_stopped_early():
    for seed in range(50):
        problem = random_problem(seed)
        solution = solve(problem, tol=1e-9, max_iter=3)
        full, *oracle = solve_plain(problem)
        least = full.objective(oracle[0])
        slack = full.gap(*oracle) + 1e-8 * max(1.0, abs(least))
        assert solution.certificate.gap >= full.objective(solution.alpha) - least - slack
        assert full.infeasibility(solution.alpha) <= 1e-9 * max(1.0, full.upper.max())


def test_one_variable():
    for total in (0.0, 0.3, 1.0):
        one = Problem(
            Dense([[2.0]]),
            np.array([-1.0]),
            np.ones(1),
            groups=np.zeros(1, np.intp),
            totals=np.array([total]),
        )
        assert solve(one).alpha == pytest.approx([total])
    assert solve(Problem(Dense([[2.0]]), np.array([-1.0]), np.ones(1))).alpha == pytest.approx(
        [0.5], abs=1e-3
    )


def test_contradictory_twins_cancel():
    K = np.ones((2, 2))
    problem = Problem(
        Dense(K), -np.ones(2), np.full(2, 3.0), np.array([1.0, -1.0]), np.zeros(2, np.intp),
        np.zeros(1),
    )  # fmt: skip
    solution = solve(problem)
    np.testing.assert_allclose(solution.alpha, [3.0, 3.0])
    assert solution.certificate.objective == pytest.approx(-6.0)


@pytest.mark.parametrize("seed", range(20))
def test_start_does_not_change_the_answer(seed):
    problem = random_problem(seed)
    cold = solve(problem, tol=TOL)
    start = np.random.default_rng(seed).random(len(problem.linear)) * problem.upper
    warm = solve(problem, tol=TOL, start=start)
    unit = max(1.0, abs(cold.certificate.objective))
    assert abs(warm.certificate.objective - cold.certificate.objective) <= 1e-6 * unit
    again = solve(problem, tol=TOL, start=cold.alpha)
    assert again.certificate.n_iter <= max(20, cold.certificate.n_iter)


def test_infeasible_groups_are_named():
    n = 4
    groups = np.array([0, 0, 1, 1])
    problem = Problem(
        Dense(np.eye(n)), np.zeros(n), np.full(n, 0.3), groups=groups, totals=np.array([0.5, 1.0])
    )
    with pytest.raises(InfeasibleError, match="group 1"):
        solve(problem)


@pytest.mark.parametrize(("total", "cost"), [(3.0, 1.5), (-3.0, 3.0)])
def test_smallest_admissible_cost_counts_the_side_that_can_move(total, cost):
    signs, groups = np.array([1.0, 1.0, -1.0]), np.zeros(3, np.intp)

    def of(upper):
        matrix, uppers = Dense(np.eye(3)), np.full(3, upper)
        return Problem(matrix, np.zeros(3), uppers, signs, groups, np.array([total]))

    with pytest.raises(InfeasibleError, match=f"smallest admissible cost is {cost:g} for each"):
        solve(of(0.99 * cost))
    np.testing.assert_allclose(signs @ solve(of(cost)).alpha, total)


def test_sum_that_no_cost_can_reach():
    nobody = Problem(
        Dense(np.eye(2)), np.zeros(2), np.ones(2), groups=np.zeros(2, np.intp),
        totals=np.array([-1.0]),
    )  # fmt: skip
    with pytest.raises(InfeasibleError, match="no cost is large enough"):
        solve(nobody)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"signs": np.array([1.0, 2.0])}, "signs must be"),
        ({"signs": np.ones(3)}, "signs must have shape"),
        ({"groups": np.array([0, 1])}, "groups must be"),
        ({"groups": np.zeros(3, np.intp)}, "groups must have shape"),
        ({"totals": np.array([np.nan])}, "totals must be finite"),
        ({"upper": np.array([1.0, -1.0])}, "upper must be non-negative"),
        ({"linear": np.array([1.0, np.nan])}, "linear must be finite"),
    ],
)
def test_wrong_problems_are_refused_by_name(part, message):
    right = Problem(
        Dense(np.eye(2)), np.zeros(2), np.ones(2), groups=np.zeros(2, np.intp), totals=np.ones(1)
    )
    with pytest.raises(ValueError, match=message):
        solve(replace(right, **part))


def test_indefinite_problem_ends_feasible_without_a_bound():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(30, 30))
    signs = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    problem = Problem(
        Dense(K + K.T), -np.ones(30), np.full(30, 5.0), signs, np.zeros(30, np.intp), np.zeros(1),
        convex=False,
    )  # fmt: skip
    solution = solve(problem, max_iter=20_000)
    assert np.isnan(solution.certificate.gap) and not solution.certificate.converged
    assert plain(problem).infeasibility(solution.alpha) <= 1e-9


def test_callback_stops_with_a_certified_answer():
    seen = []
    problem = random_problem(3)
    solution = solve(problem, tol=1e-9, callback=lambda event: seen.append(event) or True)
    assert len(seen) <= 2
    assert plain(problem).infeasibility(solution.alpha) <= 1e-9


@pytest.fixture
def small_sets(monkeypatch):
    """Working sets of half of the variables: every step of the decomposition on small data."""
    monkeypatch.setattr(decomposition, "WHOLE", 0)
    monkeypatch.setattr(
        decomposition.Decomposition, "_size", lambda self, n_free: max(8, len(self._u) // 2)
    )


@pytest.mark.parametrize("chunk", range(3))
def test_random_problems_a_working_set_at_a_time(chunk, small_sets):
    for seed in range(5000 + 25 * chunk, 5025 + 25 * chunk):
        check(random_problem(seed, largest=80))


def two_classes(n=900):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(2))
    groups = np.zeros(n, dtype=np.intp)
    return Problem(Dense(K), -np.ones(n), np.full(n, 3.0), signs, groups, np.zeros(1))


def test_progress_is_true_while_variables_are_set_aside(small_sets, monkeypatch):
    aside, seen = [], []
    set_aside = decomposition.Decomposition._set_aside
    monkeypatch.setattr(
        decomposition.Decomposition,
        "_set_aside",
        lambda self, keep: aside.append(len(seen)) or set_aside(self, keep),
    )
    certificate = solve(two_classes(), tol=1e-7, callback=seen.append).certificate
    assert len(aside) >= 2 and aside[1] < len(seen) - 1
    least = certificate.objective - certificate.gap
    objectives = np.array([event.objective for event in seen])
    assert (np.diff(objectives) <= 1e-6).all()
    np.testing.assert_array_equal(
        objectives, [objective for _, objective, _ in certificate.history]
    )
    for event in seen:
        assert least - 1e-6 <= event.objective
        assert event.objective - event.gap <= certificate.objective + 1e-6


def test_same_call_same_bytes():
    problem = random_problem(11)
    first, second = (solve(problem).alpha for _ in range(2))
    assert first.tobytes() == second.tobytes()
