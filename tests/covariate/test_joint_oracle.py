"""The joint objective: derivatives, oracles, three optimisers, equal forms, equal blocks."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from covariate.joint_problems import fitted, shifted
from oracles.covariate import Joint, dual_newton, objective
from shiftlearn import CovariateShiftLogisticRegression, Nystroem, stack_domains
from shiftlearn.covariate.joint_fit import JointProblem

MODEL = CovariateShiftLogisticRegression


def parameters(model):
    return np.r_[model.coef_[0], model.intercept_, model.shift_coef_, model.shift_intercept_]


def problem(L, y, T, classes=2, seed=1, rows_as=np.asarray, **options):
    rng = np.random.default_rng(seed)
    X, m = np.vstack([L, T]), len(L)
    omega = np.r_[rng.uniform(0.5, 2, m), np.zeros(len(T))]
    omega[3] = 0.0
    domain = rng.uniform(0.5, 2, len(X))
    codes = np.r_[y, np.zeros(len(T), dtype=int)]
    settings = {"cost": 2.0, "cost_shift": 0.7, "odds": 1.3, **options}
    return JointProblem(rows_as(X), codes, omega, domain, m, classes, **settings)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_objective_is_that_of_the_loop(classes, intercept):
    L, y, T = shifted(classes=classes)
    task = problem(L, y, T, classes, fit_intercept=intercept)
    k, d = task.n_scores, 3
    theta = np.random.default_rng(2).normal(size=(k + 1, d + intercept))
    loss = task.loss.partial(next(iter(task.blocks)), theta.ravel(), 0).loss
    bias = theta[:, d] if intercept else np.zeros(k + 1)
    whole = objective(
        theta[:k, :d], bias[:k], theta[k, :d], bias[k], task.Z, task.codes,
        np.arange(len(task.Z)) < len(L), task.odds, task.cost, task.cost_shift,
        task.omega, task.domain_weights,
    )  # fmt: skip
    newton = task.newton
    value = loss + 0.5 * np.sum(newton.penalty * theta.ravel() ** 2)
    assert value == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_derivatives_by_finite_differences(classes, form):
    L, y, T = shifted(classes=classes)
    task = problem(L, y, T, classes, hessian="newton")
    if form == "sparse":
        task = problem(L, y, T, classes, rows_as=sparse.csr_array, hessian="newton-cg")
    rng = np.random.default_rng(3)
    theta = 0.7 * rng.normal(size=task.loss.size)
    block, step = next(iter(task.blocks)), 1e-5

    def value(w, order=0):
        return task.loss.partial(block, w, order)[order]

    for direction in rng.normal(size=(4, len(theta))):
        up, down = theta + step * direction, theta - step * direction
        partial = task.loss.partial(block, theta)
        numeric = (value(up) - value(down)) / (2 * step)
        assert partial.gradient @ direction == pytest.approx(numeric, rel=1e-8, abs=1e-8)
        hessian = partial.hessian
        moved = hessian(direction) if callable(hessian) else hessian @ direction
        bent = (value(up, 1) - value(down, 1)) / (2 * step)
        np.testing.assert_allclose(moved, bent, rtol=1e-7, atol=1e-7 * np.abs(bent).max())


@pytest.mark.parametrize("classes", [2, 3])
def test_products_and_preconditioner_agree_with_the_matrix(classes):
    L, y, T = shifted(classes=classes)
    exact = problem(L, y, T, classes, hessian="newton")
    rng = np.random.default_rng(4)
    theta = rng.normal(size=exact.loss.size)
    products = problem(L, y, T, classes, hessian="newton-cg")
    block = next(iter(exact.blocks))
    matrix = exact.loss.partial(block, theta).hessian
    product = products.loss.partial(block, theta).hessian
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    columns = np.column_stack([product(e) for e in np.eye(len(theta))])
    np.testing.assert_allclose(columns, matrix, atol=1e-10)
    if classes == 3:
        np.testing.assert_allclose(product.summary(), np.diag(matrix), atol=1e-10)
    else:
        majorant = exact.loss.majorant(block, theta)
        np.testing.assert_allclose(product.summary(), np.diag(majorant), atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_positive_part_is_the_projection_row_by_row(classes):
    """XᵀA⁺X from eigenvalues of every row's own block, assembled by a loop."""
    L, y, T = shifted(m=12, n=5, classes=classes)
    task = problem(L, y, T, classes, hessian="newton")
    rng = np.random.default_rng(5)
    theta = 2.0 * rng.normal(size=task.loss.size)
    whole, indefinite = np.zeros((task.loss.size,) * 2), 0
    for i in range(len(task.Z)):
        block = [part[i : i + 1] for part in next(iter(task.blocks))]
        z = np.r_[task.Z[i], 1.0]
        # A single row's Hessian is B ⊗ zzᵀ: B follows by dividing by ‖z‖⁴.
        one = task.loss.partial(block, theta).hessian
        k = task.n_scores + 1
        lift = np.kron(np.eye(k), z[:, None])
        B = lift.T @ one @ lift / (z @ z) ** 2
        values, vectors = np.linalg.eigh(B)
        indefinite += values[0] < -1e-9
        whole += np.kron(vectors @ np.diag(np.maximum(values, 0)) @ vectors.T, np.outer(z, z))
    assert indefinite > 3
    majorant = task.loss.majorant(next(iter(task.blocks)), theta)
    np.testing.assert_allclose(majorant, whole, atol=1e-9 * np.abs(whole).max())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("hessian", ["newton", "newton-cg"])
