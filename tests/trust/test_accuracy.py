"""Expected accuracy: the estimators by their definitions, few labels, intervals, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC as OtherSVC
from sklearn.tree import DecisionTreeClassifier

from shiftlearn import SVC, AccuracyEstimator
from shiftlearn.trust.expected import ESTIMATORS, Evidence
from shiftlearn.trust.expected.transport import transport_costs
from shiftlearn.trust.labelled import combine, from_labels, labels_to_halve


def problem(n=600, m=400, move=0.0, seed=0, classes=3, d=4):
    rng = np.random.default_rng(seed)
    centres = 1.3 * np.random.default_rng(9).normal(size=(classes, d))
    ys, yt = rng.integers(0, classes, n), rng.integers(0, classes, m)
    Xs, Xt = (centres[y] + rng.normal(size=(len(y), d)) for y in (ys, yt))
    return Xs, ys, Xt + move * np.resize([1.6, -1.6, 1.0], d), yt


def fitted(move=0.0, seed=0, model=None, **options):
    Xs, ys, Xt, yt = problem(move=move, seed=seed)
    model = (model or LogisticRegression()).fit(Xs[::2], ys[::2])
    estimator = AccuracyEstimator(**options).fit(model, Xs[1::2], ys[1::2])
    return estimator, Xt, yt, model.score(Xt, yt)


def evidence(seed=0, n=200, m=150, k=3):
    rng = np.random.default_rng(seed)
    source, target = rng.dirichlet(np.ones(k) / 2, n), rng.dirichlet(np.ones(k), m)
    codes = np.array([rng.choice(k, p=p) for p in source])
    return Evidence(source, target, codes, rng.normal(size=(n, 4)), rng.normal(size=(m, 4)), 0)


def test_estimators_by_their_definitions():
    e = evidence()
    found = {name: form(e) for name, form in ESTIMATORS.items()}
    right = np.mean(e.source.argmax(1) == e.codes)
    assert found["validation"] == right
    gain = e.target.max(1).mean() - e.source.max(1).mean()
    assert found["difference"] == pytest.approx(right + gain)
    entropy = [sum(p * np.log(p) for p in row) for row in e.source]
    bar = np.quantile(entropy, 1 - right)
    above = np.mean([sum(p * np.log(p) for p in row) >= bar for row in e.target])
    assert found["thresholded"] == pytest.approx(above)
    assert all(0 <= value <= 1 for value in found.values())


def test_the_temperature_has_the_least_loss():
    e = evidence(3)

    def loss(tau):
        p = e.source ** (1 / tau)
        p /= p.sum(axis=1, keepdims=True)
        return -np.log(p[np.arange(len(p)), e.codes]).mean()

    best = loss(e.temperature)
    assert all(best <= loss(e.temperature * f) + 1e-9 for f in (0.9, 0.99, 1.01, 1.1))


@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.7, 0.3]])
def test_transport_is_the_cheapest_assignment(shares):
    import cvxpy as cp

    k, shares = len(shares), np.array(shares)
    p = np.random.default_rng(0).dirichlet(np.ones(k), 20)
    plan = cp.Variable((20, k), nonneg=True)
    rows, columns = cp.sum(plan, axis=1) == 1, cp.sum(plan, axis=0) == 20 * shares
    best = cp.Problem(cp.Minimize(cp.sum(cp.multiply(plan, 1 - p))), [rows, columns]).solve()
    assert transport_costs(p, shares, 0).sum() == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_no_shift_is_the_accuracy_on_the_source(seed):
    estimator, Xt, _, truth = fitted(seed=seed)
    value, low, high = estimator.estimate(Xt)
    if estimator.details_["shift"] >= 0.05:
        assert value == estimator.source_accuracy_ and high - low < 0.13
        assert "No shift is seen" in estimator.words_
    assert low - 0.02 <= truth <= high + 0.02


def test_a_shift_is_noticed():
    estimator, Xt, _, truth = fitted(move=1.0)
    value, low, high = estimator.estimate(Xt)
    assert estimator.source_accuracy_ - truth > 0.05
    assert abs(value - truth) < abs(estimator.source_accuracy_ - truth)
    assert low <= value <= high and "without labels no estimate is proved" in estimator.words_
    expected = {*ESTIMATORS, "shift"}
    assert set(estimator.details_) == expected
    assert estimator.labels_to_halve_ > 0


def test_more_labels_make_it_narrower_and_all_labels_make_it_right():
    estimator, Xt, yt, truth = fitted(move=1.0)
    widths = []
    for n in (0, 20, 100, 400):
        y = np.full(len(yt), np.nan)
        y[:n] = yt[:n]
        value, low, high = estimator.estimate(Xt, y if n else None)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True) and widths[-1] < 0.09
    assert abs(value - truth) < 0.02
    assert estimator.details_["labels"] == pytest.approx(truth, abs=1e-9)


def test_intervals_with_labels_cover():
    hits, halves = 0, []
    for seed in range(24):
        estimator, Xt, yt, truth = fitted(move=0.4, seed=seed)
        y = np.where(np.random.default_rng(seed).permutation(len(yt)) < 50, yt, np.nan)
        _, low, high = estimator.estimate(Xt, y)
        hits += low <= truth <= high
        halves.append(high - low)
    assert hits >= 19 and np.median(halves) < 0.2


def test_the_control_variate_is_right_on_average_and_helps():
    rng = np.random.default_rng(0)
    g = rng.random(5000)
    z = rng.random(5000) < g
    few, plain = [], []
    for _ in range(300):
        rows = rng.choice(5000, 60, replace=False)
        few.append(from_labels(z[rows], g[rows], g.mean()).value)
        plain.append(z[rows].mean())
    assert abs(np.mean(few) - z.mean()) < 0.01 and np.std(few) < 0.95 * np.std(plain)


def test_all_right_is_not_taken_for_certain():
    few = from_labels(np.ones(10, dtype=bool), np.linspace(0.5, 1, 10), 0.7)
    assert few.error > 0.05


def test_combination_of_two_opinions():
    few = from_labels(np.repeat([True, False], 25), np.full(50, 0.5), 0.5)
    value, error = combine(few, 0.5, 0.05)
    assert value == pytest.approx(0.5)
    assert error == pytest.approx((few.error**-2 + 0.05**-2) ** -0.5)
    far, _ = combine(few, 1.0, 0.01)
    assert far < 0.95  # a sure opinion that is contradicted counts less


def test_labels_to_halve_halves():
    prior, variance = 0.08, 0.2
    n = labels_to_halve(prior, prior, variance, 0)
    assert (prior**-2 + n / variance) ** -0.5 == pytest.approx(prior / 2, rel=0.02)


@pytest.mark.parametrize(
    "model",
    [SVC(), OtherSVC(), DecisionTreeClassifier(max_depth=3, random_state=0)],
    ids=["own", "margins of another library", "tree"],
)
def test_any_classifier(model):
    estimator, Xt, _, truth = fitted(move=0.3, model=model)
    value, low, high = estimator.estimate(Xt)
    assert low <= value <= high and abs(value - truth) < 0.3


def test_frames_text_columns_sparse_rows_and_names():
    Xs, ys, Xt, _ = problem(200, 150)
    names = np.array(["a", "b", "c"])[ys]
    kinds = np.array(["u", "v"])
    frame = pd.DataFrame({"kind": kinds[(Xs[:, 0] > 0).astype(int)]})
    other = pd.DataFrame({"kind": kinds[(Xt[:, 0] > 0).astype(int)]})
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame[:100], names[:100])
    estimator = AccuracyEstimator().fit(model, frame[100:], names[100:])
    value, low, high = estimator.estimate(other)
    assert np.isfinite([value, low, high]).all() and np.isnan(estimator.details_["agreement"])
    rows = sparse.csr_array(np.maximum(Xs, 0))
    model = LogisticRegression().fit(rows[:100], ys[:100])
    thin = AccuracyEstimator().fit(model, rows[100:], ys[100:])
    assert 0 < thin.estimate(sparse.csr_array(np.maximum(Xt, 0))).value < 1


@pytest.mark.parametrize("method", list(ESTIMATORS))
def test_single_methods(method):
    estimator, Xt, _, _ = fitted(move=0.5, method=method)
    result = estimator.estimate(Xt)
    assert result.value == estimator.details_[method] and result.low <= result.value


def test_one_row_constant_columns_more_columns_than_rows():
    estimator, Xt, _, _ = fitted()
    assert np.isfinite(estimator.estimate(Xt[:1])).all()
    Xs, ys, Xt, _ = problem(60, 40, d=80)
    Xs[:, 3] = Xt[:, 3] = 2.0
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(Xs[:30], ys[:30])
    assert np.isfinite(AccuracyEstimator().fit(model, Xs[30:], ys[30:]).estimate(Xt)).all()


def test_wrong_input():
    Xs, ys, Xt, yt = problem(100, 50)
    model = LogisticRegression().fit(Xs, ys)
    with pytest.raises(ValueError, match="method must be one of"):
        AccuracyEstimator("best").fit(model, Xs, ys)
    with pytest.raises(TypeError, match="classes_"):
        AccuracyEstimator().fit(LogisticRegression(), Xs, ys)
    with pytest.raises(ValueError, match=r"y_source holds \['7'\]"):
        AccuracyEstimator().fit(model, Xs, np.where(ys == 1, 7, ys))
    with pytest.raises(ValueError, match="must label every row"):
        AccuracyEstimator().fit(model, Xs, np.where(ys == 1, np.nan, ys))
    fine = AccuracyEstimator().fit(model, Xs, ys)
    with pytest.raises(ValueError, match="X_target has 3 columns, X_source has 4"):
        fine.estimate(Xt[:, :3])
    with pytest.raises(ValueError, match="10 "):
        fine.estimate(Xt, yt[:10])


def test_frames_with_different_columns_are_named():
    Xs, ys, Xt, _ = problem(100, 50)
    one = pd.DataFrame(Xs, columns=list("abcd"))
    model = LogisticRegression().fit(one, ys)
    estimator = AccuracyEstimator().fit(model, one, ys)
    with pytest.raises(ValueError, match=r"missing in X_target: \['d'\], extra: \['z'\]"):
        estimator.estimate(pd.DataFrame(Xt, columns=list("abcz")))
    turned = pd.DataFrame(Xt, columns=list("abcd"))[list("dcba")]
    straight = estimator.estimate(pd.DataFrame(Xt, columns=list("abcd")))
    assert estimator.estimate(turned) == straight


def test_at_most_three_models_are_fitted(monkeypatch):
    estimator, Xt, _, _ = fitted(move=0.5)
    count, original = [], LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression,
        "fit",
        lambda self, *a, **k: (count.append(1), original(self, *a, **k))[1],
    )
    estimator.estimate(Xt)
    assert len(count) == 3


def test_the_benchmark_runs_one_task(tmp_path, monkeypatch):
    from shifts import accuracy
    from shifts.task import tasks

    monkeypatch.setenv("SHIFTLEARN_RESULTS", str(tmp_path))
    (task,) = [t for t in tasks("choosing") if t.name == "wine: scale"]
    found = accuracy.one(task, "logistic", LogisticRegression(max_iter=1000))
    assert found["auto"][1] <= found["auto"][0] <= found["auto"][2] and len(found["few"]) == 3
    assert set(ESTIMATORS) <= set(found)
