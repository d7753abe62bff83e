"""LSDAKSVC and the whitening from blocks of rows: the same answer as from all rows at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from alignment.shifted import shifted
from shiftlearn import LSDAKSVC, SVC, DomainWhitener, Nystroem
from shiftlearn.errors import NoTargetWarning

PLAIN = FunctionTransformer()
CUTS = [1, 5, 30, 31, 40, 45]


def streamed(model, X, y, domain, cuts, order=None, **arrays):
    order = np.arange(len(y)) if order is None else order
    for rows in np.split(order, cuts):
        more = {name: values[rows] for name, values in arrays.items()}
        classes = np.unique(y[domain >= 0].tolist())
        model.partial_fit(X[rows], y[rows], classes, sample_domain=domain[rows], **more)
    return model


@pytest.mark.parametrize("form", ["rkhs", "coef"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("strength", ["auto", 5.0])
def test_blocks_give_the_answer_of_fit(form, classes, strength):
    X, y, domain = shifted(classes=classes)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = LSDAKSVC(strength, alignment=strength, form=form, features=PLAIN, centered=True)
    whole = clone(model).fit(X, y, sample_domain=domain, sample_weight=weight)
    for order in (np.arange(52), np.random.default_rng(1).permutation(52)):
        for cuts in ([], CUTS):
            other = streamed(clone(model), X, y, domain, cuts, order, sample_weight=weight)
            assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-9)
            assert_allclose(other.coef_, whole.coef_, atol=1e-9)
            assert other.certificate_.converged
            assert other.certificate_.objective == pytest.approx(whole.certificate_.objective)
            assert_allclose(other.mean_term_, whole.mean_term_, atol=1e-9)
            assert_allclose(other.scatter_term_, whole.scatter_term_, atol=1e-9)
            assert (other.alignment_, other.C_) == pytest.approx((whole.alignment_, whole.C_))


def test_labelled_target_rows_several_sources_sparse_rows_and_class_weights():
    X, y, domain = shifted()
    domain = domain.copy()
    domain[12:30] = 3
    labels = np.array([*y[:36], *[None] * 16], dtype=object)
    model = LSDAKSVC(2.0, alignment=5.0, C_target=7.0, features=PLAIN, class_weight={0: 3.0})
    whole = clone(model).fit(X, labels, sample_domain=domain)
    for rows in (X, sparse.csr_array(X)):
        model = clone(model).set_params(features=FunctionTransformer(accept_sparse=True))
        other = streamed(model, rows, labels, domain, CUTS)
        assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("form", ["rkhs", "coef"])
def test_weights_in_the_statistics(form):
    X, y, domain = shifted()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = LSDAKSVC(1.0, alignment=9.0, form=form, features=PLAIN, weighted_statistics=True)
    whole = clone(model).fit(X, y, sample_domain=domain, sample_weight=weight)
    other = streamed(clone(model), X, y, domain, CUTS, sample_weight=weight)
    assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_the_map_is_fitted_on_the_first_block():
    X, y, domain = shifted(n=60, m=40)
    order = np.random.default_rng(0).permutation(100)
    model = LSDAKSVC(features=Nystroem(8, random_state=0))
    streamed(model, X, y, domain, [50], order)
    expected = Nystroem(8, random_state=0).fit(X[order[:50]])
    assert_allclose(model.features_.transform(X), expected.transform(X))


def test_partial_fit_exists_with_features_only():
    assert not hasattr(LSDAKSVC(), "partial_fit")
    assert hasattr(LSDAKSVC(features=PLAIN), "partial_fit")


def test_a_stream_may_begin_with_either_domain():
    X, y, domain = shifted()
    model = LSDAKSVC(features=PLAIN)
    model.partial_fit(X[30:], classes=[0, 1], sample_domain=domain[30:])
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)
    model.partial_fit(X[:30], y[:30], sample_domain=domain[:30])
    whole = LSDAKSVC(features=PLAIN).fit(X, y, sample_domain=domain)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)
    model.fit(X, y, sample_domain=domain)  # forgets the stream
    model.partial_fit(X[:30], y[:30])
    assert model.mmd2_ == 0.0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"classes": [0]}, "at least 2 labels"),
        ({"classes": [0, 5]}, "not among the classes"),
        ({"y": None}, "first block holds no label"),
        ({"y": np.zeros(52, dtype=int)}, "all labels in"),
    ],
)
def test_bad_first_blocks(change, match):
    X, y, domain = shifted()
    call = {"X": X, "y": y, "sample_domain": domain, **change}
    with pytest.raises(ValueError, match=match):
        LSDAKSVC(features=PLAIN).partial_fit(**call)


def test_bad_later_blocks_leave_the_model_as_it_was():
    X, y, domain = shifted()
    model = LSDAKSVC(features=PLAIN).partial_fit(X, y, sample_domain=domain)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, y, [0, 1, 2], sample_domain=domain)
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, y + 7, sample_domain=domain)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y, sample_domain=domain)
    assert_allclose(model.decision_function(X), before)
    with pytest.raises(ValueError, match="balanced"):
        LSDAKSVC(features=PLAIN, class_weight="balanced").partial_fit(X, y, sample_domain=domain)


@pytest.mark.parametrize("centered", [False, True])
def test_whitening_streams_and_whitens(centered):
    X, _, domain = shifted()
    whole = DomainWhitener(0.4, alignment=7.0, centered=centered).fit(X, sample_domain=domain)
    parts = clone(whole)
    for rows in np.split(np.random.default_rng(0).permutation(52), CUTS):
        parts.partial_fit(sparse.csr_array(X[rows]), sample_domain=domain[rows])
    assert_allclose(parts.whitening_, whole.whitening_, atol=1e-10)
    Zs, Zt = X[:30], X[30:]
    d = Zs.mean(axis=0) - Zt.mean(axis=0)
    if centered:
        Zs, Zt = Zs - Zs.mean(axis=0), Zt - Zt.mean(axis=0)
    e, U = np.linalg.eigh(Zs.T @ Zs / 30 - Zt.T @ Zt / 22)
    M = np.eye(3) + 7 * (0.6 * np.outer(d, d) + 0.4 * (U * np.abs(e)) @ U.T)
    T = whole.whitening_
    assert_allclose(T.T @ M @ T, np.eye(3), atol=1e-10)
    assert_allclose(whole.transform(X), X @ T)
    assert (whole.mmd2_, whole.scatter_trace_) == pytest.approx((d @ d, np.abs(e).sum()))


def test_a_ridge_behind_the_whitening_is_the_least_squares_machine():
    X, y, domain = shifted()
    model = LSDAKSVC(4.0, alignment=7.0, features=PLAIN).fit(X, y, sample_domain=domain)
    whitener = DomainWhitener(alignment=7.0).fit(X, sample_domain=domain)
    signs = np.where(y[:30] == 1, 1.0, -1.0)
    ridge = Ridge(alpha=1 / 4).fit(whitener.transform(X[:30]), signs)
    assert_allclose(ridge.predict(whitener.transform(X)), model.decision_function(X), atol=1e-8)


def test_whitening_without_target_and_with_too_many_sparse_columns():
    X, y, _ = shifted()
    with pytest.warns(NoTargetWarning):
        whitener = DomainWhitener().fit(X)
    assert_allclose(whitener.transform(X), X)
    assert LogisticRegression().fit(whitener.transform(X), y).score(X, y) > 0.5
    with pytest.raises(ValueError, match="sparse columns"):
        DomainWhitener().fit(sparse.csr_array((3, 6000)), sample_domain=[0, 0, -1])
    with pytest.raises(ValueError, match="balance must be"):
        DomainWhitener(2.0).fit(X)
    with pytest.raises(ValueError, match="alignment must be"):
        DomainWhitener(alignment="much").fit(X)


def test_whitening_in_a_routed_pipeline():
    X, y, domain = shifted()
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(DomainWhitener(), SVC(kernel="linear"))
        pipe.fit(X, y, sample_domain=domain)
    whitener = DomainWhitener().fit(X, sample_domain=domain)
    plain = SVC(kernel="linear").fit(whitener.transform(X[:30]), y[:30])
    assert_allclose(
        pipe.decision_function(X), plain.decision_function(whitener.transform(X)), atol=1e-6
    )
    assert_allclose(DomainWhitener().fit_transform(X, sample_domain=domain), whitener.transform(X))


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks([DomainWhitener()])
def test_sklearn_contract(estimator, check):
    check(estimator)
