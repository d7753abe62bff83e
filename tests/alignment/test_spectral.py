"""CDCSClassifier: its embedding against a dense one made pair by pair, extension, bad input."""

import numpy as np
import pytest
from scipy import sparse

from oracles.spectral import embedding
from shiftlearn import CDCSClassifier, stack_domains
from shiftlearn.alignment.fitted_rows import FittedRows
from shiftlearn.alignment.spectral_terms import Graph, spectrum
from shiftlearn.errors import NoTargetWarning


def rings(n=40, m=50, k=2, seed=0, turn=0.2):
    """Rows near k directions; the target's are turned by ``turn``."""
    rng = np.random.default_rng(seed)
    ys, yt = np.arange(n) % k, np.arange(m) % k

    def rows(codes, turn):
        angle = codes * np.pi / (2 * k) + turn + rng.normal(0, 0.06, len(codes))
        length = rng.uniform(0.5, 2.0, len(codes))
        return length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    return (*stack_domains(rows(ys, 0.2), ys, rows(yt, 0.2 + turn)), yt)


@pytest.mark.parametrize("similarity", ["cosine", "rbf"])
@pytest.mark.parametrize("k", [2, 3])
def test_embedding_is_that_of_the_oracle(similarity, k):
    X, y, domain, _ = rings(n=24, m=30, k=k)
    model = CDCSClassifier(
        similarity, gamma=0.7, n_neighbors=6, target_weight=0.5, label_weight=3.0
    ).fit(X, y, sample_domain=domain)
    values, rows = embedding(
        X, np.asarray(y[:24], dtype=int), kind=similarity, gamma=0.7, k=6, rho=0.5, eta=3.0
    )
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-10)
    # Eigenvectors are unique up to sign (or rotation): inner products of rows are not affected.
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, rows @ rows.T, atol=1e-6)
    assert model.residuals_.max() < 1e-10


def test_iterated_and_dense_eigenvectors_agree():
    X, y, _domain, _ = rings(n=300, m=400, k=3, seed=2)
    codes = np.asarray(y[:300], dtype=int)
    both = Graph.of(X, None, 10)
    target = Graph.of(X[300:], None, 10)
    found = spectrum(
        both,
        target,
        codes,
        target_weight=1.0,
        label_weight=15.0,
        random_state=np.random.RandomState(0),
    )
    W = both.W.toarray()
    root = 1 / np.sqrt(W.sum(axis=1))
    dense = np.eye(700) - root[:, None] * W * root
    Wt = target.W.toarray()
    roott = 1 / np.sqrt(Wt.sum(axis=1))
    dense[300:, 300:] += np.eye(400) - roott[:, None] * Wt * roott
    for c in range(3):
        own = np.flatnonzero(codes == c)
        dense[np.ix_(own, own)] += 15.0 / 300 * (len(own) * np.eye(len(own)) - 1)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(dense)[:3], atol=1e-7)
    assert found.residuals.max() < 1e-6


def test_target_rows_get_their_transduction_and_others_their_neighbours():
    X, y, domain, yt = rings()
    target = domain < 0
    model = CDCSClassifier().fit(X, y, sample_domain=domain)
    np.testing.assert_array_equal(model.predict(X[target]), model.transduction_)
    assert (model.transduction_ == yt).mean() > 0.9
    fresh, _, new_domain, fresh_y = rings(seed=7)
    assert model.score(fresh[new_domain < 0], fresh_y) > 0.9


def test_extension_fulfils_the_equation_of_an_own_entry():
    X, y, domain, _ = rings(n=20, m=25)
    model = CDCSClassifier(n_neighbors=44).fit(X, y, sample_domain=domain)
    # Neighbours are all other rows but for itself; so leave the diagonal's part out of the test.
    model._fitted_target = None
    extended = model._embed(X[domain < 0] * (1 + 1e-9))
    cosine = (extended * model.embedding_[20:]).sum(axis=1)
    assert cosine.min() > 0.9


