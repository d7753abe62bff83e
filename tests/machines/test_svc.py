"""SVC against scikit-learn, against itself, and on awkward input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

from shiftlearn import SVC, DomainKFold, stack_domains, svc_path

TIGHT = {"tol": 1e-7}


def binary(n=300, d=5, seed=0, dtype=np.float64):
    X, y = make_classification(
        n, d, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed, class_sep=0.7
    )
    return X.astype(dtype), y


def several(n=300, d=5, seed=0):
    return make_classification(
        n, d, n_informative=4, n_redundant=0, n_classes=4, flip_y=0.1, random_state=seed
    )


def theirs(ours):
    """scikit-learn's SVC with the same parameters."""
    names = ["C", "kernel", "gamma", "degree", "coef0", "class_weight", "tol"]
    return sklearn.svm.SVC(**{name: getattr(ours, name) for name in names})


def dual_objective(model, K):
    """½ aᵀQa - Σa of a two-class model."""
    coef = np.zeros(len(K))
    coef[model.support_] = model.dual_coef_[0]
    return 0.5 * coef @ K @ coef - np.abs(coef).sum()


def same_decisions(ours, reference, X, atol):
    np.testing.assert_allclose(ours.decision_function(X), reference.decision_function(X), atol=atol)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_two_classes_agree_with_sklearn(kernel, C):
    X, y = binary()
    ours = SVC(C, kernel=kernel, coef0=1.0, **TIGHT).fit(X, y)
    reference = theirs(ours).fit(X, y)
    same_decisions(ours, reference, X, atol=5e-5 * max(1.0, C))
    assert ours.intercept_ == pytest.approx(reference.intercept_, abs=1e-5 * max(1.0, C))
    assert set(ours.support_) == set(reference.support_)
    assert ours.n_support_.tolist() == reference.n_support_.tolist()
    if kernel == "rbf":
        K = rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))
        objective = dual_objective(reference, K)
        assert ours.certificate_.objective == pytest.approx(objective, rel=1e-6)
        assert dual_objective(ours, K) == pytest.approx(ours.certificate_.objective, rel=1e-6)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-5 * max(1.0, C))


def test_default_tolerance_is_good_to_four_digits():
    X, y = binary(1500, 20)
    ours, reference = SVC().fit(X, y), sklearn.svm.SVC(tol=1e-8).fit(X, y)
    K = rbf_kernel(X, gamma=1 / (20 * X.var()))
    optimum = dual_objective(reference, K)
    distance = dual_objective(ours, K) - optimum
    assert distance + 1e-7 * abs(optimum) >= 0 and distance <= 1e-4 * abs(optimum)
    assert ours.certificate_.gap >= distance


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_vs_one_agrees_with_sklearn(kernel):
    X, y = several()
    ours = SVC(kernel=kernel, **TIGHT).fit(X, y)
    reference = theirs(ours).fit(X, y)
    same_decisions(ours, reference, X, atol=2e-5)
    assert ours.support_.tolist() == sorted(reference.support_)
    np.testing.assert_allclose(ours.intercept_, reference.intercept_, atol=1e-5)
    order = np.argsort(reference.support_)
    np.testing.assert_allclose(ours.dual_coef_, reference.dual_coef_[:, order], atol=3e-5)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert len(ours.certificates_) == 6
    assert ours.certificate_.gap == pytest.approx(sum(part.gap for part in ours.certificates_))
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-5)


def test_one_vs_rest_is_a_machine_for_each_class():
    X, y = several()
    ours = SVC(multi_class="ovr", **TIGHT).fit(X, y)
    alone = [theirs(ours).fit(X, y == k).decision_function(X) for k in range(4)]
    np.testing.assert_allclose(ours.decision_function(X), np.stack(alone, axis=1), atol=2e-5)
    assert ours.dual_coef_.shape == (4, len(ours.support_))


