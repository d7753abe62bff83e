"""A map of prototypes: which rows stand for which region.

What is drawn: the plane of two columns (the others at their medians) coloured by predicted class,
paler where no prototype fires; the rows as dots; the prototypes as rings whose area grows with the
number of rows that they stand for. A row to explain is tied to the exemplars that voted for it,
the line as wide as the vote.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.plot.decision import _grid, _index, _like, _pair, _table
from shiftlearn.plot.palette import blend, class_colours, foreground, is_dark

__all__ = ["PrototypeMapDisplay"]

Array = NDArray[Any]
_FIRING, _SILENT = 0.28, 0.10  # share of the class colour in the background


class PrototypeMapDisplay:
    """Regions and prototypes of a fitted prototype machine. Make one with `from_estimator`.

    Parameters
    ----------
    grid_x, grid_y : ndarray of shape (m, m)
        Coordinates of the plane.
    region : ndarray of shape (m, m)
        Index into ``classes`` of the prediction at each point.
    silent : ndarray of bool, shape (m, m)
        Where no prototype fires.
    classes : ndarray
        The classes.
    points, labels : ndarray of shape (n, 2) and (n,)
        The rows to draw and the index of each row's class (-1: not known).
    prototypes, prototype_labels : ndarray of shape (k, 2) and (k,)
        The exemplars and the index of each one's class.
    support : ndarray of int, shape (k,)
        Rows that each prototype stands for.
    votes : list of (point, exemplar, probability, class index), optional
        Lines from an explained row to the exemplars that voted for it.
    names : tuple of str
        Names of the two columns.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.

    Examples
    --------
    >>> from shiftlearn import PrototypeMapDisplay, PrototypeSVC
    >>> from shiftlearn.datasets import make_isolated
    >>> d = make_isolated(0)
    >>> model = PrototypeSVC(random_state=0).fit(d.data, d.target)
    >>> display = PrototypeMapDisplay.from_estimator(model, d.data, d.target, explain=d.data[600])
    >>> len(display.prototypes) == len(model.exemplars_)
    True
    """

    def __init__(
        self,
        grid_x: Array,
        grid_y: Array,
        region: Array,
        silent: Array,
        *,
        classes: Array,
        points: Array,
        labels: Array,
        prototypes: Array,
        prototype_labels: Array,
        support: Array,
        votes: list[tuple[Array, Array, float, int]] | None = None,
        names: tuple[str, str] = ("x0", "x1"),
    ) -> None:
        self.grid_x = grid_x
        self.grid_y = grid_y
        self.region = region
        self.silent = silent
        self.classes = classes
        self.points = points
        self.labels = labels
        self.prototypes = prototypes
        self.prototype_labels = prototype_labels
        self.support = support
        self.votes = votes or []
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        explain: ArrayLike | None = None,
        features: tuple[int | str, int | str] = (0, 1),
        grid_resolution: int = 200,
        padding: float = 0.06,
        ax: Any = None,
        **plot_options: Any,
    ) -> PrototypeMapDisplay:
        """Evaluate a fitted prototype machine on a grid and draw it.

        Parameters
        ----------
        estimator : PrototypeSVC or ExemplarSVC
            Fitted.
        X : array-like or dataframe of shape (n, d)
            The rows to draw; they also give the extent of the picture.
        y : array-like of shape (n,), optional
            Their labels.
        explain : array-like of shape (d,), optional
            A row whose votes are drawn.
        features : pair of int or str
            The two columns to draw.
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
        PrototypeMapDisplay
            The drawn display.
        """
        if not hasattr(estimator, "prototypes_"):
            raise TypeError(
                "estimator must be a fitted PrototypeSVC or ExemplarSVC, got "
                f"{type(estimator).__name__} without prototypes_."
            )
        table, columns = _table(X)
        pair = _pair(features, columns, table.shape[1])
        points = table[:, pair]
        grid_x, grid_y = _grid(points, grid_resolution, padding)
        rows = np.tile(np.median(table, axis=0), (grid_x.size, 1))
        rows[:, pair] = np.column_stack([grid_x.ravel(), grid_y.ravel()])
        asked, classes = _like(X, rows), estimator.classes_
        labels = np.full(len(table), -1) if y is None else _index(np.asarray(y), classes)
        display = cls(
            grid_x, grid_y, _index(estimator.predict(asked), classes).reshape(grid_x.shape),
            estimator.silent_rows(asked).reshape(grid_x.shape),
            classes=classes, points=points, labels=labels,
            prototypes=_dense(estimator.prototypes_)[:, pair],
            prototype_labels=_index(estimator.prototype_classes_, classes),
            support=np.array([len(rows) for rows in estimator.positive_sets_]),
            votes=None if explain is None else _votes(estimator, X, explain, pair),
            names=(columns[pair[0]], columns[pair[1]]),
        )  # fmt: skip
        return display.plot(ax=ax, **plot_options)

    def plot(
        self, ax: Any = None, *, legend: bool = True, size: float = 9.0
    ) -> PrototypeMapDisplay:
        """Draw regions, rows, prototypes and votes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        legend : bool
            Whether to add a legend.
        size : float
            Area of a row's marker in points squared.

        Returns
        -------
        PrototypeMapDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(6.0, 5.4), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        colours = class_colours(len(self.classes), dark=is_dark(ax))
        self._draw_regions(colours)
        self._draw_rows(colours, size)
        self._draw_prototypes(colours, size)
        self._draw_votes(colours)
        ax.set(xlim=(self.grid_x.min(), self.grid_x.max()), xlabel=self.names[0])
        ax.set(ylim=(self.grid_y.min(), self.grid_y.max()), ylabel=self.names[1])
        if legend:
            self._draw_legend(colours)
        return self

    def _draw_regions(self, colours: list[str]) -> None:
        background = self.ax_.get_facecolor()
        firing, silent = (
            np.array([blend(colour, background, share) for colour in colours])[self.region]
            for share in (_FIRING, _SILENT)
        )
        extent = (self.grid_x.min(), self.grid_x.max(), self.grid_y.min(), self.grid_y.max())
        self.ax_.imshow(
            np.where(self.silent[..., None], silent, firing), extent=extent, origin="lower",
            aspect="auto", interpolation="nearest", zorder=0,
        )  # fmt: skip

    def _draw_rows(self, colours: list[str], size: float) -> None:
        for label in np.unique(self.labels):
            rows = self.points[self.labels == label]
            colour = "0.5" if label < 0 else colours[label]
            self.ax_.scatter(*rows.T, s=size, color=colour, linewidths=0, alpha=0.75, zorder=2)

    def _draw_prototypes(self, colours: list[str], size: float) -> None:
        edge = foreground(self.ax_)
        order = np.argsort(-self.support, kind="stable")
        self.ax_.scatter(
            *self.prototypes[order].T, s=size * (1 + 2.5 * self.support[order]),
            facecolors="none", edgecolors=edge, linewidths=0.7, alpha=0.6, zorder=3,
        )  # fmt: skip

    def _draw_votes(self, colours: list[str]) -> None:
        ink = foreground(self.ax_)
        for point, exemplar, probability, label in self.votes:
            self.ax_.plot(
                *np.stack([point, exemplar]).T, color=colours[label],
                linewidth=0.6 + 3.0 * probability, solid_capstyle="round", zorder=4,
            )  # fmt: skip
        if self.votes:
            self.ax_.scatter(*self.votes[0][0], marker="*", s=170, color=ink, zorder=5)

    def _draw_legend(self, colours: list[str]) -> None:
        from matplotlib.lines import Line2D

        ink = foreground(self.ax_)
        marks: list[tuple[str, str, Any, Any]] = [
            (str(name), "o", colour, colour)
            for name, colour in zip(self.classes, colours, strict=True)
        ]
        marks.append(("prototype", "o", "none", ink))
        if self.votes:
            marks.append(("explained row", "*", ink, ink))
        handles = [
            Line2D([], [], linestyle="", marker=mark, markerfacecolor=face, markeredgecolor=edge,
                   markersize=7, label=name)
            for name, mark, face, edge in marks
        ]  # fmt: skip
        self.ax_.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.1),
            ncols=min(len(handles), 5), frameon=False,
        )  # fmt: skip


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _votes(
    estimator: Any, X: Any, row: ArrayLike, pair: list[int]
) -> list[tuple[Array, Array, float, int]]:
    """Lines from the row to the exemplars that voted for it."""
    values = np.asarray(row, dtype=np.float64).reshape(1, -1)
    found = estimator.explain(_like(X, values))[0]
    places = _dense(estimator.prototypes_)[:, pair]
    classes = estimator.classes_.tolist()
    return [
        (values[0, pair], places[vote.model], vote.probability, classes.index(vote.label))
        for vote in found.votes
    ]
