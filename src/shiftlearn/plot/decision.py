"""Decision regions over both domains.

What is drawn: the plane of two columns, other columns held at their medians, coloured by the
predicted class; where the model has one score, the lines f(x) = -1, 0, 1 (margins and decision
boundary). Rows of the source and of the target lie on top, with different markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.plot.palette import blend, class_colours, foreground, is_dark

__all__ = ["DecisionRegionDisplay"]

Array = NDArray[Any]
_SOURCE, _TARGET = "o", "^"
_SHOWN = {"both": (False, True), "source": (False,), "target": (True,)}


class DecisionRegionDisplay:
    """Decision regions of a fitted classifier or one-class detector, with rows of both domains.

    Make one with `from_estimator`.

    Parameters
    ----------
    grid_x, grid_y : ndarray of shape (m, m)
        Coordinates of the plane.
    region : ndarray of shape (m, m)
        Index into ``classes`` of the prediction at each point.
    classes : ndarray
        The classes.
    score : ndarray of shape (m, m) or None
        The decision function, where it is one number a row.
    points : ndarray of shape (n, 2)
        The rows to draw.
    labels : ndarray of shape (n,) or None
        Index into ``classes`` of each row's label, -1 where it is not known.
    is_target : ndarray of bool, shape (n,)
        Which rows belong to the target domain.
    class_names : sequence of str, optional
        Names of the classes in the legend.
    names : tuple of str
        Names of the two columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from shiftlearn import DecisionRegionDisplay
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> d = make_rotated_moons(40, random_state=0)
    >>> source = d.domain >= 0
    >>> model = SVC(gamma=1).fit(d.data[source], d.target[source])
    >>> display = DecisionRegionDisplay.from_estimator(
    ...     model, d.data, d.target, sample_domain=d.domain)
    >>> display.region.shape
    (240, 240)
    """

    def __init__(
        self,
        grid_x: Array,
        grid_y: Array,
        region: Array,
        *,
        classes: Array,
        score: Array | None = None,
        points: Array,
        labels: Array | None = None,
        is_target: Array,
        class_names: Sequence[str] | None = None,
        names: tuple[str, str] = ("x0", "x1"),
    ) -> None:
        self.grid_x = grid_x
        self.grid_y = grid_y
        self.region = region
        self.classes = classes
        self.class_names = tuple(map(str, classes)) if class_names is None else tuple(class_names)
        self.score = score
        self.points = points
        self.labels = labels
        self.is_target = is_target
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        sample_domain: ArrayLike | None = None,
        features: tuple[int | str, int | str] = (0, 1),
        grid_resolution: int = 240,
        padding: float = 0.08,
        ax: Any = None,
        **plot_options: Any,
    ) -> DecisionRegionDisplay:
        """Evaluate a fitted estimator on a grid and draw it.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict`` and perhaps ``decision_function``.
        X : array-like or dataframe of shape (n, d)
            The rows to draw; they also give the extent of the picture.
        y : array-like of shape (n,), optional
            Their labels; None or NaN where they are not known.
        sample_domain : array-like of int, optional
            ``>= 0`` source, ``< 0`` target; without it all rows are source rows.
        features : pair of int or str
            The two columns to draw; the others are held at their medians.
        grid_resolution : int
            Points along an axis.
        padding : float
            Share of the rows' extent added on each side.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        DecisionRegionDisplay
            The drawn display.
        """
        if not hasattr(estimator, "predict"):
            raise TypeError(
                f"estimator must be a fitted classifier with predict, got {type(estimator)}."
            )
        table, columns = _table(X)
        pair = _pair(features, columns, table.shape[1])
        is_target = _targets(sample_domain, len(table))
        points = table[:, pair]
        grid_x, grid_y = _grid(points, grid_resolution, padding)
        rows = np.tile(np.median(table, axis=0), (grid_x.size, 1))
        rows[:, pair] = np.column_stack([grid_x.ravel(), grid_y.ravel()])
        asked = _like(X, rows)
        predicted = np.asarray(estimator.predict(asked))
        classes = np.asarray(getattr(estimator, "classes_", [-1, 1]))
        display = cls(
            grid_x,
            grid_y,
            _index(predicted, classes).reshape(grid_x.shape),
            classes=classes,
            class_names=None if hasattr(estimator, "classes_") else ("outside", "inside"),
            score=_score(estimator, asked, grid_x.shape),
            points=points,
            labels=None if y is None else _index(_column(y, len(table)), classes),
            is_target=is_target,
            names=(columns[pair[0]], columns[pair[1]]),
        )
        return display.plot(ax=ax, **plot_options)

    def plot(
        self,
        ax: Any = None,
        *,
        show: str = "both",
        legend: bool = True,
        margins: bool = True,
        size: float = 22.0,
    ) -> DecisionRegionDisplay:
        """Draw the regions, the boundary and the rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        show : {"both", "source", "target"}
            The domains whose rows are drawn; the extent stays that of all rows.
        legend : bool
            Whether to add a legend.
        margins : bool
            Whether to draw the lines of decision function -1 and 1 beside the boundary.
        size : float
            Area of a marker in points squared.

        Returns
        -------
        DecisionRegionDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        if show not in _SHOWN:
            raise ValueError(f"show must be one of {', '.join(_SHOWN)}, got {show!r}.")
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(6.0, 5.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        colours = class_colours(len(self.classes), dark=is_dark(self.ax_))
        self._draw_regions(colours)
        self._draw_boundary(margins)
        for target in _SHOWN[show]:
            self._draw_rows(colours, size, target=target)
        ax.set(
            xlim=(self.grid_x.min(), self.grid_x.max()),
            ylim=(self.grid_y.min(), self.grid_y.max()),
            xlabel=self.names[0],
            ylabel=self.names[1],
        )
        if legend:
            self._draw_legend(colours, size, _SHOWN[show])
        return self

    def _draw_regions(self, colours: list[str]) -> None:
        background = self.ax_.get_facecolor()
        shades = np.array([blend(colour, background, 0.22) for colour in colours])
        self.ax_.imshow(
            shades[self.region],
            extent=(
                self.grid_x.min(),
                self.grid_x.max(),
                self.grid_y.min(),
                self.grid_y.max(),
            ),
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
            zorder=0,
        )

    def _draw_boundary(self, margins: bool) -> None:
        ink = foreground(self.ax_)
        if self.score is None:
            edges = np.arange(len(self.classes) - 1) + 0.5
            self.ax_.contour(
                self.grid_x, self.grid_y, self.region, edges, colors=[ink], linewidths=1.2, zorder=2
            )
            return
        levels, styles, widths = [0.0], ["-"], [1.8]
        if margins:
            levels, styles, widths = [-1.0, 0.0, 1.0], ["--", "-", "--"], [0.8, 1.8, 0.8]
        # Levels outside the range of the scores make matplotlib warn that nothing was drawn.
        inside = [i for i, v in enumerate(levels) if self.score.min() < v < self.score.max()]
        if inside:
            self.ax_.contour(
                self.grid_x,
                self.grid_y,
                self.score,
                [levels[i] for i in inside],
                colors=[ink],
                linestyles=[styles[i] for i in inside],
                linewidths=[widths[i] for i in inside],
                zorder=2,
            )

    def _draw_rows(self, colours: list[str], size: float, *, target: bool) -> None:
        """Source rows are small and pale, target rows stand out: they are what counts."""
        rows = self.is_target == target
        labels = np.full(len(self.points), -1) if self.labels is None else self.labels
        style = self._marker(target, size)
        for label in np.unique(labels[rows]):
            chosen = rows & (labels == label)
            colour = "0.5" if label < 0 else colours[label]
            self.ax_.scatter(
                *self.points[chosen].T, **style, **self._fill(colour, target), zorder=3 + target
            )

    def _marker(self, target: bool, size: float) -> dict[str, Any]:
        if target:
            return {"marker": _TARGET, "s": size * 1.9, "linewidths": 0.8}
        return {"marker": _SOURCE, "s": size * 0.62, "linewidths": 0.9}

    def _fill(self, colour: str, target: bool) -> dict[str, Any]:
        """Source: outlined in the class colour; target: filled with it, edged by the page."""
        background = self.ax_.get_facecolor()
        if target:
            return {"facecolors": colour, "edgecolors": [background]}
        return {"facecolors": [blend(colour, background, 0.25)], "edgecolors": colour}

    def _draw_legend(self, colours: list[str], size: float, shown: tuple[bool, ...]) -> None:
        from matplotlib.lines import Line2D

        entries = []
        for target in shown:
            if not np.any(self.is_target == target):
                continue
            name = "target" if target else "source"
            style = self._marker(target, size)
            fill = "none" if not target else foreground(self.ax_)
            entries.append(
                Line2D(
                    [],
                    [],
                    linestyle="",
                    marker=style["marker"],
                    markersize=style["s"] ** 0.5 + 1,
                    markerfacecolor=fill,
                    markeredgecolor=foreground(self.ax_),
                    label=f"{name} rows",
                )
            )
        for colour, name in zip(colours, self.class_names, strict=True):
            entries.append(
                Line2D(
                    [], [], linestyle="", marker="s", markersize=8, color=colour, label=str(name)
                )
            )
        self.ax_.legend(
            handles=entries,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.1),
            ncols=min(len(entries), 5),
            frameon=False,
            handletextpad=0.2,
            columnspacing=1.2,
        )


