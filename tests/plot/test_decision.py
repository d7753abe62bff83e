"""The display holds what the estimator says, and the picture shows it."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from shiftlearn import DecisionRegionDisplay
from shiftlearn.datasets import make_rotated_moons
from shiftlearn.plot.palette import blend, class_colours, line_styles


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def moons():
    return make_rotated_moons(40, n_per_moon=40, random_state=0)


@pytest.fixture
def model(moons):
    Xs, ys, _, _ = moons.split()
    return SVC(gamma=1).fit(Xs, ys)


def draw(model, moons, **options):
    return DecisionRegionDisplay.from_estimator(
        model, moons.data, moons.target, sample_domain=moons.domain, grid_resolution=30, **options
    )


def markers(ax):
    """Rows drawn by each collection of markers."""
    return [len(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) > 1]


def test_regions_and_scores_are_the_estimators(moons, model):
    display = draw(model, moons)
    grid = np.column_stack([display.grid_x.ravel(), display.grid_y.ravel()])
    np.testing.assert_array_equal(display.classes[display.region].ravel(), model.predict(grid))
    np.testing.assert_allclose(display.score.ravel(), model.decision_function(grid))
    np.testing.assert_array_equal(display.classes[display.labels], moons.target)
    np.testing.assert_array_equal(display.is_target, moons.domain < 0)
    for axis in range(2):
        low, high = moons.data[:, axis].min(), moons.data[:, axis].max()
        grid_axis = (display.grid_x, display.grid_y)[axis]
        assert grid_axis.min() < low < high < grid_axis.max()


def test_both_domains_are_drawn_and_named(moons, model):
    display = draw(model, moons)
    assert markers(display.ax_) == [40, 40, 40, 40]
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["source rows", "target rows", "-1", "1"]
    shapes = {c.get_paths()[0].vertices.shape for c in display.ax_.collections[-4:]}
    assert len(shapes) == 2  # a circle and a triangle


def test_one_domain_alone_keeps_the_extent(moons, model):
    both, one = draw(model, moons), draw(model, moons, show="target")
    assert markers(one.ax_) == [40, 40]
    assert one.ax_.get_xlim() == both.ax_.get_xlim()
    assert "source rows" not in [t.get_text() for t in one.ax_.get_legend().get_texts()]
    with pytest.raises(ValueError, match="show must be one of both, source, target"):
        draw(model, moons, show="none")


def test_draws_into_given_axes_and_again(moons, model):
    figure, (left, right) = plt.subplots(1, 2)
    display = draw(model, moons, ax=left, legend=False, margins=False)
    assert display.ax_ is left and display.figure_ is figure and left.get_legend() is None
    assert display.plot(ax=right) is display and display.ax_ is right


def test_more_columns_are_held_at_their_median():
    rng = np.random.default_rng(0)
    X = rng.normal([0, 10, 0], size=(60, 3))
    y = (X[:, 0] + X[:, 2] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, features=(0, 2), grid_resolution=9)
    grid = np.column_stack(
        [display.grid_x.ravel(), np.full(81, np.median(X[:, 1])), display.grid_y.ravel()]
    )
    np.testing.assert_allclose(display.score.ravel(), model.decision_function(grid))
    assert display.names == ("x0", "x2")


def test_dataframes_go_in_as_dataframes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["length", "width", "weight"])
    y = np.where(X["weight"] > 0, "heavy", "light")
    model = LogisticRegression().fit(X, y)  # would warn about missing names, and so fail here
    display = DecisionRegionDisplay.from_estimator(model, X, y, features=("weight", 0))
    assert display.ax_.get_xlabel() == "weight" and display.ax_.get_ylabel() == "length"
    assert list(display.classes) == ["heavy", "light"]


def test_several_classes_without_one_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = rng.integers(0, 3, 90)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    display = DecisionRegionDisplay.from_estimator(tree, X, y)
    assert display.score is None and len(display.classes) == 3
    several = DecisionRegionDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    assert several.score is None  # one score a class is no line to draw


def test_one_class_detector(moons):
    detector = OneClassSVM(gamma=1, nu=0.2).fit(moons.data)
    display = DecisionRegionDisplay.from_estimator(detector, moons.data, grid_resolution=30)
    assert display.class_names == ("outside", "inside")
    assert display.labels is None and not display.is_target.any()


def test_unknown_labels_are_grey_and_constant_models_are_drawn(moons):
    y = moons.target.astype(object)
    y[moons.domain < 0] = None
    constant = DummyClassifier().fit(moons.data, moons.target)
    display = DecisionRegionDisplay.from_estimator(
        constant, moons.data, y, sample_domain=moons.domain, grid_resolution=5
    )
    assert set(display.labels[moons.domain < 0]) == {-1}
    assert markers(display.ax_) == [40, 40, 80]


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_light_and_dark_pages(moons, model, style):
    with plt.style.context(style):
        display = draw(model, moons)
        page = np.array(display.ax_.get_facecolor()[:3])
        lines = display.ax_.collections[0].get_edgecolor()[0][:3]
        assert abs(lines - page).min() > 0.5  # the boundary is read on the page
        shades = display.ax_.images[0].get_array().reshape(-1, 3)
        assert abs(shades - page).max() < 0.35  # the regions stay in the background


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((5, 1))}, "X must have at least two columns"),
        ({"X": np.full((5, 2), np.nan)}, "X must be finite"),
        ({"y": np.zeros(3)}, "one entry for each of the 5 rows"),
        ({"sample_domain": np.zeros(3)}, "one entry for each of the 5 rows"),
        ({"features": (0, 7)}, "features must name two of the 2 columns"),
        ({"features": ("a", "b")}, "features must name two of the 2 columns"),
        ({"features": (0,)}, "features must name two of the 2 columns"),
        ({"grid_resolution": 1}, "grid_resolution must be an int of at least 2"),
    ],
)
def test_bad_input(change, message):
    good = {"X": np.arange(10.0).reshape(5, 2), "y": np.array([0, 1, 0, 1, 0])}
    model = LogisticRegression().fit(good["X"], good["y"])
    with pytest.raises(ValueError, match=message):
        DecisionRegionDisplay.from_estimator(model, **{**good, **change})
    with pytest.raises(TypeError, match="estimator must be a fitted classifier"):
        DecisionRegionDisplay.from_estimator("model", good["X"])


def test_palette():
    assert blend("#000000", "#ffffff", 0.25) == (0.75, 0.75, 0.75)
    assert class_colours(9)[7:] == class_colours(2) and len(set(class_colours(7))) == 7
    assert class_colours(1, dark=True) == ["#56B4E9"]
    assert len({style["marker"] for style in line_styles(5)}) == 5
