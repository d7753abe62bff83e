"""The one-class studies: their tasks are the paper's, and their quick forms say something."""

import numpy as np
import pytest

from shiftlearn.datasets import data_folder
from shiftlearn.studies import get_study, run_study
from shiftlearn.studies.one_class import COSTS, GRIDS, METHODS, OC, PRINTED, UOCT, WIDTHS
from shiftlearn.studies.one_class_data import (
    ISOLET,
    LDPA,
    MUSHROOM,
    NEWSGROUPS,
    REUTERS,
    Draw,
    Pools,
    _disturbed,
    draw,
    pools,
)

needs_data = pytest.mark.skipif(
    not (data_folder() / "mushroom").is_dir(), reason="needs the published data (SHIFTLEARN_DATA)"
)


def test_the_grid_is_small_and_the_tables_are_whole():
    assert len(COSTS) * len(WIDTHS) <= 30
    assert len(MUSHROOM) + len(REUTERS) + len(NEWSGROUPS) + len(ISOLET) == 27
    for name in ("one-class-one-source", "one-class-several-sources", "one-class-natural"):
        study = get_study(name)
        for data in study.grid["data"]:
            printed = [study.reference("f", {"data": data, "method": m}) for m in METHODS]
            assert sum(value is not None for value in printed) in (0, 4)
        assert set(study.grid["grid"]) <= set(GRIDS)


def test_noise_hits_the_share_it_should():
    rng = np.random.default_rng(0)
    X, spread = np.zeros((50, 300)), np.linspace(0, 1, 300)
    noisy = _disturbed(X, spread, 0.4, rng)
    hit = noisy.any(axis=1)
    assert hit.sum() == 20
    assert not X.any()
    np.testing.assert_allclose(noisy[hit].std(0)[200:].mean(), spread[200:].mean(), rtol=0.15)


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("MR.edible(1)", (1616, [2592], 1900)),
        ("MR.poisonous(2)", (2016, [1900], 2592)),
        ("RT.orgs(1)", (588, [587], 649)),
        ("RT.place(2)", (456, [428], 587)),
        ("Isolet(S)", (300, [300], 7197)),
    ],
)
def test_pools_are_those_of_the_paper(name, sizes):
    found = pools(name)
    assert (len(found.target), [len(s) for s in found.sources], len(found.nontarget)) == sizes


@needs_data
def test_a_draw_keeps_training_and_judging_apart():
    first, again = (draw("Isolet(M)", noise=0.0, seed=3) for _ in "ab")
    assert isinstance(first, Draw)
    np.testing.assert_array_equal(first.X, again.X)
    assert (first.domain < 0).sum() == 30
    assert ((first.y > 0).sum(), (first.y < 0).sum()) == (269, 300)
    assert (first.chosen & (first.y > 0)).sum() == 54
    own = first.X[first.domain < 0]
    assert not (own[:, None] == first.test[None]).all(-1).any()


@needs_data
def test_tasks_that_cannot_be_built_are_left_out(tmp_path):
    if (data_folder() / "ldpa").is_dir():
        pytest.skip("the publisher's whole file is here")
    study = get_study("one-class-natural")
    assert study.run_cell(data=next(iter(LDPA)), method=OC, grid="small", seed=0) == {}


@needs_data
def test_the_printed_offset_rejects_what_the_observed_one_takes(tmp_path):
    study = get_study("one-class-natural")
    values = {
        method: study.run_cell(data="Isolet(S)", method=method, grid="small", seed=0)["f"]
        for method in (OC, UOCT, PRINTED)
    }
    assert values[PRINTED] < 5
    assert min(values[OC], values[UOCT]) > 60


def test_left_out_offsets_win_where_nothing_is_chosen(tmp_path):
    results = run_study(get_study("one-class-offsets"), quick=True, folder=tmp_path)
    by = {(row.settings["data"], row.settings["method"]): row.mean for row in results.rows}
    for data in ("digits, 10% train, noise 0%", "d=8, 100 rows, C=0.1", "d=8, 100 rows, C=1"):
        assert by[data, "UOCT-SVM auto"] > max(by[data, "OC-SVM"], by[data, "TLOC-SVM"])
        assert by[data, "UOCT-SVM printed"] < 5
    for row in results.rows:
        if row.settings["data"].startswith("d=8") and row.reference is not None:
            assert row.mean == pytest.approx(row.reference, abs=6)


def test_pools_say_how_many_are_judged():
    assert Pools(np.zeros((2, 1)), (), np.zeros((2, 1))).outside == "as many"
