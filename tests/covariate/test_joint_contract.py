"""scikit-learn's own checks on the joint classifier; what fails is listed with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import CovariateShiftLogisticRegression

STATISTIC = 'gamma="scale" is a statistic of the rows whatever their weights'


def expected_failures(estimator):
    check = "check_sample_weight_equivalence_on_{}_data"
    if estimator.kernel == "rbf" and estimator.gamma == "scale":
        return {check.format(kind): STATISTIC for kind in ("dense", "sparse")}
    return {}


ESTIMATORS = [
    CovariateShiftLogisticRegression(),
    CovariateShiftLogisticRegression(kernel="rbf"),
]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)
