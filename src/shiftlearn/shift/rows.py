"""The two samples that are compared: checked, of one width, of one kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.domains.checks import refuse_device_arrays
from shiftlearn.domains.stack import match_columns

__all__ = ["check_pair", "draw_rows", "is_sparse", "stack_pair", "to_dense"]


def check_pair(X: Any, Y: Any, min_rows: int = 2) -> tuple[Any, Any]:
    """Return both samples as finite float arrays, or both as CSR if one is sparse.

    Frames are matched by column name.
    """
    from sklearn.utils import check_array

    refuse_device_arrays(X, "X")
    refuse_device_arrays(Y, "Y")
    if hasattr(X, "columns") and hasattr(Y, "columns"):
        X, Y = match_columns({"X": X, "Y": Y})
    rules: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": [np.float64, np.float32],
        "ensure_min_samples": min_rows,
    }
    X, Y = check_array(X, input_name="X", **rules), check_array(Y, input_name="Y", **rules)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X and Y must have the same columns, got {X.shape[1]} and {Y.shape[1]} of them."
        )
    return (X, Y) if is_sparse(X) == is_sparse(Y) else (_to_csr(X), _to_csr(Y))


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix."""
    return hasattr(X, "tocsr")


def _to_csr(X: Any) -> Any:
    import scipy.sparse

    return X if is_sparse(X) else scipy.sparse.csr_array(X)


def to_dense(X: Any) -> NDArray[np.floating]:
    """X as an ndarray."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def stack_pair(X: Any, Y: Any) -> Any:
    """The rows of X above those of Y."""
    if is_sparse(X):
        import scipy.sparse

        return scipy.sparse.vstack([X, Y], format="csr")
    return np.concatenate([X, Y])


def draw_rows(X: Any, max_rows: int | None, rng: np.random.RandomState) -> Any:
    """At most ``max_rows`` rows of X, drawn without replacement."""
    if max_rows is None or X.shape[0] <= max_rows:
        return X
    return X[np.sort(rng.choice(X.shape[0], max_rows, replace=False))]
