"""The small displays: what they hold is what was measured, and drawing warns of nothing."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from shiftlearn import (
    SVC,
    AdaptSVC,
    Certificate,
    ConvergenceDisplay,
    FeatureShiftDisplay,
    LabellingCurveDisplay,
    LogisticRatio,
    OffsetsDisplay,
    UncertainOneClassTransferSVM,
    WeightsDisplay,
    select_queries,
)
from shiftlearn.datasets import make_rotated_moons

RNG = np.random.default_rng(0)
MOONS = make_rotated_moons(35, n_per_moon=60, random_state=0)


@pytest.fixture(params=["default", "dark_background"])
def style(request):
    with plt.style.context(request.param):
        yield
    plt.close("all")


def test_weights(style):
    weights = RNG.exponential(size=200)
    display = WeightsDisplay.from_weights(weights)
    assert display.held[0] == 0 and display.held[-1] == pytest.approx(1)
    assert (np.diff(display.held, 2) <= 1e-12).all()  # the heaviest first
    assert "worth" in display.ax_.get_legend().get_texts()[0].get_text()
    ratio = LogisticRatio().fit(MOONS.data[:120], MOONS.data[120:])
    second = WeightsDisplay.from_estimator(ratio, ax=display.ax_, label="logistic")
    assert second.ax_ is display.ax_ and len(display.ax_.get_legend().get_texts()) == 2
    with pytest.raises(TypeError, match="weights_"):
        WeightsDisplay.from_estimator(SVC())


def test_shift_per_feature(style):
    X = pd.DataFrame(RNG.normal(size=(200, 3)), columns=["a", "b", "c"])
    Y = X + np.array([0.0, 3.0, 1.0])
    display = FeatureShiftDisplay.from_samples(X, Y[["c", "b", "a"]])
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert labels == ["a", "c", "b"] and display.divergence[0] < 0.01
    assert len(display.plot(top=2).ax_.patches) == 2


def test_labelling_curve(style):
    Xs, ys, Xt, yt = MOONS.split()
    source = SVC(gamma=1.0).fit(Xs, ys)
    display = LabellingCurveDisplay.from_estimator(
        AdaptSVC(source, C=10.0, gamma=1.0), Xt, yt, source=source, select=select_queries,
        budgets=(4, 20), n_draws=2,
    )  # fmt: skip
    assert display.scores["diverse"].shape == (2, 2)
    assert display.scores["diverse"][1].mean() > display.start
    assert len(display.ax_.get_legend().get_texts()) == 3


def test_convergence(style):
    Xs, ys, _, _ = MOONS.split()
    model = SVC(C=10.0).fit(Xs, ys)
    if model.certificate_.history:
        display = ConvergenceDisplay.from_estimator(model)
        assert display.plot(tol=1e-3).violations[-1] <= 1e-3
    with pytest.raises(ValueError, match="no history"):
        ConvergenceDisplay.from_certificate(Certificate(0.0, 0.0, 0.0, True, 1))
    with pytest.raises(TypeError, match="certificate_"):
        ConvergenceDisplay.from_estimator(SVC())


def test_offsets(style):
    X = 3 + RNG.normal(size=(90, 2))
    model = UncertainOneClassTransferSVM(nu=0.2).fit(X, sample_domain=np.repeat([0, 1, -1], 30))
    display = OffsetsDisplay.from_estimator(model)
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert names == ["source 1", "source 2", "target"]
    assert display.intervals.shape == (3, 2)
    with pytest.raises(TypeError, match="offsets_"):
        OffsetsDisplay.from_estimator(SVC())