@pytest.mark.parametrize("classifier", ["centroid", "svm"])
def test_labels_of_any_type_and_sparse_rows(classifier):
    X, y, domain, yt = rings(k=3)
    names = np.array(["x", "y", "z"])
    labels = np.array([None if v is None else names[v] for v in y], dtype=object)
    dense = CDCSClassifier(classifier=classifier).fit(X, labels, sample_domain=domain)
    thin = CDCSClassifier(classifier=classifier).fit(
        sparse.csr_matrix(X), labels, sample_domain=domain
    )
    target = X[domain < 0]
    assert dense.predict(target).dtype == names.dtype
    np.testing.assert_array_equal(dense.predict(target), thin.predict(sparse.csr_matrix(target)))
    np.testing.assert_array_equal(dense.predict(target), thin.predict(target))
    assert dense.decision_function(target).shape == (50, 3)
    assert dense.score(target, names[yt]) > 0.8


def test_target_labels_are_never_read():
    X, y, domain, yt = rings()
    scores = [
        CDCSClassifier()
        .fit(X, np.concatenate([y[domain >= 0].astype(int), labels]), sample_domain=domain)
        .decision_function(X)
        for labels in (yt, 1 - yt)
    ]
    np.testing.assert_array_equal(*scores)


def test_rotated_rows_and_other_lengths_change_nothing_for_the_cosine():
    X, y, domain, _ = rings()
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    model = CDCSClassifier().fit(X, y, sample_domain=domain)
    turned = CDCSClassifier().fit(3.0 * X @ turn, y, sample_domain=domain)
    np.testing.assert_allclose(turned.eigenvalues_, model.eigenvalues_, atol=1e-9)
    np.testing.assert_array_equal(turned.transduction_, model.transduction_)


def test_must_links_pull_the_source_classes_together():
    X, y, domain, _ = rings(seed=3)
    codes = np.asarray(y[:40], dtype=int)
    spreads = []
    for eta in (0.0, 15.0, 1e4):
        rows = CDCSClassifier(label_weight=eta).fit(X, y, sample_domain=domain).embedding_[:40]
        spreads.append(sum(rows[codes == c].var(axis=0).sum() for c in (0, 1)))
    assert spreads[2] < 1e-6 and spreads[1] < spreads[0] + 1e-12


def test_weights_of_zero_take_rows_out():
    X, y, domain, _ = rings()
    weights = np.ones(len(y))
    weights[[3, 60]] = 0
    kept = weights > 0
    one = CDCSClassifier().fit(X, y, sample_domain=domain, sample_weight=weights)
    other = CDCSClassifier().fit(X[kept], y[kept], sample_domain=domain[kept])
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_)


def test_rows_without_terms_and_duplicates():
    X, y, domain, _ = rings()
    X[5] = X[60] = 0.0
    X[7] = X[6]
    model = CDCSClassifier().fit(X, y, sample_domain=domain)
    assert np.isfinite(model.decision_function(X)).all()


def test_without_target_rows():
    X, y, domain, _ = rings()
    own = domain >= 0
    with pytest.warns(NoTargetWarning):
        model = CDCSClassifier().fit(X[own], y[own].astype(int))
    assert model.score(X[own], y[own].astype(int)) > 0.9 and model.transduction_.shape == (0,)


def test_fitted_rows_are_found_again():
    X = np.random.default_rng(0).normal(size=(6, 3)) * (np.arange(3) != 1)
    known = FittedRows(sparse.csr_matrix(X))
    np.testing.assert_array_equal(known.find(X[[4, 0]]), [4, 0])
    np.testing.assert_array_equal(known.find(X.astype(np.float32)), np.full(6, -1))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"similarity": "dot"}, "similarity must be"),
        ({"classifier": "tree"}, "classifier must be"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"n_neighbors": 2.5}, "n_neighbors must be"),
        ({"target_weight": -1}, "target_weight must be a finite number >= 0"),
        ({"label_weight": np.inf}, "label_weight must be"),
        ({"C": 0}, "C must be"),
        ({"gamma": "wide"}, "gamma must be"),
    ],
)
def test_bad_parameters(parameters, match):
    X, y, domain, _ = rings()
    with pytest.raises(ValueError, match=match):
        CDCSClassifier(**parameters).fit(X, y, sample_domain=domain)
