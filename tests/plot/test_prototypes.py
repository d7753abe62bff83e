"""The map of prototypes holds what the machine says."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from shiftlearn import PrototypeMapDisplay, PrototypeSVC
from shiftlearn.datasets import make_isolated


@pytest.fixture(scope="module")
def fitted():
    d = make_isolated(0)
    X, y = d.data[::2], np.where(d.target[::2] == 1, "inside", "around")
    return X, y, PrototypeSVC(3, C=100.0, hard_negative_rate=0.02, random_state=0).fit(X, y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_the_map_is_the_machine(fitted):
    X, y, model = fitted
    display = PrototypeMapDisplay.from_estimator(model, X, y, grid_resolution=20)
    rows = np.column_stack([display.grid_x.ravel(), display.grid_y.ravel()])
    assert np.array_equal(display.classes[display.region.ravel()], model.predict(rows))
    assert np.array_equal(display.silent.ravel(), model.silent_rows(rows))
    assert np.array_equal(display.prototypes, model.prototypes_)
    assert display.support.sum() == sum(len(s) for s in model.positive_sets_)
    rings = display.ax_.collections[-1]
    assert len(rings.get_offsets()) == len(model.exemplars_)


def test_an_explained_row_is_tied_to_its_votes(fitted):
    X, y, model = fitted
    display = PrototypeMapDisplay.from_estimator(
        model, X, y, explain=X[300], grid_resolution=10, legend=True
    )
    found = model.explain(X[300:301])[0].votes
    assert len(display.ax_.lines) == len(found)
    for line, vote in zip(display.ax_.lines, found):
        assert np.array_equal(line.get_xydata()[1], X[vote.exemplar])
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts == ["around", "inside", "prototype", "explained row"]


def test_frames_and_dark_pages(fitted):
    X, y, _ = fitted
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": 1.0})
    model = PrototypeSVC(1, C=100.0, hard_negative_rate=0.0, random_state=0).fit(frame, y)
    with plt.style.context("dark_background"):
        display = PrototypeMapDisplay.from_estimator(
            model, frame, features=("b", "a"), explain=frame.to_numpy()[0], grid_resolution=8
        )
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("b", "a")
    assert (display.labels == -1).all()


def test_other_machines_are_refused(fitted):
    X, y, _ = fitted
    with pytest.raises(TypeError, match="PrototypeSVC or ExemplarSVC, got SVC"):
        PrototypeMapDisplay.from_estimator(SVC().fit(X, y), X, y)
