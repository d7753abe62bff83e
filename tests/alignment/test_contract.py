"""scikit-learn's own checks on the aligned machines; what fails is listed with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import DAKSVC, LSDAKSVC, Nystroem

STATISTIC = (
    "the width of the kernel is a statistic of the rows whatever their weights; with gamma it holds"
)
LANDMARKS = "the map is fitted on the rows whatever their weights"


def weights(reason):
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


def expected_failures(estimator):
    if estimator.features is not None:
        return weights(LANDMARKS)
    ruled = estimator.gamma is None and estimator.kernel == "rbf"
    return weights(STATISTIC) if ruled else {}


MACHINES = [
    DAKSVC(),
    DAKSVC(gamma=0.1, tol=1e-9, alignment=1.0, form="rkhs"),
    DAKSVC(kernel="precomputed", multi_class="ovo"),
    DAKSVC(features=Nystroem(5, random_state=0)),
    LSDAKSVC(),
    LSDAKSVC(kernel="linear", tol=1e-9),
    LSDAKSVC(features=Nystroem(5, random_state=0)),
]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks(MACHINES, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)
