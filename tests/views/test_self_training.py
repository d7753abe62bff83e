"""Self-training: its rounds against a plain loop, when it stops, what it never reads, contract."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import SelfTrainingAdapter, stack_domains
from shiftlearn.errors import NoTargetWarning


def problem(m=150, seed=0, shift=0.8, classes=3):
    rng = np.random.default_rng(seed)
    centres = 2.5 * rng.normal(size=(classes, 4))
    ys, yt = rng.integers(0, classes, 120), rng.integers(0, classes, m)
    Xs = centres[ys] + rng.normal(size=(120, 4))
    Xt = centres[yt] + rng.normal(size=(m, 4)) + shift
    return Xs, ys, Xt, yt


def plain_loop(estimator, Xs, ys, Xt, rounds, share):
    """The definition, without warm starts and without stopping."""
    model = clone(estimator).fit(Xs, ys)
    for r in range(1, rounds + 1):
        p = model.predict_proba(Xt)
        rows, labels = [], []
        for k in range(p.shape[1]):
            own = [i for i in range(len(Xt)) if p[i].argmax() == k]
            own.sort(key=lambda i: -p[i].max())
            kept = own[: int(np.ceil(share * r / rounds * len(own)))]
            rows += kept
            labels += [k] * len(kept)
        model = clone(estimator).fit(np.vstack([Xs, Xt[rows]]), np.concatenate([ys, labels]))
    return model


@pytest.mark.parametrize("estimator", [LogisticRegression(tol=1e-10, max_iter=1000), GaussianNB()])
@pytest.mark.parametrize(("rounds", "share"), [(1, 1.0), (5, 0.8)])
def test_rounds_are_those_of_the_definition(estimator, rounds, share):
    Xs, ys, Xt, _ = problem()
    X, y, domain = stack_domains(Xs, ys, Xt)
    model = SelfTrainingAdapter(estimator, rounds, share, tolerance=1.0)
    found = model.fit(X, y, sample_domain=domain).predict_proba(Xt)
    expected = plain_loop(estimator, Xs, ys, Xt, rounds, share).predict_proba(Xt)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert model.n_rounds_ == rounds and model.shares_.shape == (rounds + 1, 3)


def test_it_follows_a_moved_cloud():
    Xs, ys, Xt, yt = problem(400, seed=3, shift=1.0, classes=2)
    X, y, domain = stack_domains(Xs, ys, Xt)
    plain = LogisticRegression().fit(Xs, ys).score(Xt, yt)
    assert SelfTrainingAdapter(LogisticRegression()).fit(
        X, y, sample_domain=domain).score(Xt, yt) >= plain  # fmt: skip


class Runaway(LogisticRegression):
    """Its second fit gives everything to class 0."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if len(y) > 120:
            self.intercept_ = self.intercept_ + np.array([1e3, 0, 0])
        return self


def test_a_round_that_runs_away_is_undone():
    Xs, ys, Xt, _ = problem()
    X, y, domain = stack_domains(Xs, ys, Xt)
    model = SelfTrainingAdapter(Runaway()).fit(X, y, sample_domain=domain)
    assert model.n_rounds_ == 0 and "round 1 was undone" in model.stop_reason_
    plain = LogisticRegression().fit(Xs, ys).predict_proba(Xt)
    np.testing.assert_allclose(model.predict_proba(Xt), plain, atol=1e-8)
    wild = SelfTrainingAdapter(Runaway(), tolerance=1.0).fit(X, y, sample_domain=domain)
    assert wild.n_rounds_ == 5 and (wild.predict(Xt) == 0).all()


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RandomForestClassifier(10, random_state=0), KNeighborsClassifier()],
)
def test_target_labels_are_not_read_and_arrays_not_written(estimator):
    Xs, ys, Xt, yt = problem()
    X, domain = np.vstack([Xs, Xt]), np.repeat([0, -1], [len(Xs), len(Xt)])
    y = np.concatenate([ys, yt])
    X.flags.writeable = y.flags.writeable = False
    first = SelfTrainingAdapter(estimator).fit(X, y, sample_domain=domain).predict_proba(Xt)
    permuted = np.concatenate([ys, np.random.default_rng(1).permutation(yt)])
    again = SelfTrainingAdapter(estimator).fit(X, permuted, sample_domain=domain)
    np.testing.assert_array_equal(again.predict_proba(Xt), first)


