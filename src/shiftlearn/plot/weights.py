"""Importance weights of the source rows, and what they leave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.plot.palette import axes_for, class_colours, foreground, is_dark

__all__ = ["WeightsDisplay"]


class WeightsDisplay:
    """Share of the total weight that the heaviest rows hold.

    The curve of equal weights is the diagonal; the further above it, the fewer rows decide.

    Parameters
    ----------
    rows, held : ndarray of shape (n + 1,)
        Share of the rows, the heaviest first, and share of the weight that they hold.
    effective_sample_size : float
        Equally weighted rows that the weighted rows are worth.
    pareto_k : float
        Shape of the weights' tail.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> from shiftlearn import WeightsDisplay
    >>> display = WeightsDisplay.from_weights([3.0, 1.0, 0.0, 0.0])
    >>> display.held.tolist()
    [0.0, 0.75, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        held: NDArray[np.float64],
        *,
        effective_sample_size: float,
        pareto_k: float,
    ) -> None:
        self.rows = rows
        self.held = held
        self.effective_sample_size = effective_sample_size
        self.pareto_k = pareto_k

    @classmethod
    def from_weights(
        cls, weights: ArrayLike, *, ax: Any = None, **plot_options: Any
    ) -> WeightsDisplay:
        """Draw weights, one a row.

        Parameters
        ----------
        weights : array-like of shape (n,)
            Non-negative, not all zero.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        WeightsDisplay
            The drawn display.
        """
        from shiftlearn.shift import effective_sample_size, pareto_k

        worth = effective_sample_size(weights)
        ordered = np.sort(np.asarray(weights, dtype=np.float64))[::-1]
        held = np.concatenate([[0.0], np.cumsum(ordered) / ordered.sum()])
        display = cls(
            np.linspace(0, 1, len(held)),
            held,
            effective_sample_size=worth,
            pareto_k=pareto_k(weights),
        )
        return display.plot(ax=ax, **plot_options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **plot_options: Any
    ) -> WeightsDisplay:
        """Draw ``weights_`` of a fitted ratio estimator or classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``weights_``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        WeightsDisplay
            The drawn display.
        """
        if not hasattr(estimator, "weights_"):
            raise TypeError(f"estimator must be fitted and have weights_, got {estimator!r}.")
        return cls.from_weights(estimator.weights_, ax=ax, **plot_options)

    def plot(self, ax: Any = None, *, label: str | None = None) -> WeightsDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        label : str, optional
            Name in the legend, before the effective sample size.

        Returns
        -------
        WeightsDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        self.ax_ = axes_for(ax, (5.0, 4.4))
        self.figure_ = self.ax_.figure
        n = len(self.held) - 1
        worth = f"worth {self.effective_sample_size:.0f} of {n} rows"
        count = sum(line.get_label().find("worth") >= 0 for line in self.ax_.get_lines())
        colour = class_colours(count + 1, dark=is_dark(self.ax_))[count]
        self.ax_.plot([0, 1], [0, 1], color=foreground(self.ax_), lw=0.8, ls=":")
        self.ax_.plot(
            self.rows, self.held, color=colour, lw=2, label=f"{label}: {worth}" if label else worth
        )
        self.ax_.set(
            xlabel="share of the rows, heaviest first", ylabel="share of the weight they hold",
            xlim=(0, 1), ylim=(0, 1.02),
        )  # fmt: skip
        self.ax_.legend(loc="lower right", frameon=False)
        return self
