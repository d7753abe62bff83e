"""Every round of the alternation against the slow oracle, in every form the rows take."""

import numpy as np
import pytest
from scipy import sparse

from oneclass.problems import KERNELS, fit, parameters, plain, rows
from oracles.oneclass import (
    PlainTasks,
    alternate,
    big_matrix,
    neighbour_bounds,
    score,
    solve_primal,
)  # fmt: skip
from shiftlearn import UncertainOneClassTransferSVM

COSTS = {"C": [0.23, 0.31, 0.4], "reg": [0.5, 0.7, 0.9]}


def compare(model, plain_tasks, round_, test, places):
    """Everything that is unique: scores, offsets, objective, displacements."""
    unit = np.abs(round_.scores).max()
    size = np.abs(plain_tasks.X).max()
    order = np.arange(len(plain_tasks.X))
    assert model.objective_history_[-1] == pytest.approx(round_.objective, rel=1e-5)
    np.testing.assert_allclose(
        plain_tasks.X + model.displacements_, round_.places, atol=1e-5 * size
    )
    np.testing.assert_allclose(model.offsets_, round_.offsets, atol=1e-5 * unit)
    for task, label in enumerate(model.tasks_):
        expected = [score(plain_tasks, round_.alpha, round_.places, task, x) for x in test]
        np.testing.assert_allclose(
            model.score_samples(places(test), sample_domain=int(label)), expected, atol=1e-5 * unit
        )
    alpha = np.zeros(len(order))
    alpha[model.support_] = model.dual_coef_[0]
    for task in range(plain_tasks.count):
        assert alpha[plain_tasks.of_row == task].sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", KERNELS)
def test_each_round_is_that_of_the_oracle(name, form):
    X, domain = rows()
    if form == "sparse":
        X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    place = sparse.csr_array if form == "sparse" else np.asarray
    bounds = neighbour_bounds(X, domain, 1)
    tasks = plain(X, domain, COSTS["C"], COSTS["reg"], bounds, KERNELS[name])
    test = rows(seed=5)[0][:6]
    for q, round_ in enumerate(alternate(tasks, 4), 1):
        model = fit(
            place(X), domain, **COSTS, **parameters(KERNELS[name]), max_rounds=q,
            offset="corrected", n_neighbors=1,
        )  # fmt: skip
        assert model.n_rounds_ == q
        np.testing.assert_allclose(model.bound_scores_, bounds, rtol=1e-7)
        compare(model, tasks, round_, test, place)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_more_columns_than_rows(name, form):
    """There the rows are combinations of the observed ones and only inner products are used."""
    rng = np.random.default_rng(0)
    X, domain = 1.0 + rng.normal(size=(18, 40)), np.repeat([0, -1], [11, 7])
    if form == "sparse":
        X[rng.random(X.shape) < 0.6] = 0.0
    kernel = {**KERNELS, "rbf": KERNELS["rbf"].__class__("rbf", gamma=0.02)}[name]
    place = sparse.csr_array if form == "sparse" else np.asarray
    bounds = rng.uniform(0.5, 1.5, size=18)
    tasks = plain(X, domain, [0.3, 0.4], [0.3, 0.4], bounds, kernel)
    test = 1.0 + rng.normal(size=(5, 40))
    for q, round_ in enumerate(alternate(tasks, 4), 1):
        model = fit(
            place(X), domain, C=0.4, C_source=0.3, **parameters(kernel), max_rounds=q,
            offset="corrected", uncertainty=bounds,
        )  # fmt: skip
        compare(model, tasks, round_, test, place)
        dense = model.support_vectors_
        dense = dense.toarray() if sparse.issparse(dense) else dense
        np.testing.assert_allclose(dense, (X + model.displacements_)[model.support_], atol=1e-9)


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_one_task_has_the_scale_of_the_plain_machine(name):
    X, domain = rows((16,))
    tasks = plain(X, domain, [0.2], [1.0], neighbour_bounds(X, domain, 2), KERNELS[name])
    for q, round_ in enumerate(alternate(tasks, 3), 1):
        model = fit(X, domain, C=0.2, max_rounds=q, offset="corrected", n_neighbors=2,
                    **parameters(KERNELS[name]))  # fmt: skip
        compare(model, tasks, round_, X[:3] + 0.1, np.asarray)


@pytest.mark.parametrize("sizes", [(12,), (12, 9), (12, 9, 7)])
def test_primal_and_dual_meet(sizes):
    X, domain = rows(sizes)
    costs, penalties = [0.3] * len(sizes), [0.6] * len(sizes)
    tasks = plain(X, domain, costs, penalties, np.zeros(len(X)), KERNELS["rbf"])
    model = fit(X, domain, C=costs, reg=penalties, gamma=0.3, uncertainty=None)
    assert model.objective_history_ == (pytest.approx(solve_primal(tasks, X), rel=1e-6),)
    assert 0 <= model.certificate_.gap <= 1e-6 * abs(model.certificate_.objective)


def test_the_gap_is_primal_minus_dual():
    """At a loose tolerance the certificate bounds the distance from the oracle's optimum."""
    X, domain = rows((60, 50, 40))
    tasks = plain(X, domain, [0.1] * 3, [0.1] * 3, np.zeros(150), KERNELS["rbf"])
    best = alternate(tasks, 1)[0].objective
    loose = UncertainOneClassTransferSVM(
        C=[0.1] * 3, reg=[0.1] * 3, gamma=0.3, uncertainty=None, tol=0.2
    ).fit(X, sample_domain=domain)
    certificate = loose.certificate_
    assert certificate.gap > 1e-6 * abs(best)  # it was stopped early
    assert best - 1e-8 <= -0.5 * float(_quadratic(loose, tasks)) + certificate.gap
    assert abs(certificate.objective - best) <= certificate.gap + 1e-8


def _quadratic(model, tasks):
    alpha = np.zeros(len(tasks.X))
    alpha[model.support_] = model.dual_coef_[0]
    return alpha @ big_matrix(tasks, tasks.X) @ alpha


def test_per_row_costs_are_weights():
    X, domain = rows()
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=len(X))
    of_row = np.where(domain < 0, 2, domain)
    per_row = np.array(COSTS["C"])[of_row] * weights
    tasks = PlainTasks(
        X, of_row, per_row, np.array(COSTS["reg"]), np.full(len(X), 0.2), KERNELS["rbf"]
    )
    model = fit(
        X, domain, weights, **COSTS, gamma=0.3, uncertainty=0.2, max_rounds=2, offset="corrected"
    )
    compare(model, tasks, alternate(tasks, 2)[1], X[:4] + 0.1, np.asarray)
