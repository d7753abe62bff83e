"""Gaussian functions at target rows, the form in which some ratios are sought.

w(x) = Σ_l α_l exp(-γ ‖x - c_l‖²),    centres c_l among the target rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from shiftlearn.covariate.ratios import PointwiseRatio
from shiftlearn.kernels import resolve_kernel
from shiftlearn.kernels.kernel import Kernel
from shiftlearn.parameters import check_number

__all__ = ["BasisRatio"]

Floats = NDArray[np.float64]

_WIDTHS = (0.25, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5)  # of the median distance between centres


class BasisRatio(PointwiseRatio):
    """Base of the ratios of this form; a subclass finds α and scores it on held-out rows."""

    gamma: float | None
    n_centers: int
    cv: int
    random_state: Any
    n_jobs: int | None

    def _log_ratio(self, rows: Any) -> Floats:
        values = self._basis(rows, self.gamma_) @ self.coef_
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(values, 0.0)))

    def _basis(self, rows: Any, gamma: float) -> Floats:
        kernel = Kernel("rbf", gamma=gamma)
        return np.asarray(
            kernel.block(rows, self.centers_, np.float64, self.n_jobs), dtype=np.float64
        )

    def _draw_centers(self, target: Any) -> np.random.RandomState:
        """Set ``centers_``; returns the generator for the folds."""
        random: np.random.RandomState = check_random_state(self.random_state)
        most = int(check_number("n_centers", self.n_centers))
        n = target.shape[0]
        chosen = np.sort(random.permutation(n)[:most]) if n > most else np.arange(n)
        self.centers_ = target[chosen]
        return random

    def _widths(self, source: Any) -> Floats:
        """The candidates for γ."""
        if self.gamma is not None:
            return np.array([resolve_kernel("rbf", self.gamma, X=source).gamma])
        from sklearn.metrics import pairwise_distances

        distances = pairwise_distances(self.centers_)
        middle = float(np.median(distances[distances > 0])) if distances.any() else 1.0
        return np.asarray(0.5 / (middle * np.array(_WIDTHS)) ** 2)

    def _folds(self, m: int, n: int, random: np.random.RandomState) -> list[tuple[Any, Any]]:
        """Masks of held-out source and target rows."""
        k = self.cv
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 2:
            raise ValueError(f"cv must be an integer >= 2, got {k!r}.")
        k = min(int(k), m, n)
        if k < 2:
            raise ValueError(
                f"Cross-validation needs at least 2 rows of each domain, got {m} and {n}; "
                "give gamma (and penalty)."
            )
        return list(zip(_parts(m, k, random), _parts(n, k, random)))


def _parts(n: int, k: int, random: np.random.RandomState) -> Iterator[NDArray[np.bool_]]:
    fold = random.permutation(np.arange(n) % k)
    for v in range(k):
        yield fold == v