def test_one_block_and_seven_uneven_blocks_agree(classes, hessian):
    L, y, T = shifted(classes=classes)
    task = problem(L, y, T, classes, hessian=hessian)
    whole = next(iter(task.blocks))
    cuts = [0, 1, 8, 9, 55, 70, 71, 100]  # 60 source rows: one block holds both kinds
    seven = [tuple(part[a:b] for part in whole) for a, b in itertools.pairwise(cuts)]
    theta = np.random.default_rng(6).normal(size=task.loss.size)
    one, many = task.loss.partial(whole, theta), [task.loss.partial(b, theta) for b in seven]
    assert len(seven) == 7
    assert sum(p.loss for p in many) == pytest.approx(one.loss, rel=1e-10)
    np.testing.assert_allclose(sum(p.gradient for p in many), one.gradient, rtol=1e-10, atol=1e-10)
    direction = np.random.default_rng(7).normal(size=task.loss.size)

    def apply(p):
        return p.hessian(direction) if callable(p.hessian) else p.hessian @ direction

    np.testing.assert_allclose(sum(map(apply, many)), apply(one), rtol=1e-10, atol=1e-10)
    answers = [
        problem(L, y, T, classes, hessian=hessian, rows=rows).solve(tol=1e-10, max_iter=100)
        for rows in (1000, 15)
    ]
    np.testing.assert_allclose(answers[0].theta, answers[1].theta, rtol=1e-7, atol=1e-9)


SETTINGS = [(60, 40, 3, 1.0, 1.0), (30, 80, 2, 100.0, 10.0), (100, 20, 5, 0.1, 100.0)]


@pytest.mark.parametrize("m, n, d, C, C_shift", SETTINGS)
def test_three_optimisers_and_three_starts_reach_one_point(m, n, d, C, C_shift):
    L, y, T = shifted(m, n, d, seed=m)
    options = {"C": C, "C_shift": C_shift, "tol": 1e-10}
    model = fitted(L, y, T, **options)
    oracle = Joint(L, y, T, C, C_shift)
    assert model.objective_ == pytest.approx(oracle.value(parameters(model)), rel=1e-12)
    assert np.abs(oracle.gradient(parameters(model))).max() < 1e-8 * m
    assert model.certificate_.curvature == pytest.approx(
        np.linalg.eigvalsh(oracle.hessian(parameters(model)))[0], rel=1e-5, abs=1e-10
    )
    start = np.zeros(2 * d + 2)
    for method in ("L-BFGS-B", "trust-exact", "BFGS"):
        found = oracle.minimise(start, method)
        assert oracle.value(found) == pytest.approx(model.objective_, rel=1e-8)
    for solver in ("newton", "newton-cg"):
        for starts in (1, 4):
            again = fitted(L, y, T, **options, solver=solver, n_starts=starts)
            assert again.objective_ == pytest.approx(model.objective_, rel=1e-9)
            assert max(again.objectives_) - min(again.objectives_) < 1e-8 * again.objective_


