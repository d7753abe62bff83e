"""The collection of shifts: roles kept apart, tasks that repeat, made shifts, draws, tables."""

import numpy as np
import pytest

from shiftlearn.studies import Cell, Store
from shifts import made
from shifts import run as runs
from shifts.draws import at_random, per_class, view
from shifts.methods import METHODS, method
from shifts.tables import collect, compare, markdown, ranks, reference
from shifts.task import ROWS, TASKS, Shift, Task, add, tasks

GENERATED = [
    "moons: rotated 30°", "breast cancer: scale and proportions", "digits: rotated 30°",
    "programs: next program", "diabetes: control",
]  # fmt: skip


def test_roles_share_no_data_set_and_are_large_enough():
    choosing, judging = tasks("choosing"), tasks("judging")
    sets = [{task.data for task in group} for group in (choosing, judging)]
    assert not sets[0] & sets[1]
    assert len(choosing) >= 20 and len(judging) >= 20 and len(choosing) + len(judging) >= 40
    assert len(sets[1]) >= 6
    assert sum(task.kind == "control" for task in judging) >= 6


def test_a_data_set_cannot_serve_both_roles():
    with pytest.raises(ValueError, match="'digits' serves the other role"):
        add("digits: again", "digits", "choosing", "control", lambda rng: None)
    with pytest.raises(ValueError, match="role must be"):
        add("digits: again", "digits", "testing", "control", lambda rng: None)


@pytest.mark.parametrize("name", GENERATED)
def test_tasks_repeat_exactly_and_hold_the_classes_of_both_domains(name):
    (task,) = [task for task in tasks() if task.name == name]
    one = task.load()
    twin = Task(task.name, "a copy", task.role, task.kind, task.build).load()
    np.testing.assert_array_equal(one.Xt, twin.Xt)
    np.testing.assert_array_equal(one.ys, twin.ys)
    assert len(one.ys) <= ROWS and len(one.yt) <= ROWS
    assert set(one.ys) == set(one.yt) == set(range(one.n_classes))
    np.testing.assert_allclose(one.Xs.mean(axis=0), 0, atol=1e-9)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((4000, 6)), rng.integers(0, 2, 4000), rng


def test_made_shifts_move_what_they_say(table):
    X, y, rng = table
    control = made.made(X, y, rng, made.halves)
    assert np.abs(control.Xs.mean(0) - control.Xt.mean(0)).max() < 0.15
    moved = made.made(X, y, rng, made.covariate)
    assert np.linalg.norm(moved.Xs.mean(0) - moved.Xt.mean(0)) > 0.5
    shares = made.made(X, y, rng, made.proportions)
    assert shares.ys.mean() == pytest.approx(0.2, abs=0.03)
    assert shares.yt.mean() == pytest.approx(0.8, abs=0.03)
    blank = made.made(X, y, rng, made.halves, made.missing)
    assert (blank.Xt.std(axis=0) == 0).sum() == 2
    turned = made.rotation(X, np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(X, axis=1))
    cosines = np.einsum("ij,ij->i", turned, X) / np.linalg.norm(X, axis=1) ** 2
    np.testing.assert_allclose(cosines, np.cos(np.deg2rad(40)), atol=1e-9)


def test_draws_and_view(table):
    X, y, rng = table
    rare = np.r_[y, np.full(5, 2)]
    assert np.bincount(rare[per_class(rare, 20, rng)]).tolist() == [20, 20, 2]
    assert len(at_random(rare, 30, rng)) == 30
    labelled = per_class(y, 3, rng)
    seen, truth = view(Shift(X, y, X, y), labelled, 0)
    assert len(seen.yl) == 6 and len(truth) == len(y) - 6 == len(seen.Xu)
    np.testing.assert_array_equal(seen.Xl, X[labelled])


def test_methods_meet_the_same_rows_and_finished_cells_are_kept(tmp_path, monkeypatch):
    kept = Store("shifts", 1, tmp_path)
    seen = []

    @method("probe", needs_labels=True)
    def probe(view):
        seen.append(view.Xl)
        return np.zeros(len(view.Xu), dtype=int)

    try:
        todo = [
            Cell({"task": "moons: rotated 30°", "method": name, "k": 5, "version": 1}, 3)
            for name in ("probe", "source")
        ]
        assert runs.run(todo, runs.run_cell, kept) == []
        assert runs.run(todo, lambda cell: 1 / 0, kept) == []
        other = Cell(dict(todo[0].settings), 4)
        (failure,) = runs.run([other], lambda cell: 1 / 0, kept)
        assert "ZeroDivisionError" in failure
    finally:
        del METHODS["probe"]
    columns = collect(todo, kept)
    assert columns["probe, k=5"]["moons: rotated 30°"] == pytest.approx([50.0], abs=1.0)
    assert len(seen) == 1
    task = TASKS["moons: rotated 30°"]
    again, _ = runs.labelled_view(task, METHODS["source"], 5, 3)
    np.testing.assert_array_equal(seen[0], again.Xl)


def test_tables_count_losses_and_ranks():
    source = {"a": np.array([80.0, 80.0]), "b": np.array([70.0, 70.0]), "c": np.array([60.0, 60.0])}
    other = {"a": np.array([76.0, 76.2]), "b": np.array([60.0, 77.0]), "c": np.array([65.0, 65.0])}
    found = compare(other, source)
    assert found["tasks"] == 3 and found["gain"] == pytest.approx((-3.9 - 1.5 + 5) / 3)
    assert (found["worse"], found["credibly worse"], found["better"]) == (2, 1, 1)
    assert found["worst"] == pytest.approx(-3.9)
    columns = {"source, k=5": source, "other, k=5": other}
    assert ranks(columns) == {
        "source, k=5": pytest.approx(4 / 3),
        "other, k=5": pytest.approx(5 / 3),
    }
    assert reference("source", "other, k=5") == "source, k=5"
    assert reference("source", "other") == "source"
    assert "| other, k=5 | 69.9 |" in markdown(columns, ["source"])
