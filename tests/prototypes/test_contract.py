"""scikit-learn's own checks; what fails is listed with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import ExemplarSVC, PrototypeSVC

TWICE = "a row given twice is a second exemplar: a weight of 2 is another model"


def expected_failures(estimator):
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): TWICE for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@pytest.mark.filterwarnings("ignore:validation_fraction:UserWarning")
@parametrize_with_checks([PrototypeSVC(), ExemplarSVC()], expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)
