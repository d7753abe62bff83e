"""Known answers, limits, invariances and bad input of the joint classifier."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from covariate.joint_problems import fitted, shifted
from shiftlearn import (
    CovariateShiftLogisticRegression,
    DomainKFold,
    covariate_shift_path,
    stack_domains,
)
from shiftlearn.errors import NoOverlapWarning, NoTargetWarning, ScaleWarning

MODEL = CovariateShiftLogisticRegression


def coin(rng, n):
    return rng.integers(0, 2, n)


@pytest.mark.parametrize("m, n", [(4000, 1000), (1000, 4000)])
def test_ratio_of_two_normal_densities(m, n):
    """N(0,1) against N(1,1): ratio exp(x - 1/2), t = log(m/n) + 1/2 - x. Not n/m!"""
    rng = np.random.default_rng(0)
    L, T = rng.normal(size=(m, 1)), rng.normal(1.0, 1.0, size=(n, 1))
    # A tiny ω takes the label loss away: what is left is the domain model alone.
    X, y, domain = stack_domains(L, coin(rng, m), T)
    model = MODEL(C_shift=1e4).fit(X, y, sample_domain=domain, sample_weight=np.full(m + n, 1e-9))
    x = np.array([[-1.0], [0.0], [0.5], [1.0]])
    np.testing.assert_allclose(model.density_ratio(x), np.exp(x[:, 0] - 0.5), rtol=0.15)
    t = np.log(m / n) + 0.5 - x[:, 0]
    np.testing.assert_allclose(model.domain_proba(x), 1 / (1 + np.exp(-t)), atol=0.03)
    assert model.weights_.mean() == pytest.approx(1.0, abs=0.1)
    assert model.prior_odds_ == m / n


@pytest.mark.parametrize("m, n", [(200, 200), (300, 60)])
def test_identical_domains_have_equal_weights_near_one(m, n):
    rng = np.random.default_rng(1)
    T = rng.normal(size=(n, 2))
    L = np.tile(T, (m // n, 1))
    X, y, domain = stack_domains(L, coin(rng, m), T)
    model = MODEL(C_shift=1e-4).fit(X, y, sample_domain=domain, sample_weight=np.full(m + n, 1e-6))
    np.testing.assert_allclose(model.weights_, 1.0, atol=1e-3)
    # With the label loss in full the joint weights are shrunk alike, and stay equal.
    joint = MODEL(C_shift=1e-4).fit(X, y, sample_domain=domain)
    assert 0.2 < joint.weights_.mean() < 1.0
    np.testing.assert_allclose(joint.weights_normalized_, 1.0, atol=0.02)
    assert joint.effective_sample_size_ == pytest.approx(m, rel=1e-3)


def test_without_intercept_equal_domains_have_weights_m_over_n():
    rng = np.random.default_rng(2)
    T = rng.normal(size=(50, 2))
    L = np.tile(T, (4, 1))
    X, y, domain = stack_domains(L, coin(rng, 200), T)
    model = MODEL(C_shift=1e-6, fit_intercept=False)
    model.fit(X, y, sample_domain=domain, sample_weight=np.full(250, 1e-6))
    np.testing.assert_allclose(model.weights_, 4.0, atol=1e-2)


def test_disjoint_domains_have_no_weight_and_a_warning():
    """Sixty standard deviations apart: all weights below 1e-3, w near 0."""
    rng = np.random.default_rng(3)
    L, T = rng.normal(size=(100, 2)), rng.normal(size=(80, 2)) + np.array([60.0, 0.0])
    y = (L[:, 0] > 0).astype(int)
    with pytest.warns(NoOverlapWarning, match="hardly overlap"):
        model = fitted(L, y, T)
    assert model.weights_.max() < 1e-3
    assert np.abs(model.coef_).max() < 1e-2
    assert np.isfinite(model.weights_normalized_).all() and model.effective_sample_size_ >= 1
    far = MODEL(C_shift=1e6)
    X, labels, domain = stack_domains(L - 5000.0, y, T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        far.fit(X, labels, sample_domain=domain)
    assert np.isfinite(far.predict_proba(X)).all()
    assert np.isfinite(far.weights_normalized_).all()


def test_no_target_is_plain_logistic_regression():
    L, y, _ = shifted(200, 5, 3, classes=3)
    with pytest.warns(NoTargetWarning):
        model = MODEL(C=0.3, tol=1e-9).fit(L, y)
    plain = LogisticRegression(C=0.3, tol=1e-10, max_iter=1000).fit(L, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(L), plain.predict_proba(L), atol=1e-5)
    assert (model.weights_ == 1).all() and (model.density_ratio(L) == 1).all()
    assert model.certificate_.gap < 1e-6


def test_small_prior_on_v_is_weighted_logistic_regression():
    """C_shift → 0: one common weight is left, so that w is iid regression with C times it."""
    L, y, T = shifted(150, 100, 3)
    model = fitted(L, y, T, C=0.5, C_shift=1e-9, tol=1e-10)
    weight = model.weights_.mean()
    np.testing.assert_allclose(model.weights_, weight, rtol=1e-5)
    plain = LogisticRegression(C=0.5 * weight, tol=1e-10, max_iter=1000).fit(L, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)


def test_the_answer_is_below_every_start_and_intercepts_balance():
    L, y, T = shifted(80, 50, 3)
    model = fitted(L, y, T, C=10.0, n_starts=6, random_state=0, tol=1e-10)
    assert model.objective_ <= model.objective_start_
    assert len(model.objectives_) == 6 and model.objective_ == min(model.objectives_)
    q, p = model.domain_proba(np.vstack([L, T])), model.predict_proba(L)[:, 1]
    r = model.weights_
    loss = -np.log(np.where(y == 1, p, 1 - p))
    assert np.sum(r * loss + 1 - q[:80]) == pytest.approx(q[80:].sum(), abs=1e-6)
    assert np.sum(r * (y - p)) == pytest.approx(0.0, abs=1e-6)


def test_convexity_margin_says_when_every_row_block_is_convex():
    L, y, T = shifted(80, 50, 3)
    model = fitted(L, y, T, C=1.0)
    p, q, r = model.predict_proba(L)[np.arange(80), y], model.domain_proba(L), model.weights_
    c, a, h = r * p * (1 - p), r * (1 - p), -r * np.log(p) + q * (1 - q)
    smallest = np.linalg.eigvalsh(np.moveaxis(np.array([[c, a], [a, h]]), 2, 0))[:, 0]
    margins = 50 / 80 * q**2 - (1 / p - 1 - np.log(1 / p))
    assert model.convexity_margin_ == pytest.approx(margins.min())
    np.testing.assert_array_equal(smallest >= 0, margins >= 0)
    assert model.convexity_margin_ < 0 < model.certificate_.curvature


def test_weights_of_rows_mean_copies():
    """Sample and domain weights of 2 are a row entered twice; ρ counts the weights."""
    L, y, T = shifted(40, 30, 2)
    twice = np.r_[np.arange(40), np.arange(10)]
    copied = fitted(L[twice], y[twice], T, tol=1e-10)
    X, labels, domain = stack_domains(L, y, T)
    weights = np.r_[np.full(10, 2.0), np.ones(60)]
    model = MODEL(tol=1e-10).fit(
        X, labels, sample_domain=domain, sample_weight=weights, domain_weight=weights
    )
    assert model.prior_odds_ == 50 / 30
    assert model.objective_ == pytest.approx(copied.objective_, rel=1e-10)
    np.testing.assert_allclose(model.coef_, copied.coef_, atol=1e-7)


def test_class_weight_prior_odds_and_unlabelled_source_rows():
    L, y, T = shifted(60, 40, 2)
    X, labels, domain = stack_domains(L, y, T)
    weighted = MODEL(class_weight={0: 1.0, 1: 3.0}).fit(X, labels, sample_domain=domain)
    given_weights = np.where(labels == 1, 3.0, 1.0)
    plain = MODEL().fit(X, labels, sample_domain=domain, sample_weight=given_weights)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-8)
    assert MODEL(prior_odds=7.0).fit(X, labels, sample_domain=domain).prior_odds_ == 7.0
    some = labels.copy()
    some[:5] = None
    partly = MODEL(tol=1e-9).fit(X, some, sample_domain=domain)
    zero = MODEL(tol=1e-9).fit(
        X, labels, sample_domain=domain, sample_weight=np.r_[np.zeros(5), np.ones(95)]
    )
    assert len(partly.weights_) == 60
    np.testing.assert_allclose(partly.coef_, zero.coef_, atol=1e-9)


def test_several_sources_are_pooled_and_order_and_names_do_not_matter():
    L, y, T = shifted(60, 40, 2)
    model = fitted(L, y, T, tol=1e-10)
    X, labels, domain = stack_domains([L[:20], L[20:]], [y[:20], y[20:]], T)
    assert len(np.unique(domain[domain >= 0])) == 2
    pooled = MODEL(tol=1e-10).fit(X, labels, sample_domain=domain)
    np.testing.assert_allclose(pooled.coef_, model.coef_, atol=1e-8)
    order = np.random.default_rng(0).permutation(100)
    names = np.array(["no", "yes"])[np.r_[y, np.zeros(40, dtype=int)]]
    turned = MODEL(tol=1e-10).fit(X[order], names[order], sample_domain=domain[order])
    np.testing.assert_allclose(turned.coef_, model.coef_, atol=1e-8)
    assert turned.classes_.tolist() == ["no", "yes"]
    ours = {tuple(row): r for row, r in zip(L, model.weights_)}
    rows = X[order][domain[order] >= 0]
    np.testing.assert_allclose(turned.weights_, [ours[tuple(row)] for row in rows], rtol=1e-6)


def test_target_labels_are_never_read():
    L, y, T = shifted(60, 40, 2)
    X, domain = np.vstack([L, T]), np.r_[np.zeros(60), -np.ones(40)].astype(int)
    fits = [
        MODEL().fit(X, np.r_[y, other], sample_domain=domain).coef_
        for other in (np.zeros(40, dtype=int), np.ones(40, dtype=int), np.full(40, 9))
    ]
    assert (fits[0] == fits[1]).all() and (fits[0] == fits[2]).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_path_warm_start_and_single_fits_agree(kernel):
    L, y, T = shifted(50, 30, 2)
    X, labels, domain = stack_domains(L, y, T)
    base = MODEL(kernel=kernel, gamma=0.5, tol=1e-9)
    Cs, shifts = [10.0, 0.1], [0.1, 1.0]
    grid = covariate_shift_path(X, labels, Cs, shifts, estimator=base, sample_domain=domain)
    for i, C in enumerate(Cs):
        for j, C_shift in enumerate(shifts):
            alone = clone(base).set_params(C=C, C_shift=C_shift)
            alone.fit(X, labels, sample_domain=domain)
            assert grid[i][j].objective_ == pytest.approx(alone.objective_, rel=1e-9)
            np.testing.assert_allclose(
                grid[i][j].decision_function(X), alone.decision_function(X), atol=1e-5
            )
    again = clone(base).set_params(warm_start=True, C=10.0).fit(X, labels, sample_domain=domain)
    before = again.objective_
    again.fit(X, labels, sample_domain=domain)
    assert again.objective_ == pytest.approx(before, rel=1e-10)
    assert again.n_iter_ == 1 and again.objective_start_ == pytest.approx(before, rel=1e-9)


def test_saved_cloned_searched_routed():
    L, y, T = shifted(80, 40, 2)
    X, _, domain = stack_domains(L, y, T)
    model = fitted(L, y, T, kernel="rbf")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    truth = np.r_[y, (T[:, 0] > 0).astype(int)]
    search = GridSearchCV(MODEL(), {"C": [0.1, 1.0]}, cv=DomainKFold(2))
    search.fit(X, truth, sample_domain=domain, groups=domain)
    assert set(search.best_params_) == {"C"}


def test_callback_stops_and_keeps_the_state_so_far():
    L, y, T = shifted(80, 40, 2)
    seen = []
    with pytest.warns(UserWarning, match="stopped after"):
        model = fitted(L, y, T, C=100.0, callback=lambda event: seen.append(event) or len(seen) > 1)
    assert not model.certificate_.converged and model.objective_ <= model.objective_start_


BAD = [
    ({"C": 0.0}, "C must be"),
    ({"C_shift": -1.0}, "C_shift must be"),
    ({"prior_odds": 0.0}, "prior_odds must be"),
    ({"solver": "lbfgs"}, "solver must be"),
    ({"n_starts": 0}, "n_starts must be"),
    ({"n_starts": 1.5}, "n_starts must be"),
    ({"tol": 0.0}, "tol must be"),
    ({"kernel": "cosine"}, "kernel must be"),
    ({"features": "rff"}, "features must be"),
    ({"class_weight": {5: 1.0}}, "class_weight names"),
]


@pytest.mark.parametrize("options, message", BAD)
def test_bad_parameters(options, message):
    L, y, T = shifted(20, 10, 2)
    with pytest.raises(ValueError, match=message):
        fitted(L, y, T, **options)


def test_bad_data():
    L, y, T = shifted(20, 10, 2)
    X, labels, domain = stack_domains(L, y, T)
    holes = X.copy()
    holes[25, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        MODEL().fit(holes, labels, sample_domain=domain)
    with pytest.raises(ValueError, match="only one class"):
        MODEL().fit(X, np.where(domain >= 0, 1, 0), sample_domain=domain)
    with pytest.raises(ValueError, match="no source row"):
        MODEL().fit(X, labels, sample_domain=np.full(30, -1))
    with pytest.raises(ValueError, match="domain_weight is 0 on all 10 target"):
        MODEL().fit(X, labels, sample_domain=domain, domain_weight=np.r_[np.ones(20), np.zeros(10)])
    with pytest.raises(ValueError, match="at least one non-zero"):
        MODEL().fit(X, labels, sample_domain=domain, sample_weight=np.r_[np.zeros(20), np.ones(10)])
    with pytest.raises(ValueError, match="requires y"):
        MODEL().fit(X, None)
    model = MODEL().fit(X, labels, sample_domain=domain)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(holes, labels, sample_domain=domain)
    np.testing.assert_array_equal(model.coef_, before)  # a failed fit changes nothing


def test_one_target_row_warns_and_constant_columns_are_harmless():
    L, y, T = shifted(40, 1, 2)
    with pytest.warns(UserWarning, match="only 1 target row"):
        fitted(L, y, T)
    L, y, T = shifted(40, 20, 2)
    plain = fitted(L, y, T, tol=1e-10)
    wide = [np.hstack([rows, np.full((len(rows), 1), 3.0)]) for rows in (L, T)]
    constant = fitted(wide[0], y, wide[1], tol=1e-10)
    np.testing.assert_allclose(constant.coef_[0, :2], plain.coef_[0], atol=1e-6)
    assert abs(constant.coef_[0, 2]) < 1e-6 and abs(constant.shift_coef_[2]) < 1e-6


def test_badly_scaled_columns_are_named():
    L, y, T = shifted(40, 20, 2)
    with pytest.warns(ScaleWarning, match="factor of"):
        fitted(L * [1.0, 1e5], y, T * [1.0, 1e5], C=1e-6, C_shift=1e-9)


def test_indefinite_kernel_and_a_factor_cut_by_memory_say_so():
    L, y, T = shifted(150, 100, 3)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = fitted(L, y, T, kernel="sigmoid", gamma=0.7)
    assert model.certificate_.converged
    X, labels, domain = stack_domains(L, y, T)
    K = X @ X.T - 3.0 * np.eye(250)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        MODEL(kernel="precomputed").fit(K, labels, sample_domain=domain)
    with pytest.warns(UserWarning, match="stopped by memory_limit at rank 20"):
        short = fitted(L, y, T, kernel="rbf", gamma=5.0, memory_limit=20 * 8 * 250)
    assert short.kernel_residual_ > 0.1 and short.certificate_.converged


def test_sparse_rows_are_never_made_dense(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("densified")

    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 5000), density=0.01, rng=rng, format="csr")
    y = coin(rng, 400)
    domain = np.r_[np.zeros(250), -np.ones(150)].astype(int)
    for kind in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(kind, "toarray", refuse)
    model = MODEL(C_shift=0.1).fit(X, y, sample_domain=domain)
    assert model.certificate_.converged and model.certificate_.curvature > 0


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(2, 12), n=st.integers(2, 12), d=st.integers(1, 4),
    log_C=st.floats(-3, 3), log_shift=st.floats(-3, 3), seed=st.integers(0, 1000),
)  # fmt: skip
def test_small_problems_of_any_shape_end_at_second_order_points(m, n, d, log_C, log_shift, seed):
    rng = np.random.default_rng(seed)
    L, T = rng.normal(size=(m, d)), rng.normal(size=(n, d)) + rng.normal(size=d)
    y = np.r_[0, 1, coin(rng, m - 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoOverlapWarning)
        model = fitted(L, y, T, C=10**log_C, C_shift=10**log_shift)
    assert model.certificate_.converged
    assert model.certificate_.curvature > -1e-6 * m
    assert model.objective_ <= model.objective_start_ * (1 + 1e-12)
    assert np.isfinite(model.predict_proba(T)).all()
