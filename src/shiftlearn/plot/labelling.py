"""Accuracy by the number of labelled rows, for several ways to choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.plot.palette import axes_for, line_styles

__all__ = ["LabellingCurveDisplay"]


class LabellingCurveDisplay:
    """Score of an adapted model by the number of labels, a line for each strategy.

    Parameters
    ----------
    budgets : sequence of int
        Numbers of labels.
    scores : mapping of str to ndarray of shape (n_budgets, n_draws)
        Accuracy for each strategy, budget and draw.
    start : float, optional
        Accuracy without labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LabellingCurveDisplay
    >>> display = LabellingCurveDisplay([5, 10], {"random": np.array([[0.7], [0.8]])}, start=0.6)
    >>> display.plot().ax_.get_xlabel()
    'labelled target rows'
    """

    def __init__(
        self,
        budgets: Sequence[int],
        scores: Mapping[str, NDArray[np.float64]],
        *,
        start: float | None = None,
    ) -> None:
        self.budgets = list(budgets)
        self.scores = dict(scores)
        self.start = start

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X_pool: Any,
        y_pool: ArrayLike,
        *,
        source: Any,
        select: Any,
        budgets: Sequence[int] = (5, 10, 20, 40),
        strategies: Sequence[str] = ("diverse", "random"),
        n_draws: int = 5,
        ax: Any = None,
        **plot_options: Any,
    ) -> LabellingCurveDisplay:
        """Choose, label, fit and score on the rest of the pool, for each budget.

        Parameters
        ----------
        estimator : classifier
            What is fitted on the chosen rows (``AdaptSVC(source)``, ``AdaptCV(source)``); cloned.
        X_pool, y_pool : array-like of shape (n, p), (n,)
            Target rows with all their labels, of which only the chosen ones are shown.
        source : fitted classifier
            What the rows are chosen by.
        select : callable
            ``shiftlearn.select_queries`` or one with the same signature.
        budgets : sequence of int
            Numbers of labels.
        strategies : sequence of str
            Of ``select``.
        n_draws : int
            Repetitions with other seeds.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        LabellingCurveDisplay
            The drawn display.
        """
        from sklearn.base import clone

        y = np.asarray(y_pool)
        everything = np.arange(len(y))

        def score(strategy: str, n: int, seed: int) -> float:
            few = select(source, X_pool, n, strategy=strategy, random_state=seed)
            rest = np.setdiff1d(everything, few)
            if len(np.unique(y[few])) < 2:  # one class teaches nothing: the source stays
                return float(source.score(X_pool[rest], y[rest]))
            model = clone(estimator).fit(X_pool[few], y[few])
            return float(model.score(X_pool[rest], y[rest]))

        scores = {
            strategy: np.array([[score(strategy, n, k) for k in range(n_draws)] for n in budgets])
            for strategy in strategies
        }
        start = float(source.score(X_pool, y))
        return cls(budgets, scores, start=start).plot(ax=ax, **plot_options)

    def plot(self, ax: Any = None) -> LabellingCurveDisplay:
        """Draw means with a standard error on both sides.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        LabellingCurveDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        from shiftlearn.plot.palette import foreground, is_dark

        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        styles = line_styles(len(self.scores), dark=is_dark(self.ax_))
        for (name, table), style in zip(self.scores.items(), styles, strict=True):
            mean = table.mean(axis=1)
            error = table.std(axis=1) / np.sqrt(table.shape[1])
            self.ax_.plot(self.budgets, mean, label=name, lw=1.8, **style)
            self.ax_.fill_between(
                self.budgets, mean - error, mean + error, color=style["color"], alpha=0.18, lw=0
            )
        if self.start is not None:
            ink = foreground(self.ax_)
            self.ax_.axhline(self.start, color=ink, ls=":", lw=1, label="without labels")
        self.ax_.set(xlabel="labelled target rows", ylabel="accuracy on the rest")
        self.ax_.legend(frameon=False)
        return self
