"""Rows in the form that the compiled tiles read, and small helpers for dense and sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shiftlearn import _core

__all__ = ["dense", "dense_product", "indices", "pack", "same_form", "squared_norms"]

Array = NDArray[Any]


def pack(X: Any, dtype: Any, center: Array | None, threads: int) -> Any:
    """Rows in the form the compiled tiles read, float32 or float64, moved by ``center``."""
    make = _core.pack32 if np.dtype(dtype) == np.float32 else _core.pack64
    if isinstance(X, np.ndarray):
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        return make(X, center, threads)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if X.data.dtype in (np.float32, np.float64) else X.data.astype(np.float64)
    return make(values, X.indices, X.indptr, X.shape[1])


def same_form(A: Any, B: Any) -> tuple[Any, Any]:
    """Both as they are, or both sparse where one of them is."""
    if isinstance(A, np.ndarray) == isinstance(B, np.ndarray):
        return A, B
    return tuple(sparse.csr_array(X) if isinstance(X, np.ndarray) else X for X in (A, B))


def indices(rows: Array) -> NDArray[np.int64]:
    """Row numbers as the compiled core takes them."""
    return np.ascontiguousarray(rows, dtype=np.int64)


def squared_norms(X: Any) -> NDArray[np.float64]:
    """|x|² of each row, dense or sparse."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    squares = X.multiply(X).sum(axis=1)
    return np.asarray(squares, dtype=np.float64).ravel()


def dense(X: Any) -> NDArray[np.float64]:
    """The rows as a float64 array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def dense_product(weights: Array, Z: Any) -> NDArray[np.float64]:
    """Weights @ Z, dense whether Z is or not."""
    return np.asarray((Z.T @ weights.T).T if hasattr(Z, "toarray") else weights @ Z)