def test_labels_of_any_type_and_sparse_rows():
    Xs, ys, Xt, _ = problem()
    names = np.array(["a", "b", "c"])[ys]
    X, y, domain = stack_domains(Xs, names, Xt)
    dense = SelfTrainingAdapter(LogisticRegression()).fit(X, y, sample_domain=domain)
    rows = sparse.csr_array(np.asarray(X, dtype=float))
    thin = SelfTrainingAdapter(LogisticRegression()).fit(rows, y, sample_domain=domain)
    assert dense.predict(Xt).dtype == names.dtype
    np.testing.assert_allclose(
        thin.predict_proba(sparse.csr_array(Xt)), dense.predict_proba(Xt), atol=1e-3
    )


def test_weights_are_repetitions():
    Xs, ys, Xt, _ = problem(40)
    X, y, domain = stack_domains(Xs, ys, Xt)
    k = np.concatenate([np.random.default_rng(0).integers(0, 3, len(Xs)), np.ones(len(Xt), int)])
    tight = SelfTrainingAdapter(LogisticRegression(tol=1e-10, max_iter=1000))
    weighted = clone(tight).fit(X, y, sample_domain=domain, sample_weight=k)
    repeated = clone(tight).fit(
        np.repeat(X, k, axis=0), np.repeat(y, k), sample_domain=np.repeat(domain, k)
    )
    np.testing.assert_allclose(weighted.predict_proba(Xt), repeated.predict_proba(Xt), atol=1e-5)


@pytest.mark.parametrize("m", [1, 2])
def test_hardly_any_target_rows(m):
    Xs, ys, Xt, _ = problem(m)
    X, y, domain = stack_domains(Xs, ys, Xt)
    p = SelfTrainingAdapter(LogisticRegression()).fit(X, y, sample_domain=domain).predict_proba(Xt)
    assert p.shape == (m, 3) and np.isfinite(p).all()


def test_a_class_that_no_target_row_is_given_and_constant_columns():
    Xs, ys, Xt, yt = problem()
    Xs[:, 2] = Xt[:, 2] = 7.0
    X, y, domain = stack_domains(Xs, ys, Xt[yt != 1])
    model = SelfTrainingAdapter(LogisticRegression()).fit(X, y, sample_domain=domain)
    assert model.predict_proba(Xt).shape == (len(Xt), 3)


def test_without_target_rows_it_is_the_estimator():
    Xs, ys, Xt, _ = problem()
    with pytest.warns(NoTargetWarning):
        model = SelfTrainingAdapter(LogisticRegression()).fit(Xs, ys)
    plain = LogisticRegression().fit(Xs, ys).predict_proba(Xt)
    np.testing.assert_array_equal(model.predict_proba(Xt), plain)
    assert model.n_rounds_ == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rounds": 0}, ValueError, "rounds must be an integer >= 1, got 0"),
        ({"rounds": 2.5}, ValueError, "rounds must be"),
        ({"share": 0.0}, ValueError, "share must be"),
        ({"share": 1.1}, ValueError, "share must be"),
        ({"tolerance": -1}, ValueError, "tolerance must be"),
        ({"estimator": LinearSVC()}, TypeError, "CalibratedClassifierCV"),
    ],
)
def test_wrong_parameters(options, error, message):
    Xs, ys, Xt, _ = problem()
    X, y, domain = stack_domains(Xs, ys, Xt)
    model = SelfTrainingAdapter(LogisticRegression()).set_params(**options)
    with pytest.raises(error, match=message):
        model.fit(X, y, sample_domain=domain)


def test_weights_for_an_estimator_that_takes_none():
    Xs, ys, _, _ = problem()
    with pytest.raises(ValueError, match="KNeighborsClassifier takes none"):
        SelfTrainingAdapter(KNeighborsClassifier()).fit(Xs, ys, sample_weight=np.arange(1, 121))


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks([SelfTrainingAdapter(LogisticRegression(tol=1e-8, max_iter=1000))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
