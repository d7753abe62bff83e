"""The edge cases of the specification, one test each."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from alignment.shifted import GAMMA, gram, shifted
from shiftlearn import DAKSVC, LSDAKSVC, LSSVC, SVC
from shiftlearn.errors import NoOverlapWarning, NoTargetWarning

FORMS = ("coef", "rkhs")
TIGHT = {"gamma": GAMMA, "tol": 1e-9}
both_forms = pytest.mark.parametrize("form", FORMS)
both_machines = pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])


@both_forms
@pytest.mark.parametrize(("machine", "plain"), [(DAKSVC, SVC), (LSDAKSVC, LSSVC)])
def test_no_target_rows_give_the_plain_machine(machine, plain, form):
    X, y, _ = shifted()
    X, y = X[:30], y[:30]
    with pytest.warns(NoTargetWarning):
        model = machine(3.0, form=form, **TIGHT).fit(X, y)
    expected = plain(3.0, **TIGHT).fit(X, y)
    assert_allclose(
        model.decision_function(X) - model.intercept_,
        expected.decision_function(X) - expected.intercept_,
        atol=1e-6,
    )


@both_forms
@both_machines
def test_one_target_row_is_enough(machine, form):
    X, y, domain = shifted(m=1)
    model = machine(form=form).fit(X, y, sample_domain=domain)
    assert model.certificate_.converged and np.isfinite(model.decision_function(X)).all()


@both_machines
def test_one_class_is_refused(machine):
    X, _, domain = shifted()
    with pytest.raises(ValueError, match="one class"):
        machine().fit(X, np.where(domain < 0, 1, 0), sample_domain=domain)


@both_forms
@both_machines
def test_a_class_may_have_one_member(machine, form):
    X, _, domain = shifted()
    y = np.zeros(len(X), dtype=int)
    y[7] = 1
    model = machine(form=form, class_weight="balanced").fit(X, y, sample_domain=domain)
    assert model.certificate_.converged


@both_forms
@both_machines
def test_duplicate_and_contradictory_rows_are_legal(machine, form):
    X, y, domain = shifted()
    rows = np.concatenate([np.arange(52), np.arange(52)])
    labels = np.concatenate([y, 1 - y])
    model = machine(alignment=20.0, form=form, **TIGHT)
    model.fit(X[rows], labels, sample_domain=domain[rows])
    assert model.certificate_.converged
    assert_allclose(model.decision_function(X), model.decision_function(X[rows])[:52])


@both_forms
def test_identical_domains_leave_the_plain_machine_in_the_same_features(form):
    X, y, _ = shifted()
    X, y = X[:30], y[:30]
    domain = np.repeat([0, -1], 30)
    model = DAKSVC(2.0, form=form, **TIGHT).fit(
        np.vstack([X, X]), np.concatenate([y, y]), sample_domain=domain
    )
    K = gram(X, "rbf")
    G = K if form == "rkhs" else 2 * K @ K  # the empirical map lists each row twice
    plain = SVC(2.0, kernel="precomputed", tol=1e-9).fit(G, y)
    assert_allclose(
        model.decision_function(X) - model.intercept_,
        plain.decision_function(G) - plain.intercept_,
        atol=1e-5,
    )
    assert model.mmd2_ == pytest.approx(0.0, abs=1e-12)
    assert model.scatter_trace_ == pytest.approx(0.0, abs=1e-8)


@both_forms
@both_machines
def test_a_constant_column_is_harmless_with_the_gaussian_kernel(machine, form):
    X, y, domain = shifted()
    more = np.hstack([X, np.full((len(X), 1), 7.0)])
    one = machine(form=form, **TIGHT).fit(X, y, sample_domain=domain)
    other = machine(form=form, **TIGHT).fit(more, y, sample_domain=domain)
    assert_allclose(other.decision_function(more), one.decision_function(X), atol=1e-6)


@both_machines
def test_a_constant_column_is_a_second_intercept_with_the_linear_kernel(machine):
    """It has no difference of means; the second moments' part of it is what λ weighs."""
    X, y, domain = shifted()
    more = np.hstack([X, np.ones((len(X), 1))])
    options = {"kernel": "linear", "form": "rkhs", "balance": 0.0, "tol": 1e-9}
    one = machine(**options).fit(X, y, sample_domain=domain)
    other = machine(**options).fit(more, y, sample_domain=domain)
    assert_allclose(other.decision_function(more), one.decision_function(X), atol=1e-5)


