"""adapt_many against one AdaptSVC a concept; the baselines against their formulas."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from shiftlearn import SVC, AdaptSVC, AggregateSVC, ScoreEnsemble, adapt_many
from shiftlearn.errors import NoSourceWarning, NoTargetWarning

GAMMA = 0.3


@pytest.fixture
def concepts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    Y = (X @ rng.normal(size=(4, 6)) + rng.normal(size=(40, 6)) > 0).astype(float)
    return X, Y, rng.normal(size=(40, 6))


@pytest.mark.parametrize("share", [1.0, 0.8, 0.3])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
def test_each_concept_is_its_own_adaptation(share, kernel, intercept, concepts):
    X, Y, F = concepts
    known = np.random.default_rng(1).random(Y.shape) < share
    known[:2] = True
    Y[:2] = [[0.0] * 6, [1.0] * 6]
    labels = np.where(known, Y, np.nan)
    options = {
        "kernel": kernel, "gamma": GAMMA, "C": 2.0, "fit_intercept": intercept, "tol": 1e-8,
    }  # fmt: skip
    many = adapt_many(X, labels, source_scores=np.where(known, F, np.nan), **options)
    new = np.random.default_rng(2).normal(size=(15, 4))
    G = np.random.default_rng(3).normal(size=(15, 6))
    ours = many.decision_function(new, G)
    for c in range(6):
        rows = known[:, c]
        one = AdaptSVC(**options).fit(X[rows], Y[rows, c], source_scores=F[rows, c])
        theirs = one.decision_function(new, source_scores=G[:, c])
        np.testing.assert_allclose(ours[:, c], theirs, atol=1e-5)
        assert many.certificates_[c].objective == pytest.approx(
            one.certificate_.objective, rel=1e-6, abs=1e-8
        )
    assert many.certificate_.converged and len(many.certificates_) == 6
    np.testing.assert_allclose(many.decision_function(new), ours - G, atol=1e-12)


def test_sparse_precomputed_and_plain_rows_agree(concepts):
    X, Y, F = concepts
    one = adapt_many(X, Y, source_scores=F, kernel="linear", tol=1e-8)
    two = adapt_many(sparse.csr_matrix(X), Y, source_scores=F, kernel="linear", tol=1e-8)
    three = adapt_many(X @ X.T, Y, source_scores=F, kernel="precomputed", tol=1e-8)
    values = one.decision_function(X)
    np.testing.assert_allclose(two.decision_function(sparse.csr_matrix(X)), values, atol=1e-6)
    np.testing.assert_allclose(three.decision_function(X @ X.T), values, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, Y, F: (X, Y[:5], F), "Y must be a table of numbers"),
        (lambda X, Y, F: (X, Y + 5, F), "Y must hold 1 for rows"),
        (lambda X, Y, F: (X, np.full(Y.shape, np.nan), F), "no label at all for the concepts"),
        (lambda X, Y, F: (X, Y, F[:, :2]), r"source_scores must have shape \(40, 6\)"),
        (lambda X, Y, F: (X, Y, F * np.nan), "source_scores contains NaN"),
    ],
)
def test_bad_tables(change, words, concepts):
    X, Y, F = change(*concepts)
    with pytest.raises(ValueError, match=words):
        adapt_many(X, Y, source_scores=F)
    with pytest.raises(ValueError, match="C must"):
        adapt_many(*concepts[:2], C=0.0)


@pytest.fixture
def domains():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0.3 * rng.normal(size=60)).astype(int)
    return X, y, np.repeat([0, -1], [45, 15])


@pytest.mark.parametrize("intercept", [False, True])
def test_the_union_is_one_machine_with_two_costs(intercept, domains):
    X, y, domain = domains
    options = {"gamma": GAMMA, "tol": 1e-8, "fit_intercept": intercept}
    union = AggregateSVC(C=5.0, C_source=0.5, **options).fit(X, y, sample_domain=domain)
    weight = np.where(domain >= 0, 0.5, 5.0)
    plain = SVC(C=1.0, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(union.decision_function(X), plain.decision_function(X), atol=1e-5)
    assert np.abs(union.dual_coef_).max() <= 5.0 + 1e-9
    hidden = np.where(domain >= 0, y, -y - 1).astype(float)
    hidden[domain < 0] = np.nan
    with pytest.warns(NoTargetWarning):
        AggregateSVC(**options).fit(X, hidden, sample_domain=domain)
    with pytest.warns(NoSourceWarning):
        AggregateSVC(**options).fit(X[45:], y[45:], sample_domain=domain[45:])


def test_the_ensemble_is_the_printed_average(domains):
    X, y, _ = domains
    source = LogisticRegression().fit(X[:45], y[:45])
    model = ScoreEnsemble(source, C=3.0, C_source=2.0, gamma=GAMMA, tol=1e-8).fit(X[45:], y[45:])
    new = SVC(C=3.0, gamma=GAMMA, fit_intercept=False, tol=1e-8).fit(X[45:], y[45:])
    by_hand = (2 * source.decision_function(X) + 3 * new.decision_function(X)) / 5
    np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-6)
    alone = ScoreEnsemble(C=3.0, gamma=GAMMA, tol=1e-8).fit(X[45:], y[45:])
    np.testing.assert_allclose(alone.decision_function(X), new.decision_function(X), atol=1e-6)
    with pytest.warns(NoSourceWarning):
        ScoreEnsemble(LogisticRegression(), gamma=GAMMA).fit(X[45:], y[45:])
