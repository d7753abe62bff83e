"""Newton's method: convex, non-convex, damped, streamed; its certificate."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize

from shiftlearn.solvers.descent import truncated
from shiftlearn.solvers.newton import Objective, Partial, Problem, solve
from shiftlearn.solvers.stationary import curvature_at


class Quadratic(Objective):
    """Σ_blocks ½ ‖A w - t‖²; a block is (A, t)."""

    def __init__(self, exact=True):
        self.exact = exact

    def partial(self, block, w, order=2):
        A, t = block
        away = A @ w - t
        return Partial(0.5 * away @ away, A.T @ away, A.T @ A if self.exact else Square(A))


@dataclasses.dataclass
class Square:
    A: np.ndarray

    def __call__(self, direction):
        return self.A.T @ (self.A @ direction)

    def summary(self):
        return np.sum(self.A**2, axis=0)


class Pointwise(Objective):
    """A function given by value, gradient and Hessian; blocks are multiples of it."""

    def __init__(self, value, gradient, hessian, exact=True, majorant=None):
        self.parts = value, gradient, hessian
        self.exact = exact
        self.stand_in = majorant
        self.asked = 0

    def partial(self, block, w, order=2):
        value, gradient, hessian = (part(w) for part in self.parts)
        H = block * np.asarray(hessian)
        return Partial(block * value, block * np.asarray(gradient), H if self.exact else Matrix(H))

    def majorant(self, block, w):
        self.asked += 1
        return None if self.stand_in is None else block * self.stand_in(w)


@dataclasses.dataclass
class Matrix:
    H: np.ndarray

    def __call__(self, direction):
        return self.H @ direction

    def summary(self):
        return np.diagonal(self.H).copy()


def rosenbrock(**more):
    return Pointwise(
        lambda w: 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2,
        lambda w: [
            -400 * w[0] * (w[1] - w[0] ** 2) - 2 * (1 - w[0]),
            200 * (w[1] - w[0] ** 2),
        ],
        lambda w: [[1200 * w[0] ** 2 - 400 * w[1] + 2, -400 * w[0]], [-400 * w[0], 200.0]],
        **more,
    )


def double_well(**more):
    """(x² - 1)² + y²: a saddle at the origin, minima at (±1, 0)."""
    return Pointwise(
        lambda w: (w[0] ** 2 - 1) ** 2 + w[1] ** 2,
        lambda w: [4 * w[0] * (w[0] ** 2 - 1), 2 * w[1]],
        lambda w: [[12 * w[0] ** 2 - 4, 0.0], [0.0, 2.0]],
        **more,
    )


def blocks_of(A, t, sizes):
    cuts = np.cumsum([0, *sizes])
    return [(A[a:b], t[a:b]) for a, b in zip(cuts[:-1], cuts[1:])]  # noqa: RUF007


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("sizes", [[40], [1, 3, 1, 12, 13, 8, 2]])
def test_quadratic_with_ridge_and_center_is_solved_in_closed_form(exact, sizes):
    rng = np.random.default_rng(0)
    A, t = rng.normal(size=(40, 6)), rng.normal(size=40)
    penalty, center = rng.uniform(0, 3, size=6), rng.normal(size=6)
    penalty[0] = 0.0
    problem = Problem(Quadratic(exact), blocks_of(A, t, sizes), penalty, center=center, drift=0.0)
    solution = solve(problem, tol=1e-10)
    expected = np.linalg.solve(A.T @ A + np.diag(penalty), A.T @ t + penalty * center)
    np.testing.assert_allclose(solution.parameters, expected, rtol=1e-9, atol=1e-9)
    certificate = solution.certificate
    assert certificate.converged and certificate.violation <= 1e-10
    value = 0.5 * np.sum((A @ expected - t) ** 2) + 0.5 * penalty @ (expected - center) ** 2
    assert certificate.objective == pytest.approx(value, rel=1e-12)
    if exact:
        assert certificate.n_iter == 1
        smallest = np.linalg.eigvalsh(A.T @ A + np.diag(penalty))[0]
        assert certificate.curvature == pytest.approx(smallest)
        assert 0 <= certificate.gap < 1e-15


@pytest.mark.parametrize("exact", [True, False])
def test_one_block_is_seven_uneven_blocks(exact):
    rng = np.random.default_rng(1)
    A, t = rng.normal(size=(40, 5)), rng.normal(size=40)
    one, seven = (
        solve(Problem(Quadratic(exact), blocks_of(A, t, sizes), np.ones(5)), tol=1e-12)
        for sizes in ([40], [1, 3, 1, 12, 13, 8, 2])
    )
    np.testing.assert_allclose(one.parameters, seven.parameters, rtol=1e-10)


@pytest.mark.parametrize("exact", [True, False])
def test_threads_do_not_change_a_bit(exact):
    rng = np.random.default_rng(2)
    A, t = rng.normal(size=(400, 30)), rng.normal(size=400)
    problem = Problem(Quadratic(exact), blocks_of(A, t, [57] * 7 + [1]), np.full(30, 0.1))
    serial, threaded = (solve(problem, n_jobs=jobs) for jobs in (1, 3))
    assert (serial.parameters == threaded.parameters).all()
    assert serial.certificate == threaded.certificate or np.isnan(serial.certificate.curvature)


def test_a_stream_is_walked_again_for_every_product():
    rng = np.random.default_rng(3)
    A, t = rng.normal(size=(40, 5)), rng.normal(size=40)

    class Stream:
        walks = 0

        def __iter__(self):
            Stream.walks += 1
            return iter(blocks_of(A, t, [10, 30]))

    kept = solve(Problem(Quadratic(False), list(Stream()), np.ones(5)), tol=1e-9)
    streamed = solve(Problem(Quadratic(False), Stream(), np.ones(5)), tol=1e-9)
    np.testing.assert_array_equal(kept.parameters, streamed.parameters)
    assert Stream.walks > 5


@pytest.mark.parametrize("exact", [True, False])
def test_rosenbrock(exact):
    problem = Problem(rosenbrock(exact=exact), [0.25, 0.75], np.zeros(2), convex=False)
    solution = solve(problem, tol=1e-10, start=np.array([-1.2, 1.0]), max_iter=200)
    np.testing.assert_allclose(solution.parameters, [1, 1], atol=1e-8)
    assert solution.certificate.converged and np.isnan(solution.certificate.gap)
    values = [value for _, value, _ in solution.certificate.history]
    assert all(b <= a + 1e-12 for a, b in zip(values, values[1:]))  # noqa: RUF007
    assert solution.certificate.curvature == pytest.approx(0.39936, rel=1e-3)


@pytest.mark.parametrize("exact", [True, False])
def test_a_saddle_is_left_where_the_problem_is_not_convex(exact):
    start = np.array([0.0, 0.7])
    problem = Problem(double_well(exact=exact), [1.0], np.zeros(2), convex=False)
    solution = solve(problem, tol=1e-9, start=start)
    np.testing.assert_allclose(np.abs(solution.parameters), [1, 0], atol=1e-8)
    assert solution.certificate.curvature == pytest.approx(2.0)


def test_the_majorant_is_asked_for_where_the_hessian_has_no_factor():
    function = double_well(majorant=lambda w: np.diag([12 * w[0] ** 2 + 1.0, 2.0]))
    problem = Problem(function, [0.5, 0.5], np.zeros(2), convex=False)
    solution = solve(problem, tol=1e-9, start=np.array([0.1, 0.7]))
    np.testing.assert_allclose(solution.parameters, [1, 0], atol=1e-8)
    assert function.asked >= 2
    far = solve(dataclasses.replace(problem), tol=1e-9, start=np.array([3.0, 0.7]))
    np.testing.assert_allclose(far.parameters, [1, 0], atol=1e-8)


def test_infinite_values_are_stepped_back_from():
    """w - log(1 - w²): finite between -1 and 1 only, and Newton's full step leaves that."""
    function = Pointwise(
        lambda w: w[0] - np.log(1 - w[0] ** 2) if abs(w[0]) < 1 else np.nan,
        lambda w: [1 + 2 * w[0] / (1 - w[0] ** 2)],
        lambda w: [[2 * (1 + w[0] ** 2) / (1 - w[0] ** 2) ** 2 / 10]],  # a tenth: steps too long
    )
    solution = solve(Problem(function, [1.0], np.zeros(1)), tol=1e-10, start=np.array([0.9]))
    assert solution.certificate.converged
    assert solution.parameters[0] == pytest.approx(1 - np.sqrt(2))
    with pytest.raises(ValueError, match="start has an objective that is not finite"):
        solve(Problem(function, [1.0], np.zeros(1)), start=np.array([2.0]))