def test_predict_is_the_largest_score():
    X, y = load_iris(return_X_y=True)
    for multi_class in ("ovo", "ovr"):
        model = SVC(multi_class=multi_class).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_without_intercept_the_oracle_agrees():
    X, y = binary(60)
    model = SVC(fit_intercept=False, **TIGHT).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    from oracles.qp import solve_plain
    from shiftlearn.kernels import resolve_kernel
    from shiftlearn.machines.formulations import hinge

    operator = resolve_kernel("rbf", "scale", 3, 0.0, X).operator(X)
    signs = np.where(y == 1, 1.0, -1.0)
    full, best, _ = solve_plain(hinge(operator, signs, np.ones(60), fit_intercept=False))
    assert model.certificate_.objective == pytest.approx(full.objective(best), rel=1e-7)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_give_the_dense_answer(index, multi_class):
    X, y = several()
    X[np.abs(X) < 0.7] = 0.0
    rows = sparse.csr_array(X)
    rows = sparse.csr_array(
        (rows.data, rows.indices.astype(index), rows.indptr.astype(index)), shape=X.shape
    )
    dense = SVC(multi_class=multi_class, **TIGHT).fit(X, y)
    model = SVC(multi_class=multi_class, **TIGHT).fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), dense.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(dense.decision_function(rows), dense.decision_function(X), atol=1e-9)
    assert sparse.issparse(model.support_vectors_)


@pytest.mark.parametrize("classes", [2, 4])
def test_precomputed_kernel(classes):
    X, y = binary() if classes == 2 else several()
    K = rbf_kernel(X, gamma=0.2)
    direct = SVC(gamma=0.2, **TIGHT).fit(X, y)
    given = SVC(kernel="precomputed", **TIGHT).fit(K, y)
    np.testing.assert_allclose(given.decision_function(K), direct.decision_function(X), atol=1e-5)
    narrow = given.decision_function(K[:, given.support_])
    np.testing.assert_allclose(narrow, given.decision_function(K), atol=1e-12)
    with pytest.raises(ValueError, match="expecting 300 features"):
        given.predict(K[:, :7])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_callable_kernel(multi_class):
    X, y = several()
    model = SVC(kernel=lambda A, B: laplacian_kernel(A, B, gamma=0.1), multi_class=multi_class)
    named = SVC(kernel="laplacian", gamma=0.1, multi_class=multi_class, **TIGHT).fit(X, y)
    model.set_params(**TIGHT).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), named.decision_function(X), atol=1e-5)


def test_float32_and_float64_rows_agree():
    X, y = binary(dtype=np.float32)
    single = SVC(**TIGHT).fit(X, y)
    double = SVC(**TIGHT).fit(X.astype(np.float64), y)
    assert single.support_vectors_.dtype == np.float32
    same_decisions(single, double, X, atol=1e-5)


# -- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weight_algebra(kernel, multi_class):
    X, y = several(200)
    options = {"kernel": kernel, "gamma": 0.2, "multi_class": multi_class, **TIGHT}
    repeats = np.random.default_rng(0).integers(0, 3, size=200)
    weighted = SVC(**options).fit(X, y, sample_weight=repeats)
    repeated = SVC(**options).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    same_decisions(weighted, repeated, X, atol=2e-5)
    scaled = SVC(C=3.0, **options).fit(X, y, sample_weight=repeats / 3)
    same_decisions(weighted, scaled, X, atol=2e-5)
    assert weighted.certificate_.objective == pytest.approx(repeated.certificate_.objective)
    assert (repeats[weighted.support_] > 0).all()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0}, {0: 0.3, 1: 2.0}])
def test_class_weights_agree_with_sklearn(class_weight):
    X, y = binary()
    weights = np.random.default_rng(0).uniform(0.1, 2, size=300)
    ours = SVC(gamma=0.2, class_weight=class_weight, **TIGHT).fit(X, y)
    same_decisions(ours, theirs(ours).fit(X, y), X, atol=2e-5)
    ours.fit(X, y, sample_weight=weights)
    if class_weight != "balanced":  # scikit-learn's "balanced" counts rows, not weights
        same_decisions(ours, theirs(ours).fit(X, y, sample_weight=weights), X, atol=2e-5)


def test_balanced_counts_weights():
    X, y = binary()
    repeats = np.random.default_rng(0).integers(0, 4, size=300)
    weighted = SVC(gamma=0.2, class_weight="balanced", **TIGHT).fit(X, y, sample_weight=repeats)
    repeated = clone(weighted).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    same_decisions(weighted, repeated, X, atol=2e-5)


# -- invariances and limits ------------------------------------------------------------------


def test_order_of_rows_and_names_of_labels_do_not_matter():
    X, y = several()
    model = SVC(**TIGHT).fit(X, y)
    order = np.random.default_rng(0).permutation(300)
    same_decisions(SVC(**TIGHT).fit(X[order], y[order]), model, X, atol=2e-5)
    named = SVC(**TIGHT).fit(X, np.array(["d", "c", "b", "a"])[y])
    scores = named.decision_function(X)[:, ::-1]
    np.testing.assert_allclose(scores, model.decision_function(X), atol=2e-5)


