"""The boundary of a one-class machine, and where it moved the rows it learnt from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.plot.decision import _grid, _targets
from shiftlearn.plot.palette import blend, class_colours, foreground, is_dark

__all__ = ["OneClassDisplay"]

Array = NDArray[Any]


class OneClassDisplay:
    """Boundary of a one-class machine in two columns, rows as observed and as corrected.

    Make one with `from_estimator`.

    Parameters
    ----------
    grid_x, grid_y : ndarray of shape (m, m)
        Coordinates of the plane.
    score : ndarray of shape (m, m)
        The decision function; not negative inside.
    points : ndarray of shape (n, 2)
        The rows where they were observed.
    corrected : ndarray of shape (n, 2) or None
        The same where the machine moved them to.
    is_target : ndarray of bool, shape (n,)
        Which rows belong to the target task.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import OneClassDisplay, UncertainOneClassTransferSVM
    >>> X = 3 + np.random.default_rng(0).normal(size=(60, 2))
    >>> domain = np.repeat([0, -1], [50, 10])
    >>> model = UncertainOneClassTransferSVM(nu=0.2).fit(X, sample_domain=domain)
    >>> display = OneClassDisplay.from_estimator(model, X, sample_domain=domain)
    >>> display.corrected.shape
    (60, 2)
    """

    def __init__(
        self,
        grid_x: Array,
        grid_y: Array,
        score: Array,
        *,
        points: Array,
        corrected: Array | None = None,
        is_target: Array,
    ) -> None:
        self.grid_x = grid_x
        self.grid_y = grid_y
        self.score = score
        self.points = points
        self.corrected = corrected
        self.is_target = is_target

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        sample_domain: ArrayLike | None = None,
        grid_resolution: int = 200,
        padding: float = 0.12,
        extent: ArrayLike | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> OneClassDisplay:
        """Evaluate a fitted machine of two columns on a grid and draw it.

        Parameters
        ----------
        estimator : one-class estimator
            Fitted, with ``decision_function``; its ``displacements_``, where it has them and X are
            the rows of ``fit``, say where the rows were moved to.
        X : array-like of shape (n, 2)
            The rows to draw.
        sample_domain : array-like of int, optional
            ``>= 0`` source, ``< 0`` target; without it all rows are the target's.
        grid_resolution : int
            Points along an axis.
        padding : float
            Share of the rows' extent added on each side.
        extent : array-like of shape (m, 2), optional
            Rows that the picture is to hold; X where it is not given.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        OneClassDisplay
            The drawn display.
        """
        if not hasattr(estimator, "decision_function"):
            raise TypeError(
                f"estimator must be a fitted one-class machine with decision_function, got "
                f"{type(estimator)}."
            )
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"X must have two columns, got an array of shape {points.shape}.")
        every = np.ones(len(points), dtype=bool)
        is_target = every if sample_domain is None else _targets(sample_domain, len(points))
        held = points if extent is None else np.asarray(extent, dtype=np.float64)
        grid_x, grid_y = _grid(held, grid_resolution, padding)
        places = np.column_stack([grid_x.ravel(), grid_y.ravel()])
        moves = getattr(estimator, "displacements_", None)
        corrected = None
        if moves is not None and moves.shape == points.shape:
            corrected = points + moves
        return cls(
            grid_x,
            grid_y,
            np.asarray(estimator.decision_function(places)).reshape(grid_x.shape),
            points=points,
            corrected=corrected,
            is_target=is_target,
        ).plot(ax=ax, **plot_options)

    def plot(
        self, ax: Any = None, *, title: str | None = None, legend: bool = True
    ) -> OneClassDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        title : str, optional
            Title of the axes.
        legend : bool
            Whether to explain the marks.

        Returns
        -------
        OneClassDisplay
            This display.
        """
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        colours = class_colours(2, dark=is_dark(self.ax_))
        self._draw_inside(colours[0])
        for target in (False, True):
            self._draw_rows(colours[int(not target)], target)
        self.ax_.set(xlabel="x0", ylabel="x1", title=title or "")
        if legend:
            self.ax_.legend(loc="best", fontsize="small", framealpha=0.85)
        return self

    def _draw_inside(self, colour: str) -> None:
        low, high = float(self.score.min()), float(self.score.max())
        if high <= 0:  # nothing is inside: there is no boundary to draw
            return
        shade = blend(colour, self.ax_.get_facecolor(), 0.16)
        plane = (self.grid_x, self.grid_y, self.score)
        self.ax_.contourf(*plane, [0.0, 2 * high], colors=[shade], zorder=0)
        if low < 0:
            ink = [foreground(self.ax_)]
            self.ax_.contour(*plane, [0.0], colors=ink, linewidths=1.8, zorder=2)

    def _draw_rows(self, colour: str, target: bool) -> None:
        rows = self.is_target == target
        if not rows.any():
            return
        name, size = ("target rows", 34.0) if target else ("source rows", 9.0)
        x, y = self.points[rows].T
        self.ax_.scatter(
            x, y, s=size, marker="^" if target else "o", color=colour, linewidths=0,
            alpha=0.95 if target else 0.45, label=name, zorder=3 + target,
        )  # fmt: skip
        if self.corrected is None or not target:
            return
        moves = (self.corrected - self.points)[rows]
        if moves.any():
            self.ax_.quiver(
                x, y, *moves.T, angles="xy", scale_units="xy", scale=1.0,
                width=0.004, color=foreground(self.ax_), label="correction", zorder=5,
            )  # fmt: skip
