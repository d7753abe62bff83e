"""The rules for alignment and C, and that units and numbers of rows do not matter to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from alignment.shifted import GAMMA, gram, shifted
from shiftlearn import DAKSVC, LSDAKSVC, SVC, DomainWhitener, Nystroem, alignment_path
from shiftlearn.alignment.strength import covariance_size, kernel_covariance_size

both_machines = pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
both_forms = pytest.mark.parametrize("form", ["rkhs", "coef"])


def test_size_of_the_covariance_from_rows_and_from_products():
    rng = np.random.default_rng(0)
    Z, w = rng.normal(size=(12, 5)) + 3, rng.uniform(0.5, 2, 12)
    plain = np.linalg.norm(np.cov(Z.T, aweights=w, bias=True))
    wide = Z @ np.linalg.qr(rng.normal(size=(40, 5)))[0].T
    for rows in (Z, sparse.csr_array(Z), wide, sparse.csr_array(wide)):
        assert covariance_size(rows, w) == pytest.approx(plain, rel=1e-10)
    assert kernel_covariance_size(Z @ Z.T, w) == pytest.approx(plain, rel=1e-10)


@both_machines
@both_forms
def test_the_rules_are_the_stated_ones(machine, form):
    X, y, domain = shifted()
    model = machine(form=form, gamma=GAMMA).fit(X, y, sample_domain=domain)
    K = gram(X, "rbf")
    Z = K if form == "coef" else np.linalg.cholesky(K + 1e-13 * np.eye(len(K)))
    S = np.cov(Z[:30].T, bias=True)
    mu = 10 / np.linalg.norm(S)
    assert model.alignment_ == pytest.approx(mu, rel=1e-6)
    d = Z[:30].mean(axis=0) - Z[30:].mean(axis=0)
    e, U = np.linalg.eigh(Z[:30].T @ Z[:30] / 30 - Z[30:].T @ Z[30:] / 22)
    M = np.eye(len(Z)) + mu / 2 * (np.outer(d, d) + (U * np.abs(e)) @ U.T)
    assert pytest.approx(3 / np.trace(np.linalg.solve(M, S)), rel=1e-6) == model.C_


@both_machines
@both_forms
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_units_do_not_matter(machine, form, kernel):
    X, y, domain = shifted()
    options = {"form": form, "kernel": kernel, "tol": 1e-9}
    one = machine(**options).fit(X, y, sample_domain=domain)
    other = machine(**options).fit(1000 * X, y, sample_domain=domain)
    assert_allclose(
        other.decision_function(1000 * X) - other.intercept_,
        one.decision_function(X) - one.intercept_,
        atol=1e-4,
    )


@both_forms
def test_every_row_twice_is_the_same_metric(form):
    X, y, domain = shifted()
    rows = np.concatenate([np.arange(52), np.arange(52)])
    options = {"form": form, "gamma": GAMMA, "tol": 1e-9}
    one = DAKSVC(**options).fit(X, y, sample_domain=domain)
    other = DAKSVC(**options).fit(
        X[rows], y[rows], sample_domain=domain[rows], sample_weight=np.full(104, 0.5)
    )
    assert_allclose(
        other.decision_function(X) - other.intercept_,
        one.decision_function(X) - one.intercept_,
        atol=1e-4,
    )


@both_machines
def test_all_frames_agree(machine):
    X, y, domain = shifted()
    options = {"kernel": "linear", "tol": 1e-9}
    models = [
        machine(**options).fit(X, y, sample_domain=domain),
        machine(**options).fit(sparse.csr_array(X), y, sample_domain=domain),
        machine(rank=3, kernel="precomputed", tol=1e-9).fit(X @ X.T, y, sample_domain=domain),
        machine(kernel="precomputed", tol=1e-9).fit(X @ X.T, y, sample_domain=domain),
        alignment_path(X, y, {"balance": [0.5]}, estimator=machine(**options),
                       sample_domain=domain)[0],
    ]  # fmt: skip
    for model in models[1:]:
        assert model.alignment_ == pytest.approx(models[0].alignment_, rel=1e-6)
        assert pytest.approx(models[0].C_, rel=1e-5) == model.C_
    whitener = DomainWhitener().fit(X, sample_domain=domain)
    assert whitener.alignment_ == pytest.approx(models[0].alignment_, rel=1e-10)


def draw(kind, seed, n=150, m=150):
    """Two classes told apart by one column; another agrees with them on the source only."""
    rng = np.random.default_rng(seed)
    ys, yt = rng.integers(0, 2, n), rng.integers(0, 2, m)
    Xs, Xt = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    Xs[:, 0] += 1.5 * (2 * ys - 1)
    Xt[:, 0] += 1.5 * (2 * yt - 1)
    if kind == "mean":
        Xs[:, 1] += 1.0 * (2 * ys - 1)
        Xt[:, 1] += 2.5
    if kind == "scatter":
        Xs[:, 1] += 1.5 * (2 * ys - 1)
        Xt[:, 1] *= 0.3
    return Xs, ys, Xt, yt


@both_machines
def test_defaults_lose_nothing_without_a_shift_and_gain_with_one(machine):
    gains = {"none": [], "mean": [], "scatter": []}
    for kind, found in gains.items():
        for seed in range(6):
            Xs, ys, Xt, yt = draw(kind, seed + 100)
            X, domain = np.vstack([Xs, Xt]), np.repeat([0, -1], [len(Xs), len(Xt)])
            y = np.concatenate([ys, np.zeros(len(Xt), dtype=int)])
            plain = SVC().fit(Xs, ys).score(Xt, yt)
            found.append(machine().fit(X, y, sample_domain=domain).score(Xt, yt) - plain)
    assert np.mean(gains["none"]) > -0.01
    assert np.mean(gains["mean"]) > 0.01 and np.mean(gains["scatter"]) > 0.0


def test_the_map_gets_the_same_rule():
    X, y, domain = shifted()
    features = Nystroem(52, gamma=GAMMA, threshold=1e-13, random_state=0)
    kernel = DAKSVC(gamma=GAMMA).fit(X, y, sample_domain=domain)
    explicit = DAKSVC(features=features).fit(X, y, sample_domain=domain)
    assert explicit.alignment_ == pytest.approx(kernel.alignment_, rel=1e-4)
    assert pytest.approx(kernel.C_, rel=1e-4) == explicit.C_
