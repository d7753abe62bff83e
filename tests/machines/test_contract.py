"""scikit-learn's own checks on every plain machine; what fails is listed with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import LSSVC, SVC, LinearSVC, OneClassSVM

STATISTIC = (
    'gamma="scale" is a statistic of the rows whatever their weights; with gamma given it holds'
)
TOLERANCE = (
    "repeated and weighted rows agree within tol, the check wants 1e-7; with tol=1e-9 it holds"
)
BOUNDARY = "free support vectors lie on the boundary itself, where rounding decides the sign"


def weights(reason):
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


EXPECTED = {
    "SVC()": weights(STATISTIC),
    "SVC(kernel='linear', multi_class='ovr')": weights(TOLERANCE),
    "OneClassSVM()": weights(BOUNDARY),
    "LinearSVC()": weights(TOLERANCE),
    "LSSVC()": weights(STATISTIC),
}


def expected_failures(estimator):
    return EXPECTED.get(repr(estimator), {})


MACHINES = [
    SVC(),
    SVC(gamma="auto", tol=1e-9),
    SVC(kernel="linear", multi_class="ovr"),
    SVC(kernel="precomputed"),
    OneClassSVM(),
    LinearSVC(),
    LinearSVC(loss="squared_hinge", tol=1e-10),
    LSSVC(),
    LSSVC(gamma="auto"),
    LSSVC(kernel="linear"),
]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@parametrize_with_checks(MACHINES, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)
