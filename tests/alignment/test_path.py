"""The path gives what single fits give, for less work."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from alignment.shifted import shifted
from shiftlearn import DAKSVC, LSDAKSVC, LMProjSVC, Nystroem, alignment_path
from shiftlearn.errors import NoTargetWarning

GRID = {
    "balance": [0.0, 0.5],
    "alignment": [0.0, 10.0, 100.0],
    "C": [10.0, 0.1, 1.0],
    "bandwidth_ratio": [1.0, 2.0],
}


@pytest.mark.parametrize("machine", [DAKSVC, LSDAKSVC])
@pytest.mark.parametrize("form", ["coef", "rkhs"])
def test_every_machine_is_that_of_a_single_fit(machine, form):
    X, y, domain = shifted()
    template = machine(form=form, tol=1e-8)
    path = alignment_path(X, y, GRID, estimator=template, sample_domain=domain)
    assert (len(path), path.n_frames, path.n_metrics) == (36, 2, 12)
    scores, labels = path.decision_functions(X), path.predict(X)
    assert labels.shape == (36, len(X))
    for model, one, values, found in zip(path, path.settings, scores, labels, strict=True):
        single = machine(form=form, tol=1e-8, **one).fit(X, y, sample_domain=domain)
        assert model.get_params() == single.get_params()
        assert model.certificate_.objective == pytest.approx(
            single.certificate_.objective, rel=1e-6
        )
        expected = single.decision_function(X)
        assert_allclose(values - model.intercept_, expected - single.intercept_, atol=1e-5)
        assert_allclose(model.decision_function(X), values, atol=1e-10)
        assert (found == model.predict(X)).all()


def test_forms_features_classes_and_lmproj_go_through_the_same_path():
    X, y, domain = shifted(n=45, classes=3)
    grid = [{"form": ["coef", "rkhs"], "C": [1.0, 2.0]}, {"features": [Nystroem(9)], "C": [1.0]}]
    path = alignment_path(X, y, grid, estimator=DAKSVC(multi_class="ovo"), sample_domain=domain)
    assert path.n_frames == 3
    for model, values in zip(path, path.decision_functions(X), strict=True):
        assert values.shape == (len(X), 3)
        assert_allclose(values, model.decision_function(X), atol=1e-10)
    means = alignment_path(
        X, y, {"alignment": [1.0, 5.0]}, estimator=LMProjSVC(), sample_domain=domain
    )
    assert means.n_frames == 1 and means[1].alignment_ == 5.0


def test_labelled_target_rows_and_no_target_rows():
    X, y, domain = shifted()
    labels = np.array([*y[:36], *[None] * 16], dtype=object)
    path = alignment_path(
        X, labels, {"C": [1.0, 4.0]}, estimator=DAKSVC(C_target=2.0, tol=1e-8),
        sample_domain=domain,
    )  # fmt: skip
    single = DAKSVC(4.0, C_target=2.0, tol=1e-8).fit(X, labels, sample_domain=domain)
    assert path[1].certificate_.objective == pytest.approx(single.certificate_.objective)
    with pytest.warns(NoTargetWarning):
        alignment_path(X[:30], y[:30], {"C": [1.0]})


def test_bad_grids_are_refused_before_any_work():
    X, y, domain = shifted()
    with pytest.raises(ValueError, match="alignment must be"):
        alignment_path(X, y, {"alignment": [1.0, -1.0]}, sample_domain=domain)
    with pytest.raises(ValueError, match="grid is empty"):
        alignment_path(X, y, [], sample_domain=domain)
    with pytest.raises(ValueError, match="Invalid parameter"):
        alignment_path(X, y, {"mu": [1.0]}, sample_domain=domain)
    with pytest.raises(TypeError, match="estimator must be"):
        alignment_path(X, y, {"C": [1.0]}, estimator=Nystroem(), sample_domain=domain)


def test_progress_is_told():
    X, y, domain = shifted()
    seen = []
    alignment_path(
        X, y, {"C": [1.0, 2.0]}, sample_domain=domain, callback=lambda *told: seen.append(told)
    )
    assert seen == [(1, 2), (2, 2)]
