"""TransductiveSVC: finite and monotone, its labels against every labelling, limits, bad input."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from oracles.transductive import best_labels, hinge_value, improving_pairs
from shiftlearn import SVC, Nystroem, TransductiveSVC, stack_domains
from shiftlearn.errors import NoTargetWarning


def two_blobs(n=12, m=30, shift=0.0, seed=0, gap=3.0, d=2):
    rng = np.random.default_rng(seed)
    ys, yt = np.arange(n) % 2, np.arange(m) % 2
    Xs = rng.normal(size=(n, d)) + gap * ys[:, None]
    Xt = rng.normal(size=(m, d)) + gap * yt[:, None] + shift
    return (*stack_domains(Xs, ys, Xt), yt)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(3))
def test_final_objective_is_the_optimum_for_its_labels(kernel, seed):
    X, y, domain, _ = two_blobs(seed=seed, gap=1.5)
    model = TransductiveSVC(C=2.0, C_target=0.5, kernel=kernel, gamma=0.3, tol=1e-6)
    model.fit(X, y, sample_domain=domain)
    K = X @ X.T if kernel == "linear" else _rbf(X, 0.3)
    n = int((domain >= 0).sum())
    signs = np.concatenate([np.where(y[:n].astype(int) == 1, 1.0, -1.0), model.target_signs_[0]])
    costs = np.where(domain >= 0, 2.0, 0.5)
    value = hinge_value(K, signs, costs)
    assert model.objective_history_[0][-1].objective == pytest.approx(value, rel=1e-5)
    assert -model.certificates_[0].objective == pytest.approx(value, rel=1e-5)
    assert model.certificates_[0].gap < 1e-4 and np.isnan(model.certificate_.gap)


def _rbf(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def test_no_pair_is_left_and_the_objective_falls():
    exchanged = 0
    for seed in range(5):
        X, y, domain, _ = two_blobs(n=10, m=60, seed=seed, gap=1.0, shift=1.5)
        model = TransductiveSVC(C=5.0, kernel="rbf", gamma=1.0).fit(X, y, sample_domain=domain)
        rounds = model.objective_history_[0]
        for before, after in itertools.pairwise(rounds):
            exchanged += before.exchanged
            if before.stage == after.stage:
                assert before.exchanged > 0
                assert after.objective < before.objective
        assert rounds[-1].exchanged == 0
        assert rounds[-1].cost_negative == rounds[-1].cost_positive == 5.0
        scores = model.decision_function(X[domain < 0])
        assert not improving_pairs(model.target_signs_[0], scores, 5.0, 5.0)
        assert (model.target_signs_[0] > 0).sum() == 30
    assert exchanged >= 5


def test_finds_the_best_of_all_labellings_where_the_classes_are_clusters():
    rng = np.random.default_rng(0)
    Xs, ys = np.array([[0.0, 0.0], [1.0, 0.4]]), [0, 1]
    Xt = np.concatenate([rng.normal(0.1, 0.1, (4, 2)), rng.normal(2.0, 0.1, (4, 2))])
    X, y, domain = stack_domains(Xs, ys, Xt)
    model = TransductiveSVC(C=1.0, kernel="linear", tol=1e-6).fit(X, y, sample_domain=domain)
    best, labels = best_labels(X @ X.T, np.array([-1.0, 1.0]), 8, 4, 1.0, 1.0)
    assert model.target_signs_[0].tolist() == labels.tolist()
    assert model.objective_history_[0][-1].objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_never_below_the_best_of_all_labellings(seed):
    X, y, domain, _ = two_blobs(n=4, m=8, gap=1.0, shift=0.5, seed=seed)
    model = TransductiveSVC(C=1.0, kernel="linear", tol=1e-6).fit(X, y, sample_domain=domain)
    signs = np.where(np.asarray(y[:4], dtype=int) == 1, 1.0, -1.0)
    best, _ = best_labels(X @ X.T, signs, 8, 4, 1.0, 1.0)
    assert model.objective_history_[0][-1].objective >= best * (1 - 1e-6)


def test_small_target_cost_is_the_plain_machine():
    X, y, domain, _ = two_blobs(gap=1.0)
    plain = SVC(gamma=0.5, tol=1e-6).fit(X, y, sample_domain=domain)
    model = TransductiveSVC(gamma=0.5, tol=1e-6, C_target=1e-12).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_it_helps_where_the_classes_moved_as_clusters():
    X, y, domain, yt = two_blobs(n=60, m=80, gap=4.0, shift=1.5, seed=1)
    target = domain < 0
    plain = SVC(kernel="linear").fit(X, y, sample_domain=domain)
    model = TransductiveSVC(kernel="linear").fit(X, y, sample_domain=domain)
    assert model.score(X[target], yt) >= plain.score(X[target], yt) + 0.05


def test_target_labels_are_never_read():
    X, y, domain, yt = two_blobs()
    fits = []
    for labels in (yt, 1 - yt, np.zeros_like(yt)):
        full = np.concatenate([y[domain >= 0].astype(int), labels])
        fits.append(TransductiveSVC().fit(X, full, sample_domain=domain).decision_function(X))
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


def test_order_of_rows_and_form_of_input_do_not_matter():
    X, y, domain, _ = two_blobs(gap=1.5)
    order = np.random.default_rng(1).permutation(len(y))
    models = [
        TransductiveSVC(kernel="linear", tol=1e-6).fit(X, y, sample_domain=domain),
        TransductiveSVC(kernel="linear", tol=1e-6).fit(X, y),  # marks alone
        TransductiveSVC(kernel="linear", tol=1e-6).fit(
            X[order], y[order], sample_domain=domain[order]
        ),
        TransductiveSVC(kernel="linear", tol=1e-6).fit(
            sparse.csr_matrix(X), y, sample_domain=domain
        ),
        TransductiveSVC(kernel="precomputed", tol=1e-6).fit(X @ X.T, y, sample_domain=domain),
    ]
    values = [m.decision_function(X if m.kernel == "linear" else X @ X.T) for m in models]
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], atol=1e-4)


def test_weight_two_is_the_row_twice():
    X, y, domain, _ = two_blobs(n=6, m=7)
    weights = np.where(domain >= 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    options = {"gamma": 0.5, "tol": 1e-8}
    weighted = TransductiveSVC(**options).fit(X, y, sample_domain=domain, sample_weight=weights)
    repeated = TransductiveSVC(**options).fit(X[twice], y[twice], sample_domain=domain[twice])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )


def test_several_classes_with_text_labels_and_features():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [4, 0], [0, 4]])
    codes = np.arange(60) % 3
    names = np.array(["a", "b", "c"])
    Xs = centres[codes] + rng.normal(size=(60, 2))
    Xt = centres[codes] + rng.normal(size=(60, 2)) + 0.7
    X, y, domain = stack_domains(Xs, names[codes], Xt)
    for features in (None, Nystroem(gamma=0.2, n_components=40, random_state=0)):
        model = TransductiveSVC(gamma=0.2, features=features).fit(X, y, sample_domain=domain)
        assert model.predict(Xt).dtype == names.dtype
        assert model.score(Xt, names[codes]) > 0.9
        assert model.target_signs_.shape == (3, 60) and model.decision_function(Xt).shape == (60, 3)
        assert len(model.certificates_) == 3 and model.certificate_.converged


def test_class_prior_fixes_the_shares():
    X, y, domain, _ = two_blobs(m=40)
    model = TransductiveSVC(class_prior=[0.75, 0.25]).fit(X, y, sample_domain=domain)
    assert (model.target_signs_[0] > 0).sum() == 10


def test_without_target_rows_it_is_the_plain_machine():
    X, y, domain, _ = two_blobs()
    own = domain >= 0
    with pytest.warns(NoTargetWarning):
        model = TransductiveSVC(gamma=0.5).fit(X[own], y[own])
    plain = SVC(gamma=0.5).fit(X[own], y[own])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert model.certificate_.gap >= 0 and model.target_signs_.shape == (1, 0)


def test_one_target_row():
    X, y, domain, _ = two_blobs(m=1)
    model = TransductiveSVC(kernel="linear").fit(X, y, sample_domain=domain)
    assert model.target_signs_.shape == (1, 1) and model.certificate_.converged


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C_target": -1.0}, "C_target must be"),
        ({"class_prior": [0.5, 0.6]}, "class_prior must hold one share"),
        ({"class_prior": [1.0]}, "class_prior must hold one share"),
        ({"tol": 0}, "tol must be"),
    ],
)
def test_bad_parameters(parameters, match):
    X, y, domain, _ = two_blobs()
    model = TransductiveSVC(**parameters)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y, sample_domain=domain)
    assert not hasattr(model, "classes_")


def test_bad_rows():
    X, y, domain, _ = two_blobs()
    with pytest.raises(ValueError, match="2 classes"):
        TransductiveSVC().fit(X, np.where(domain >= 0, 1, 0), sample_domain=domain)
    with pytest.raises(ValueError, match="no source row"):
        TransductiveSVC().fit(X, y, sample_domain=np.full(len(y), -1))
    with pytest.raises(ValueError, match="NaN"):
        TransductiveSVC().fit(np.full_like(X, np.nan), y, sample_domain=domain)
    with pytest.raises(ValueError, match="sample_domain has"):
        TransductiveSVC().fit(X, y, sample_domain=domain[:-1])
