"""The quadratic program by whole faces against the pairwise solver and an interior point."""

import numpy as np
import pytest

from shiftlearn.errors import InfeasibleError
from shiftlearn.kernels import MatrixOperator
from shiftlearn.solvers.faces import DenseMatrix, FactorMatrix, solve_faces
from shiftlearn.solvers.qp import Problem, solve


def problem(seed, n=40):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, int(rng.integers(1, 2 * n))))
    Z[rng.random(n) < 0.2] = Z[0]
    upper = rng.uniform(0.1, 3.0, size=n) if seed % 2 else np.full(n, 10.0 ** rng.integers(-1, 3))
    total = upper.sum() * rng.uniform(0.05, 0.95)
    return Z, rng.normal(size=n) * 10.0 ** rng.integers(-1, 2), upper, total


@pytest.mark.parametrize("seed", range(24))
def test_agrees_with_pairs(seed):
    Z, p, upper, total = problem(seed)
    Q = Z @ Z.T + 1e-3 * np.eye(len(Z))
    start = upper * total / upper.sum()
    faces = solve_faces(DenseMatrix(Q), p, upper, total, start=start)
    pairs = solve(Problem(MatrixOperator(Q), p, upper, totals=np.array([total])), tol=1e-8)
    assert faces.certificate.converged
    assert faces.certificate.objective == pytest.approx(pairs.certificate.objective, rel=1e-8)
    assert faces.alpha == pytest.approx(pairs.alpha, abs=1e-4)
    assert faces.alpha.min() >= 0 and np.all(faces.alpha <= upper)
    assert faces.alpha.sum() == pytest.approx(total, rel=1e-12)
    assert faces.gradient == pytest.approx(Q @ faces.alpha + p)
    low, high = faces.multiplier_intervals[0]
    assert low <= high + 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_a_factor_is_its_matrix(seed):
    Z, p, upper, total = problem(seed)
    ridge = np.full(len(Z), 1e-2)
    start = upper * total / upper.sum()
    whole = solve_faces(DenseMatrix(Z @ Z.T + np.diag(ridge)), p, upper, total, start=start)
    parts = solve_faces(FactorMatrix(Z, ridge), p, upper, total, start=start)
    assert parts.certificate.converged
    assert parts.alpha == pytest.approx(whole.alpha, abs=1e-5)
    assert parts.certificate.objective == pytest.approx(whole.certificate.objective, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_every_step_descends_and_the_gap_bounds_the_rest(seed):
    Z, p, upper, total = problem(seed)
    Q = Z[:, :3] @ Z[:, :3].T  # singular
    found = solve_faces(DenseMatrix(Q), p, upper, total, start=upper * total / upper.sum())
    values = [objective for _, objective, _ in found.certificate.history]
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[:-1]) + 1e-12)
    pairs = solve(Problem(MatrixOperator(Q), p, upper, totals=np.array([total])), tol=1e-8)
    assert found.certificate.objective - pairs.certificate.objective <= found.certificate.gap + 1e-9


def test_sums_at_the_ends_of_the_box():
    Q, p, upper = DenseMatrix(np.eye(3)), np.zeros(3), np.array([1.0, 2.0, 3.0])
    assert solve_faces(Q, p, upper, 6.0, start=upper).alpha == pytest.approx(upper)
    none = solve_faces(Q, p, upper, 0.0, start=np.zeros(3))
    assert none.alpha == pytest.approx(np.zeros(3), abs=1e-12)
    with pytest.raises(InfeasibleError, match="between 0 and 6"):
        solve_faces(Q, p, upper, 7.0, start=upper)


def test_a_callback_ends_it():
    Z, p, upper, total = problem(3)
    events = []

    def stop(event):
        events.append(event)
        return True

    solve_faces(
        DenseMatrix(Z @ Z.T), p, upper, total, start=upper * total / upper.sum(), callback=stop
    )
    assert len(events) <= 1
