"""Cholesky's method with the largest pivot, one row at a time."""

from __future__ import annotations

import numpy as np


def plain(K, tol):
    """R with trace(K - RRᵀ) <= tol · trace(K), and the pivots."""
    left = np.array(K, dtype=np.float64)
    columns, pivots = [], []
    while np.trace(left) > tol * np.trace(K):
        pivot = int(np.argmax(np.diagonal(left)))
        column = left[:, pivot] / np.sqrt(left[pivot, pivot])
        columns.append(column)
        pivots.append(pivot)
        left = left - np.outer(column, column)
    return np.array(columns).T, np.array(pivots)
