"""LinearSVC against scikit-learn's, against SVC with a linear kernel, and on awkward input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from shiftlearn import SVC, LinearSVC, Nystroem, stack_domains

TIGHT = {"tol": 1e-8}
LOSSES = ["hinge", "squared_hinge"]


def data(n=200, d=6, classes=2, seed=0):
    return make_classification(
        n, d, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.1, random_state=seed
    )


def primal(w, b, X, y, C, loss):
    """½‖w‖² + Σ c ℓ(1 - y f)."""
    slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ w + b))
    return 0.5 * w @ w + np.sum(C * (slack if loss == "hinge" else slack**2))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_without_intercept_it_is_sklearns_machine(C, loss):
    X, y = data()
    ours = LinearSVC(C, loss=loss, fit_intercept=False, **TIGHT).fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        C=C, loss=loss, fit_intercept=False, dual=True, tol=1e-7, max_iter=1_000_000
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    mine, other = (primal(m.coef_[0], 0.0, X, y, C, loss) for m in (ours, theirs))
    assert mine <= other * (1 + 1e-7)
    assert ours.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_with_intercept_it_is_the_kernel_machine(C):
    X, y = data()
    X += 5.0  # a penalised intercept would be far off here
    ours = LinearSVC(C, **TIGHT).fit(X, y)
    kernel = SVC(C, kernel="linear", **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.coef_, kernel.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, kernel.intercept_, atol=1e-4)
    assert ours.certificate_.objective == pytest.approx(kernel.certificate_.objective, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_is_the_distance_between_primal_and_dual(loss):
    X, y = data()
    model = LinearSVC(2.0, loss=loss, tol=1e-2).fit(X, y)
    above = primal(model.coef_[0], model.intercept_[0], X, y, 2.0, loss)
    proof = model.certificate_
    assert proof.converged and above + proof.objective >= -1e-9
    tight = LinearSVC(2.0, loss=loss, **TIGHT).fit(X, y).certificate_.objective
    assert 0 <= proof.objective - tight + 1e-9 <= proof.gap + 2e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_moving_the_rows_moves_the_intercept_alone(loss):
    X, y = data()
    shift = np.array([3.0, -2.0, 0.5, 8.0, 0.0, 1.0])
    here, there = (LinearSVC(loss=loss, **TIGHT).fit(Z, y) for Z in (X, X + shift))
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-5)
    np.testing.assert_allclose(there.intercept_, here.intercept_ - here.coef_ @ shift, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_give_the_dense_answer(index, loss):
    X, y = data(classes=3)
    X[np.abs(X) < 0.7] = 0.0
    rows = sparse.csr_array(X)
    rows = sparse.csr_array(
        (rows.data, rows.indices.astype(index), rows.indptr.astype(index)), shape=X.shape
    )
    dense, thin = (LinearSVC(loss=loss, **TIGHT).fit(Z, y) for Z in (X, rows))
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(thin.decision_function(rows), dense.decision_function(X), atol=1e-4)


def test_each_class_against_the_rest():
    X, y = data(classes=4)
    whole = LinearSVC(n_jobs=2, **TIGHT).fit(X, y)
    alone = [LinearSVC(n_jobs=1, **TIGHT).fit(X, y == k).decision_function(X) for k in range(4)]
    np.testing.assert_allclose(whole.decision_function(X), np.stack(alone, axis=1), atol=1e-6)
    np.testing.assert_array_equal(whole.predict(X), whole.decision_function(X).argmax(axis=1))
    assert len(whole.certificates_) == 4
    assert whole.certificate_.gap == pytest.approx(sum(part.gap for part in whole.certificates_))


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions_costs_and_removals(loss):
    X, y = data()
    k = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = LinearSVC(loss=loss, **TIGHT).fit(X, y, sample_weight=k)
    repeated = LinearSVC(loss=loss, **TIGHT).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    half = LinearSVC(0.5, loss=loss, **TIGHT).fit(X, y)
    scaled = LinearSVC(loss=loss, **TIGHT).fit(X, y, sample_weight=np.full(len(y), 0.5))
    np.testing.assert_allclose(scaled.coef_, half.coef_, atol=1e-7)


def test_class_weight_is_a_factor_of_the_costs():
    X, y = data()
    by_class = LinearSVC(class_weight={0: 3.0}, **TIGHT).fit(X, y)
    by_row = LinearSVC(**TIGHT).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-9)


def test_target_labels_are_not_read():
    X, y = data()
    Xa, ya, domain = stack_domains(X[:120], y[:120], X[120:])
    plain = LinearSVC().fit(X[:120], y[:120])
    stacked = LinearSVC().fit(Xa, ya, sample_domain=domain)
    np.testing.assert_array_equal(stacked.coef_, plain.coef_)
    assert stacked.predict(X).dtype == y.dtype


def test_features():
    X, y = data()
    map_ = Nystroem(50, gamma=0.3, random_state=0)
    model = LinearSVC(features=map_, **TIGHT).fit(X, y)
    Z = clone(map_).fit(X).transform(X)
    byhand = LinearSVC(**TIGHT).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), byhand.decision_function(Z), atol=1e-6)
    assert not hasattr(map_, "components_")


def test_the_same_bytes_twice_and_after_pickling():
    X, y = data(classes=3)
    first, second = (LinearSVC(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.decision_function(X), first.decision_function(X))


def test_data_frames_and_names():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = np.where(y == 1, "yes", "no")
    model = LinearSVC().fit(frame, labels)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert set(model.predict(frame)) == {"yes", "no"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("fedcba")])


@pytest.mark.parametrize("loss", LOSSES)
def test_contradictory_and_empty_rows(loss):
    X = np.array([[1.0], [1.0], [0.0], [0.0]])
    model = LinearSVC(loss=loss, **TIGHT).fit(X, [0, 1, 0, 1])
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-7)
    assert model.certificate_.converged


def test_stopped_early_it_warns_and_the_gap_still_holds():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        early = LinearSVC(100.0, tol=1e-10, max_iter=1).fit(X, y)
    best = LinearSVC(100.0, **TIGHT).fit(X, y).certificate_.objective
    assert 0 <= early.certificate_.objective - best <= early.certificate_.gap


def test_a_callback_stops_every_class():
    X, y = data(2000, classes=4)
    seen = []
    with pytest.warns(ConvergenceWarning):
        LinearSVC(1e4, tol=1e-12, callback=lambda e: seen.append(e) or True).fit(X, y)
    assert seen and all(0 <= event.fraction <= 1 for event in seen)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"tol": 0}, "tol must be"),
        ({"loss": "log"}, "loss must be"),
        ({"multi_class": "ovo"}, 'multi_class must be "ovr"'),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"features": "fourier"}, "features must be"),
        ({"class_weight": {7: 1.0}}, "class_weight names"),
    ],
)
def test_wrong_parameters_change_nothing(parameters, message):
    X, y = data()
    model = LinearSVC().fit(X, y)
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, y)
    assert model.coef_ is before


def test_before_fit():
    with pytest.raises(NotFittedError):
        LinearSVC().predict(np.zeros((1, 2)))


@pytest.mark.parametrize("n", [2000, 20_000])
def test_correlated_columns_of_several_sizes_converge(n):
    """Newton rounds need more steps than their gradients show; stopping them early ruined these."""
    X, y = make_classification(n, 50, n_informative=20, flip_y=0.05, random_state=0)
    model = LinearSVC().fit(X, y)
    assert model.certificate_.converged
    assert model.n_iter_ < 200