@both_machines
def test_domains_without_overlap_are_told(machine):
    X, y, domain = shifted()
    X[30:] += 100.0
    with pytest.warns(NoOverlapWarning, match="do not overlap"):
        machine(gamma=1.0).fit(X, y, sample_domain=domain)


@both_machines
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(machine, value):
    X, y, domain = shifted()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        machine().fit(X, y, sample_domain=domain)


@both_machines
@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C": -1.0}, "C must be"),
        ({"C": "large"}, "C must be"),
        ({"alignment": -1.0}, "alignment must be"),
        ({"alignment": np.nan}, "alignment must be"),
        ({"alignment": "strong"}, "alignment must be"),
        ({"balance": -0.1}, "balance must be"),
        ({"balance": 1.1}, "balance must be"),
        ({"form": "dual"}, "form must be"),
        ({"sigma": "wide"}, "sigma must be"),
        ({"sigma": 0.0}, "sigma must be"),
        ({"bandwidth_ratio": 0.0}, "bandwidth_ratio must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"kernel": "cubic"}, "kernel must be"),
        ({"sources": "some"}, "sources must be"),
        ({"C_target": 0.0}, "C_target must be"),
        ({"rank": 0}, "rank must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"features": "nystroem"}, "features must be"),
    ],
)
def test_bad_parameters_are_refused_by_name(machine, parameters, match):
    X, y, domain = shifted()
    with pytest.raises(ValueError, match=match):
        machine(**parameters).fit(X, y, sample_domain=domain)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"bias": "mean"}, "bias must be"), ({"multi_class": "all"}, "multi_class must be")],
)
def test_bad_words_are_refused(parameters, match):
    X, y, domain = shifted()
    with pytest.raises(ValueError, match=match):
        DAKSVC(**parameters).fit(X, y, sample_domain=domain)


def test_the_papers_parameters_are_checked():
    for bad, match in (({"lam0": 0.0, "C": 1.0}, "lam0"), ({"lam0": 1.0, "C": 0.0}, "C must")):
        with pytest.raises(ValueError, match=match):
            DAKSVC.from_paper(**bad)


@both_machines
def test_rows_in_one_point_have_no_width(machine):
    with pytest.raises(ValueError, match="sigma"):
        machine(sigma="paper").fit(np.zeros((6, 2)), [0, 1, 0, 1, 0, 1],
                                   sample_domain=[0, 0, 0, 0, -1, -1])  # fmt: skip


@both_machines
@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True), (3, 8)])
def test_labels_may_be_any_two_values(machine, labels):
    X, y, domain = shifted()
    plain = machine().fit(X, y, sample_domain=domain)
    named = machine().fit(X, np.array(labels)[y], sample_domain=domain)
    assert_allclose(named.decision_function(X), plain.decision_function(X))
    assert set(named.predict(X)) <= set(np.array(labels))


@both_forms
@both_machines
def test_no_alignment_is_legal(machine, form):
    X, y, domain = shifted()
    model = machine(1.0, alignment=0.0, form=form, **TIGHT).fit(X, y, sample_domain=domain)
    K = gram(X, "rbf")
    G = K if form == "rkhs" else K @ K
    plain = {DAKSVC: SVC, LSDAKSVC: LSSVC}[machine](kernel="precomputed", tol=1e-9)
    plain.fit(G[:30, :30], y[:30])
    assert_allclose(
        model.decision_function(X) - model.intercept_,
        plain.decision_function(G[:, :30]) - plain.intercept_,
        atol=1e-5,
    )
    assert model.lam0_ == np.inf


@both_machines
def test_more_target_rows_than_source_rows(machine):
    X, y, domain = shifted(n=8, m=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert machine().fit(X, y, sample_domain=domain).certificate_.converged
