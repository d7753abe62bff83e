"""LocallyWeightedEnsemble against loops over rows; members, probabilities, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from oracles.agreement import ensemble
from shiftlearn import SVC, LocallyWeightedEnsemble, stack_domains
from shiftlearn.alignment.agreement import agreement
from shiftlearn.errors import NoTargetWarning
from shiftlearn.machines.calibration import CrossFittedPlatt


def blobs(n=40, m=50, k=2, shift=0.8, gap=3.0, seed=0):
    rng = np.random.default_rng(seed)
    centres = gap * np.array([[0, 0], [1, 1], [-1, 1]])
    ys, yt = np.arange(n) % k, np.arange(m) % k
    Xs = centres[ys] + rng.normal(size=(n, 2))
    Xt = centres[yt] + rng.normal(size=(m, 2)) + shift
    return (*stack_domains(Xs, ys, Xt), yt)


MEMBERS = [
    ("nb", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
    ("logistic", LogisticRegression()),
]


@pytest.mark.parametrize(("k", "threshold", "h"), [(2, 0.5, 10), (3, 0.9, 7), (2, 1.0, 4)])
def test_weights_and_probabilities_are_those_of_the_oracle(k, threshold, h):
    X, y, domain, _ = blobs(k=k, gap=1.5)
    model = LocallyWeightedEnsemble(
        MEMBERS, n_neighbors=h, threshold=threshold, random_state=0
    ).fit(X, y, sample_domain=domain)
    target = X[domain < 0]
    known = [member.predict_proba(target) for _, member in model.estimators_]
    s, reliable, answer = ensemble(target, model.clusters_, known, h, threshold)
    np.testing.assert_array_equal(model.reliable_, reliable)
    total = s.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.weights_[total[:, 0] > 0], (s / total)[total[:, 0] > 0])
    np.testing.assert_allclose(model.predict_proba(target), answer, atol=1e-12)
    assert threshold < 0.9 or not reliable.all()


def test_agreement_of_small_sets():
    near = np.array([[0, 1, 2]])
    clusters, said = np.array([0, 0, 1]), np.array([1])
    assert agreement(near, clusters, np.array([0]), np.array([1, 0, 1]), said) == [0.5]
    assert agreement(near, clusters, np.array([0]), np.array([1, 1, 0]), said) == [1.0]
    assert agreement(near, clusters, np.array([2]), np.array([0, 0, 0]), said) == [
        1.0
    ]  # both empty
    assert agreement(near, clusters, np.array([2]), np.array([0, 1, 0]), said) == [0.0]


def test_equal_members_are_the_member():
    X, y, domain, _ = blobs()
    one = [("a", LogisticRegression()), ("b", LogisticRegression())]
    model = LocallyWeightedEnsemble(one, threshold=0.0).fit(X, y, sample_domain=domain)
    plain = LogisticRegression().fit(X[domain >= 0], y[domain >= 0].astype(int))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_allclose(model.weights_, 0.5)


@pytest.mark.parametrize("clustering", ["kmeans", "spectral"])
def test_default_members_on_three_classes_with_names_and_sparse_rows(clustering):
    X, y, domain, yt = blobs(k=3, gap=4.0)
    names = np.array(["p", "q", "r"])
    labels = np.array([None if v is None else names[v] for v in y], dtype=object)
    options = {"clustering": clustering, "random_state": 0}
    dense = LocallyWeightedEnsemble(**options).fit(X, labels, sample_domain=domain)
    thin = LocallyWeightedEnsemble(**options).fit(
        sparse.csr_matrix(X), labels, sample_domain=domain
    )
    new = X[domain < 0] + 0.01
    assert dense.predict(new).dtype == names.dtype
    assert dense.score(new, names[yt]) > 0.9
    np.testing.assert_allclose(
        dense.predict_proba(new), thin.predict_proba(sparse.csr_matrix(new)), atol=0.02
    )
    np.testing.assert_allclose(dense.predict_proba(new).sum(axis=1), 1)
    np.testing.assert_array_equal(dense.predict(X[domain < 0]), dense.transduction_)


def test_target_labels_are_never_read():
    X, y, domain, yt = blobs()
    answers = [
        LocallyWeightedEnsemble(random_state=0)
        .fit(X, np.concatenate([y[domain >= 0].astype(int), labels]), sample_domain=domain)
        .predict_proba(X)
        for labels in (yt, 1 - yt)
    ]
    np.testing.assert_array_equal(*answers)


def test_sigmoids_are_fitted_to_unseen_scores():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 20)), np.arange(60) % 2  # nothing to learn
    p = CrossFittedPlatt(SVC(C=100.0)).fit(X, codes).predict_proba(X)
    own = p[np.arange(60), codes]
    assert own.mean() < 0.7  # sigmoids of the machine's own scores would be sure of every row
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_three_class_sigmoids_and_classes_of_one_row():
    X, y, domain, _ = blobs(k=3, gap=5.0)
    codes = y[domain >= 0].astype(int)
    source = X[domain >= 0]
    model = CrossFittedPlatt(SVC(multi_class="ovr")).fit(source, codes)
    assert (model.predict_proba(source).argmax(axis=1) == codes).mean() > 0.95
    single = np.flatnonzero(codes == 0)[1:]
    rest = np.delete(np.arange(len(codes)), single)
    lone = CrossFittedPlatt(SVC(multi_class="ovr")).fit(source[rest], codes[rest])
    assert np.isfinite(lone.predict_proba(source)).all()


def test_without_target_rows_members_count_equally():
    X, y, domain, _ = blobs()
    own = domain >= 0
    with pytest.warns(NoTargetWarning):
        model = LocallyWeightedEnsemble(MEMBERS).fit(X[own], y[own].astype(int))
    each = [member.predict_proba(X) for _, member in model.estimators_]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(each, axis=0))


@pytest.mark.parametrize("m", [1, 2])
def test_few_target_rows(m):
    X, y, domain, _ = blobs(m=m)
    model = LocallyWeightedEnsemble().fit(X, y, sample_domain=domain)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"estimators": []}, "estimators must be a list"),
        ({"estimators": [("a", 3)]}, "estimators must be a list"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"cv": 1}, "cv must be"),
        ({"threshold": 1.5}, "threshold must be"),
        ({"clustering": "trees"}, "clustering must be"),
    ],
)
def test_bad_parameters(parameters, match):
    X, y, domain, _ = blobs()
    with pytest.raises(ValueError, match=match):
        LocallyWeightedEnsemble(**parameters).fit(X, y, sample_domain=domain)
