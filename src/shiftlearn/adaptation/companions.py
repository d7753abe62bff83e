"""A second source beside the user's: another view of the same source rows.

Two models that err differently say more together than either: a linear model and trees. Adapted
with a trust of its own for each, the pair beats both alone on real shifts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier

from shiftlearn.adaptation.logistic import AdaptLogisticRegression
from shiftlearn.adaptation.sources import Sources

__all__ = ["companion_models"]

_TREES = 100
_SMALLEST_LEAF = 2  # softer probabilities than pure leaves


def companion_models(
    sources: Sources, X: Any, y: NDArray[Any], rng: np.random.RandomState, n_jobs: int | None
) -> list[Any]:
    """Models of the source rows of the kind that is not there yet; none for sparse rows."""
    if all(not _is_linear(member.model) for member in sources.members):
        return [AdaptLogisticRegression(n_jobs=n_jobs).fit(X, y)]
    if sparse.issparse(X):
        return []
    trees = ExtraTreesClassifier(
        _TREES, min_samples_leaf=_SMALLEST_LEAF, random_state=rng.randint(1 << 30)
    )
    return [trees.fit(X, y)]


def _is_linear(model: Any) -> bool:
    return hasattr(model, "coef_") or hasattr(getattr(model, "steps", [[None]])[-1][-1], "coef_")
