"""scikit-learn's own checks on every estimator of the room."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import AdaptCV, AdaptLogisticRegression, AdaptSVC, AggregateSVC, ScoreEnsemble

STATISTIC = (
    'gamma="scale" is a statistic of the rows whatever their weights; with gamma given it holds'
)
TOLERANCE = (
    "repeated and weighted rows agree within tol, the check wants 1e-7; with tol=1e-9 it holds"
)
NO_INTERCEPT = {
    "check_class_weight_classifiers": "without an intercept only rows nearby decide, however small "
    "their weight: far from the other class its weight does not reach"
}


def weights(reason):
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


EXPECTED = {
    "AdaptSVC()": weights(STATISTIC),
    "AggregateSVC()": weights(STATISTIC),
    "ScoreEnsemble()": weights(STATISTIC),
    "AdaptSVC(gamma='auto', tol=1e-09)": NO_INTERCEPT,
    "AdaptSVC(kernel='linear')": {**weights(TOLERANCE), **NO_INTERCEPT},
    "AdaptSVC(kernel='precomputed')": {
        **NO_INTERCEPT,
        "check_positive_only_tag_during_fit": "its square of random numbers is no kernel matrix, "
        "and the fit warns that nothing can be proved about it",
    },
}


def expected_failures(estimator):
    return EXPECTED.get(repr(estimator), {})


ESTIMATORS = [
    AdaptSVC(),
    AdaptSVC(gamma="auto", tol=1e-9),
    AdaptSVC(kernel="linear"),
    AdaptSVC(kernel="precomputed"),
    AdaptLogisticRegression(),
    AdaptCV(),
    AggregateSVC(),
    ScoreEnsemble(),
]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)
