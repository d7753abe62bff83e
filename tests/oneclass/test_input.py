"""Wrong input is named, before any work, with what was found and what is needed."""

import numpy as np
import pytest

from oneclass.problems import rows
from shiftlearn import UncertainOneClassTransferSVM
from shiftlearn.errors import InfeasibleError

X, DOMAIN = rows((14, 11, 8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.1}, r"C of the target task -1 is 0.1.* 8 rows.*smallest admissible C is 0.125"),
        ({"C_source": 0.05}, r"C of the source task 0 is 0.05.*smallest admissible C is 0.0714286"),
        ({"C": {0: 0.5, 1: 0.05, -1: 0.5}}, r"source task 1 is 0.05.*admissible C is 0.0909091"),
    ],
)
def test_costs_that_are_too_small_name_the_task(options, message):
    with pytest.raises(InfeasibleError, match=message):
        UncertainOneClassTransferSVM(**options).fit(X, sample_domain=DOMAIN)


def test_the_smallest_admissible_cost_is_admissible():
    model = UncertainOneClassTransferSVM(C=1 / 8, C_source=[1 / 14, 1 / 11])
    model.fit(X, sample_domain=DOMAIN)
    np.testing.assert_allclose(model.dual_coef_.sum(), 3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": -1.0}, "C of the target task -1 must be a finite number > 0, got -1"),
        ({"C": np.nan}, "C must be a number.*got nan"),
        ({"C": "much"}, "C must be a number"),
        ({"C": [1.0, 1.0]}, r"C has 2 values for the 3 tasks \[0, 1, -1\]"),
        ({"C": {0: 1.0, 7: 1.0}}, r"missing \[1, -1\], unknown \[7\]"),
        ({"C": [1.0] * 3, "C_source": 1.0}, "C_source must be left at its default"),
        ({"C_source": {-1: 1.0}}, r"C_source must have one value .*missing \[0, 1\], unknown"),
        ({"nu": 0.0}, "nu of the target task"),
        ({"nu": 1.5}, r"nu of the target task -1 must lie in \(0, 1\], got 1.5"),
        ({"nu_source": 2.0}, r"nu of the source task 0 must lie in \(0, 1\]"),
        ({"reg": "half"}, "reg must be"),
        ({"reg": 0.0}, "reg of the source task 0 must be a finite number > 0"),
        ({"uncertainty": "some"}, 'uncertainty must be "knn", None, a number'),
        ({"uncertainty": -0.1}, "uncertainty must hold finite numbers >= 0, found -0.1"),
        ({"uncertainty": [0.1, 0.2]}, r"uncertainty has shape \(2,\).*33 rows"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number >= 1"),
        ({"n_neighbors": 1.5}, "n_neighbors must be"),
        ({"n_neighbors": "all"}, "n_neighbors must be"),
        ({"offset": "best"}, 'offset must be one of "auto", "left-out", "observed", "corrected"'),
        ({"delta_scale": -1.0}, "delta_scale must be a finite number >= 0"),
        ({"delta_scale": "small"}, "delta_scale must be a finite number >= 0"),
        ({"update": "some"}, 'update must be one of "all", "slack", "minimal"'),
        ({"round_tol": -0.1}, "round_tol must be a number >= 0"),
        ({"max_rounds": 0}, "max_rounds must be a whole number >= 1"),
        ({"max_rounds": 2.5}, "max_rounds must be a whole number"),
        ({"tol": 0.0}, "tol must be a finite number > 0"),
        ({"gamma": -1.0}, "gamma"),
        ({"kernel": "round"}, "kernel"),
        ({"kernel": "precomputed"}, "precomputed.*no gradient.*uncertainty=None"),
    ],
)
def test_parameters(options, message):
    model = UncertainOneClassTransferSVM(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, sample_domain=DOMAIN)
    assert not hasattr(model, "n_features_in_")  # nothing was begun


def test_several_targets_are_named():
    with pytest.raises(ValueError, match=r"target domains \[-3, -1\].*one model has one target"):
        UncertainOneClassTransferSVM().fit(X, sample_domain=np.where(DOMAIN == 0, -3, DOMAIN))


@pytest.mark.parametrize("method", ["predict", "decision_function", "score_samples"])
def test_an_unknown_task_at_prediction_is_an_error(method):
    model = UncertainOneClassTransferSVM().fit(X, sample_domain=DOMAIN)
    with pytest.raises(ValueError, match="5"):
        getattr(model, method)(X[:2], sample_domain=[0, 5])


def test_maps_that_cannot_be_pulled_back():
    from sklearn.preprocessing import PolynomialFeatures

    model = UncertainOneClassTransferSVM(features=PolynomialFeatures())
    with pytest.raises(ValueError, match=r"no pullback.*uncertainty=None"):
        model.fit(X, sample_domain=DOMAIN)
    model.set_params(uncertainty=None).fit(X, sample_domain=DOMAIN)


def test_weights_and_names_of_attributes():
    model = UncertainOneClassTransferSVM().fit(X, sample_domain=DOMAIN)
    with pytest.raises(AttributeError, match="linear"):
        model.coef_  # noqa: B018
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, sample_domain=DOMAIN, sample_weight=-np.ones(33))
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
