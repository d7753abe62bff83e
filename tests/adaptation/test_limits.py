"""The edge cases of Adapt-SVM's specification and its equivalences, one test each."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from shiftlearn import SVC, AdaptLogisticRegression, AdaptSVC

GAMMA = 0.4


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=30) > 0).astype(int)
    f = 0.8 * rng.normal(size=30)
    return X, y, f


def machine(**parameters):
    return AdaptSVC(**{"gamma": GAMMA, "tol": 1e-8, **parameters})


def scores(X):
    return 0.5 * X[:, 1] - 0.2


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_no_rows_leave_the_source(kernel, problem):
    X, y, _ = problem
    source = LogisticRegression().fit(X, y)
    model = machine(source=source, kernel=kernel).fit(X[:0], y[:0])
    np.testing.assert_allclose(model.decision_function(X), source.decision_function(X))
    with pytest.raises(ValueError, match=r"0 sample|minimum of 1|no label"):
        machine(kernel=kernel).fit(X[:0], y[:0])


def test_one_class_needs_a_source_that_names_two(problem):
    X, y, f = problem
    ones = np.ones(10, dtype=int)
    with pytest.raises(ValueError, match="only one class"):
        machine().fit(X[:10], ones, source_scores=f[:10])
    source = LogisticRegression().fit(X, y)
    model = machine(source=source).fit(X[:10], ones)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert (model.decision_function(X[:10]) >= source.decision_function(X[:10]) - 1e-9).all()
    declared = machine().partial_fit(X[:10], ones, classes=[0, 1], source_scores=f[:10])
    assert len(declared.classes_) == 2


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_with_an_intercept_moves_the_intercept_alone(label, problem):
    X, _, f = problem
    y = np.full(30, label)
    model = machine(fit_intercept=True).partial_fit(X, y, classes=[0, 1], source_scores=f)
    assert not model.dual_coef_.size
    sign = 2 * label - 1
    assert model.intercept_[0] == pytest.approx(sign * max(0.0, (1 - sign * f).max()))


@pytest.mark.parametrize("C", [0.1, 5.0])
@pytest.mark.parametrize("f", [-2.0, 0.3, 1.5])
def test_one_row(C, f):
    X = np.array([[1.0, 2.0]])
    model = machine(C=C, kernel="linear")
    model.partial_fit(X, [1], classes=[0, 1], source_scores=np.array([f]))
    alpha = np.clip((1 - f) / 5.0, 0, C)
    np.testing.assert_allclose(model.coef_, alpha * X, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_two_equal_rows_are_one_of_twice_the_cost(kernel, problem):
    X, y, f = problem
    twice = machine(kernel=kernel).fit(
        np.r_[X, X[:7]], np.r_[y, y[:7]], source_scores=np.r_[f, f[:7]]
    )
    weight = np.r_[np.full(7, 2.0), np.ones(23)]
    once = machine(kernel=kernel).fit(X, y, source_scores=f, sample_weight=weight)
    one, two = (m.decision_function(X, source_scores=f) for m in (once, twice))
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_equal_rows_of_opposite_labels(problem):
    X, y, f = problem
    model = machine().fit(np.r_[X, X], np.r_[y, 1 - y], source_scores=np.r_[f, f])
    assert model.certificate_.converged


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_without_cost_are_ignored(kernel, problem):
    X, y, f = problem
    weight = np.r_[np.zeros(5), np.ones(25)]
    all_rows = machine(kernel=kernel).fit(X, y, source_scores=f, sample_weight=weight)
    fewer = machine(kernel=kernel).fit(X[5:], y[5:], source_scores=f[5:])
    one, two = (m.decision_function(X, source_scores=f) for m in (all_rows, fewer))
    np.testing.assert_allclose(one, two, atol=1e-10)


def test_zero_vectors_with_a_linear_kernel(problem):
    _, y, f = problem
    model = machine(kernel="linear", C=3.0).fit(np.zeros((30, 3)), y, source_scores=f)
    np.testing.assert_array_equal(model.coef_, 0)
    wrong = np.where(y == 1, f, -f) < 1
    assert set(model.support_) == set(np.flatnonzero(wrong))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_source_that_is_right_with_margin_stays_as_it_is(kernel, problem):
    X, y, _ = problem
    right = np.where(y == 1, 1.0, -1.5)
    model = machine(kernel=kernel).fit(X, y, source_scores=right)
    assert model.support_.size == 0
    np.testing.assert_array_equal(model.decision_function(X, source_scores=right), right)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_small_cost_stays_near_the_source(kernel, problem):
    X, y, f = problem
    C = 1e-4
    model = machine(kernel=kernel, C=C).fit(X, y, source_scores=f)
    K = X @ X.T if kernel == "linear" else np.ones((30, 30))
    away = np.abs(model.decision_function(X, source_scores=f) - f)
    assert (away <= C * np.abs(K).sum(axis=0) + 1e-9).all() and away.max() > 0


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_no_source_is_the_plain_machine_without_intercept(kernel, problem):
    X, y, _ = problem
    plain = SVC(kernel=kernel, gamma=GAMMA, tol=1e-8, fit_intercept=False).fit(X, y)
    zero = machine(kernel=kernel).fit(X, y, source_scores=np.zeros(30))
    none = machine(kernel=kernel).fit(X, y)
    for model, given in ((zero, np.zeros(30)), (none, None)):
        ours = model.decision_function(X, source_scores=given)
        np.testing.assert_allclose(ours, plain.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("diagonal", [-2.0, 0.1])
def test_an_indefinite_kernel_ends_without_a_proof(diagonal, problem):
    X, y, f = problem
    K = diagonal * np.eye(30) - np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
    with pytest.warns(ConvergenceWarning):
        model = machine(kernel="precomputed").fit(K, y, source_scores=f)
    assert np.isnan(model.certificate_.gap) and not model.certificate_.converged
    assert np.abs(model.dual_coef_).max() <= 1.0 + 1e-12


def test_a_large_penalty_on_the_weights_is_fixed_weights(problem):
    X, y, f = problem
    g = np.random.default_rng(1).normal(size=30)
    fixed = machine().fit(X, y, source_scores=[f, g])
    learned = machine(source_weights="learned", source_penalty=1e9)
    learned.fit(X, y, source_scores=[f, g])
    np.testing.assert_allclose(learned.source_weights_, [0.5, 0.5], atol=1e-6)
    one, two = (m.decision_function(X, source_scores=[f, g]) for m in (fixed, learned))
    np.testing.assert_allclose(one, two, atol=1e-5)
    chosen = machine(source_weights=[1.0, 0.0]).fit(X, y, source_scores=[f, g])
    alone = machine().fit(X, y, source_scores=f)
    np.testing.assert_allclose(
        chosen.decision_function(X, source_scores=[f, g]),
        alone.decision_function(X, source_scores=f), atol=1e-6,
    )  # fmt: skip


def test_linear_collapses_to_one_vector(problem):
    X, y, _ = problem
    source = LogisticRegression().fit(X[:, ::-1], y)
    model = machine(source=source, kernel="linear").fit(X, y)
    whole = X @ model.full_coef_.T + model.full_intercept_
    np.testing.assert_allclose(whole[:, 0], model.decision_function(X))
    np.testing.assert_allclose(model.full_coef_, source.coef_ + model.coef_)
    sparse_model = machine(source=source, kernel="linear").fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(sparse_model.full_coef_, model.full_coef_, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_chain_is_a_sum_of_changes_and_needs_no_old_row(kernel, problem):
    X, y, _ = problem
    first = machine(source=scores, kernel=kernel).fit(X[:15], y[:15])
    second = machine(source=first, kernel=kernel).fit(X[15:], y[15:])
    chain = machine(source=scores, kernel=kernel).partial_fit(X[:15], y[:15])
    chain.partial_fit(X[15:], y[15:])
    np.testing.assert_allclose(chain.decision_function(X), second.decision_function(X), atol=1e-7)
    assert chain.source is scores
    refit = machine(source=scores, kernel=kernel).fit(X, y)
    assert np.abs(refit.decision_function(X) - chain.decision_function(X)).max() > 1e-3


def test_the_columns_of_unknown_classes(problem):
    X, _, _ = problem
    y = np.repeat([0, 1, 2], 10)
    X = X + 2.0 * np.eye(3)[y]
    source = LogisticRegression().fit(X[:20], y[:20])
    with pytest.warns(UserWarning, match=r"does not know the classes \[2\]"):
        model = machine(source=source).fit(X, y)
    assert model.predict(X[20:]).tolist().count(2) >= 8
    source = LogisticRegression().fit(X, y)
    adapted = machine(source=source).fit(X[:20], y[:20])
    kept = machine(source=source, unseen="keep").fit(X[:20], y[:20])
    before = source.decision_function(X)[:, 2]
    np.testing.assert_allclose(kept.decision_function(X)[:, 2], before)
    assert (adapted.decision_function(X)[:20, 2] < before[:20]).mean() > 0.5


@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (3.0, 7.0), (-1, 1)])
def test_the_larger_label_is_the_positive_one(names, problem):
    X, y, f = problem
    labels = np.array(names)[y]
    model = machine().fit(X, labels, source_scores=f)
    plain = machine().fit(X, y, source_scores=f)
    ours = model.decision_function(X, source_scores=f)
    np.testing.assert_array_equal(ours, plain.decision_function(X, source_scores=f))
    expected = np.array(names)[(ours > 0).astype(int)]
    np.testing.assert_array_equal(model.predict(X, source_scores=f), expected)


def test_balanced_costs(problem):
    X, y, f = problem
    y[:3] = 1
    counts = np.bincount(y)
    balanced = machine(class_weight="balanced").fit(X, y, source_scores=f)
    by_hand = machine().fit(X, y, source_scores=f, sample_weight=30 / (2 * counts[y]))
    one, two = (m.decision_function(X, source_scores=f) for m in (balanced, by_hand))
    np.testing.assert_allclose(one, two, atol=1e-7)


def test_warm_starts_end_at_the_same_answer_in_fewer_steps(problem):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 5)), rng.integers(0, 2, 120)
    f = X[:, 0]
    warm = machine(warm_start=True, tol=1e-6).fit(X[:100], y[:100], source_scores=f[:100])
    warm.fit(X, y, source_scores=f)
    steps = warm.n_iter_
    cold = machine(tol=1e-6).fit(X, y, source_scores=f)
    one, two = (m.decision_function(X, source_scores=f) for m in (warm, cold))
    np.testing.assert_allclose(one, two, atol=1e-4)
    assert steps < cold.n_iter_
    warm.set_params(C=1.2).fit(X, y, source_scores=f)
    cold.set_params(C=1.2).fit(X, y, source_scores=f)
    one, two = (m.decision_function(X, source_scores=f) for m in (warm, cold))
    np.testing.assert_allclose(one, two, atol=1e-4)
    assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("columns", [2, 60])
def test_logistic_limits(columns):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, columns))
    y = rng.integers(0, 3, 40)
    f = rng.normal(size=(40, 3))
    model = AdaptLogisticRegression(trust=1.0, C=1e-9, fit_intercept=False, tol=1e-12)
    model.fit(X, y, source_scores=f)
    centred = f - f.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(X, source_scores=f), centred, atol=1e-6)
    stiff = AdaptLogisticRegression(trust_penalty=1e9).fit(X, y, source_scores=f)
    assert stiff.trust_[0] == pytest.approx(1.0, abs=1e-6)
    units = AdaptLogisticRegression(trust=0.7, tol=1e-10).fit(X, y, source_scores=f)
    other = AdaptLogisticRegression(trust=0.7, tol=1e-10).fit(1000 * X, y, source_scores=f)
    np.testing.assert_allclose(
        units.decision_function(X, source_scores=f),
        other.decision_function(1000 * X, source_scores=f), atol=1e-5,
    )  # fmt: skip
