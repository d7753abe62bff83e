"""scikit-learn's own checks on the baselines; what fails is listed with its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftlearn import CDCSClassifier, LMProjSVC, LocallyWeightedEnsemble, TransductiveSVC

STATISTIC = (
    "the width of the kernel is a statistic of the rows whatever their weights; with gamma it holds"
)


def weights(reason):
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


GRAPH = "a repeated row is its own nearest neighbour: the graph counts rows, not weights"

MEMBERS = "neighbours and clusters count rows, not weights"


def expected_failures(estimator):
    if isinstance(estimator, CDCSClassifier):
        return weights(GRAPH)
    if isinstance(estimator, LocallyWeightedEnsemble):
        return weights(MEMBERS)
    ruled = estimator.gamma in ("scale", None) and estimator.kernel == "rbf"
    return weights(STATISTIC) if ruled else {}


BASELINES = [
    TransductiveSVC(),
    TransductiveSVC(gamma="auto", tol=1e-9),
    TransductiveSVC(kernel="precomputed"),
    CDCSClassifier(),
    CDCSClassifier("rbf", classifier="svm"),
    LocallyWeightedEnsemble(),
    LMProjSVC(),
    LMProjSVC(kernel="linear", tol=1e-9),
]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@pytest.mark.filterwarnings("ignore::shiftlearn.errors.NoTargetWarning")
@parametrize_with_checks(BASELINES, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)