def test_the_dual_system_takes_the_primal_newton_step():
    L, y, T = shifted(12, 9, 2)
    X, m, C, C_shift = np.vstack([L, T]), 12, 1.5, 0.8
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(K)
    R = vectors * np.sqrt(np.maximum(values, 0))
    alpha = 0.1 * np.random.default_rng(8).normal(size=m + len(X))
    step, _, _, both = dual_newton(K[:m, :m], K, y, m / len(T), C, C_shift, alpha)
    task = JointProblem(
        R, np.r_[y, np.zeros(len(T), dtype=int)], np.r_[np.ones(m), np.zeros(len(T))],
        np.ones(len(X)), m, 2, C, C_shift, m / len(T), fit_intercept=False, hessian="newton",
    )  # fmt: skip
    theta = np.r_[R[:m].T @ alpha[:m], R.T @ alpha[m:]]
    partial = task.loss.partial(next(iter(task.blocks)), theta)
    penalty = task.newton.penalty
    newton = -np.linalg.solve(
        partial.hessian + np.diag(penalty), partial.gradient + penalty * theta
    ).reshape(2, -1)
    moved = both @ step
    np.testing.assert_allclose(R[:m] @ newton[0], moved[:m], atol=1e-8)
    np.testing.assert_allclose(R @ newton[1], moved[m:], atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
def test_the_fixed_point_of_the_kernel_form(kernel):
    """α = S'⁻¹e, and its expansion is the decision function."""
    L, y, T = shifted(40, 30, 2)
    X, labels, domain = stack_domains(L, y, T)
    options = {"C": 2.0, "C_shift": 0.5, "gamma": 0.7, "fit_intercept": False, "tol": 1e-11}
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-0.7 * distance)
    if kernel == "laplacian":
        K = np.exp(-0.7 * np.abs(X[:, None] - X[None]).sum(axis=2))
    rows = K if kernel == "precomputed" else X
    model = MODEL(kernel=kernel, **options).fit(rows, labels, sample_domain=domain)
    u, t = model.decision_function(rows), model._scores(rows)[:, -1]
    p, q = 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(-t))
    r = model.weights_
    np.testing.assert_allclose(r, 40 / 30 * np.exp(-t[:40]), rtol=1e-9)
    loss = np.where(y == 1, np.logaddexp(0, -u[:40]), np.logaddexp(0, u[:40]))
    alpha_w = 2.0 * r * (y - p[:40])
    alpha_v = 0.5 * np.r_[r * loss + 1 - q[:40], -q[40:]]
    np.testing.assert_allclose(K[:, :40] @ alpha_w, u, atol=1e-6)
    np.testing.assert_allclose(K @ alpha_v, t, atol=1e-6)


def test_linear_kernel_wide_rows_sparse_rows_and_primal_agree():
    L, y, T = shifted(50, 30, 4)
    X, labels, domain = stack_domains(L, y, T)
    options = {"C": 3.0, "C_shift": 0.5, "tol": 1e-10}
    primal = fitted(L, y, T, **options)
    for model, rows in [
        (MODEL(kernel="precomputed", **options), X @ X.T),
        (MODEL(kernel="poly", degree=1, gamma=1.0, **options), X),
        (MODEL(**options), sparse.csr_matrix(X)),
        (MODEL(**options), sparse.csr_array(X)),
        (MODEL(solver="newton-cg", **options), X),
        (MODEL(solver="newton", **options), sparse.csr_array(X)),
        (MODEL(**options), X.astype(np.float32)),
    ]:
        model.fit(rows, labels, sample_domain=domain)
        slack = 1e-5 if rows.dtype == np.float32 else 1e-8
        assert model.objective_ == pytest.approx(primal.objective_, rel=slack)
        np.testing.assert_allclose(
            model.decision_function(rows), primal.decision_function(X), atol=max(1e-6, slack)
        )
        np.testing.assert_allclose(model.weights_, primal.weights_, rtol=max(1e-6, 2 * slack))


