"""What must hold of the aligned machines whatever the data: identities, invariances, proofs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from alignment.shifted import GAMMA, gram, shifted
from oracles.alignment import solve_hinge, solve_squares
from shiftlearn import DAKSVC, LSDAKSVC, SVC, LMProjSVC

FORMS = ("coef", "rkhs")
TIGHT = {"gamma": GAMMA, "tol": 1e-9}


def centred(model, X):
    """f - b, which is unique where b may be an interval."""
    return model.decision_function(X) - model.intercept_


@pytest.mark.parametrize("form", FORMS)
def test_dual_value_is_primal_value(form):
    """½ wᵀMw + Σ c ξ at (w, b) of the model, w = Zᵀβ spelled out on the kernel matrix."""
    X, y, domain = shifted()
    model = DAKSVC(2.0, alignment=30.0, form=form, **TIGHT).fit(X, y, sample_domain=domain)
    K = gram(X, "rbf")
    beta = np.zeros(len(X))
    beta[model.support_] = model.beta_[0]
    f = K @ beta + model.intercept_[0]
    assert_allclose(f, model.decision_function(X), atol=1e-8)
    ridge = beta @ beta if form == "coef" else beta @ K @ beta
    mean, scatter = model.mean_term_[0], model.scatter_term_[0]
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    primal = 0.5 * ridge + 15.0 * (0.5 * mean + 0.5 * scatter)
    primal += 2.0 * (1 - signs * f[:30]).clip(0).sum()
    assert primal == pytest.approx(-model.certificate_.objective, rel=1e-6)
    means = [f[:30].mean() - f[30:].mean()]
    assert mean == pytest.approx(means[0] ** 2, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_stationarity_feasibility_and_complementarity(form):
    X, y, domain = shifted()
    C = 2.0
    model = DAKSVC(C, alignment=30.0, form=form, **TIGHT).fit(X, y, sample_domain=domain)
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    alpha = model.dual_coef_[0] * signs
    margin = signs * model.decision_function(X[:30])
    assert alpha.min() >= 0 and alpha.max() <= C * (1 + 1e-12)
    assert abs(model.dual_coef_[0].sum()) < 1e-8
    assert margin[alpha > 1e-9].max() <= 1 + 1e-6
    assert margin[alpha < C - 1e-9].min() >= 1 - 1e-6
    K = gram(X, "rbf")
    Z = K if form == "coef" else np.linalg.cholesky(K + 1e-13 * np.eye(len(K)))
    d = Z[:30].mean(axis=0) - Z[30:].mean(axis=0)
    e, U = np.linalg.eigh(Z[:30].T @ Z[:30] / 30 - Z[30:].T @ Z[30:] / 22)
    M = np.eye(len(K)) + 15.0 * (np.outer(d, d) + (U * np.abs(e)) @ U.T)
    w = np.linalg.solve(M, Z[:30].T @ model.dual_coef_[0])
    assert_allclose(Z @ w, centred(model, X), atol=1e-5)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
def test_the_papers_parameters_give_the_same_decisions(machine):
    X, y, domain = shifted()
    ours = machine(8.0, alignment=40.0, form="coef", sigma="paper", tol=1e-9)
    theirs = machine.from_paper(1 / 40, 0.2, lam=0.5, gamma=1.0, tol=1e-9)
    assert theirs.get_params() == ours.get_params()
    ours.fit(X, y, sample_domain=domain)
    assert ours.lam0_ == pytest.approx(1 / 40) and ours.C_paper_ == pytest.approx(0.2)


def test_binary_least_squares_is_the_difference_of_two_one_hot_scores():
    """Through the dual system of the paper, written out."""
    X, y, domain = shifted()
    model = LSDAKSVC(3.0, alignment=20.0, form="coef", **TIGHT).fit(X, y, sample_domain=domain)
    K = gram(X, "rbf")
    d = K[:, :30].mean(axis=1) - K[:, 30:].mean(axis=1)
    A = K[:, :30] @ K[:, :30].T / 30 - K[:, 30:] @ K[:, 30:].T / 22
    e, U = np.linalg.eigh(A)
    M = np.eye(len(K)) + 10.0 * (np.outer(d, d) + (U * np.abs(e)) @ U.T)
    pulled = np.linalg.solve(M, K[:, :30])
    system = np.zeros((31, 31))
    system[0, 1:] = system[1:, 0] = 1.0
    system[1:, 1:] = K[:, :30].T @ pulled + np.eye(30) / 3.0
    right = np.vstack([np.zeros((1, 2)), np.eye(2)[y[:30]]])
    answer = np.linalg.solve(system, right)
    scores = K @ (pulled @ answer[1:]) + answer[0]
    assert_allclose(scores.sum(axis=1), 1.0, atol=1e-10)
    assert_allclose(scores[:, 1] - scores[:, 0], model.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_scores_of_several_classes_sum_to_one(form):
    X, y, domain = shifted(classes=4)
    model = LSDAKSVC(3.0, alignment=20.0, form=form, **TIGHT).fit(X, y, sample_domain=domain)
    new = np.random.default_rng(5).normal(size=(40, 3)) * 3
    assert_allclose(model.decision_function(new).sum(axis=1), 1.0, atol=1e-8)
    assert model.intercept_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("form", FORMS)
def test_weight_two_is_the_row_twice_in_the_loss(form):
    """With the statistics held fixed: the plain problem lists the row twice in its loss only."""
    X, y, domain = shifted()
    weight = np.where(np.arange(len(X)) < 4, 2.0, 1.0)
    rows = np.concatenate([np.arange(4), np.arange(30)])
    options = {"C": 1.0, "alignment": 20.0, "form": form, **TIGHT}
    terms = {"balance": 0.5, "lam0": 1 / 20, "form": form}
    K, signs = gram(X, "rbf"), np.where(y[rows] == 1, 1.0, -1.0)
    hinge = solve_hinge(K, domain, rows, signs, np.full(34, 1 / 20), **terms)
    model = DAKSVC(**options).fit(X, y, sample_domain=domain, sample_weight=weight)
    assert -model.certificate_.objective == pytest.approx(20 * hinge.objective, rel=1e-6)
    assert_allclose(centred(model, X), hinge.scores, atol=1e-4)
    squares = solve_squares(K, domain, rows, signs[:, None], np.full(34, 1 / 20), **terms)
    model = LSDAKSVC(**options).fit(X, y, sample_domain=domain, sample_weight=weight)
    assert_allclose(centred(model, X), squares.scores[:, 0], atol=1e-6)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", FORMS)
def test_weights_in_the_statistics_are_copies_of_the_row(machine, kernel, form):
    X, y, domain = shifted()
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    options = {"alignment": 20.0, "form": form, "kernel": kernel, **TIGHT}
    heavy = machine(weighted_statistics=True, **options)
    heavy.fit(X, y, sample_domain=domain, sample_weight=weight)
    copies = machine(**options).fit(X[rows], y[rows], sample_domain=domain[rows])
    assert_allclose(centred(heavy, X), centred(copies, X), atol=1e-6)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
@pytest.mark.parametrize("form", FORMS)
def test_weights_in_the_statistics_mean_the_same_on_columns_and_on_kernels(machine, form):
    X, y, domain = shifted()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    options = {"alignment": 20.0, "form": form, "weighted_statistics": True, "tol": 1e-9}
    fit = {"sample_domain": domain, "sample_weight": weight}
    columns = machine(kernel="linear", **options).fit(X, y, **fit)
    for rank in (None, 3):
        kernel = machine(kernel="precomputed", rank=rank, **options).fit(X @ X.T, y, **fit)
        assert_allclose(centred(columns, X), centred(kernel, X @ X.T), atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), form=st.sampled_from(FORMS))
def test_order_of_rows_and_columns_changes_nothing(seed, form):
    X, y, domain = shifted(n=16, m=12, seed=seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    for machine in (DAKSVC, LSDAKSVC):
        options = {"alignment": 20.0, "form": form, **TIGHT}
        one = machine(**options).fit(X, y, sample_domain=domain)
        other = machine(**options).fit(X[rows][:, columns], y[rows], sample_domain=domain[rows])
        assert_allclose(centred(other, X[:, columns]), centred(one, X), atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_rotation_and_translation_change_nothing_for_the_gaussian_kernel(form):
    X, y, domain = shifted()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    moved = X @ turn + np.array([3.0, -2.0, 1.0])
    options = {"alignment": 20.0, "form": form, "sigma": 1.3, "tol": 1e-9}
    one = DAKSVC(**options).fit(X, y, sample_domain=domain)
    other = DAKSVC(**options).fit(moved, y, sample_domain=domain)
    assert_allclose(centred(other, moved), centred(one, X), atol=1e-5)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
def test_rotation_changes_nothing_for_the_linear_kernel_in_its_own_space(machine):
    X, y, domain = shifted()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    options = {"alignment": 20.0, "form": "rkhs", "kernel": "linear", "tol": 1e-9}
    one = machine(**options).fit(X, y, sample_domain=domain)
    other = machine(**options).fit(X @ turn, y, sample_domain=domain)
    assert_allclose(centred(other, X @ turn), centred(one, X), atol=1e-5)


def test_limits_are_lmproj_and_the_plain_machine():
    X, y, domain = shifted()
    options = {"alignment": 20.0, **TIGHT}
    ours = DAKSVC(4.0, balance=0.0, form="rkhs", **options).fit(X, y, sample_domain=domain)
    lmproj = LMProjSVC.from_paper(10.0, 4.0, **TIGHT).fit(X, y, sample_domain=domain)
    assert_allclose(centred(ours, X), centred(lmproj, X), atol=1e-7)
    plain = SVC(4.0, **TIGHT).fit(X, y, sample_domain=domain)
    zero = DAKSVC(4.0, form="rkhs", alignment=0.0, **TIGHT).fit(X, y, sample_domain=domain)
    assert_allclose(centred(zero, X), centred(plain, X), atol=1e-6)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", ["dense", "sparse"])
def test_target_labels_are_never_read(machine, form, rows):
    X, y, domain = shifted()
    other = y.copy()
    other[30:] = 1 - other[30:]
    X = sparse.csr_array(X) if rows == "sparse" else X
    fits = [machine(form=form).fit(X, labels, sample_domain=domain) for labels in (y, other)]
    np.testing.assert_array_equal(*(fit.decision_function(X) for fit in fits))


def test_class_mean_bias_is_the_papers_and_never_better():
    X, y, domain = shifted()
    kkt = DAKSVC(2.0, alignment=30.0, **TIGHT).fit(X, y, sample_domain=domain)
    mean = DAKSVC(2.0, alignment=30.0, bias="class_mean", **TIGHT).fit(X, y, sample_domain=domain)
    f = centred(mean, X[:30])
    assert mean.intercept_[0] == pytest.approx(
        -0.5 * (f[y[:30] == 1].mean() + f[y[:30] == 0].mean())
    )
    assert_allclose(f, centred(kkt, X[:30]), atol=1e-8)
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    losses = [(1 - signs * m.decision_function(X[:30])).clip(0).sum() for m in (kkt, mean)]
    assert losses[0] <= losses[1] + 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_pairs_of_classes_share_the_metric_of_all_rows(form):
    X, y, domain = shifted(n=45, classes=3)
    options = {"alignment": 20.0, "form": form, **TIGHT}
    model = DAKSVC(2.0, multi_class="ovo", **options).fit(X, y, sample_domain=domain)
    terms = {"balance": 0.5, "lam0": 1 / 20, "form": form}
    K = gram(X, "rbf")
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.flatnonzero(np.isin(y[:45], (i, j)))
        signs = np.where(y[rows] == model.classes_[i], 1.0, -1.0)
        best = solve_hinge(K, domain, rows, signs, np.full(len(rows), 2 / 20), **terms)
        proof = model.certificates_[k]
        assert -proof.objective == pytest.approx(20 * best.objective, rel=1e-6)


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
def test_labelled_target_rows_join_the_loss_at_their_own_cost(machine):
    X, y, domain = shifted()
    labels = np.array([*y[:30], *y[30:36], *[None] * 16], dtype=object)
    options = {"alignment": 20.0, "form": "coef", **TIGHT}
    model = machine(2.0, C_target=5.0, **options).fit(X, labels, sample_domain=domain)
    rows, signs = np.arange(36), np.where(y[:36] == 1, 1.0, -1.0)
    costs = np.where(rows < 30, 2.0, 5.0) / 20
    terms = {"balance": 0.5, "lam0": 1 / 20, "form": "coef"}
    K = gram(X, "rbf")
    if machine is DAKSVC:
        best = solve_hinge(K, domain, rows, signs, costs, **terms).scores
    else:
        best = solve_squares(K, domain, rows, signs[:, None], costs, **terms).scores[:, 0]
    assert_allclose(centred(model, X), best, atol=1e-4)
    assert model.labelled_.tolist() == rows.tolist()
