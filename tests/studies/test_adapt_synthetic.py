"""The synthetic study in small: figures of the specification, order of the methods, the picture."""

import pytest

from shiftlearn.studies import get_study, run_study
from shiftlearn.studies.adapt_synthetic import draw_boundaries, five_machines

SPECIFIED = {
    ("no intercept", "error"): (20.64, 17.89, 15.96, 16.83, 15.30),
    ("intercept", "error"): (20.43, 16.12, 15.89, 15.56, 15.16),
    ("no intercept", "error_unlabelled"): (20.63, 18.48, 16.29, 17.39, 15.80),
    ("intercept", "error_unlabelled"): (20.40, 16.66, 16.22, 16.08, 15.67),
}


def means(results):
    return {
        (row.settings["form"], row.figure, row.settings["method"]): row.mean for row in results.rows
    }


def test_quick_form(tmp_path):
    study = get_study("adapt-synthetic")
    found = means(run_study(study, quick=True, folder=tmp_path))
    for (form, figure), values in SPECIFIED.items():
        for method, value in zip(study.grid["method"], values, strict=True):
            assert found[form, figure, method] == pytest.approx(value, abs=4.0)
        assert found[form, figure, "Adapt"] < found[form, figure, "Aux"] - 2


@pytest.mark.slow
def test_a_hundred_seeds_give_the_specified_means(tmp_path):
    study = get_study("adapt-synthetic")
    found = means(run_study(study, folder=tmp_path))
    for (form, figure), values in SPECIFIED.items():
        for method, value in zip(study.grid["method"], values, strict=True):
            assert found[form, figure, method] == pytest.approx(value, abs=0.1)


def test_six_panels():
    assert len(draw_boundaries(seed=1).axes) == 6
    assert set(five_machines(0, True)) == {"Aux", "New", "Aggr", "Ensemble", "Adapt"}