def test_more_columns_than_rows():
    L, y, T = shifted(25, 15, 90, delta=0.2)
    options = {"C": 3.0, "C_shift": 0.05, "tol": 1e-10}
    reduced = fitted(L, y, T, **options)
    plain = fitted(L, y, T, solver="newton", **options)
    assert reduced.coef_.shape == (1, 90)
    np.testing.assert_allclose(reduced.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(reduced.shift_coef_, plain.shift_coef_, atol=1e-7)


def test_features_are_the_kernel_where_they_are_exact():
    L, y, T = shifted(30, 20, 2)
    kernel = fitted(L, y, T, kernel="rbf", gamma=0.4, tol=1e-9)
    mapped = fitted(L, y, T, features=Nystroem(50, gamma=0.4, random_state=0), tol=1e-9)
    assert mapped.objective_ == pytest.approx(kernel.objective_, rel=1e-7)
    fresh = np.random.default_rng(9).normal(size=(10, 2))
    np.testing.assert_allclose(mapped.predict_proba(fresh), kernel.predict_proba(fresh), atol=1e-5)
    np.testing.assert_allclose(mapped.density_ratio(fresh), kernel.density_ratio(fresh), rtol=1e-4)


def test_two_classes_are_a_softmax_of_two_with_half_the_variance():
    """A softmax over two classes with variance s² is the binary model with 2 s²."""
    L, y, T = shifted(50, 30, 3)
    binary = fitted(L, y, T, C=2.0, tol=1e-10)
    task = JointProblem(
        np.vstack([L, T]), np.r_[y, np.zeros(30, dtype=int)], np.r_[np.ones(50), np.zeros(30)],
        np.ones(80), 50, 2, 1.0, 1.0, 50 / 30,
    )  # fmt: skip

    class TwoScores(JointProblem):
        @property
        def n_scores(self):
            return 2

    fields = {name: getattr(task, name) for name in task.__slots__}
    softmax = TwoScores(**fields)
    start = np.zeros((3, 4))
    answer = softmax.solve(tol=1e-10, max_iter=100, start=start)
    difference = answer.theta[1] - answer.theta[0]
    np.testing.assert_allclose(difference[:3], binary.coef_[0], atol=1e-6)
    np.testing.assert_allclose(difference[3], binary.intercept_[0], atol=1e-6)
    np.testing.assert_allclose(answer.theta[:2].sum(axis=0), 0, atol=1e-6)


def test_multiclass_reaches_a_stationary_point_of_the_loop():
    L, y, T = shifted(60, 30, 2, classes=3)
    model = fitted(L, y, T, C=2.0, tol=1e-9)
    X, source = np.vstack([L, T]), np.arange(90) < 60

    def value(theta):
        W = theta.reshape(4, 3)
        return objective(
            W[:3, :2], W[:3, 2], W[3, :2], W[3, 2], X, np.r_[y, np.zeros(30, dtype=int)],
            source, 2.0, 2.0, 1.0,
        )  # fmt: skip

    theta = np.vstack(
        [
            np.hstack([model.coef_, model.intercept_[:, None]]),
            np.r_[model.shift_coef_, model.shift_intercept_],
        ]
    ).ravel()
    assert model.objective_ == pytest.approx(value(theta), rel=1e-10)
    numeric = [(value(theta + 1e-5 * e) - value(theta - 1e-5 * e)) / 2e-5 for e in np.eye(12)]
    np.testing.assert_allclose(numeric, 0.0, atol=1e-5)
    assert model.certificate_.curvature > 0
    assert abs(model.intercept_.sum()) < 1e-12
