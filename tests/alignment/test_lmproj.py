"""LMProjSVC against the closed form of its kernel, its own objective, limits, bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from oracles.transductive import hinge_value
from shiftlearn import DAKSVC, SVC, LMProjSVC, Nystroem, stack_domains
from shiftlearn.errors import NoTargetWarning


def shifted(n=30, m=40, k=2, seed=0, shift=(0.0, 1.5)):
    rng = np.random.default_rng(seed)
    ys, yt = np.arange(n) % k, np.arange(m) % k
    centres = np.array([[0, 0], [2.0, 1.0], [0.0, 3.0]])
    Xs = centres[ys] + rng.normal(size=(n, 2))
    Xt = centres[yt] + rng.normal(size=(m, 2)) + np.array(shift)
    return (*stack_domains(Xs, ys, Xt), yt)


def gram(X, kernel, gamma=0.4):
    if kernel == "linear":
        return X @ X.T
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def projected(K, n, mu):
    """K - κ δ δᵀ, the kernel of the machine."""
    g = np.concatenate([np.full(n, 1 / n), np.full(len(K) - n, -1 / (len(K) - n))])
    delta = K @ g
    return K - mu / (1 + mu * (g @ delta)) * np.outer(delta, delta)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("mu", [0.3, 10.0, 1e4])
def test_it_is_the_plain_machine_with_the_projected_kernel(kernel, mu):
    X, y, domain, _ = shifted()
    labels = np.asarray(y[:30], dtype=int)
    model = LMProjSVC(2.0, alignment=mu, kernel=kernel, gamma=0.4, tol=1e-8)
    model.fit(X, y, sample_domain=domain)
    G = projected(gram(X, kernel), 30, mu)
    plain = SVC(2.0, kernel="precomputed", tol=1e-8).fit(G[:30, :30], labels)
    np.testing.assert_allclose(  # b may be an interval; f - b is unique
        model.decision_function(X) - model.intercept_,
        plain.decision_function(G[:, :30]) - plain.intercept_,
        atol=1e-5,
    )
    value = hinge_value(G[:30, :30], np.where(labels == 1, 1.0, -1.0), np.full(30, 2.0))
    assert -model.certificate_.objective == pytest.approx(value, rel=1e-6)
    assert 0 <= model.certificate_.gap < 1e-4 * value
    assert model.certificate_.converged


def test_it_minimises_the_objective_of_its_paper():
    X, y, domain, _ = shifted()
    lam, C = 3.0, 0.7
    model = LMProjSVC.from_paper(lam, C, kernel="linear", tol=1e-8).fit(X, y, sample_domain=domain)
    signs = np.where(np.asarray(y[:30], dtype=int) == 1, 1.0, -1.0)
    d = X[:30].mean(axis=0) - X[30:].mean(axis=0)

    def objective(p):
        slack = np.maximum(0, 1 - signs * (X[:30] @ p[:2] + p[2]))
        return 0.5 * p[:2] @ p[:2] + lam * (p[:2] @ d) ** 2 + C * slack.sum()

    ours = np.append(model.coef_[0], model.intercept_)
    assert objective(ours) == pytest.approx(-model.certificate_.objective, rel=1e-6)
    rng = np.random.default_rng(0)
    starts = [ours + rng.normal(0, scale, 3) for scale in (0.01, 0.1, 1.0)]
    found = [minimize(objective, p, method="Nelder-Mead", tol=1e-12).fun for p in starts]
    assert min(found) >= objective(ours) - 1e-6
    assert model.mean_term_[0] == pytest.approx((ours[:2] @ d) ** 2, rel=1e-6)
    assert model.mmd2_ == pytest.approx(d @ d)


def test_limits_of_the_alignment():
    X, y, domain, _ = shifted()
    own = domain >= 0
    plain = SVC(gamma=0.4, tol=1e-8).fit(X[own], y[own].astype(int))
    zero = LMProjSVC(alignment=0.0, gamma=0.4, tol=1e-8).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(zero.decision_function(X), plain.decision_function(X), atol=1e-5)
    terms = [
        LMProjSVC(alignment=mu, gamma=0.4, tol=1e-6).fit(X, y, sample_domain=domain).mean_term_[0]
        for mu in (0.0, 1.0, 1e2, 1e4, 1e6)
    ]
    assert terms == sorted(terms, reverse=True) and terms[-1] < 1e-6 * terms[0]


def test_it_forgets_the_direction_that_moved():
    X, y, domain, yt = shifted(n=200, m=200, shift=(0.0, 4.0))
    target = domain < 0
    plain = SVC(kernel="linear").fit(X, y, sample_domain=domain).score(X[target], yt)
    aligned = LMProjSVC(alignment=1e4, kernel="linear").fit(X, y, sample_domain=domain)
    assert aligned.score(X[target], yt) > plain + 0.1


def test_it_is_daksvc_without_the_scatter_term():
    X, y, domain, _ = shifted()
    options = {"C": 2.0, "alignment": 10.0, "sigma": "median", "tol": 1e-8}
    ours = LMProjSVC(**options).fit(X, y, sample_domain=domain)
    same = DAKSVC(balance=0.0, form="rkhs", **options).fit(X, y, sample_domain=domain)
    np.testing.assert_array_equal(ours.decision_function(X), same.decision_function(X))


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_sparse_rows_and_features(multi_class):
    X, y, domain, yt = shifted(k=3, n=60, m=60, shift=(0.3, 0.3))
    names = np.array(["a", "b", "c"])
    labels = np.array([None if v is None else names[v] for v in y], dtype=object)
    options = {"multi_class": multi_class, "tol": 1e-6}
    dense = LMProjSVC(kernel="linear", **options).fit(X, labels, sample_domain=domain)
    thin = LMProjSVC(kernel="linear", **options).fit(
        sparse.csr_matrix(X), labels, sample_domain=domain
    )
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(X), atol=1e-4)
    features = Nystroem(gamma=0.4, n_components=60, random_state=0)
    for model in (dense, LMProjSVC(features=features, **options)):
        model.fit(X, labels, sample_domain=domain)
        assert model.score(X[domain < 0], names[yt]) > 0.7
        assert model.predict(X).dtype == names.dtype


def test_target_labels_are_never_read():
    X, y, domain, yt = shifted()
    values = [
        LMProjSVC()
        .fit(X, np.concatenate([y[:30].astype(int), labels]), sample_domain=domain)
        .decision_function(X)
        for labels in (yt, 1 - yt)
    ]
    np.testing.assert_array_equal(*values)


def test_without_target_rows_it_is_the_plain_machine():
    X, y, domain, _ = shifted()
    own = domain >= 0
    with pytest.warns(NoTargetWarning):
        model = LMProjSVC(gamma=0.4, tol=1e-8).fit(X[own], y[own].astype(int))
    plain = SVC(gamma=0.4, tol=1e-8).fit(X[own], y[own].astype(int))
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": 0.0}, "C must be"),
        ({"alignment": -1.0}, "alignment must be a finite number >= 0"),
        ({"sigma": "wide"}, "sigma must be"),
        ({"bandwidth_ratio": 0.0}, "bandwidth_ratio must be"),
        ({"sources": "some"}, "sources must be"),
        ({"multi_class": "all"}, "multi_class must be"),
        ({"kernel": "cubic"}, "kernel must be"),
    ],
)
def test_bad_parameters(parameters, match):
    X, y, domain, _ = shifted()
    with pytest.raises(ValueError, match=match):
        LMProjSVC(**parameters).fit(X, y, sample_domain=domain)
    with pytest.raises(ValueError, match="lam must be"):
        LMProjSVC.from_paper(-1.0, 1.0)
