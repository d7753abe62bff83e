"""The options of the second step, and the cases at the edge: one test each."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from oneclass.problems import KERNELS, fit, parameters, rows
from shiftlearn import Nystroem, RandomFourier, UncertainOneClassTransferSVM, stack_domains
from shiftlearn.oneclass.bounds import mean_neighbour_distance

BASE = {"gamma": 0.3, "n_neighbors": 2}


def own_scores(model, X, domain):
    return model.score_samples(X, sample_domain=domain)


# -- the four options --------------------------------------------------------------------------


def test_observed_offsets_are_quantiles_of_the_observed_scores():
    X, domain = rows()
    model = fit(X, domain, C=[0.23, 0.31, 0.4], offset="observed", **BASE)
    printed = fit(X, domain, C=[0.23, 0.31, 0.4], offset="corrected", **BASE)
    for task, (label, rank) in enumerate(((0, 5), (1, 4), (-1, 3))):  # the smallest m >= 1 / C
        own = domain == label
        observed = np.sort(own_scores(model, X[own], domain[own]))
        corrected = np.sort(own_scores(model, (X + model.displacements_)[own], domain[own]))
        assert model.offsets_[task] == pytest.approx(observed[rank - 1], rel=1e-6)
        assert printed.offsets_[task] == pytest.approx(corrected[rank - 1], rel=1e-6)
    assert printed.objective_history_ == model.objective_history_  # only ρ differs


def test_whole_numbers_of_costs_give_an_interval():
    X, domain = rows((14, 8))
    model = fit(X, domain, C=0.25, C_source=0.2, uncertainty=None, offset="observed", gamma=0.3)
    for task, (label, m) in enumerate(((0, 5), (-1, 4))):
        own = domain == label
        ends = np.sort(own_scores(model, X[own], domain[own]))[m - 1 : m + 1]
        np.testing.assert_allclose(model.offset_intervals_[task], ends, rtol=1e-6)
        assert model.offsets_[task] == pytest.approx(ends.mean(), rel=1e-6)


def test_scale_multiplies_every_bound():
    X, domain = rows()
    given = np.linspace(0.1, 0.5, len(X))
    model = fit(X, domain, uncertainty=given, delta_scale=0.5, gamma=0.3)
    np.testing.assert_allclose(model.bound_scores_, 0.5 * given)
    lengths = np.linalg.norm(model.displacements_, axis=1)
    np.testing.assert_allclose(lengths, 0.5 * given, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_slack_moves_only_rows_with_slack(kernel):
    X, domain = rows()
    options = {**parameters(KERNELS[kernel]), "n_neighbors": 2, "C": [0.2, 0.25, 0.3]}
    first = fit(X, domain, max_rounds=1, offset="corrected", **options)
    h, rho = own_scores(first, X, domain), first.offsets_[np.where(domain < 0, 2, domain)]
    slack = rho - h > 1e-6 * np.abs(rho)
    second = fit(X, domain, max_rounds=2, update="slack", **options)
    np.testing.assert_array_equal(second.displacements_.any(axis=1), slack)
    assert 0 < slack.sum() < len(X)


def test_slack_under_a_hard_margin_moves_nothing_at_first():
    X, domain = rows()
    model = fit(X, domain, C=1.0, C_source=1.0, update="slack", max_rounds=2, **BASE)
    assert not model.displacements_.any()


def test_minimal_moves_no_further_than_the_offset_for_a_linear_kernel():
    X, domain = rows()
    options = {"kernel": "linear", "n_neighbors": 2, "C": [0.2, 0.25, 0.3]}
    first = fit(X, domain, max_rounds=1, offset="corrected", **options)
    rho = first.offsets_[np.where(domain < 0, 2, domain)]
    second = fit(X, domain, max_rounds=2, update="minimal", **options)
    moved = X + second.displacements_
    lengths, bounds = np.linalg.norm(second.displacements_, axis=1), second.bound_scores_
    assert (lengths <= bounds * (1 + 1e-9)).all()
    short = (lengths > 0) & (lengths < bounds * (1 - 1e-9))
    assert short.any()
    # a row that stopped short of its bound stands on the offset of the model that moved it
    np.testing.assert_allclose(own_scores(first, moved, domain)[short], rho[short], rtol=1e-6)


@pytest.mark.parametrize("form", ["dense", "wide", "linear", "sparse", "features"])
def test_with_the_safeguard_the_objective_never_rises(form):
    """Large bounds against a narrow kernel: the plain rule oscillates there."""
    X, domain = rows(
        d=30 if form == "wide" else 3, sizes=(9, 7, 6) if form == "wide" else (14, 11, 8)
    )
    options = {"gamma": 1.0, "uncertainty": 2.0, "C": 0.4}
    if form == "wide":
        options |= {"gamma": 0.02, "uncertainty": 4.0}
    if form == "linear":
        options |= {"kernel": "linear"}
    if form == "features":
        options |= {"features": RandomFourier(60, gamma=1.0, random_state=0)}
    place = sparse.csr_array if form == "sparse" else np.asarray
    safe = fit(place(X), domain, safeguard=True, max_rounds=12, **options)
    steps = np.diff(safe.objective_history_)
    assert safe.n_rounds_ > 2
    assert steps.max() <= 1e-7 * abs(safe.objective_history_[-1])
    plain = fit(place(X), domain, max_rounds=12, **options)
    if form == "dense":
        assert np.diff(plain.objective_history_).max() > 1e-3 * abs(plain.objective_history_[-1])


def test_linear_alternation_descends_without_a_safeguard():
    X, domain = rows()
    model = fit(X, domain, kernel="linear", C=0.3, n_neighbors=3, max_rounds=15)
    assert np.diff(model.objective_history_).max() <= 1e-9


# -- when it stops -------------------------------------------------------------------------------


def test_rounds_stop_by_the_share_of_the_objective():
    X, domain = rows()
    for tolerance in (0.3, 0.1, 1e-3):
        F = fit(X, domain, C=0.4, round_tol=tolerance, **BASE).objective_history_
        shares = np.abs(np.diff(F)) / np.maximum(np.abs(F[1:]), np.abs(F[:-1]))
        assert shares[-1] <= tolerance
        assert (shares[:-1] > tolerance).all()
    assert fit(X, domain, round_tol=np.inf, **BASE).n_rounds_ == 2
    assert fit(X, domain, max_rounds=1, **BASE).n_rounds_ == 1


def test_rounds_that_do_not_settle_warn():
    X, domain = rows()
    model = UncertainOneClassTransferSVM(
        C=0.4, gamma=1.0, uncertainty=2.0, round_tol=0.0, max_rounds=4
    )
    with pytest.warns(ConvergenceWarning, match="did not settle in 4 rounds.*safeguard"):
        model.fit(X, sample_domain=domain)
    assert model.n_rounds_ == 4


def test_a_solve_that_is_cut_short_ends_the_rounds():
    X, domain = rows((200, 150))
    model = UncertainOneClassTransferSVM(max_iter=3, gamma=0.3, nu=0.3, nu_source=0.3)
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        model.fit(X, sample_domain=domain)
    assert model.n_rounds_ == 1
    assert not model.certificate_.converged
    assert model.certificate_.gap > 0


# -- edge cases ------------------------------------------------------------------------------------


def test_a_source_without_weight_is_dropped_with_a_warning():
    X, domain = rows()
    weights = np.where(domain == 1, 0.0, 1.0)
    model = UncertainOneClassTransferSVM(C={0: 0.2, 1: 0.3, -1: 0.4}, reg="mean", gamma=0.3)
    with pytest.warns(UserWarning, match=r"source tasks \[1\] .* left out"):
        model.fit(X, sample_domain=domain, sample_weight=weights)
    assert model.tasks_.tolist() == [0, -1]
    np.testing.assert_allclose(model.reg_, [0.1, 0.2])  # K counts the two that remain
    assert not model.displacements_[domain == 1].any()


def test_an_empty_target_is_an_error():
    X, domain = rows((5, 4))
    model = UncertainOneClassTransferSVM()
    with pytest.raises(ValueError, match=r"no target row.*sources \[0, 1\]"):
        model.fit(X, sample_domain=np.abs(domain))
    with pytest.raises(ValueError, match="sample_weight is 0 on all rows of the target task -1"):
        model.fit(X, sample_domain=domain, sample_weight=np.where(domain < 0, 0.0, 1.0))


@pytest.mark.parametrize("offset", ["auto", "left-out", "observed", "corrected"])
def test_a_target_of_one_row(offset):
    X, domain = rows((12, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UncertainOneClassTransferSVM(gamma=0.3, C=3.0, offset=offset, max_rounds=2)
        model.fit(X, sample_domain=domain)
    assert model.dual_coef_[0, -1] == pytest.approx(1.0)
    assert model.bound_scores_[-1] == 0
    assert not model.displacements_[-1].any()
    assert model.offset_ == pytest.approx(model.score_samples(X[-1:])[0], rel=1e-6)
    with pytest.raises(ValueError, match="smallest admissible C is 1"):
        UncertainOneClassTransferSVM(C=0.9).fit(X, sample_domain=domain)


def test_duplicates_change_no_decision():
    """All rows twice at half the cost: the same machine; a twin is a neighbour at distance 0."""
    X, domain = rows()
    options = {"gamma": 0.3, "uncertainty": 0.3, "offset": "corrected", "max_rounds": 3, "reg": 0.5}
    once = fit(X, domain, C=[0.23, 0.31, 0.43], **options)
    twice = fit(np.vstack([X, X]), np.r_[domain, domain], C=[0.115, 0.155, 0.215], **options)
    test = rows(seed=3)[0][:6]
    np.testing.assert_allclose(
        twice.decision_function(test), once.decision_function(test), atol=1e-6
    )
    nearest = fit(np.vstack([X, X]), np.r_[domain, domain], n_neighbors=1, gamma=0.3)
    assert not nearest.bound_scores_.any()


def test_a_row_without_a_pull_stays():
    """The middle of two equal rows: their pulls cancel; and a row beyond the kernel's reach."""
    X = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 1.0], [1e4, 1.0]])
    model = fit(X, None, C=0.25, gamma=0.5, uncertainty=0.5, max_rounds=2)
    still = ~model.displacements_.any(axis=1)
    np.testing.assert_array_equal(still, [False, False, True, True])


