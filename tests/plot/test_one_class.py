"""The display holds the boundary and the corrected rows of the machine."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shiftlearn import OneClassDisplay, OneClassSVM, UncertainOneClassTransferSVM


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def rows():
    X = 3 + np.random.default_rng(0).normal(size=(60, 2))
    return X, np.repeat([0, -1], [50, 10])


def test_it_holds_what_the_machine_says(rows):
    X, domain = rows
    model = UncertainOneClassTransferSVM(nu=0.2, nu_source=0.2).fit(X, sample_domain=domain)
    display = OneClassDisplay.from_estimator(model, X, sample_domain=domain, grid_resolution=20)
    place = [[display.grid_x[3, 7], display.grid_y[3, 7]]]
    assert display.score[3, 7] == pytest.approx(model.decision_function(place)[0])
    np.testing.assert_allclose(display.corrected, X + model.displacements_)
    assert display.is_target.sum() == 10
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["source rows", "target rows", "correction"]
    other = display.plot(ax=plt.subplots()[1], title="again", legend=False)
    assert other.ax_.get_title() == "again"
    assert other.ax_.get_legend() is None


def test_plain_machines_and_machines_that_hold_nothing(rows):
    X, _ = rows
    display = OneClassDisplay.from_estimator(OneClassSVM(0.2).fit(X), X, grid_resolution=20)
    assert display.corrected is None
    assert display.is_target.all()
    model = UncertainOneClassTransferSVM(nu=0.2).fit(X)
    model.offsets_ += 1e6
    assert OneClassDisplay.from_estimator(model, X, grid_resolution=5).score.max() < 0


def test_wrong_input_is_named(rows):
    X, _ = rows
    with pytest.raises(TypeError, match="decision_function"):
        OneClassDisplay.from_estimator(object(), X)
    with pytest.raises(ValueError, match="two columns"):
        OneClassDisplay.from_estimator(OneClassSVM().fit(X), X[:, :1])
