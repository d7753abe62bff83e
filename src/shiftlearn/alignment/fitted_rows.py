"""Which new rows are rows of ``fit``: transductive methods have an answer for those already."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["FittedRows"]

Ints = NDArray[np.intp]


class FittedRows:
    """Finds rows again by their values.

    Examples
    --------
    >>> import numpy as np
    >>> FittedRows(np.array([[1.0, 2.0], [3.0, 4.0]])).find(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([ 1, -1])
    """

    def __init__(self, X: Any) -> None:
        self._places: dict[bytes, int] = {}
        for place, key in enumerate(_keys(X)):
            self._places.setdefault(key, place)

    def __getstate__(self) -> dict[str, Any]:
        """The keys as one array: files of models hold arrays, and no bytes as names."""
        keys = list(self._places)
        return {
            "keys": np.frombuffer(b"".join(keys), dtype=np.uint8),
            "ends": np.cumsum([len(key) for key in keys], dtype=np.int64),
            "places": np.array(list(self._places.values()), dtype=np.int64),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        keys, ends = np.asarray(state["keys"]).tobytes(), [0, *state["ends"].tolist()]
        parts = [keys[a:b] for a, b in itertools.pairwise(ends)]
        self._places = dict(zip(parts, state["places"].tolist(), strict=True))

    def find(self, X: Any) -> Ints:
        """Position of each row of X among the known rows, -1 where it is not one of them."""
        return np.array([self._places.get(key, -1) for key in _keys(X)], dtype=np.intp)


def _keys(X: Any) -> list[bytes]:
    """The values of each row as bytes; the same for dense and sparse rows."""
    if not sparse.issparse(X):
        X = sparse.csr_array(np.asarray(X, dtype=np.float64))
    X = X.tocsr().astype(np.float64)
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    columns = X.indices.astype(np.int64)
    ends = X.indptr
    return [columns[a:b].tobytes() + X.data[a:b].tobytes() for a, b in itertools.pairwise(ends)]
