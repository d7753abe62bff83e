"""The retrieval study in small, on the generated programs."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from shiftlearn.studies import get_study
from shiftlearn.studies.adapt_retrieval import CHAINS, GOAL, RULES, adapt_retrieval
from shiftlearn.studies.adapt_retrieval import average_precision as ap


def mean(figure, **settings):
    return np.mean(
        [adapt_retrieval(data="programs", seed=seed, **settings)[figure] for seed in range(6)]
    )


def test_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, scores = np.where(rng.random(200) < 0.1, 1, -1), rng.normal(size=200)
    assert ap(y, scores) == pytest.approx(average_precision_score(y > 0, scores))


@pytest.mark.parametrize("size", [2, 10])
def test_five_classifiers_lie_near_the_specified_surrogate(size):
    study = get_study("adapt-retrieval")
    for method in ("Aux", "New", "Aggr", "Ensemble", "Adapt"):
        settings = {"method": method, "C": 3, "size": size}
        reference = study.reference("map", {"data": "programs", **settings})
        assert mean("map", **settings) == pytest.approx(reference, abs=0.12)


def test_chosen_rows_beat_random_ones_and_adapting_costs_less_than_the_union():
    found = {rule: mean("map_sampling", method=rule, C=3, size=100) for rule in RULES}
    assert min(found["prior"], found["best-worst"]) > found["random"] + 0.03
    seconds = {m: mean("seconds", method=m, C=3, size=10) for m in ("Adapt", "Aggr")}
    assert seconds["Adapt"] < seconds["Aggr"]


def test_chains_and_labels_needed():
    found = {how: mean("map_chain", method=how, C=3, size=10) for how in CHAINS}
    assert all(0.4 < value < 1.0 for value in found.values())
    assert 0 <= mean("labels", method=GOAL, C=3, size=100) <= 100


def test_settings_that_do_not_apply_are_left_out():
    for settings in get_study("adapt-retrieval").settings(quick=False):
        if settings["method"] in RULES:
            assert settings["C"] == 3 and settings["size"] in (50, 100, 200)
