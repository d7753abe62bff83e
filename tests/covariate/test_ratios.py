"""Ratio estimators: their formulas by loops, the ratio of two normals, limits, bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from oracles import ratios as oracle
from shiftlearn import (
    KDERatio,
    KernelMeanMatching,
    KLIEPRatio,
    LogisticRatio,
    Nystroem,
    SelectionBiasRatio,
    ULSIFRatio,
)
from shiftlearn.errors import NoOverlapWarning

SEEDED = {"random_state": 0}
POINTWISE = [LogisticRatio(), KDERatio(), ULSIFRatio(**SEEDED), KLIEPRatio(**SEEDED)]
ALL = [*POINTWISE, SelectionBiasRatio(), KernelMeanMatching()]
names = lambda estimator: type(estimator).__name__  # noqa: E731


def samples(m=90, n=60, d=2, by=0.7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(by, 1, size=(n, d))


@pytest.mark.parametrize("m, n", [(3000, 1000), (1000, 3000)])
@pytest.mark.parametrize("ratio", POINTWISE, ids=names)
def test_the_ratio_of_two_normals_goes_the_right_way_round(ratio, m, n):
    Xs, Xt = samples(m, n, 1, 1.0)
    fitted = clone(ratio).fit(Xs, Xt)
    at = np.array([[-0.5], [0.5], [1.5]])
    truth = np.exp(at[:, 0] - 0.5)
    near = 0.25 if isinstance(ratio, LogisticRatio | KDERatio) else 0.6
    assert np.exp(fitted.log_weights(at)) == pytest.approx(truth, rel=near)
    assert fitted.weights_.mean() == pytest.approx(1.0, abs=0.2)
    assert fitted.weights(Xs) == pytest.approx(fitted.weights_, rel=1e-9, abs=1e-12)


def test_the_domain_model_has_the_true_log_odds():
    Xs, Xt = samples(40_000, 10_000, 1, 1.0)
    fitted = LogisticRatio(C=100.0).fit(Xs, Xt)
    assert fitted.coef_ == pytest.approx([-1.0], abs=0.05)
    assert fitted.intercept_ == pytest.approx(np.log(4) + 0.5, abs=0.05)
    assert fitted.domain_scores([[0.5]]) == pytest.approx([np.log(4)], abs=0.05)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_logistic_ratios_are_the_optimum_of_the_definition(C):
    Xs, Xt = samples()
    v, v0 = oracle.logistic_domain_model(Xs, Xt, C)
    t = Xs @ v + v0
    fitted = LogisticRatio(C).fit(Xs, Xt)
    assert fitted.coef_ == pytest.approx(v, abs=1e-4)
    assert fitted.weights_ == pytest.approx(90 / 60 * np.exp(-t), rel=1e-4)
    assert LogisticRatio(C, prior_odds=2.0).fit(Xs, Xt).weights_ == pytest.approx(
        2 * np.exp(-t), rel=1e-4
    )
    inverse = 1 + np.exp(-t)
    chosen = SelectionBiasRatio(C).fit(Xs, Xt)
    assert chosen.weights_ == pytest.approx(inverse / inverse.mean(), rel=1e-4)
    assert chosen.weights(Xt) == pytest.approx(
        (1 + np.exp(-Xt @ v - v0)) / inverse.mean(), rel=1e-4
    )


def test_without_an_intercept_unequal_counts_bias_the_weights():
    X = np.random.default_rng(0).normal(size=(300, 2))
    fitted = LogisticRatio(fit_intercept=False).fit(X, X[:100])
    assert fitted.intercept_ == 0.0
    assert np.median(fitted.weights_) == pytest.approx(3.0, rel=0.1)


def test_clipped_weights_and_features():
    Xs, Xt = samples(500, 400, 1, 1.5)
    assert LogisticRatio(clip_weights=2.0).fit(Xs, Xt).weights_.max() == pytest.approx(2.0)
    narrow = np.random.default_rng(1).normal(0, 0.3, size=(400, 1))
    features = Nystroem(20, gamma=1.0, random_state=0)
    curved = LogisticRatio(C=10.0, features=features).fit(Xs, narrow)
    low, middle = curved.weights([[-2.0], [0.0]])
    assert low < 0.1 and middle > 2


def test_kernel_densities_are_the_loops():
    Xs, Xt = samples()
    fitted = KDERatio().fit(Xs, Xt)
    for x, w in zip(Xs[:10], fitted.weights_):
        truth = oracle.kernel_density(x, Xt) / oracle.kernel_density(x, Xs)
        assert w == pytest.approx(truth, rel=1e-10)


def test_kernel_densities_leave_constant_columns_out():
    Xs, Xt = samples()
    wide = [np.column_stack([np.full(len(X), 5.0), X]) for X in (Xs, Xt)]
    fitted = KDERatio().fit(*wide)
    assert fitted.columns_.tolist() == [1, 2]
    assert fitted.weights_ == pytest.approx(KDERatio().fit(Xs, Xt).weights_)
    assert np.all(KDERatio().fit(np.ones((5, 1)), np.ones((4, 1))).weights_ == 1.0)


def test_kernel_densities_warn_of_many_columns():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="11 columns are unreliable"):
        KDERatio(3.0).fit(rng.normal(size=(30, 11)), rng.normal(size=(30, 11)))


@pytest.mark.parametrize("relative", [0.0, 0.3])
def test_least_squares_are_the_sums(relative):
    Xs, Xt = samples()
    fitted = ULSIFRatio(0.5, 0.1, relative=relative, n_centers=20, random_state=0).fit(Xs, Xt)
    alpha = oracle.least_squares(Xs, Xt, fitted.centers_, 0.5, 0.1, relative)
    assert fitted.coef_ == pytest.approx(alpha, rel=1e-8)
    assert fitted.weights_ == pytest.approx(oracle.basis(Xs, fitted.centers_, 0.5) @ alpha)
    if relative:
        assert fitted.weights_.max() < 1.3 / relative


def test_least_squares_chooses_by_the_held_out_criterion():
    Xs, Xt = samples(300, 300, 1)
    fitted = ULSIFRatio(random_state=0).fit(Xs, Xt)
    best = np.unravel_index(fitted.cv_scores_.argmin(), fitted.cv_scores_.shape)
    given = ULSIFRatio(fitted.gamma_, fitted.penalty_, random_state=0).fit(Xs, Xt)
    assert fitted.penalty_ == pytest.approx(10.0 ** (best[1] - 3))
    assert given.coef_ == pytest.approx(fitted.coef_)


@pytest.mark.parametrize("gamma", [0.2, 2.0])
def test_kullback_leibler_reaches_the_maximum(gamma):
    Xs, Xt = samples()
    fitted = KLIEPRatio(gamma, n_centers=20, tol=1e-6, random_state=0).fit(Xs, Xt)
    best = oracle.kullback_leibler(Xs, Xt, fitted.centers_, gamma)
    reached = fitted.log_weights(Xt).mean()
    assert fitted.certificate_.converged
    assert best - fitted.certificate_.gap - 1e-7 <= reached <= best + 1e-6
    assert fitted.weights_.mean() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("ratio", ALL, ids=names)
def test_identical_domains_have_weights_near_one(ratio):
    X = np.random.default_rng(0).normal(size=(500, 2))
    fitted = clone(ratio)
    if isinstance(ratio, KernelMeanMatching):
        fitted.set_params(eps=0.0, B=1.5)  # its weights are not unique
    fitted.fit(X, X)
    assert fitted.weights_.mean() == pytest.approx(1.0, abs=0.05)
    if not isinstance(ratio, KernelMeanMatching):
        assert fitted.effective_sample_size_ > 450


@pytest.mark.parametrize("ratio", [*POINTWISE, KernelMeanMatching(gamma=0.5, eps=1.0)], ids=names)
def test_disjoint_domains_have_no_weight_and_warn(ratio):
    Xs, Xt = samples(by=60.0)
    with pytest.warns(NoOverlapWarning, match="say little about the target"):
        fitted = clone(ratio).fit(Xs, Xt)
    assert np.all(fitted.weights_ < 1e-3)
    assert fitted.verdict_.startswith("useless")


def test_selection_bias_never_discards():
    Xs, Xt = samples(by=60.0)
    fitted = SelectionBiasRatio().fit(Xs, Xt)
    assert fitted.weights_ == pytest.approx(np.ones(len(Xs)), abs=1e-2)


def test_a_single_heavy_row_is_announced():
    Xs = np.r_[np.zeros((199, 1)), [[6.0]]] + 1e-3 * np.arange(200)[:, None]
    with pytest.warns(NoOverlapWarning, match=r"200 source rows are worth only 1\.\d"):
        fitted = LogisticRatio(C=10.0).fit(Xs, np.full((2000, 1), 6.0))
    assert fitted.effective_sample_size_ < 4


@pytest.mark.parametrize("ratio", ALL, ids=names)
def test_sparse_frames_lists_and_integers_are_the_same_rows(ratio):
    Xs, Xt = (np.round(3 * X) for X in samples())
    base = clone(ratio).fit(Xs, Xt).weights_
    frames = pd.DataFrame(Xs, columns=["a", "b"]), pd.DataFrame(Xt[:, ::-1], columns=["b", "a"])
    for left, right in [
        (sparse.csr_matrix(Xs), Xt),
        frames,
        (Xs.tolist(), Xt.astype(int)),
        (np.asfortranarray(Xs), Xt[::1]),
    ]:
        fitted = clone(ratio).fit(left, right)
        assert fitted.weights_ == pytest.approx(base, rel=1e-4, abs=1e-4)
    assert clone(ratio).fit(*frames).feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("ratio", ALL, ids=names)
def test_constant_columns_change_nothing(ratio):
    Xs, Xt = samples()
    wide = [np.column_stack([X, np.full(len(X), 2.0)]) for X in (Xs, Xt)]
    plain = clone(ratio)
    if isinstance(ratio, KernelMeanMatching):
        plain.set_params(gamma=0.5)
    assert clone(plain).fit(*wide).weights_ == pytest.approx(
        clone(plain).fit(Xs, Xt).weights_, rel=1e-3, abs=1e-3
    )


@pytest.mark.parametrize("ratio", ALL, ids=names)
def test_parameters_copies_and_files(ratio):
    Xs, Xt = samples()
    fitted = clone(ratio).fit(Xs, Xt)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.weights_, fitted.weights_)
    assert repr(clone(fitted)) == repr(ratio)
    assert fitted.weights_normalized_.mean() == pytest.approx(1.0)
    assert 1 <= fitted.effective_sample_size_ <= len(Xs)


@pytest.mark.parametrize("ratio", ALL, ids=names)
@pytest.mark.parametrize(
    "left, right, message",
    [
        ([[0.0], [np.nan]], [[0.0], [1.0]], "X_source contains NaN"),
        ([[0.0], [1.0]], [[0.0], [np.inf]], "X_target contains infinity"),
        ([[0.0], [1.0]], None, "X_target is None"),
        ([[0.0], [1.0]], np.empty((0, 1)), "X_target has no rows"),
        (np.empty((0, 1)), [[0.0], [1.0]], "X_source has no rows"),
        ([[0.0], [1.0]], [[0.0, 1.0]] * 2, "the same columns"),
        ([0.0, 1.0], [[0.0], [1.0]], "Expected 2D array"),
    ],
)
def test_bad_samples(ratio, left, right, message):
    fitted = clone(ratio)
    with pytest.raises(ValueError, match=message):
        fitted.fit(left, right)
    assert not hasattr(fitted, "n_features_in_")


@pytest.mark.parametrize(
    "ratio, message",
    [
        (LogisticRatio(0.0), "C must be"),
        (LogisticRatio(prior_odds=-1.0), "prior_odds must be"),
        (LogisticRatio(clip_weights=0.0), "clip_weights must be"),
        (SelectionBiasRatio(C="1"), "C must be"),
        (KDERatio(0.0), "bandwidth_scale must be"),
        (ULSIFRatio(relative=1.0), "relative must lie in"),
        (ULSIFRatio(penalty=-1.0), "penalty must be"),
        (ULSIFRatio(cv=1), "cv must be"),
        (KLIEPRatio(n_centers=0), "n_centers must be"),
        (KLIEPRatio(gamma=-1.0), "gamma must be"),
        (KLIEPRatio(tol=0), "tol must be"),
    ],
)
def test_wrong_parameters(ratio, message):
    with pytest.raises(ValueError, match=message):
        ratio.fit(*samples())


def test_a_failed_fit_leaves_the_former_one():
    Xs, Xt = samples()
    fitted = LogisticRatio().fit(Xs, Xt)
    before = fitted.weights_
    with pytest.raises(ValueError, match="no rows"):
        fitted.fit(Xs, Xt[:0])
    assert fitted.weights_ is before


def test_prediction_rows_are_checked():
    fitted = LogisticRatio().fit(*samples())
    with pytest.raises(ValueError, match="3 features"):
        fitted.weights(np.zeros((1, 3)))


def test_one_row_of_each_domain():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoOverlapWarning)
        for ratio in (LogisticRatio(), SelectionBiasRatio(), KernelMeanMatching()):
            assert clone(ratio).fit([[0.0]], [[1.0]]).weights_.shape == (1,)
        assert KLIEPRatio(gamma=1.0).fit([[0.0]], [[1.0]]).weights_ == pytest.approx([1.0])
    with pytest.raises(ValueError, match="needs at least 2"):
        KDERatio().fit([[0.0]], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="Cross-validation needs at least 2"):
        ULSIFRatio().fit([[0.0]], [[1.0]])
