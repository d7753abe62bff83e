"""How weights reach the classifier at the end of a pipeline, a search, or nothing of the kind.

Without metadata routing the keyword of ``fit`` is found (``lr__sample_weight`` for a pipeline);
with routing the last consumer is asked for ``sample_weight``, all others are not.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from shiftlearn.domains import refuse_device_arrays

__all__ = ["as_rows", "fit_weighted", "systematic_draw", "weight_keyword"]

Floats = NDArray[np.float64]


def as_rows(X: Any) -> Any:
    """Frames as they are, sparse matrices in a form with rows, everything else as an array."""
    refuse_device_arrays(X, "X")
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if hasattr(X, "columns"):
        return X
    X = np.asarray(X)
    return X if X.ndim == 2 else check_array(X)  # which says what is wrong with it


def fit_weighted(
    estimator: Any, X: Any, y: Any, weights: Floats | None, fit_params: dict[str, Any]
) -> Any:
    """Fit an unfitted estimator of our own making (it may be changed), with weights or without."""
    if weights is None:
        return estimator.fit(X, y, **fit_params)
    keyword = weight_keyword(estimator)
    if keyword is None:
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight in fit; use "
            'ReweightedClassifier(..., mode="resample").'
        )
    if sklearn.get_config()["enable_metadata_routing"]:
        _ask_for_weights(estimator)
        keyword = "sample_weight"
    return estimator.fit(X, y, **{keyword: weights}, **fit_params)


def weight_keyword(estimator: Any) -> str | None:
    """The keyword under which ``fit`` hands weights to the classifier; None: there is none."""
    steps = getattr(estimator, "steps", None)
    if steps is not None:
        name, last = steps[-1]
        inner = weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    if _searches(estimator):
        return weight_keyword(estimator.estimator)
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    parameters = inspect.signature(estimator.fit).parameters.values()
    passes_on = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    members = hasattr(estimator, "estimator") or hasattr(estimator, "estimators")
    return "sample_weight" if passes_on and members else None


def _searches(estimator: Any) -> bool:
    return hasattr(estimator, "estimator") and hasattr(estimator, "refit")


def _ask_for_weights(estimator: Any, scored: bool = False) -> None:
    """Set the requests of metadata routing inside ``estimator``.

    The last consumer gets the weights; inside a search (``scored``) its score gets them too.
    """
    steps = getattr(estimator, "steps", None)
    if steps is not None:
        for _, step in steps[:-1]:
            _set_unless_said(step, "fit", False)
        if scored and hasattr(estimator, "set_score_request"):
            estimator.set_score_request(sample_weight=True)  # read by scikit-learn 1.6's searches
        _ask_for_weights(steps[-1][1], scored)
        return
    if hasattr(estimator, "set_fit_request") and has_fit_parameter(estimator, "sample_weight"):
        estimator.set_fit_request(sample_weight=True)
    _set_unless_said(estimator, "score", scored)
    if getattr(estimator, "estimator", None) is not None:
        _ask_for_weights(estimator.estimator, scored or _searches(estimator))


def _set_unless_said(step: Any, method: str, value: bool) -> None:
    setter = getattr(step, f"set_{method}_request", None)
    if setter is None:
        return
    known = getattr(step.get_metadata_routing(), method, None)  # None: a router of others
    if known is not None and known.requests.get("sample_weight", "absent") is None:
        setter(sample_weight=value)


def systematic_draw(
    weights: Floats, codes: NDArray[np.intp], random: np.random.RandomState
) -> NDArray[np.intp]:
    """As many rows as there are, row i in proportion to its weight, each class at least once.

    Equal steps from a random start along the rows ordered by class: row i is drawn n w_i / Σ w
    times, rounded up or down, and so is each class.
    """
    n = len(weights)
    order = random.permutation(n)
    order = order[np.argsort(codes[order], kind="stable")]
    ends = np.cumsum(weights[order])
    points = (np.arange(n) + random.uniform()) * (ends[-1] / n)
    drawn = order[np.minimum(np.searchsorted(ends, points, side="right"), n - 1)]
    for code in np.setdiff1d(codes, codes[drawn]):
        own = np.flatnonzero(codes == code)
        drawn = np.append(drawn, own[np.argmax(weights[own])])
    return np.sort(drawn)
