"""scikit-learn's own checks; what fails is listed with its reason."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oneclass.problems import rows
from shiftlearn import UncertainOneClassTransferSVM

NEIGHBOURS = (
    "a repeated row is a neighbour at distance 0, a weighted one is not: the bound scores differ"
)
BOUNDARY = "rows on the boundary itself: rounding and the middle of an interval decide the sign"
EXPECTED_WEIGHTS = {
    "UncertainOneClassTransferSVM()": NEIGHBOURS,
    "UncertainOneClassTransferSVM(kernel='linear')": NEIGHBOURS,
    "UncertainOneClassTransferSVM(uncertainty=None)": (
        'gamma="scale" is a statistic of the rows whatever their weights'
    ),
    "UncertainOneClassTransferSVM(gamma='auto', nu=0.3, tol=1e-09, uncertainty=None)": BOUNDARY,
}
SQUARE = dict.fromkeys(
    ("check_outliers_fit_predict", "check_outliers_train"), "its rows are no square kernel matrix"
)


def expected_failures(estimator):
    if estimator.kernel == "precomputed":
        return SQUARE
    check = "check_sample_weight_equivalence_on_{}_data"
    reason = EXPECTED_WEIGHTS[repr(estimator)]
    return {check.format(kind): reason for kind in ("dense", "sparse")}


MACHINES = [
    UncertainOneClassTransferSVM(),
    UncertainOneClassTransferSVM(kernel="linear"),
    UncertainOneClassTransferSVM(uncertainty=None),
    UncertainOneClassTransferSVM(gamma="auto", nu=0.3, tol=1e-9, uncertainty=None),
    UncertainOneClassTransferSVM(kernel="precomputed", uncertainty=None),
]


@pytest.mark.filterwarnings("ignore::shiftlearn.errors.ScaleWarning")
@pytest.mark.filterwarnings("ignore:the rows have the origin in their hull")
@pytest.mark.filterwarnings("ignore:.*of the observed target rows lie outside")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(MACHINES, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("routing", [False, True])
def test_domains_reach_the_machine_through_a_pipeline(routing):
    X, domain = rows()
    with sklearn.config_context(enable_metadata_routing=routing):
        pipe = make_pipeline(MinMaxScaler(), UncertainOneClassTransferSVM())
        name = "sample_domain" if routing else "uncertainoneclasstransfersvm__sample_domain"
        pipe.fit(X, **{name: domain})
    assert pipe[-1].tasks_.tolist() == [0, 1, -1]
    assert set(np.unique(pipe.predict(X))) <= {-1, 1}
    pipe.score_samples(X)


def test_fit_predict():
    X, domain = rows()
    model = UncertainOneClassTransferSVM()
    both = model.fit_predict(X, sample_domain=domain)
    np.testing.assert_array_equal(both, model.predict(X))
