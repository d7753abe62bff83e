"""The committee: what it averages, when it keeps to the source, bad input, contract."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import CoralMapper, MongeMapper, SelfTrainingAdapter, ShiftCommittee, stack_domains
from shiftlearn.errors import NoTargetWarning


def problem(n=200, m=200, d=4, classes=2, move=True, seed=0, shares=None):
    rng = np.random.default_rng(seed)
    centres = 1.7 * np.random.default_rng(5).normal(size=(classes, d))
    ys = rng.integers(0, classes, n)
    yt = rng.choice(classes, m, p=shares)
    Xs, Xt = (centres[y] + rng.normal(size=(len(y), d)) for y in (ys, yt))
    if move:
        Xt = Xt * np.linspace(0.6, 1.8, d) + np.linspace(-1.0, 1.0, d)
    return Xs, ys, Xt, yt


def fitted(committee, Xs, ys, Xt):
    X, y, domain = stack_domains(Xs, ys, Xt)
    return clone(committee).fit(X, y, sample_domain=domain)


def test_probabilities_are_the_weighted_mean_of_the_members():
    Xs, ys, Xt, _ = problem(classes=3)
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    parts = [w * m.predict_proba(Xt) for w, (_, m) in zip(committee.weights_, committee.members_)]
    np.testing.assert_allclose(committee.predict_proba(Xt), sum(parts), atol=1e-12)
    np.testing.assert_allclose(committee.predict_proba(Xt).sum(axis=1), 1)
    assert committee.weights_.sum() == pytest.approx(1) and len(committee.members_) == 4


def test_members_are_what_their_names_say():
    Xs, ys, Xt, _ = problem()
    X, y, domain = stack_domains(Xs, ys, Xt)
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    members = dict(committee.members_)
    plain = LogisticRegression(max_iter=1000).fit(Xs, ys)
    np.testing.assert_allclose(members["source"].predict_proba(Xt), plain.predict_proba(Xt))
    trained = SelfTrainingAdapter(plain).fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(
        members["source, self-trained"].predict_proba(Xt), trained.predict_proba(Xt)
    )
    ratio = committee.proportions_.target / committee.proportions_.source
    weights = np.concatenate([ratio[ys], np.ones(len(Xt))])
    view = MongeMapper().fit(X, sample_domain=domain, sample_weight=weights)
    Z = view.transform(X, sample_domain=domain)
    behind = SelfTrainingAdapter(plain).fit(Z, y, sample_domain=domain)
    np.testing.assert_allclose(
        members["monge, self-trained"].predict_proba(Xt), behind.predict_proba(Xt), atol=1e-4
    )


def test_it_helps_where_sensors_changed():
    gains = []
    for seed in range(5):
        Xs, ys, Xt, yt = problem(400, 400, 6, 3, seed=seed)
        plain = LogisticRegression().fit(Xs, ys).score(Xt, yt)
        gains.append(fitted(ShiftCommittee(random_state=0), Xs, ys, Xt).score(Xt, yt) - plain)
    assert np.mean(gains) > 0.005 and min(gains) > -0.01


def test_moved_proportions_do_not_ruin_it():
    for seed in range(3):
        Xs, ys, Xt, yt = problem(500, 500, 4, 3, False, seed, [0.05, 0.15, 0.8])
        plain = LogisticRegression().fit(Xs, ys).score(Xt, yt)
        committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
        assert committee.proportions_.moved and "proportions moved" in committee.verdict_
        assert committee.score(Xt, yt) > plain - 0.02
        X, _, domain = stack_domains(Xs, ys, Xt)
        Z = MongeMapper().fit_transform(X, sample_domain=domain)
        blind = LogisticRegression().fit(Z[domain >= 0], ys).score(Xt, yt)
        assert committee.score(Xt, yt) > blind + 0.05


def test_no_shift_is_the_source_model():
    Xs, ys, Xt, yt = problem(300, 300, move=False)
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    plain = LogisticRegression(max_iter=1000).fit(Xs, ys)
    assert abs(committee.score(Xt, yt) - plain.score(Xt, yt)) <= 0.005
    assert committee.weights_[0] == 1 and "No shift was seen" in committee.verdict_
    assert len(committee.members_) == 4 and (committee.agreement(Xt) < 1).any()


def test_agreement_by_its_definition():
    Xs, ys, Xt, _ = problem()
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    said = [member.predict_proba(Xt) for _, member in committee.members_]
    mean = sum(said) / len(said)
    expected = [1 - np.mean([abs(p[i] - mean[i]).sum() / 2 for p in said]) for i in range(len(Xt))]
    np.testing.assert_allclose(committee.agreement(Xt), expected)
    alone = fitted(ShiftCommittee(views=[], self_training=False, random_state=0), Xs, ys, Xt)
    np.testing.assert_allclose(alone.agreement(Xt), 1.0)


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(10, random_state=0)])
def test_target_labels_are_not_read(estimator):
    Xs, ys, Xt, yt = problem()
    X, domain = np.vstack([Xs, Xt]), np.repeat([0, -1], [len(Xs), len(Xt)])
    model = ShiftCommittee(estimator, random_state=0)
    first = clone(model).fit(X, np.concatenate([ys, yt]), sample_domain=domain)
    turned = np.concatenate([ys, np.random.default_rng(0).permutation(yt)])
    again = clone(model).fit(X, turned, sample_domain=domain)
    np.testing.assert_array_equal(again.predict_proba(Xt), first.predict_proba(Xt))


def test_same_bytes_for_the_same_seed_whatever_the_threads():
    Xs, ys, Xt, _ = problem()
    one, two = (
        fitted(ShiftCommittee(random_state=0, n_jobs=n), Xs, ys, Xt).predict_proba(Xt)
        for n in (1, 2)
    )
    np.testing.assert_allclose(one, two, atol=1e-10)
    thing = pickle.loads(pickle.dumps(fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)))
    np.testing.assert_allclose(thing.predict_proba(Xt), one, atol=1e-10)


def test_margin_machines_get_cross_fitted_probabilities():
    Xs, ys, Xt, yt = problem()
    committee = fitted(ShiftCommittee(LinearSVC(), random_state=0), Xs, ys, Xt)
    assert committee.score(Xt, yt) > LinearSVC().fit(Xs, ys).score(Xt, yt) - 0.05


def test_sparse_rows_share_one_svd():
    Xs, ys, Xt, yt = problem(d=12)
    Xs, Xt = (sparse.csr_array(np.where(X > 0.5, X, 0.0)) for X in (Xs, Xt))
    X, domain = sparse.vstack([Xs, Xt]).tocsr(), np.repeat([0, -1], [200, 200])
    committee = ShiftCommittee(random_state=0).fit(
        X, np.concatenate([ys, yt]), sample_domain=domain
    )
    names = [name for name, _ in committee.members_]
    assert names[2:] == ["monge, self-trained", "coral, self-trained"]
    fronts = {id(member.front.svd) for _, member in committee.members_[2:]}
    assert len(fronts) == 1 and committee.predict(Xt).shape == (200,)


def test_several_sources_labels_of_any_type_and_own_views():
    Xs, ys, Xt, _ = problem()
    names = np.array(["no", "yes"])[ys]
    X, y, domain = stack_domains([Xs[:100], Xs[100:] + 1], [names[:100], names[100:]], Xt)
    committee = ShiftCommittee(
        views=[("coral", CoralMapper())], self_training=False, source_weight=3.0, random_state=0
    ).fit(X, y, sample_domain=domain)
    assert [name for name, _ in committee.members_] == ["source", "coral"]
    np.testing.assert_allclose(committee.weights_, [0.75, 0.25])
    assert committee.predict(Xt).dtype == names.dtype


@pytest.mark.parametrize("m", [1, 3])
def test_hardly_any_target_rows_leave_the_source_model(m):
    Xs, ys, Xt, _ = problem(m=m)
    with pytest.warns(UserWarning, match="mean alone") if m == 1 else _nothing():
        committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    plain = LogisticRegression(max_iter=1000).fit(Xs, ys).predict_proba(Xt)
    np.testing.assert_allclose(committee.predict_proba(Xt), plain, atol=1e-8)


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_more_columns_than_rows_constant_columns_and_a_class_that_is_absent():
    Xs, ys, Xt, yt = problem(40, 30, 60, 3)
    Xs[:, 5] = Xt[:, 5] = 3.0
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt[yt != 2])
    assert np.isfinite(committee.predict_proba(Xt)).all()
    assert committee.predict_proba(Xt).shape == (30, 3)


def test_a_class_of_one_row():
    Xs, ys, Xt, _ = problem(classes=2)
    ys = np.where(np.arange(len(ys)) == 3, 2, ys)
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    assert committee.proportions_ is None and "single source row" in committee.verdict_


def test_without_target_rows():
    Xs, ys, Xt, _ = problem()
    with pytest.warns(NoTargetWarning):
        committee = ShiftCommittee().fit(Xs, ys)
    plain = LogisticRegression(max_iter=1000).fit(Xs, ys).predict_proba(Xt)
    np.testing.assert_allclose(committee.predict_proba(Xt), plain, atol=1e-8)


def test_domains_with_different_columns():
    import pandas as pd

    Xs, ys, Xt, _ = problem()
    one, other = pd.DataFrame(Xs, columns=list("abcd")), pd.DataFrame(Xt, columns=list("abce"))
    with pytest.raises(ValueError, match=r"'[de]'"):
        stack_domains(one, ys, other)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"views": "all"}, ValueError, "views must be"),
        ({"views": [("source", MongeMapper())]}, ValueError, "none of them"),
        ({"views": [("a", 3)]}, ValueError, "views must be"),
        ({"source_weight": -1}, ValueError, "source_weight must be"),
        ({"source_weight": 0, "views": [], "self_training": False}, ValueError, "add views"),
        ({"self_training": "yes"}, ValueError, "self_training must be"),
        ({"estimator": MongeMapper()}, TypeError, "predict_proba or decision_function"),
    ],
)
def test_wrong_parameters_change_nothing(options, error, message):
    Xs, ys, Xt, _ = problem()
    committee = fitted(ShiftCommittee(random_state=0), Xs, ys, Xt)
    before = committee.predict_proba(Xt)
    X, y, domain = stack_domains(Xs, ys, Xt)
    was = committee.get_params()
    with pytest.raises(error, match=message):
        committee.set_params(**options).fit(X, y, sample_domain=domain)
    np.testing.assert_array_equal(committee.set_params(**was).predict_proba(Xt), before)


def test_at_most_thirty_models_are_fitted(monkeypatch):
    Xs, ys, Xt, _ = problem()
    count, original = [], LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression,
        "fit",
        lambda self, *a, **k: (count.append(1), original(self, *a, **k))[1],
    )
    fitted(ShiftCommittee(random_state=0, n_jobs=1), Xs, ys, Xt)
    assert len(count) <= 23


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks([ShiftCommittee(LogisticRegression(tol=1e-8, max_iter=1000))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
