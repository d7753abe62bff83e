"""Offsets from scores as if each row had been left out."""

import numpy as np
import pytest
from scipy import sparse

from oneclass.problems import KERNELS, fit, parameters, rows
from shiftlearn import Nystroem, UncertainOneClassTransferSVM
from shiftlearn.datasets import make_digit_pair

COSTS = {"C": [0.23, 0.31, 0.4], "reg": [0.5, 0.7, 0.9]}


def plain_left_out(model, X, domain, kernel, i):
    """Row i's share of its task's weight given to the task's other rows in proportion."""
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    places, task = X + model.displacements_, model.tasks_.tolist().index(domain[i])
    own = domain == domain[i]
    alpha[own] /= 1 - alpha[i]
    alpha[i] = 0.0
    return sum(
        a * 0.5 * (1 + (domain[j] == domain[i]) / model.reg_[task]) * kernel.value(places[j], X[i])
        for j, a in enumerate(alpha)
    )


@pytest.mark.parametrize("form", ["dense", "sparse", "wide"])
@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian", "poly"])
def test_scores_are_those_without_the_row(name, form):
    if form == "wide" and name == "laplacian":
        pytest.skip("not a kernel of inner products")
    X, domain = rows(d=40) if form == "wide" else rows()
    kernel = KERNELS[name]
    if form == "wide":
        kernel = kernel.__class__(name, gamma=0.02, degree=2, coef0=1.0)
    model = fit(
        sparse.csr_array(X) if form == "sparse" else X, domain, **COSTS, **parameters(kernel),
        uncertainty=0.4, offset="left-out", max_rounds=3,
    )  # fmt: skip
    left = np.array([plain_left_out(model, X, domain, kernel, i) for i in range(len(X))])
    for task, (label, rank) in enumerate(((0, 5), (1, 4), (-1, 3))):
        expected = np.sort(left[domain == label])[rank - 1]
        assert model.offsets_[task] == pytest.approx(expected, rel=1e-6)
        assert model.offset_intervals_[task, 0] == pytest.approx(expected, rel=1e-6)


def test_under_a_feature_map():
    X, domain = rows()
    options = {**COSTS, "uncertainty": 0.3, "offset": "left-out", "max_rounds": 2}
    mapped = fit(X, domain, features=Nystroem(33, gamma=0.3, random_state=0), **options)
    exact = fit(X, domain, gamma=0.3, **options)
    np.testing.assert_allclose(mapped.offsets_, exact.offsets_, rtol=5e-3)


def test_it_comes_near_refits():
    """Against honest refits without the row: far nearer than the rows' own scores."""
    task = make_digit_pair(3, 8, fraction=0.1, random_state=0)
    options = {"C": 0.2, "C_source": 0.02, "gamma": 0.1, "uncertainty": 0.5, "reg": 0.5}
    target = np.flatnonzero(task.domain < 0)
    own, refits = [], []
    for offset in ("observed", "left-out"):
        model = UncertainOneClassTransferSVM(offset=offset, **options)
        own.append(model.fit(task.data, sample_domain=task.domain).offset_)
    for i in target:
        rest = np.delete(np.arange(len(task.data)), i)
        model = UncertainOneClassTransferSVM(offset="observed", **options)
        model.fit(task.data[rest], sample_domain=task.domain[rest])
        refits.append(model.score_samples(task.data[[i]])[0])
    honest = np.sort(refits)[4:6].mean()  # 1 / C = 5 of 18 lie at or below
    assert abs(own[1] - honest) < 0.25 * abs(own[0] - honest)


def test_the_nominal_share_of_new_rows_lies_outside():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(20):
        X = 3 + rng.normal(size=(240, 10))
        model = UncertainOneClassTransferSVM(nu=0.2, nu_source=0.1, gamma=0.05)
        model.fit(X, sample_domain=np.repeat([0, -1], [200, 40]))
        shares.append((model.predict(3 + rng.normal(size=(500, 10))) == -1).mean())
    assert 0.15 < np.mean(shares) < 0.27


def test_a_hard_margin_still_leaves_one_in_twenty_outside():
    rng = np.random.default_rng(1)
    X = 3 + rng.normal(size=(60, 3))
    model = UncertainOneClassTransferSVM(C=1.0, gamma=0.1).fit(X)
    assert 0.01 < (model.predict(3 + rng.normal(size=(2000, 3))) == -1).mean() < 0.12


def test_what_auto_stands_for():
    X, domain = rows()
    base = {"C": 0.4, "gamma": 0.3, "tol": 1e-3, "round_tol": 0.1}

    def made(**options):
        return fit(X, domain, **{**base, **{"delta_scale": "auto"}, **options})

    auto = made()
    assert auto.offset_ == made(offset="left-out", delta_scale=0.25).offset_
    printed = made(offset="corrected")
    np.testing.assert_allclose(auto.bound_scores_, 0.25 * printed.bound_scores_)
    given = made(uncertainty=0.3)  # who knows the noise is taken at his word
    assert (given.bound_scores_ == 0.3).all()
    assert made(uncertainty=None).offset_ == made(uncertainty=None, offset="observed").offset_


def test_other_offsets_without_another_fit():
    X, domain = rows()
    models = {
        offset: fit(X, domain, C=0.4, gamma=0.3, offset=offset, uncertainty=0.2)
        for offset in ("left-out", "observed", "corrected")
    }
    for offset, model in models.items():
        np.testing.assert_allclose(models["left-out"].offsets_at(offset), model.offsets_)
    with pytest.raises(ValueError, match='offset must be one of "observed", "corrected"'):
        models["observed"].offsets_at("left-out")
