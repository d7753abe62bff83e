"""The same method trained the other way round: predicted target rows as the source.

The problem: given a fitted classifier f, labelled source rows and target rows, fit a clone on
the target rows with the labels f(x_j) as source and the source rows, unlabelled, as target.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples

from shiftlearn.domains.stack import concatenate_rows

__all__ = ["domain_keyword", "fit_reversed"]


def fit_reversed(model: Any, X_source: Any, labels: Any, X_target: Any, predicted: Any) -> Any:
    """A clone of ``model`` fitted with the domains exchanged.

    A model that takes no ``sample_domain`` is fitted on the target rows alone.
    """
    backward = clone(model)
    keyword = domain_keyword(backward)
    if keyword is None:
        return backward.fit(X_target, predicted)
    X = concatenate_rows({"X_target": X_target, "X_source": X_source})
    hidden = _num_samples(X_source)
    domains = np.repeat([1, -2], [len(predicted), hidden])
    return backward.fit(X, _with_hidden(predicted, hidden), **{keyword: domains})


def domain_keyword(model: Any) -> str | None:
    """The name under which ``model.fit`` takes ``sample_domain``, None where it does not."""
    if sklearn.get_config()["enable_metadata_routing"]:
        routing = get_routing_for_object(model)
        return "sample_domain" if routing.consumes("fit", {"sample_domain": None}) else None
    if "sample_domain" in inspect.signature(model.fit).parameters:
        return "sample_domain"
    steps = getattr(model, "steps", None)
    if steps is not None:
        name, last = steps[-1]
        inner = domain_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    inside = getattr(model, "estimator", None)
    searches = inside is not None and hasattr(model, "cv") and hasattr(model, "refit")
    return domain_keyword(inside) if searches else None


def _with_hidden(predicted: NDArray[Any], hidden: int) -> NDArray[Any]:
    """The labels, then marks: -1 among whole numbers >= 0 (which skada asks for), else None."""
    if predicted.dtype.kind in "iu" and predicted.min() >= 0:
        return np.concatenate([predicted.astype(np.int64), np.full(hidden, -1)])
    return np.concatenate([predicted.astype(object), np.full(hidden, None)])
