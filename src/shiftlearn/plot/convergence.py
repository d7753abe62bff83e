"""How a solver came to its answer: the history in a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.plot.palette import axes_for, class_colours, foreground, is_dark

__all__ = ["ConvergenceDisplay"]


class ConvergenceDisplay:
    """Violation of the optimality conditions by iteration, on a logarithmic scale.

    Parameters
    ----------
    iterations, objectives, violations : ndarray of shape (n,)
        The history of a certificate.
    gap : float
        Proved distance of the last objective from the optimum.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> from shiftlearn import Certificate, ConvergenceDisplay
    >>> proof = Certificate(-2.0, 1e-4, 1e-4, True, 9, history=((0, 0.0, 1.0), (9, -2.0, 1e-4)))
    >>> ConvergenceDisplay.from_certificate(proof).violations.tolist()
    [1.0, 0.0001]
    """

    def __init__(
        self,
        iterations: NDArray[np.float64],
        objectives: NDArray[np.float64],
        violations: NDArray[np.float64],
        *,
        gap: float,
    ) -> None:
        self.iterations = iterations
        self.objectives = objectives
        self.violations = violations
        self.gap = gap

    @classmethod
    def from_certificate(
        cls, certificate: Any, *, ax: Any = None, **plot_options: Any
    ) -> ConvergenceDisplay:
        """Draw the history of one certificate.

        Parameters
        ----------
        certificate : Certificate
            With a history.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        ConvergenceDisplay
            The drawn display.
        """
        history: Sequence[tuple[int, float, float]] = certificate.history
        if not history:
            raise ValueError(
                "the certificate has no history; single problems that a solver iterated on have "
                "one (of several problems: an entry of certificates_)."
            )
        table = np.array(history, dtype=np.float64)
        display = cls(table[:, 0], table[:, 1], table[:, 2], gap=float(certificate.gap))
        return display.plot(ax=ax, **plot_options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **plot_options: Any
    ) -> ConvergenceDisplay:
        """Draw the history of a fitted estimator's ``certificate_``.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``certificate_``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        ConvergenceDisplay
            The drawn display.
        """
        if not hasattr(estimator, "certificate_"):
            raise TypeError(f"estimator must be fitted and have certificate_, got {estimator!r}.")
        return cls.from_certificate(estimator.certificate_, ax=ax, **plot_options)

    def plot(self, ax: Any = None, *, tol: float | None = None) -> ConvergenceDisplay:
        """Draw the violations.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        tol : float, optional
            The stopping rule, as a line.

        Returns
        -------
        ConvergenceDisplay
            This display, with ``ax_`` and ``figure_``.
        """
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        colour = class_colours(1, dark=is_dark(self.ax_))[0]
        positive = np.maximum(self.violations, np.finfo(float).tiny)
        self.ax_.semilogy(self.iterations, positive, marker="o", ms=3.5, lw=1.6, color=colour)
        if tol is not None:
            self.ax_.axhline(tol, color=foreground(self.ax_), ls=":", lw=1)
        gap = "gap not bounded" if np.isnan(self.gap) else f"proved gap {self.gap:.1e}"
        self.ax_.set(
            xlabel="iteration", ylabel="largest violation",
            title=f"objective {self.objectives[-1]:.6g}, {gap}",
        )  # fmt: skip
        return self
