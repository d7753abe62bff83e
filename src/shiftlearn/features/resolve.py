"""The meaning of an estimator's parameter ``features``."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

__all__ = ["resolve_features"]


def resolve_features(features: Any, X: Any) -> Any:
    """None for None, else a clone of the transformer ``features``, fitted on the rows ``X``.

    The estimator's own parameter is never fitted, so that it can be cloned and fitted again.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import RandomFourier
    >>> from shiftlearn.features import resolve_features
    >>> X = np.zeros((3, 2))
    >>> resolve_features(RandomFourier(4, random_state=0), X).transform(X).shape
    (3, 4)
    """
    if features is None:
        return None
    if isinstance(features, type) or not (
        hasattr(features, "fit") and hasattr(features, "transform")
    ):
        raise ValueError(
            "features must be None or a transformer (Nystroem(...), RandomFourier(...), or "
            f"anything with fit and transform), got {features!r}."
        )
    return clone(features).fit(X)