def test_the_origin_in_the_hull_is_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X -= X.mean(0)
    model = UncertainOneClassTransferSVM(C=0.5, kernel="linear")
    with pytest.warns(UserWarning, match="origin in their hull.*do not centre"):
        model.fit(X)
    assert np.abs(model.coef_).max() < 1e-3
    assert abs(model.offset_) < 2e-3
    assert abs(model.objective_history_[-1]) < 1e-4


def test_the_printed_offset_that_rejects_everything_warns():
    rng = np.random.default_rng(0)
    X = 3 + rng.normal(size=(120, 30))
    domain = np.repeat([0, -1], [100, 20])
    model = UncertainOneClassTransferSVM(C=0.2, C_source=0.02, gamma=0.5 / 30, offset="corrected")
    with pytest.warns(UserWarning, match=r"100% of the observed target rows.*offset=.*delta_scale"):
        model.fit(X, sample_domain=domain)
    assert (model.predict(3 + rng.normal(size=(200, 30))) == -1).mean() > 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for offset in ("observed", "auto"):
            clone(model).set_params(offset=offset).fit(X, sample_domain=domain)


def test_rows_of_weight_zero_are_not_there():
    X, domain = rows()
    weights = np.ones(len(X))
    weights[[2, 17, 30]] = 0.0
    kept = weights > 0
    options = {"C": [0.23, 0.31, 0.4], **BASE}
    model = fit(X, domain, weights, **options)
    without = fit(X[kept], domain[kept], **options)
    test = rows(seed=3)[0][:6]
    np.testing.assert_allclose(
        model.decision_function(test), without.decision_function(test), atol=1e-9
    )
    np.testing.assert_allclose(model.bound_scores_[kept], without.bound_scores_)
    assert not model.bound_scores_[~kept].any()


