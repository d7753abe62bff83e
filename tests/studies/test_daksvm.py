"""The studies of the DAKSVM paper in small: near the reference; every method, as many settings."""

import os
from pathlib import Path

import numpy as np
import pytest

from shiftlearn.studies import get_study, run_study
from shiftlearn.studies.alignment_methods import HINGE, SQUARES, table_cell

FOLDER = os.environ.get("SHIFTLEARN_DATA", "")
needs_data = pytest.mark.skipif(
    not (FOLDER and Path(FOLDER).is_dir()), reason="SHIFTLEARN_DATA names no data folder"
)


def test_gaussians_turn_the_normal_as_the_paper_says(tmp_path):
    results = run_study(get_study("daksvm-gaussians"), quick=True, folder=tmp_path)
    angle = {r.settings["machine"]: r for r in results.rows if r.figure == "angle"}
    for row in angle.values():
        if row.reference is not None:
            assert row.mean == pytest.approx(row.reference, abs=8)
    assert angle["LMPROJ, μ=1000"].mean > angle["SVM"].mean + 10
    assert angle["DAKSVM λ=½, μ=1000"].mean < angle["SVM"].mean - 20


@pytest.mark.slow
def test_moons_lie_near_the_reference(tmp_path):
    results = run_study(get_study("daksvm-moons"), quick=True, folder=tmp_path)
    assert len(results.rows) == 6
    for row in results.rows:  # one draw
        assert row.mean == pytest.approx(row.reference, abs=6)


@pytest.mark.parametrize("method", dict.fromkeys((*HINGE, *SQUARES)))
def test_every_method_has_as_many_settings(method):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 3 * y[:, None]
    figures = table_cell(method, X, y, X + 0.1, y, kernel="linear")
    assert set(figures) == {"oracle", "fixed"}
    assert 70 <= figures["fixed"] <= 100 and figures["fixed"] - 20 <= figures["oracle"] <= 100


@needs_data
def test_faces_and_sensitivity_run_on_the_published_files():
    faces = get_study("daksvm-faces").run_cell
    plain = faces("Yale", "LS-SVM", 10, 0)
    aligned = faces("Yale", "LSDAKSVM", 10, 0)
    assert aligned["oracle"] > plain["oracle"] and aligned["fixed"] > plain["fixed"]
    cell = get_study("daksvm-sensitivity").run_cell("C", 4, 60, 0)
    assert cell["value"] == 1.0 and 30 <= cell["accuracy"] <= 100


def test_time_against_classes_is_a_ratio():
    cell = get_study("daksvm-classes").run_cell("LSDAKSVC", 2, 0)
    assert cell["seconds"] > 0 and cell["ratio"] > 0