def _table(X: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Rows as numbers and the names of the columns."""
    columns = getattr(X, "columns", None)
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"X must have at least two columns, got an array of shape {table.shape}.")
    if not np.isfinite(table).all():
        raise ValueError("X must be finite, got NaN or infinity.")
    names = list(map(str, columns)) if columns is not None else None
    return table, names or [f"x{i}" for i in range(table.shape[1])]


def _pair(features: Any, columns: list[str], width: int) -> list[int]:
    """Indices of the two columns, given by index or name."""
    pair = [columns.index(f) if isinstance(f, str) and f in columns else f for f in features]
    if len(pair) != 2 or not all(isinstance(f, (int, np.integer)) and 0 <= f < width for f in pair):
        raise ValueError(
            f"features must name two of the {width} columns by index or name, got {features!r}."
        )
    return [int(f) for f in pair]


def _targets(sample_domain: ArrayLike | None, n: int) -> Array:
    if sample_domain is None:
        return np.zeros(n, dtype=bool)
    domain = _column(sample_domain, n)
    return np.asarray(domain < 0)


def _column(values: ArrayLike, n: int) -> Array:
    column = np.asarray(values)
    if column.shape != (n,):
        raise ValueError(
            f"y and sample_domain must have one entry for each of the {n} rows of X, "
            f"got shape {column.shape}."
        )
    return column


def _grid(points: Array, resolution: int, padding: float) -> tuple[Array, Array]:
    if not (isinstance(resolution, (int, np.integer)) and resolution >= 2):
        raise ValueError(f"grid_resolution must be an int of at least 2, got {resolution!r}.")
    low, high = points.min(0), points.max(0)
    room = padding * np.where(high > low, high - low, 1.0)
    axes = np.linspace(low - room, high + room, resolution).T
    grid_x, grid_y = np.meshgrid(*axes)
    return grid_x, grid_y


def _like(X: Any, rows: NDArray[np.float64]) -> Any:
    """Rows in the form of ``X``: a dataframe where the estimator was fitted on one."""
    if hasattr(X, "columns"):
        return type(X)(dict(zip(X.columns, rows.T, strict=True)))
    return rows


def _index(values: Array, classes: Array) -> Array:
    """Position of each value among the classes, -1 for what is none of them."""
    place = {label: i for i, label in enumerate(classes.tolist())}
    known = (value for value in values.tolist())
    return np.array([place.get(value, -1) for value in known], dtype=np.int64)


def _score(estimator: Any, rows: Any, shape: tuple[int, ...]) -> Array | None:
    if not hasattr(estimator, "decision_function"):
        return None
    score = np.asarray(estimator.decision_function(rows), dtype=np.float64)
    return score.reshape(shape) if score.ndim == 1 else None
