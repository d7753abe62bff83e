"""Accuracy from a few labels of a random sample, helped by what is guessed for all rows.

With z_i = [y_i = f(x_i)] on n labelled rows and a guess g_i of z_i on all m rows, the control
variate

    â = mean_n(z) - β (mean_n(g) - mean_m(g)),     β = cov(z, g) / var(g) in [0, 1],

is unbiased up to order 1/n whatever the guesses are worth, and has the variance
p(1-p)(1-ρ²)/n. The estimate without labels, a ± s, is then an observation of its own: both are
averaged by their precisions, s being widened where they contradict each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FewLabels", "combine", "from_labels", "labels_to_halve"]

Floats = NDArray[np.float64]
REACH = 1.645  # standard errors to either side of a 90 % interval


@dataclass(frozen=True, slots=True)
class FewLabels:
    """The accuracy by labels: value, standard error, how many labels, variance of one label."""

    value: float
    error: float
    n: int
    variance: float
    correlation: float


def from_labels(right: NDArray[np.bool_], guessed: Floats, everywhere: float) -> FewLabels:
    """Return the control variate estimate.

    ``right``, ``guessed``: z and g on the labelled rows; ``everywhere``: mean of g over all rows.
    The variance never sinks to zero: two invented rows, one right and one wrong, are counted.
    """
    z, n = right.astype(np.float64), len(right)
    beta = rho2 = 0.0
    spread = float(np.var(guessed)) if n >= 5 else 0.0
    if spread > 1e-12 and 0 < z.sum() < n:
        slope = float(np.cov(z, guessed, bias=True)[0, 1] / spread)
        beta = min(max(slope, 0.0), 1.0)
        left = float(np.var(z - beta * guessed)) * (n - 1) / max(n - 2, 1)
        rho2 = min(max(1 - left / float(np.var(z)), 0.0), 0.95)
    value = float(z.mean() - beta * (guessed.mean() - everywhere))
    smooth = (z.sum() + 1) / (n + 2)
    variance = float(smooth * (1 - smooth) * (1 - rho2))
    value = min(max(value, 0.0), 1.0)
    return FewLabels(value, math.sqrt(variance / n), n, variance, math.sqrt(rho2))


def combine(labels: FewLabels, value: float, error: float) -> tuple[float, float]:
    """Average with the estimate without labels; returns value and standard error."""
    apart = abs(labels.value - value) / math.hypot(labels.error, error)
    error = error * max(1.0, apart / REACH)
    one, other = labels.error**-2, error**-2
    return (one * labels.value + other * value) / (one + other), (one + other) ** -0.5


def labels_to_halve(error: float, prior_error: float, variance: float, n: int) -> int:
    """How many more random labels give half the present standard error."""
    needed = variance * max(4 * error**-2 - prior_error**-2, 0.0)
    return max(math.ceil(needed) - n, 1)