def test_contradictory_twins_are_defined():
    X = np.repeat([[0.0], [1.0], [2.0]], 2, axis=0)
    model = SVC(C=2.0, gamma=1.0, **TIGHT).fit(X, [0, 1, 0, 1, 0, 1])
    np.testing.assert_allclose(model.decision_function(X), 0.0, atol=1e-6)
    assert model.certificate_.converged


def test_tiny_cost_gives_the_flat_function():
    X, y = binary()
    assert np.ptp(SVC(C=1e-9).fit(X, y).decision_function(X)) < 1e-6


def test_path_is_the_machine_at_each_cost():
    X, y = several()
    costs = [10.0, 0.1, 1.0]
    weights = np.random.default_rng(0).uniform(0.5, 2, size=300)
    for model in svc_path(X, y, costs, estimator=SVC(gamma=0.2, **TIGHT), sample_weight=weights):
        alone = SVC(model.C, gamma=0.2, **TIGHT).fit(X, y, sample_weight=weights)
        same_decisions(model, alone, X, atol=1e-4)
        assert model.n_features_in_ == 5 and model.certificate_.converged
    assert [model.C for model in svc_path(X, y, costs)] == costs
    with pytest.raises(ValueError, match="Cs is empty"):
        svc_path(X, y, [])


def test_large_linear_problems_are_solved_on_the_rows():
    X, y = binary(2000)
    explicit = SVC(kernel="linear", **TIGHT).fit(X, y)
    reference = theirs(explicit).fit(X, y)
    np.testing.assert_allclose(explicit.coef_, reference.coef_, atol=1e-4)
    assert explicit.intercept_ == pytest.approx(reference.intercept_, abs=1e-4)
    assert explicit.dual_coef_.shape == (1, len(explicit.support_))
    np.testing.assert_array_equal(explicit.support_vectors_, X[explicit.support_])
    weights = explicit.dual_coef_ @ explicit.support_vectors_
    np.testing.assert_allclose(weights, explicit.coef_, atol=1e-6)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_features_make_the_machine_linear(multi_class):
    from sklearn.kernel_approximation import Nystroem

    X, y = several()
    features = Nystroem(gamma=0.2, n_components=40, random_state=0)
    model = SVC(features=features, multi_class=multi_class, **TIGHT).fit(X, y)
    Z = model.features_.transform(X)
    linear = SVC(kernel="linear", multi_class=multi_class, **TIGHT).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(Z), atol=1e-3)
    assert model.coef_.shape[1] == 40 and not hasattr(features, "components_")
    with pytest.raises(ValueError, match="features must be None or a transformer"):
        SVC(features="rbf").fit(X, y)


# -- what people pass -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [[False, True], [-1, 1], ["no", "yes"], [2.0, 7.0], np.array([1, 2], dtype=np.uint8)],
    ids=str,
)
def test_labels_of_any_type(labels):
    X, y = binary(100)
    labels = np.asarray(labels)
    model = SVC().fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist() and model.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(model.predict(X), labels[SVC().fit(X, y).predict(X)])


@pytest.mark.parametrize("kind", ["read-only", "strided", "fortran", "memmap", "list"])
def test_rows_in_any_layout(kind, tmp_path):
    X, y = binary(100)
    expected = SVC().fit(X, y).decision_function(X)
    given = X.copy()
    if kind == "read-only":
        given.flags.writeable = False
    elif kind == "strided":
        given = np.repeat(X, 2, axis=1)[:, ::2]
    elif kind == "fortran":
        given = np.asfortranarray(X)
    elif kind == "memmap":
        np.save(tmp_path / "X.npy", X)
        given = np.load(tmp_path / "X.npy", mmap_mode="r")
    elif kind == "list":
        given = X.tolist()
    np.testing.assert_allclose(SVC().fit(given, y).decision_function(given), expected, atol=1e-9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame):
    X, y = binary(100)
    names = list("abcde")
    table = frame({name: X[:, k] for k, name in enumerate(names)})
    series = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    model = SVC().fit(table, series)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_allclose(
        model.decision_function(table), SVC().fit(X, y).decision_function(X), atol=1e-9
    )


def test_target_rows_are_left_out():
    Xs, ys = binary(100)
    Xt = binary(50, seed=1)[0] + 100.0
    X, y, domain = stack_domains(Xs, ys, Xt)
    model = SVC().fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(
        model.decision_function(Xs), SVC().fit(Xs, ys).decision_function(Xs), atol=1e-9
    )
    assert model.classes_.dtype == ys.dtype
    assert model.support_.max() < 150