def test_gap_bounds_the_distance_from_the_optimum():
    rng = np.random.default_rng(4)
    A, t = rng.normal(size=(40, 5)), rng.normal(size=40)
    penalty = rng.uniform(0.1, 1, size=5)
    problem = Problem(Quadratic(), [(A, t)], penalty, drift=1e-3)
    best = solve(problem, tol=1e-12).certificate.objective
    for tol in (10.0, 1e-2):
        rough = solve(dataclasses.replace(problem, weight=1.0), tol=tol, max_iter=0)
        assert rough.certificate.objective - best <= rough.certificate.gap * (1 + 1e-9)
        assert np.isfinite(rough.certificate.gap)


def test_callback_tells_and_stops():
    events = []
    problem = Problem(rosenbrock(), [1.0], np.zeros(2), convex=False)
    start = np.array([-1.2, 1.0])
    full = solve(problem, start=start, callback=lambda event: events.append(event))
    assert [event.objective for event in events] == [h[1] for h in full.certificate.history]
    assert 0 <= events[0].fraction <= events[-1].fraction <= 1 and events[0].phase == "newton"
    stopped = solve(problem, start=start, callback=lambda event: event.objective < 4)
    assert stopped.certificate.n_iter < full.certificate.n_iter
    assert not stopped.certificate.converged
    np.testing.assert_array_equal(start, [-1.2, 1.0])


