"""A committee from blocks: the members of rows in memory, whatever the blocking."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from shiftlearn import Blocks, CoralMapper, ShiftCommittee
from shiftlearn.errors import NoTargetWarning
from shiftlearn.statistics import Stream
from shiftlearn.statistics.survey import CodedBlock
from shiftlearn.trust.streamed_members import _limits, _predictions, _surest

EXACT = LogisticRegression(tol=1e-10, max_iter=5000)


def draw(k, seed=0, n=400, m=350):
    """Classes around corners of a simplex, stretched and moved in the target."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n + m)
    X = 2.0 * np.eye(k, 4)[y] + rng.normal(size=(n + m, 4))
    X[n:] = X[n:] * [1.4, 0.8, 1.0, 1.1] + [0.7, -0.4, 0.2, 0.0]
    return X, np.array(list("abcd"))[y], np.repeat([1, 2, -1], [n // 2, n - n // 2, m])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_members_of_memory_and_of_any_blocking(k, weighted):
    X, y, domain = draw(k)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(X)) if weighted else None
    whole = ShiftCommittee(EXACT, random_state=0)
    whole.fit(X, y, sample_domain=domain, sample_weight=weights)
    expected = whole.predict_proba(X)
    found = []
    for rows in (750, 93):
        blocks = Blocks.from_arrays(X, y, domain, sample_weight=weights, rows=rows)
        model = ShiftCommittee(EXACT, random_state=0).fit(blocks)
        assert [name for name, _ in model.members_] == [name for name, _ in whole.members_]
        assert model.verdict_ == whole.verdict_ and "domains differ" in model.verdict_
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-4)
        found.append(model.predict_proba(X))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    parts = list(model.predict(Blocks.from_arrays(X, rows=100)))
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(X))
    parts = list(model.agreement(Blocks.from_arrays(X, rows=100)))
    np.testing.assert_allclose(np.concatenate(parts), model.agreement(X))


def test_sparse_rows_and_other_views():
    X, y, domain = draw(2)
    rows = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    whole = ShiftCommittee(EXACT, random_state=0).fit(rows, y, sample_domain=domain)
    model = ShiftCommittee(EXACT, random_state=0)
    model.fit(Blocks.from_arrays(rows, y, domain, rows=93))
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), atol=1e-4)
    options = {"views": [("coral", CoralMapper())], "self_training": False, "source_weight": 0.3}
    whole = ShiftCommittee(EXACT, random_state=0, **options).fit(X, y, sample_domain=domain)
    model = ShiftCommittee(EXACT, random_state=0, **options).fit(Blocks.from_arrays(X, y, domain))
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.weights_, whole.weights_)


def test_dask_collections():
    da = pytest.importorskip("dask.array")
    import dask

    X, y, domain = draw(2)
    codes = (y == "b").astype(int)
    whole = ShiftCommittee(EXACT, random_state=0).fit(Blocks.from_arrays(X, codes, domain))
    with dask.config.set(scheduler="synchronous"):
        parts = [da.from_array(a, chunks=(250, *a.shape[1:])) for a in (X, codes, domain)]
        model = ShiftCommittee(EXACT, self_training=True, random_state=0)
        model.fit(parts[0], parts[1], sample_domain=parts[2])
        lazy = model.predict_proba(parts[0])
        assert lazy.shape == (750, 2) and hasattr(lazy, "__dask_graph__")
        np.testing.assert_allclose(lazy.compute(), whole.predict_proba(X), atol=1e-6)


def test_an_interrupted_fit_goes_on(tmp_path):
    X, y, domain = draw(2)
    expected = ShiftCommittee(random_state=0).fit(Blocks.from_arrays(X, y, domain, rows=90))
    walks = []

    def make():
        walks.append(1)
        if len(walks) == 60:
            raise KeyboardInterrupt
        return iter([(X[:400], y[:400], domain[:400]), (X[400:], y[400:], domain[400:])])

    model = ShiftCommittee(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(Blocks(make, checkpoint=tmp_path / "fit"))
    assert not hasattr(model, "members_")
    before = len(list((tmp_path / "fit").glob("pass-*.npz")))
    assert before > 40
    model.fit(Blocks(make, checkpoint=tmp_path / "fit"))
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    assert not list((tmp_path / "fit").iterdir())


@pytest.mark.parametrize("ties", [1, 40])
def test_surest_rows_are_those_of_a_sort(ties):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(600 // ties, 1)) * 4, ties, axis=0)
    model = LogisticRegression().fit(rng.normal(size=(50, 1)), np.arange(50) % 2)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.3])
    n = len(X)
    block = CodedBlock(X, np.full(n, -1), np.ones(n), np.full(n, -1), 0)
    codes, bits = _predictions(model, X)
    counts = np.bincount(codes, minlength=2)
    wanted = np.ceil(0.37 * counts).astype(np.int64)
    low, shares = _limits(Stream([block]), model, counts, wanted, 1)
    kept = _surest(model, low, shares)(block)
    np.testing.assert_allclose(np.bincount(kept.codes, kept.weights), wanted)
    for k in (0, 1):
        order = np.sort(bits[codes == k])[::-1]
        cut = order[wanted[k] - 1]
        full = (bits > cut) & (codes == k)
        assert set(X[full, 0]) <= set(kept.X[kept.weights == 1, 0])


def test_what_cannot_be_done_is_said():
    X, y, domain = draw(2)
    blocks = Blocks.from_arrays(X, y, domain)
    with pytest.raises(ValueError, match=r"RandomForestClassifier.* needs all rows in memory"):
        ShiftCommittee(RandomForestClassifier()).fit(blocks)
    with pytest.raises(ValueError, match="without class_weight"):
        ShiftCommittee(LogisticRegression(class_weight="balanced")).fit(blocks)
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(ValueError, match="the view 'scaled' is a StandardScaler"):
        ShiftCommittee(views=[("scaled", StandardScaler())]).fit(blocks)
    with pytest.raises(ValueError, match="y holds 1 class"):
        ShiftCommittee().fit(Blocks.from_arrays(X, np.zeros(len(X)), domain))
    with pytest.warns(NoTargetWarning):
        model = ShiftCommittee().fit(Blocks.from_arrays(X, y, np.abs(domain)))
    assert model.predict(X[:5]).shape == (5,)
