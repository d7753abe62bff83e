"""Views against formulas on whole arrays, as streams, and on awkward input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles.views import coral, monge, shrunk, standardized
from shiftlearn import SVC, CoralMapper, DomainStandardizer, MongeMapper
from shiftlearn.errors import NoTargetWarning

VIEWS = [DomainStandardizer(), MongeMapper(), CoralMapper(), MongeMapper(0.0), CoralMapper(0.0)]
MAPPERS = [MongeMapper, CoralMapper]
names = [repr(view) for view in VIEWS]


def domains(n=120, m=90, d=4, seed=0):
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0
    target = rng.normal(size=(m, d)) @ rng.normal(size=(d, d)) - 1.0
    X, where = np.vstack([source, target]), np.repeat([0, -1], [n, m])
    order = rng.permutation(n + m)
    return X[order], where[order]


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 1.0, 50.0])
@pytest.mark.parametrize(("view", "oracle"), [(MongeMapper, monge), (CoralMapper, coral)])
def test_maps_are_the_textbooks(view, oracle, shrinkage):
    X, where = domains()
    Z = view(shrinkage).fit_transform(X, sample_domain=where)
    source, target = X[where >= 0], X[where < 0]
    np.testing.assert_allclose(Z[where >= 0], oracle(source, target, shrinkage), atol=1e-9)
    np.testing.assert_array_equal(Z[where < 0], target)


@pytest.mark.parametrize("view", MAPPERS)
def test_mapped_rows_have_the_moments_of_the_target(view):
    X, where = domains()
    Z = view(0.0).fit_transform(X, sample_domain=where)
    source, target = Z[where >= 0], X[where < 0]
    np.testing.assert_allclose(source.mean(axis=0), target.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(shrunk(source, 0), shrunk(target, 0), atol=1e-12)


def test_no_other_map_with_these_moments_moves_less():
    X, where = domains()
    source = X[where >= 0]
    monge_way, coral_way = (
        np.sum((view(0.0).fit_transform(X, sample_domain=where)[where >= 0] - source) ** 2)
        for view in MAPPERS
    )
    assert monge_way < coral_way


def test_standardizer():
    X, where = domains()
    Z = DomainStandardizer().fit_transform(X, sample_domain=where)
    for domain in (0, -1):
        np.testing.assert_allclose(Z[where == domain], standardized(X[where == domain]), atol=1e-12)


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_identical_domains_are_left_alike(view):
    X = domains()[0]
    twice, where = np.vstack([X, X]), np.repeat([0, -1], len(X))
    Z = clone(view).fit_transform(twice, sample_domain=where)
    np.testing.assert_allclose(Z[: len(X)], Z[len(X) :], atol=1e-9)
    if not isinstance(view, DomainStandardizer):
        np.testing.assert_allclose(Z[: len(X)], X, atol=1e-9)


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_a_stream_gives_the_answer_of_the_whole(view):
    X, where = domains()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    whole = clone(view).fit(X, sample_domain=where, sample_weight=weights)
    stream = clone(view)
    for block in np.array_split(np.arange(len(X)), [3, 10, 11, 60, 61, 170]):
        stream.partial_fit(X[block], sample_domain=where[block], sample_weight=weights[block])
    there, here = (v.transform(X, sample_domain=where) for v in (whole, stream))
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-10)
    before = stream.transform(X, sample_domain=where)
    stream.fit(X[:50], sample_domain=where[:50])
    assert np.abs(stream.transform(X, sample_domain=where) - before).max() > 1e-3


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_weights_are_repetitions(view):
    X, where = domains()
    k = np.random.default_rng(2).integers(0, 4, len(X))
    weighted = clone(view).fit(X, sample_domain=where, sample_weight=k)
    repeated = clone(view).fit(np.repeat(X, k, axis=0), sample_domain=np.repeat(where, k))
    there, here = (v.transform(X, sample_domain=where) for v in (weighted, repeated))
    np.testing.assert_allclose(here, there, atol=1e-10)


@pytest.mark.parametrize("view", MAPPERS)
def test_each_source_by_its_own_map_onto_the_pooled_targets(view):
    X, where = domains(200, 150)
    where = np.where(where >= 0, np.arange(len(X)) % 2, -1 - np.arange(len(X)) % 3)
    Z = view().fit_transform(X, sample_domain=where)
    target = where < 0
    for source in (0, 1):
        two = (where == source) | target
        alone = view().fit_transform(X[two], sample_domain=np.where(where[two] >= 0, 0, -1))
        np.testing.assert_allclose(Z[where == source], alone[where[two] >= 0], atol=1e-10)


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_without_a_domain_rows_are_target(view):
    X, where = domains()
    fitted = clone(view).fit(X, sample_domain=where)
    plain = fitted.transform(X[:5])
    for target in (-1, -7):
        there = fitted.transform(X[:5], sample_domain=target)
        np.testing.assert_allclose(there, plain, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"source domains \[4\], unknown"):
        fitted.transform(X[:5], sample_domain=4)


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_no_target_rows(view):
    X = domains()[0]
    with pytest.warns(NoTargetWarning):
        Z = clone(view).fit_transform(X, np.zeros(len(X)))
    expected = standardized(X) if isinstance(view, DomainStandardizer) else X
    np.testing.assert_allclose(Z, expected, atol=1e-12)


@pytest.mark.parametrize("view", MAPPERS)
def test_one_target_row_moves_the_mean_alone(view):
    X, where = domains(50, 1)
    with pytest.warns(UserWarning, match="mean alone"):
        Z = view().fit_transform(X, sample_domain=where)
    source = where >= 0
    moved = X[source] - X[source].mean(axis=0) + X[~source][0]
    np.testing.assert_allclose(Z[source], moved, atol=1e-12)


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_constant_columns_and_more_columns_than_rows(view):
    X, where = domains(8, 6, 20)
    X[:, 3] = 1e6
    Z = clone(view).fit_transform(X, sample_domain=where)
    assert np.isfinite(Z).all() and np.abs(Z).max() < 1e7
    if isinstance(view, DomainStandardizer):
        np.testing.assert_array_equal(Z[:, 3], 0.0)


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_sparse_rows_go_through_a_truncated_svd(view):
    X, where = domains(60, 50, 12)
    X[X < 1] = 0.0
    rows = sparse.csr_array(X)
    Z = clone(view).fit_transform(rows, sample_domain=where)
    assert Z.shape == (110, 11)
    own = clone(view).set_params(features=TruncatedSVD(3, random_state=0))
    fitted = own.fit(rows, sample_domain=where)
    dense = TruncatedSVD(3, random_state=0).fit(rows).transform(rows)
    expected = clone(view).fit_transform(dense, sample_domain=where)
    np.testing.assert_allclose(fitted.transform(rows, sample_domain=where), expected, atol=1e-9)
    assert fitted.get_feature_names_out().tolist() == [f"truncatedsvd{i}" for i in range(3)]


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_labels_are_not_read(view):
    X, where = domains()
    y = np.random.default_rng(0).integers(0, 2, len(X))
    first = clone(view).fit_transform(X, y, sample_domain=where)
    np.testing.assert_array_equal(clone(view).fit_transform(X, 1 - y, sample_domain=where), first)


def test_marked_rows_are_the_target():
    X, where = domains()
    y = np.where(where < 0, None, "a").astype(object)
    marked = MongeMapper().fit_transform(X, y)
    np.testing.assert_array_equal(marked, MongeMapper().fit_transform(X, sample_domain=where))


@pytest.mark.parametrize("view", VIEWS, ids=names)
@pytest.mark.parametrize("classifier", [SVC(), LogisticRegression()], ids=["SVC", "logistic"])
def test_pipelines_with_routing_and_without(view, classifier):
    X, where = domains()
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    pipe = make_pipeline(clone(view), clone(classifier))
    step = pipe.steps[0][0]
    to_classifier = {"svc__sample_domain": where} if isinstance(classifier, SVC) else {}
    by_name = pipe.fit(X, y, **{f"{step}__sample_domain": where}, **to_classifier)
    scores = by_name.decision_function(X[where < 0])
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(clone(view), clone(classifier)).fit(X, y, sample_domain=where)
        np.testing.assert_array_equal(routed.decision_function(X[where < 0]), scores)


def test_frames_keep_their_names():
    X, where = domains()
    frame = pd.DataFrame(X, columns=list("abcd"))
    view = MongeMapper().set_output(transform="pandas").fit(frame, sample_domain=where)
    assert view.transform(frame, sample_domain=where).columns.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        view.transform(frame[list("dcba")])


@pytest.mark.parametrize("view", VIEWS, ids=names)
def test_pickled_and_float32(view):
    X, where = domains()
    fitted = clone(view).fit(X.astype(np.float32), sample_domain=where)
    Z = pickle.loads(pickle.dumps(fitted)).transform(X.astype(np.float32), sample_domain=where)
    assert Z.dtype == np.float32
    wide = clone(view).fit(X, sample_domain=where).transform(X, sample_domain=where)
    np.testing.assert_allclose(Z, wide, atol=2e-4)


@pytest.mark.parametrize(
    ("view", "given", "message"),
    [
        (MongeMapper(-1.0), {}, "shrinkage must be"),
        (CoralMapper(np.nan), {}, "shrinkage must be"),
        (MongeMapper(), {"sample_domain": [0, 1]}, "sample_domain has 2 entries"),
        (MongeMapper(), {"sample_weight": [1.0]}, "one weight for each row"),
        (DomainStandardizer(), {"sample_domain": 0.5}, "must hold integers"),
    ],
)
def test_wrong_input_changes_nothing(view, given, message):
    X, where = domains()
    fitted = DomainStandardizer().fit(X, sample_domain=where)
    model = view if type(view) is not DomainStandardizer else fitted
    with pytest.raises(ValueError, match=message):
        model.fit(X, **given)
    assert set(vars(fitted)) >= {"domains_", "features_"}


def test_it_helps_where_a_sensor_changed_its_gain():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    X[:, 0] += 2.5 * y
    where = np.repeat([0, -1], 200)
    X[200:] = X[200:] * [3.0, 0.5, 2.0, 1.0, 1.0] + [8.0, -3.0, 0.0, 1.0, 0.0]
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:200], y[:200])
    for view in (DomainStandardizer(), MongeMapper(0.0), CoralMapper(0.0)):
        Z = view.fit_transform(X, sample_domain=where)
        mapped = LogisticRegression().fit(Z[:200], y[:200]).score(Z[200:], y[200:])
        assert mapped > plain.score(X[200:], y[200:]) + 0.2


def svd_counts_rows(estimator):
    reason = "the truncated SVD in front of sparse rows counts rows, not weights"
    return {"check_sample_weight_equivalence_on_sparse_data": reason}


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks(
    [DomainStandardizer(), MongeMapper(), CoralMapper()], expected_failed_checks=svd_counts_rows
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
