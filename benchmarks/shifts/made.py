"""Shifts made from one labelled table: rows are divided between the domains, the target is moved.

Columns are standardised first, so that strengths mean the same on every table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.preprocessing import StandardScaler

from shifts.task import Shift

Rng = np.random.Generator
Divide = Callable[[np.ndarray, np.ndarray, Rng], tuple[np.ndarray, np.ndarray]]
Move = Callable[[np.ndarray, Rng], np.ndarray]


def made(X: np.ndarray, y: np.ndarray, rng: Rng, divide: Divide, move: Move | None = None) -> Shift:
    """Divide the rows between source and target, then move those of the target."""
    Z = StandardScaler().fit_transform(X)
    source, target = divide(Z, y, rng)
    Zt = Z[target] if move is None else move(Z[target], rng)
    return Shift(Z[source], y[source], Zt, y[target])


# --- who belongs to which domain: numbers of source rows, numbers of target rows


def halves(Z: np.ndarray, y: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """A random half each: no shift at all."""
    order = rng.permutation(len(y))
    return order[: len(y) // 2], order[len(y) // 2 :]


def covariate(Z: np.ndarray, y: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """P(target | x) = σ(2z), z the standardised first principal component; p(y | x) stays."""
    z = Z @ np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[2][0]
    target = rng.random(len(y)) < 1 / (1 + np.exp(-2 * z / z.std()))
    return np.flatnonzero(~target), np.flatnonzero(target)


def proportions(Z: np.ndarray, y: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """The source keeps its first class whole and a quarter of its last; the target reversed."""
    source, target = halves(Z, y, rng)
    classes = np.unique(y)
    kept = np.linspace(1.0, 0.25, len(classes))
    place = np.searchsorted(classes, y)
    return (
        source[rng.random(len(source)) < kept[place[source]]],
        target[rng.random(len(target)) < kept[::-1][place[target]]],
    )


# --- what happens to the rows of the target


def scale(Z: np.ndarray, rng: Rng) -> np.ndarray:
    """Every column has another gain, exp(0.4 N), and offset, 0.4 N standard deviations."""
    gain = np.exp(0.4 * rng.standard_normal(Z.shape[1]))
    return Z * gain + 0.4 * rng.standard_normal(Z.shape[1])


def rotation(Z: np.ndarray, rng: Rng) -> np.ndarray:
    """A turn by 40 degrees in random planes that together span the columns."""
    d = Z.shape[1]
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    turn, c, s = np.eye(d), np.cos(np.deg2rad(40)), np.sin(np.deg2rad(40))
    for i in range(0, d - 1, 2):
        turn[i : i + 2, i : i + 2] = [[c, -s], [s, c]]
    return Z @ basis @ turn @ basis.T


def missing(Z: np.ndarray, rng: Rng) -> np.ndarray:
    """Three columns in ten are not measured: they hold the mean."""
    d = Z.shape[1]
    Z = Z.copy()
    Z[:, rng.choice(d, max(1, round(0.3 * d)), replace=False)] = 0.0
    return Z


def noise(Z: np.ndarray, rng: Rng) -> np.ndarray:
    """Measurements with noise of 0.7 standard deviations."""
    return Z + 0.7 * rng.standard_normal(Z.shape)