def test_a_weight_of_two_is_twice_the_cost():
    X, domain = rows((10, 8))
    weights = np.where(domain < 0, 2.0, 1.0)
    options = {"uncertainty": 0.2, "gamma": 0.3, "reg": 0.5, "max_rounds": 3}
    weighted = fit(X, domain, weights, C=0.2, C_source=0.2, **options)
    dearer = fit(X, domain, C=0.4, C_source=0.2, **options)
    test = rows(seed=3)[0][:6]
    np.testing.assert_allclose(
        weighted.decision_function(test), dearer.decision_function(test), atol=1e-9
    )


# -- bound scores ----------------------------------------------------------------------------------


def test_neighbours_are_counted_as_the_paper_counts_them():
    X, domain = rows((40, 30, 25))
    for given, counts in (
        (0.1, (3, 3, 3)),
        (4, (4, 4, 4)),
        ("own", (4, 3, 3)),
        (0.99, (25, 25, 24)),
    ):
        model = fit(X, domain, n_neighbors=given, gamma=0.3, round_tol=np.inf)
        for label, k in zip((0, 1, -1), counts):
            own = domain == label
            expected = mean_neighbour_distance(X[own], k)
            np.testing.assert_allclose(model.bound_scores_[own], expected)


# -- forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_one_task_with_more_columns_than_rows(kernel, sparse_rows):
    """Without sources the kernel itself goes to the solver."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(12, 40))) * (rng.random((12, 40)) < 0.4)
    options = {"kernel": kernel, "gamma": 0.02, "coef0": 0.5, "C": 0.3, "uncertainty": 0.3}
    wide = fit(sparse.csr_array(X) if sparse_rows else X, None, max_rounds=3, **options)
    padded = fit(np.vstack([X] + [X[:1]] * 40), None, np.r_[np.ones(12), np.zeros(40)],
                 max_rounds=3, **options)  # fmt: skip
    np.testing.assert_allclose(
        wide.score_samples(sparse.csr_array(X) if sparse_rows else X),
        padded.score_samples(X), atol=1e-6
    )  # fmt: skip


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_wide_rows_in_more_than_one_working_set(sparse_rows):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(600, 700))) * (rng.random((600, 700)) < 0.2)
    domain = np.repeat([0, -1], [500, 100])
    options = {"gamma": 0.002, "nu": 0.4, "nu_source": 0.4, "uncertainty": 0.5, "max_rounds": 2}
    options |= {"tol": 1e-4, "offset": "observed"}
    wide = fit(sparse.csr_array(X) if sparse_rows else X, domain, **options)
    narrow = fit(np.linalg.qr(X.T)[1].T, domain, **options)  # the same inner products
    assert wide.offset_ == pytest.approx(narrow.offset_, rel=1e-3)
    assert wide.objective_history_ == pytest.approx(narrow.objective_history_, rel=1e-4)


def test_a_kernel_that_is_not_positive_still_alternates():
    X, domain = rows()
    model = fit(X, domain, kernel="sigmoid", gamma=0.1, coef0=-1.0, C=0.4, max_rounds=3)
    assert np.isnan(model.certificate_.gap)
    assert model.n_rounds_ > 1


def test_callables_with_and_without_a_gradient_agree():
    X, domain = rows((8, 7))

    def plain(A, B):
        return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(-1))

    def clever(A, B):
        return plain(A, B)

    clever.gradient = lambda Z, x: 0.6 * (Z - x) * plain(Z, x[None])
    options = {"C": 0.4, "n_neighbors": 1, "max_rounds": 2}
    known = fit(X, domain, gamma=0.3, **options)
    for kernel in (plain, clever):
        model = fit(X, domain, kernel=kernel, **options)
        np.testing.assert_allclose(model.displacements_, known.displacements_, atol=1e-5)
        assert model.offset_ == pytest.approx(known.offset_, rel=1e-5)


@pytest.mark.parametrize("features", [RandomFourier, Nystroem])
def test_feature_maps_approach_their_kernel(features):
    X, domain = rows((40, 20))
    options = {"nu": 0.3, "nu_source": 0.3, "uncertainty": 0.3, "max_rounds": 3}
    exact = fit(X, domain, gamma=0.1, **options)
    count = 60 if features is Nystroem else 3000
    mapped = fit(X, domain, features=features(count, gamma=0.1, random_state=0), **options)
    tolerance = 1e-3 if features is Nystroem else 0.15
    np.testing.assert_allclose(mapped.displacements_, exact.displacements_, atol=tolerance)
    same = mapped.predict(X) == exact.predict(X)
    assert same.mean() > 0.9


def test_precomputed_is_tloc_from_products_alone():
    X, domain = rows()
    order = np.random.default_rng(1).permutation(len(X))
    X, domain = X[order], domain[order]
    gram, test = X @ X.T, rows(seed=3)[0][:5]
    options = {"C": [0.23, 0.31, 0.4], "uncertainty": None}
    known = fit(X, domain, kernel="linear", **options)
    model = fit(gram, domain, kernel="precomputed", **options)
    np.testing.assert_allclose(
        model.decision_function(test @ X.T), known.decision_function(test), atol=1e-6
    )
    narrow = model.decision_function(test @ X[np.sort(model.support_)].T)
    np.testing.assert_allclose(narrow, model.decision_function(test @ X.T), atol=1e-9)


def test_prediction_for_any_task():
    X, domain = rows()
    model = fit(X, domain, C=0.4, **BASE)
    mixed = model.decision_function(X, sample_domain=domain)
    for label in (0, 1, -1):
        own = domain == label
        np.testing.assert_array_equal(
            mixed[own], model.decision_function(X[own], sample_domain=np.full(own.sum(), label))
        )
    np.testing.assert_array_equal(
        model.decision_function(X), model.decision_function(X, sample_domain=np.full(len(X), -1))
    )
    np.testing.assert_allclose(
        model.score_samples(X) - model.offset_, model.decision_function(X), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(
        model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1)
    )


def test_stacked_domains_go_in_as_they_are():
    X, domain = rows()
    parts = [X[domain == 0], X[domain == 1]]
    Xs, y, d = stack_domains(parts, [np.ones(len(p)) for p in parts], X[domain < 0])
    model = UncertainOneClassTransferSVM(gamma=0.3, C=0.4).fit(Xs, y, sample_domain=d)
    direct = UncertainOneClassTransferSVM(gamma=0.3, C=0.4).fit(X, sample_domain=domain)
    np.testing.assert_allclose(model.decision_function(X), direct.decision_function(X), atol=1e-12)


def test_pickles_and_clones():
    X, domain = rows()
    model = fit(X, domain, C=0.4, **BASE)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.displacements_, model.displacements_)
    assert clone(model).get_params() == model.get_params()


def test_the_same_call_gives_the_same_bytes():
    X, domain = rows((80, 60, 40))
    first, second = (
        UncertainOneClassTransferSVM(gamma=0.3).fit(X, sample_domain=domain) for _ in "ab"
    )
    assert first.dual_coef_.tobytes() == second.dual_coef_.tobytes()


def test_nothing_of_the_callers_is_written_to():
    X, domain = rows()
    bounds = np.full(len(X), 0.3)
    before = X.copy(), domain.copy(), bounds.copy()
    for array in (X, domain, bounds):
        array.flags.writeable = False
    UncertainOneClassTransferSVM(uncertainty=bounds).fit(X, sample_domain=domain)
    UncertainOneClassTransferSVM(kernel="linear", uncertainty=bounds).fit(X, sample_domain=domain)
    for array, copy in zip((X, domain, bounds), before):
        np.testing.assert_array_equal(array, copy)
