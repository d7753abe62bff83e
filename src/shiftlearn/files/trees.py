"""Search trees of nearest-neighbour models, written as their rows and grown again.

A tree is made of its rows by a fixed rule, so that the tree of a loaded model is the one it had.
The indices of a stored tree would be believed unchecked by compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import BallTree, KDTree

__all__ = ["FORMS", "GrownBallTree", "GrownKDTree"]

_METRICS = {"Euclidean": "euclidean", "Manhattan": "manhattan", "Chebyshev": "chebyshev"}


class _Grown:
    """State in, tree out."""

    @staticmethod
    def state_of(tree: Any) -> dict[str, Any]:
        """Rows, leaf size and metric of a tree."""
        state = tree.__getstate__()
        name = type(state[11]).__name__.removesuffix("64").removesuffix("32")
        metric = name.removesuffix("Distance")
        options = {"p": float(state[11].__getstate__()[0])} if metric == "Minkowski" else {}
        if metric not in (*_METRICS, "Minkowski"):
            raise ValueError(f"a tree of neighbours with the metric {metric} cannot be saved")
        return {
            "rows": np.array(state[0]),
            "leaf_size": int(state[4]),
            "metric": _METRICS.get(metric, "minkowski"),
            "options": options,
        }

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):  # a pickle's own state
            super().__setstate__(state)  # type: ignore[misc]
            return
        rows = np.array(state["rows"], dtype=np.float64)
        metric, options = str(state["metric"]), dict(state["options"])
        super().__init__(rows, leaf_size=int(state["leaf_size"]), metric=metric, **options)  # type: ignore[call-arg]


class GrownKDTree(_Grown, KDTree):
    """A k-d tree read from a file."""


class GrownBallTree(_Grown, BallTree):
    """A ball tree read from a file."""


FORMS: dict[type, type[_Grown]] = {KDTree: GrownKDTree, BallTree: GrownBallTree}
