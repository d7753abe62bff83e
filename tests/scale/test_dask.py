"""The same fits over Dask collections: equal answers, lazy predictions, clear errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from shiftlearn import LSSVC, LinearSVC, RandomFourier

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X, Y = make_classification(900, 5, n_informative=4, n_redundant=0, random_state=0)
MAP = RandomFourier(20, gamma=0.2, random_state=0)


@pytest.fixture(autouse=True)
def serial():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("estimator", [LSSVC(features=MAP), LinearSVC(tol=1e-6)])
def test_arrays(estimator):
    whole = estimator.fit(X, Y).decision_function(X)
    model = estimator.fit(da.from_array(X, chunks=(200, 5)), da.from_array(Y, chunks=200))
    np.testing.assert_allclose(model.decision_function(X), whole, atol=0.02)
    lazy = model.decision_function(da.from_array(X, chunks=(100, 5)))
    assert lazy.shape == (900,) and hasattr(lazy, "__dask_graph__")
    np.testing.assert_allclose(lazy.compute(), model.decision_function(X))
    labels = model.predict(da.from_array(X, chunks=(100, 5)))
    np.testing.assert_array_equal(labels.compute(), model.predict(X))


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=Y)
    parts = dd.from_pandas(frame, npartitions=4)
    model = LSSVC(kernel="linear").fit(parts[list("abcde")], parts["label"])
    assert model.feature_names_in_.tolist() == list("abcde")
    whole = LSSVC(kernel="linear").fit(frame[list("abcde")], Y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
    predicted = model.predict(parts[list("abcde")]).compute()
    np.testing.assert_array_equal(predicted, whole.predict(frame[list("abcde")]))


def test_chunks_that_do_not_fit_are_named():
    rows = da.from_array(X, chunks=(200, 5))
    with pytest.raises(ValueError, match="y has 9 chunks, X has 5"):
        LSSVC(kernel="linear").fit(rows, da.from_array(Y, chunks=100))
    with pytest.raises(ValueError, match="X is cut along its columns"):
        LSSVC(kernel="linear").fit(da.from_array(X, chunks=(200, 2)), rows[:, 0])
    with pytest.raises(TypeError, match="y must be a Dask collection"):
        LSSVC(kernel="linear").fit(rows, Y)
