"""How far each column moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.plot.palette import axes_for, class_colours, is_dark

__all__ = ["FeatureShiftDisplay"]


class FeatureShiftDisplay:
    """Jensen-Shannon divergence of each column, the most moved on top.

    Parameters
    ----------
    divergence : ndarray of shape (p,)
        In bits: 0 alike, 1 disjoint.
    names : sequence of str
        Names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import FeatureShiftDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(300, 2)), rng.normal([0.0, 3.0], size=(300, 2))
    >>> display = FeatureShiftDisplay.from_samples(X, Y)
    >>> display.divergence.argmax()
    np.int64(1)
    """

    def __init__(self, divergence: NDArray[np.float64], names: Sequence[str]) -> None:
        self.divergence = divergence
        self.names = list(names)

    @classmethod
    def from_samples(
        cls, X: Any, Y: Any, *, ax: Any = None, **plot_options: Any
    ) -> FeatureShiftDisplay:
        """Measure two samples of numbers, column by column, and draw.

        Parameters
        ----------
        X, Y : array-like, dataframe or CSR of shape (m, p), (n, p)
            Source and target rows; frames are matched by column name.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        FeatureShiftDisplay
            The drawn display.
        """
        from shiftlearn.shift import feature_jensen_shannon

        divergence = feature_jensen_shannon(X, Y)
        columns = getattr(X, "columns", [f"x{j}" for j in range(len(divergence))])
        return cls(divergence, [str(name) for name in columns]).plot(ax=ax, **plot_options)

    def plot(self, ax: Any = None, *, top: int = 20) -> FeatureShiftDisplay:
        """Draw a bar for each of the most moved columns.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        top : int
            Most columns to draw.

        Returns
        -------
        FeatureShiftDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        chosen = np.argsort(-self.divergence, kind="stable")[:top][::-1]
        self.ax_ = axes_for(ax, (6.0, 1.2 + 0.27 * len(chosen)))
        self.figure_ = self.ax_.figure
        colour = class_colours(1, dark=is_dark(self.ax_))[0]
        places = np.arange(len(chosen))
        self.ax_.barh(places, self.divergence[chosen], color=colour, height=0.7)
        self.ax_.set_yticks(places, [self.names[j] for j in chosen])
        self.ax_.set(xlim=(0, 1), xlabel="Jensen-Shannon divergence, bits")
        return self
