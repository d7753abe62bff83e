"""DAKSVC and LSDAKSVC against the printed problems solved plainly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from alignment.shifted import GAMMA, gram, shifted
from oracles.alignment import omega, solve_hinge, solve_squares
from shiftlearn import DAKSVC, LSDAKSVC, Nystroem

CASES = [
    (form, balance, kernel, mu, C)
    for form in ("coef", "rkhs")
    for balance in (0.0, 0.4, 1.0)
    for kernel in ("rbf", "linear")
    for mu, C in ((10.0, 1.0), (1e3, 10.0))
]


def fitted(machine, case, X, y, domain, **options):
    form, balance, kernel, mu, C = case
    model = machine(
        C=C, alignment=mu, balance=balance, form=form, kernel=kernel, gamma=GAMMA, **options
    )
    return model.fit(X, y, sample_domain=domain)


def terms(case, **options):
    form, balance, _, mu, _ = case
    return {"balance": balance, "lam0": 1 / mu, "form": form, **options}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("centered", [False, True])
def test_hinge_machine_solves_the_printed_problem(case, centered):
    X, y, domain = shifted()
    mu, C = case[3:]
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    best = solve_hinge(
        gram(X, case[2]), domain, np.arange(30), signs, np.full(30, C / mu),
        **terms(case, centered=centered),
    )  # fmt: skip
    model = fitted(DAKSVC, case, X, y, domain, centered=centered, tol=1e-8)
    assert -model.certificate_.objective == pytest.approx(mu * best.objective, rel=1e-6)
    assert_allclose(model.decision_function(X) - model.intercept_, best.scores, atol=1e-4)
    assert model.certificate_.converged and model.certificate_.relative_gap < 1e-6


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("classes", [2, 4])
def test_squared_machine_solves_the_printed_system(case, classes):
    X, y, domain = shifted(classes=classes)
    mu, C = case[3:]
    Y = np.eye(classes)[y[:30]] if classes > 2 else np.where(y[:30, None] == 1, 1.0, -1.0)
    best = solve_squares(
        gram(X, case[2]), domain, np.arange(30), Y, np.full(30, C / mu), **terms(case)
    )
    model = fitted(LSDAKSVC, case, X, y, domain)
    assert model.certificate_.objective == pytest.approx(mu * best.objective, rel=1e-6)
    values = model.decision_function(X).reshape(len(X), -1)
    assert_allclose(values - model.intercept_, best.scores, atol=1e-6)
    assert_allclose(model.intercept_, best.bias, atol=1e-6)


@pytest.mark.parametrize("form", ["coef", "rkhs"])
@pytest.mark.parametrize("sources", ["separate", "pooled"])
def test_several_sources(form, sources):
    X, y, domain = shifted()
    domain = domain.copy()
    domain[18:30] = 2
    case = (form, 0.4, "rbf", 30.0, 3.0)
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    best = solve_hinge(
        gram(X, "rbf"), domain, np.arange(30), signs, np.full(30, 0.1),
        **terms(case, sources=sources),
    )  # fmt: skip
    for rank in (None, 52):
        model = fitted(DAKSVC, case, X, y, domain, sources=sources, tol=1e-8, rank=rank)
        assert -model.certificate_.objective == pytest.approx(30 * best.objective, rel=1e-6)
        assert_allclose(model.decision_function(X) - model.intercept_, best.scores, atol=1e-4)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
@pytest.mark.parametrize("form", ["coef", "rkhs"])
@pytest.mark.parametrize("balance", [0.0, 0.5])
def test_all_roads_lead_to_the_same_function(machine, form, balance):
    """Dense and sparse columns, many columns, a precomputed kernel, low rank with all pairs."""
    X, y, domain = shifted(columns=3)
    case = (form, balance, "linear", 50.0, 2.0)
    tight = {"tol": 1e-9}
    reference = fitted(machine, case, X, y, domain, **tight)
    values = reference.decision_function(X)

    def same(model, rows):
        assert_allclose(model.decision_function(rows), values, atol=2e-6)
        assert_allclose(model.mean_term_, reference.mean_term_, rtol=1e-4, atol=1e-9)
        if balance:
            assert_allclose(model.scatter_term_, reference.scatter_term_, rtol=1e-4, atol=1e-9)

    rows = sparse.csr_array(X)
    same(fitted(machine, case, rows, y, domain, **tight), rows)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(70, 3)))[0].T
    wide = X @ turn
    same(fitted(machine, case, wide, y, domain, **tight), wide)
    same(fitted(machine, case, wide, y, domain, rank=3, **tight), wide)
    K = X @ X.T
    model = machine(C=2, alignment=50, balance=balance, form=form, kernel="precomputed", **tight)
    same(model.fit(K, y, sample_domain=domain), K)
    assert_allclose(model.decision_function(K[:, model.support_]), values, atol=2e-6)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
@pytest.mark.parametrize("form", ["coef", "rkhs"])
def test_kernel_form_and_feature_form_coincide(machine, form):
    """On a feature map that is exact (all rows are landmarks)."""
    X, y, domain = shifted()
    case = (form, 0.5, "rbf", 20.0, 2.0)
    exact = fitted(machine, case, X, y, domain, tol=1e-9).decision_function(X)
    features = Nystroem(52, gamma=GAMMA, threshold=1e-13, random_state=0)
    explicit = fitted(machine, case, X, y, domain, tol=1e-9, features=features)
    assert_allclose(explicit.decision_function(X), exact, atol=1e-5)
    assert explicit.coef_.shape == (1, explicit.features_.normalization_.shape[1])


def test_truncated_spectrum_says_what_it_hides():
    X, y, domain = shifted()
    case = ("rkhs", 0.5, "rbf", 100.0, 10.0)
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    best = solve_hinge(
        gram(X, "rbf"), domain, np.arange(30), signs, np.full(30, 0.1), **terms(case)
    )
    gaps = []
    for rank in (3, 10, 25):
        model = fitted(DAKSVC, case, X, y, domain, rank=rank, tol=1e-8)
        off = abs(-model.certificate_.objective - 100 * best.objective)
        assert 1e-8 < off <= model.certificate_.gap
        gaps.append(model.certificate_.gap)
    assert gaps == sorted(gaps, reverse=True)


def test_the_two_forms_share_the_scatter_term_only_where_it_is_semidefinite():
    """Δ₊ Λ Δ₋ = 0 and nothing less."""
    X, _, domain = shifted()
    K = gram(X, "rbf")
    Z, M = omega(K, domain, 1.0, 1e-12, "rkhs")
    _, coef = omega(K, domain, 1.0, 1e-12, "coef")
    assert np.linalg.norm(Z @ M @ Z.T - coef) > 0.05 * np.linalg.norm(coef)
    shrunk = np.vstack([X[:30], 0.2 * X[:22]])
    K = shrunk @ shrunk.T
    Z, M = omega(K, domain, 1.0, 1e-12, "rkhs")
    _, coef = omega(K, domain, 1.0, 1e-12, "coef")
    assert_allclose(Z @ M @ Z.T, coef, rtol=1e-6, atol=1e-9)
