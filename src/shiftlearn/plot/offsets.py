"""Offsets of the tasks of a one-class machine, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.plot.palette import axes_for, class_colours, is_dark

__all__ = ["OffsetsDisplay"]


class OffsetsDisplay:
    """The offset ρ of each task, f(x) = ⟨w, φ(x)⟩ - ρ, as a point with its interval.

    Parameters
    ----------
    offsets : ndarray of shape (n_tasks,)
        The offsets; the target's is the last.
    intervals : ndarray of shape (n_tasks, 2)
        All offsets that the optimality conditions allow.
    names : sequence of str
        Names of the tasks.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import OffsetsDisplay, UncertainOneClassTransferSVM
    >>> X = 3 + np.random.default_rng(0).normal(size=(60, 2))
    >>> model = UncertainOneClassTransferSVM(nu=0.2).fit(X, sample_domain=np.repeat([0, -1], 30))
    >>> OffsetsDisplay.from_estimator(model).offsets.shape
    (2,)
    """

    def __init__(
        self, offsets: NDArray[np.float64], intervals: NDArray[np.float64], names: Sequence[str]
    ) -> None:
        self.offsets = offsets
        self.intervals = intervals
        self.names = list(names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **plot_options: Any
    ) -> OffsetsDisplay:
        """Draw ``offsets_`` and ``offset_intervals_`` of a fitted machine.

        Parameters
        ----------
        estimator : UncertainOneClassTransferSVM
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        OffsetsDisplay
            The drawn display.
        """
        if not hasattr(estimator, "offset_intervals_"):
            raise TypeError(f"estimator must be fitted and have offsets_, got {estimator!r}.")
        offsets = np.atleast_1d(np.asarray(estimator.offsets_, dtype=np.float64))
        intervals = np.asarray(estimator.offset_intervals_, dtype=np.float64).reshape(-1, 2)
        names = [f"source {t + 1}" for t in range(len(offsets) - 1)] + ["target"]
        return cls(offsets, intervals, names).plot(ax=ax, **plot_options)

    def plot(self, ax: Any = None) -> OffsetsDisplay:
        """Draw the points and their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        OffsetsDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        self.ax_ = axes_for(ax, (6.0, 1.4 + 0.4 * len(self.offsets)))
        self.figure_ = self.ax_.figure
        first, second = class_colours(2, dark=is_dark(self.ax_))
        for place, (value, (low, high)) in enumerate(
            zip(self.offsets, self.intervals, strict=True)
        ):
            colour = second if place == len(self.offsets) - 1 else first
            self.ax_.plot([low, high], [place, place], color=colour, lw=3, alpha=0.5)
            self.ax_.plot([value], [place], marker="o", color=colour)
        self.ax_.set_yticks(range(len(self.names)), self.names)
        self.ax_.set(xlabel="offset", ylim=(len(self.names) - 0.5, -0.5))
        return self
