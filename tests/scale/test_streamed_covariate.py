"""Integrated logistic regression from blocks: the answers of rows in memory."""

import numpy as np
import pytest

from shiftlearn import Blocks, CovariateShiftLogisticRegression, RandomFourier
from shiftlearn.errors import NoTargetWarning

RNG = np.random.default_rng(0)
SOURCE = RNG.normal(size=(300, 3))
TARGET = RNG.normal(size=(200, 3)) + np.array([0.8, 0.0, 0.0])
X = np.vstack([SOURCE, TARGET])
DOMAIN = np.repeat([1, -1], [300, 200])
ORDER = RNG.permutation(500)
MAP = RandomFourier(12, gamma=0.3, random_state=0)


def labels(k):
    scores = X @ np.random.default_rng(1).normal(size=(3, k))
    y = (scores + np.random.default_rng(2).gumbel(size=scores.shape)).argmax(axis=1).astype(object)
    y[DOMAIN < 0] = None
    return y


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("features", [None, MAP])
def test_answers_of_memory_and_of_any_blocking(k, features):
    y = labels(k)
    model = CovariateShiftLogisticRegression(features=features, class_weight="balanced", tol=1e-9)
    model.fit(X, y, sample_domain=DOMAIN)
    expected = model.decision_function(X), model.objective_, model.effective_sample_size_
    margin = model.convexity_margin_
    for rows in (500, 61):
        blocks = Blocks.from_arrays(X[ORDER], y[ORDER], DOMAIN[ORDER], rows=rows)
        model.fit(blocks)
        np.testing.assert_allclose(model.decision_function(X), expected[0], atol=1e-6)
        assert model.objective_ == pytest.approx(expected[1], rel=1e-9)
        assert model.effective_sample_size_ == pytest.approx(expected[2], rel=1e-6)
        assert model.convexity_margin_ == pytest.approx(margin, abs=1e-6)
    ratios = np.concatenate(list(model.density_ratio(Blocks.from_arrays(X, rows=100))))
    np.testing.assert_allclose(ratios, model.density_ratio(X))


def test_no_target_is_logistic_regression():
    y = labels(2)[:300].astype(int)
    with pytest.warns(NoTargetWarning):
        whole = CovariateShiftLogisticRegression().fit(SOURCE, y).coef_.copy()
    with pytest.warns(NoTargetWarning):
        model = CovariateShiftLogisticRegression().fit(Blocks.from_arrays(SOURCE, y, rows=50))
    np.testing.assert_allclose(model.coef_, whole, atol=1e-5)


def test_kernels_need_features():
    with pytest.raises(ValueError, match="needs all rows at once"):
        CovariateShiftLogisticRegression(kernel="rbf").fit(Blocks.from_arrays(X, labels(2), DOMAIN))
