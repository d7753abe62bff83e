"""Limits in which the answer is known: one test for each line of the table, and for invariances."""

import numpy as np
import pytest

from oneclass.problems import fit, rows
from shiftlearn import OneClassSVM

RBF = {"gamma": 0.3, "n_neighbors": 1}
PRINTED = {**RBF, "offset": "corrected", "max_rounds": 3}
PLACES = rows(seed=7)[0][:9]


def scores(model, X=PLACES):
    """Scores in all tasks, one row a task."""
    return np.array([model.score_samples(X, sample_domain=int(t)) for t in model.tasks_])


def decisions(model, X=PLACES):
    return scores(model, X) - model.offsets_[:, None]


def same(left, right, rtol=1e-6):
    np.testing.assert_allclose(left, right, atol=rtol * np.abs(right).max())


def test_all_penalties_infinite_leave_one_common_direction():
    X, domain = rows()
    model = fit(X, domain, C=[0.2, 0.3, 0.4], reg=1e12, **PRINTED)
    same(scores(model)[0], scores(model)[2], 1e-9)
    assert len(set(np.round(model.offsets_, 6))) == 3  # but three offsets


def test_one_penalty_infinite_leaves_that_task_the_common_part():
    X, domain = rows((14, 11))
    model = fit(X, domain, C=[0.2, 0.3], reg=[1e12, 0.5], uncertainty=None, kernel="linear")
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    w0 = 0.5 * alpha @ X
    same(model.task_coef_[0], w0, 1e-9)
    same(model.task_coef_[1], w0 + (alpha * (domain < 0)) @ X, 1e-9)  # 1 / (2 μ) = 1


def test_penalties_of_zero_part_the_tasks():
    X, domain = rows()
    mu, costs = 1e-7, [0.2, 0.3, 0.4]
    model = fit(X, domain, C=costs, reg=mu, uncertainty=None, gamma=0.3, offset="corrected")
    for task, label in enumerate(model.tasks_):
        alone = fit(X[domain == label], None, C=costs[task], uncertainty=None, gamma=0.3,
                    offset="corrected")  # fmt: skip
        same(2 * mu * decisions(model)[task], decisions(alone)[0], 1e-4)


@pytest.mark.parametrize("uncertainty", [None, 0.4])
def test_one_task_is_the_plain_machine(uncertainty):
    """OC-SVM of cost C is the usual one of ν = 1 / (C n), scaled by C."""
    X, _ = rows((20,))
    C, nu = 0.17, 1 / (0.17 * 20)
    model = fit(X, None, C=C, gamma=0.3, uncertainty=uncertainty, max_rounds=1, offset="corrected")
    plain = OneClassSVM(nu, gamma=0.3, tol=1e-9).fit(X)
    same(decisions(model)[0], C * plain.decision_function(PLACES))
    same(model.offset_, C * plain.offset_)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    alpha[plain.support_] -= C * plain.dual_coef_[0]
    assert np.abs(alpha).max() < 1e-6


def test_smallest_costs_give_kernel_means():
    X, domain = rows((14, 11))
    model = fit(X, domain, C=[1 / 14, 1 / 11], reg=[0.5, 0.7], kernel="linear", uncertainty=None)
    means = [X[domain == label].mean(0) for label in (0, -1)]
    common = 0.5 * (means[0] + means[1])
    same(model.task_coef_[0], common + means[0] / (2 * 0.5), 1e-9)
    same(model.task_coef_[1], common + means[1] / (2 * 0.7), 1e-9)
    assert np.isinf(model.offset_intervals_[:, 1]).all()
    same(model.offsets_, model.offset_intervals_[:, 0], 0)


def test_costs_from_one_on_change_nothing():
    X, domain = rows()
    first, second = (
        fit(X, domain, C=cost, C_source=cost, reg=0.6, **PRINTED) for cost in (1.0, 40.0)
    )
    same(decisions(first), decisions(second))
    assert first.decision_function(X[domain < 0] + first.displacements_[domain < 0]).min() > -1e-7


def test_no_bound_scores_are_no_uncertainty():
    X, domain = rows()
    costs = {"C": [0.2, 0.3, 0.4], "gamma": 0.3, "offset": "observed", "round_tol": 1e-9}
    still = fit(X, domain, uncertainty=0.0, **costs)
    printed = fit(X, domain, uncertainty=None, **costs)
    assert still.n_rounds_ == 2
    assert printed.n_rounds_ == 1
    same(decisions(still), decisions(printed))
    assert not still.displacements_.any()
    assert still.objective_history_[0] == pytest.approx(still.objective_history_[1], rel=1e-9)


def test_order_of_rows_and_names_of_tasks_change_nothing():
    X, domain = rows()
    costs = {0: 0.2, 1: 0.3, -1: 0.4}
    model = fit(X, domain, C=costs, **PRINTED)
    order = np.random.default_rng(0).permutation(len(X))
    mixed = fit(X[order], domain[order], C=costs, **PRINTED)
    same(decisions(mixed), decisions(model))
    same(mixed.displacements_, model.displacements_[order])
    renamed = fit(X, np.array([9, 4, -3])[domain], C={9: 0.2, 4: 0.3, -3: 0.4}, **PRINTED)
    assert renamed.tasks_.tolist() == [4, 9, -3]
    same(decisions(renamed)[[1, 0, 2]], decisions(model))


def test_alone_uoc_is_uoct_with_one_task_up_to_its_factor():
    """A far source of one row with μ → 0 leaves the target its own problem, scaled by 1 / (2 μ)."""
    X, _ = rows((15,))
    far = np.vstack([X, np.full((1, X.shape[1]), 1e3)])
    domain = np.r_[np.full(15, -1), 0]
    mu = 1e-7
    alone = fit(X, None, C=0.3, **PRINTED)
    beside = fit(far, domain, C=0.3, C_source=1.0, reg=mu, **PRINTED)
    same(beside.displacements_[:15], alone.displacements_, 1e-5)
    same(2 * mu * decisions(beside)[-1], decisions(alone)[0], 1e-5)


def test_shares_bound_the_rows_outside():
    X, domain = rows((60, 50))
    nu, nu_source = 0.3, 0.2
    model = fit(X, domain, nu=nu, nu_source=nu_source, gamma=0.3, uncertainty=None)
    same(model.costs_, np.array([1 / (nu_source * 60), 1 / (nu * 50)]), 0)
    same(model.reg_, np.ones(2), 0)  # not a function of the sample size
    for label, share in ((0, nu_source), (-1, nu)):
        own = domain == label
        outside = model.decision_function(X[own], sample_domain=label) < -1e-7
        assert outside.mean() <= share <= np.isin(np.flatnonzero(own), model.support_).mean()
