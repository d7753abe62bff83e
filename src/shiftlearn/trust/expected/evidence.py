"""What all estimators see: predictions on held-out source rows and on the target, and the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from shiftlearn.trust.proportions import Proportions, find_proportions

__all__ = ["Evidence", "tempered"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """Predictions of a classifier on both domains.

    Attributes
    ----------
    source, target : ndarray of shape (n, n_classes), (m, n_classes)
        Probabilities.
    codes : ndarray of int of shape (n,)
        True class numbers of the source rows.
    source_rows, target_rows : ndarray or None
        The rows themselves as numbers, where there are any.
    seed : int
        For what is drawn.
    """

    source: Floats
    target: Floats
    codes: NDArray[np.intp]
    source_rows: Floats | None
    target_rows: Floats | None
    seed: int

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the classifier is right, source row by source row."""
        return np.asarray(self.source.argmax(axis=1) == self.codes)

    @property
    def accuracy(self) -> float:
        """Accuracy on the source rows."""
        return float(self.right.mean())

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Predicted class numbers of the target rows."""
        return np.asarray(self.target.argmax(axis=1))

    @property
    def shares(self) -> Floats:
        """Class shares of the source rows."""
        return np.bincount(self.codes, minlength=self.source.shape[1]) / len(self.codes)

    @property
    def rows(self) -> Floats:
        """Source rows, then target rows."""
        return np.vstack([np.asarray(self.source_rows), np.asarray(self.target_rows)])

    @cached_property
    def temperature(self) -> float:
        """The τ whose probabilities, p^(1/τ) normalised, have the least log loss on the source."""
        rows = np.arange(len(self.codes))

        def loss(log_tau: float) -> float:
            p = tempered(self.source, float(np.exp(log_tau)))[rows, self.codes]
            return float(-np.log(np.maximum(p, 1e-12)).mean())

        found = minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded")
        return float(np.exp(found.x))

    @cached_property
    def calibrated_source(self) -> Floats:
        """Source probabilities at the best temperature."""
        return tempered(self.source, self.temperature)

    @cached_property
    def calibrated_target(self) -> Floats:
        """Target probabilities at the source's temperature."""
        return tempered(self.target, self.temperature)

    @cached_property
    def proportions(self) -> Proportions | None:
        """Class proportions, where the rows are known and every class has a source row."""
        if (
            self.source_rows is None
            or self.target_rows is None
            or (self.shares == 0).any()
            or len(self.shares) < 2
        ):
            return None
        return find_proportions(
            self.source_rows, self.codes, np.ones(len(self.codes)), self.source,
            self.target_rows, self.target.mean(axis=0),
        )  # fmt: skip

    @cached_property
    def target_costs(self) -> Floats:
        """What carrying the target's predictions to the believed proportions costs, row by row."""
        from shiftlearn.trust.expected.transport import transport_costs

        shares = self.shares if self.proportions is None else self.proportions.target
        return transport_costs(self.calibrated_target, shares, self.seed)

    @cached_property
    def mapped_model_says(self) -> Floats | None:
        """Target probabilities of a logistic regression on source rows mapped onto the target."""
        from shiftlearn.trust.expected.agreement import mapped_probabilities

        return mapped_probabilities(self)


def tempered(probabilities: Floats, tau: float) -> Floats:
    """p^(1/τ), normalised."""
    logs = np.log(np.maximum(probabilities, 1e-9)) / tau
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