def test_max_iter_stops_with_a_certificate():
    problem = Problem(rosenbrock(), [1.0], np.zeros(2), convex=False)
    certificate = solve(problem, start=np.array([-1.2, 1.0]), max_iter=3).certificate
    assert certificate.n_iter == 3 and not certificate.converged
    assert certificate.violation > 1e-3 and len(certificate.history) == 4


def test_interrupt_passes_through():
    class Stopping(Quadratic):
        def partial(self, block, w, order=2):
            raise KeyboardInterrupt

    for jobs in (1, 2):
        problem = Problem(Stopping(), [(np.eye(2), np.ones(2))] * 5, np.ones(2))
        with pytest.raises(KeyboardInterrupt):
            solve(problem, n_jobs=jobs)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"penalty": np.array([-1.0, 1.0])}, "penalty must be"),
        ({"penalty": np.array([np.nan, 1.0])}, "penalty must be"),
        ({"center": np.ones(3)}, r"center has shape \(3,\)"),
    ],
)
def test_bad_problems(change, match):
    problem = Problem(Quadratic(), [(np.eye(2), np.ones(2))], np.ones(2))
    with pytest.raises(ValueError, match=match):
        solve(dataclasses.replace(problem, **change))


def test_bad_arguments():
    problem = Problem(Quadratic(), [(np.eye(2), np.ones(2))], np.ones(2))
    with pytest.raises(ValueError, match="tol must be positive"):
        solve(problem, tol=0.0)
    with pytest.raises(ValueError, match="max_iter"):
        solve(problem, max_iter=-1)
    with pytest.raises(ValueError, match="start has shape"):
        solve(problem, start=np.ones(3))


def test_truncated_gradients_solve_the_bounded_quadratic():
    """Against a general minimiser, with a radius that binds and one that does not."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(6, 6))
    H, g = A @ A.T + np.eye(6), rng.normal(size=6)
    free, length, _ = truncated(H.__matmul__, g, lambda v: v, enough=lambda r, q: q < 1e-12)
    np.testing.assert_allclose(free, np.linalg.solve(H, -g), rtol=1e-8)
    assert length == pytest.approx(np.linalg.norm(free))
    radius = 0.5 * length
    bound, length, _ = truncated(
        H.__matmul__, g, lambda v: v, enough=lambda r, q: q < 1e-12, radius=radius
    )
    assert np.linalg.norm(bound) == pytest.approx(radius) == length
    best = minimize(
        lambda d: g @ d + 0.5 * d @ H @ d,
        np.zeros(6),
        constraints={"type": "ineq", "fun": lambda d: radius**2 - d @ d},
    ).fun
    assert g @ bound + 0.5 * bound @ H @ bound <= 0.8 * best < 0


def test_truncated_gradients_go_on_along_negative_curvature():
    H, g = np.diag([1.0, -1.0]), np.array([1.0, 1e-3])
    d, length, _ = truncated(H.__matmul__, g, lambda v: v, enough=lambda r, q: False, radius=7.0)
    assert np.linalg.norm(d) == pytest.approx(7.0) == length
    assert g @ d + 0.5 * d @ H @ d < -10
    d, length, _ = truncated(H.__matmul__, g, lambda v: v, enough=lambda r, q: False)
    assert np.isfinite(length) and np.linalg.norm(d) == pytest.approx(length) and g @ d < 0


@pytest.mark.parametrize("lowest", [0.3, -0.7])
def test_smallest_curvature_of_a_large_matrix_and_of_products(lowest):
    """Through a factor, an indefinite matrix, and products: one eigenvalue, its vector."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(300, 300)))
    values = np.r_[lowest, np.linspace(1.0, 50.0, 299)]
    matrix = (turn * values) @ turn.T

    class Products:
        penalty = np.zeros(300)

        def __call__(self, direction):
            return matrix @ direction

    for hessian, slack in ((matrix, 1e-3), (Products(), 2e-2)):
        value, vector = curvature_at(hessian, None, vector=True)
        assert value == pytest.approx(lowest, rel=slack) and value >= lowest - 1e-9
        assert abs(vector @ turn[:, 0]) > 0.99
