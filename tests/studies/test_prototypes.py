"""The prototype studies in small: what the paper claims and the test that it counts with."""

import numpy as np
import pytest

from shiftlearn.studies import get_study, run_study
from shiftlearn.studies.prototype_data import BoostedM1, corrected_t, folds, load, noisy, verdict
from shiftlearn.studies.prototypes import tables


def test_corrected_t_is_the_formula():
    a, b = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0]), np.zeros(10)
    expected = a.mean() / np.sqrt((1 / 10 + 1 / 9) * a.var(ddof=1))
    assert corrected_t(a, b) == pytest.approx(expected)
    assert verdict(a, b) == 1
    assert verdict(b, a) == -1
    assert verdict(a, a) == 0
    assert verdict(a + 1e-3, a) == 1


def test_noise_changes_the_stated_number_of_labels():
    y = np.arange(93) % 3
    changed = noisy(y, 0.1, 4)
    assert (changed != y).sum() == 9
    assert set(changed) == {0, 1, 2}


def test_spirals_in_file_order_are_an_artefact_of_the_folds():
    """Each test fold holds one class only: the linear machine is always wrong, as printed."""
    _, y = load("spirals")
    assert all(len(set(y[test])) == 1 for _, test in folds(y, "modulo", 0))
    found = tables("modulo", 0, "linear SVM", "spirals", 0)
    assert found["accuracy"] == 0.0
    assert tables("shuffled", 0, "linear SVM", "spirals", 0)["accuracy"] > 20


def test_boosting_stops_at_one_half():
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    boosted = BoostedM1(lambda: DecisionTreeClassifier(max_depth=1, random_state=0)).fit(X, y)
    assert 1 <= len(boosted.members_) <= 10
    assert all(weight > 0 for weight, _ in boosted.members_)


def test_shifts_improve_on_exemplars(tmp_path):
    results = run_study(get_study("prototype-shifts"), quick=True, folder=tmp_path)
    by = {(r.settings["shift"], r.figure): r.mean for r in results.rows
          if r.settings["data"] == "isolated"}  # fmt: skip
    assert by[10, "accuracy"] > by[0, "accuracy"] + 20
    assert by[10, "models"] < 0.6 * by[0, "models"]