def test_search_over_domains():
    Xs, ys = binary(100)
    X, y, domain = stack_domains(Xs, ys, Xs + 0.1, ys)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=DomainKFold(3))
    search.fit(X, y, sample_domain=domain, groups=domain)
    assert 0.5 < search.best_score_ <= 1


def test_pickle_and_clone_keep_the_answer():
    X, y = several()
    model = SVC().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_unfitted_has_no_fitted_attributes():
    for name in ("support_vectors_", "coef_", "dual_coef_", "certificate_"):
        assert not hasattr(SVC(), name)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be a finite number > 0"),
        ({"C": -1.0}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"gamma": "big"}, "gamma must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"degree": -1, "kernel": "poly"}, "degree must be"),
        ({"multi_class": "all"}, "multi_class must be"),
        ({"class_weight": "fair"}, "class_weight must be"),
        ({"class_weight": {0: -1.0}}, "class_weight must hold positive"),
        ({"class_weight": {7: 1.0}}, "not among the classes"),
        ({"memory_limit": -5}, "memory_limit must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"n_jobs": "all"}, "n_jobs must be None or a whole number"),
        ({"n_jobs": 1.5}, "n_jobs must be None or a whole number"),
        ({"kernel": ["rbf"]}, "kernel must be one of"),
        ({"degree": "3", "kernel": "poly"}, "degree must be"),
        ({"coef0": np.nan, "kernel": "sigmoid"}, "coef0 must be"),
        ({"degree": 2.5, "kernel": "poly"}, "degree=2.5 is not whole"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = binary(50)
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(X, y)


@pytest.mark.parametrize(("n", "kernel"), [(600, "rbf"), (600, "poly"), (50, "poly")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_whose_kernel_overflows_are_refused(n, kernel):
    X, y = binary(n)
    with pytest.raises(ValueError, match="entries of X are too large"):
        SVC(kernel=kernel, gamma=1.0, coef0=1.0).fit(1e200 * X, y)


def test_callback_that_cannot_be_called_is_named():
    X, y = binary(50)
    with pytest.raises(TypeError, match="callback must be None or callable, got 3"):
        SVC(callback=3).fit(X, y)


def test_bad_kernel_matrices_are_named():
    X, y = binary(50)
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match="square kernel matrix"):
        SVC(kernel="precomputed").fit(K[:, :20], y)
    K[3, 4] += 0.1
    with pytest.raises(ValueError, match="symmetric kernel matrix"):
        SVC(kernel="precomputed").fit(K, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        SVC(kernel="precomputed").fit(sparse.csr_array(K), y)


def test_indefinite_kernel_ends_with_a_warning_and_no_bound():
    X, y = binary()
    with pytest.warns(ConvergenceWarning, match="without a bound on the gap"):
        model = SVC(kernel="sigmoid", gamma=2.0, coef0=1.0).fit(X, y)
    assert np.isnan(model.certificate_.gap) and not model.certificate_.converged
    assert np.abs(model.dual_coef_).max() <= 1.0 and abs(model.dual_coef_.sum()) < 1e-6


def test_stopped_early_warns_with_the_figures_and_bounds_the_distance():
    X, y = binary(1500, 20)
    with pytest.warns(ConvergenceWarning, match=r"violation .* \(tol=0.001\) and gap"):
        model = SVC(C=100.0, max_iter=50).fit(X, y)
    best = SVC(C=100.0, tol=1e-5).fit(X, y).certificate_
    assert model.certificate_.gap >= model.certificate_.objective - best.objective


def test_callback_sees_progress_and_stops():
    X, y = binary(1500, 20)
    events = []
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=100.0, tol=1e-6, callback=lambda e: events.append(e) or True).fit(X, y)
    assert events and events[0].gap >= 0
    assert model.predict(X).shape == (1500,)


def test_verbose_logs_and_does_not_print(caplog, capsys):
    X, y = binary(1500, 20)
    with caplog.at_level("INFO", logger="shiftlearn"):
        SVC(C=10.0, verbose=1).fit(X, y)
    assert "SVC" in caplog.text and not capsys.readouterr().out


def test_subsets_and_orders_predict_the_same():
    X, y = binary(1000, 20)
    model = SVC().fit(X, y)
    whole = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X[400:417]), whole[400:417], rtol=1e-12)
    pieces = np.array_split(np.arange(1000), [1, 30, 31, 200, 640, 999])
    parts = np.concatenate([model.decision_function(X[rows]) for rows in pieces])
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-12)
