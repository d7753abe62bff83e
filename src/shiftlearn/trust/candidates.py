"""Candidates of a search: any estimator, fitted as it wants to be, with probabilities or votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

__all__ = ["Named", "fit_candidate", "opinion"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Named:
    """A member of a committee as an estimator of its own: class numbers turned into labels."""

    member: Any
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities in the order of ``classes_``."""
        return np.asarray(self.member.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def fit_candidate(
    estimator: Any, X: Any, y: NDArray[Any], labels: NDArray[Any], domain: NDArray[np.int64]
) -> Any:
    """Fit a copy: with both domains where it takes them, else on the source rows.

    In a pipeline each step is asked by itself. ``y`` has None on target rows; ``labels`` are those
    of the source rows, in order.
    """
    model = clone(estimator)
    if has_fit_parameter(model, "sample_domain"):
        return model.fit(X, y, sample_domain=domain)
    if isinstance(model, Pipeline):
        return _fit_pipeline(model, X, y, labels, domain)
    return model.fit(X[domain >= 0], labels)


def _fit_pipeline(
    model: Pipeline, X: Any, y: NDArray[Any], labels: NDArray[Any], domain: NDArray[np.int64]
) -> Any:
    """Steps that take domains get both; a last step that does not gets the source rows."""
    routed = {
        f"{name}__sample_domain": domain
        for name, step in model.steps
        if has_fit_parameter(step, "sample_domain")
    }
    if f"{model.steps[-1][0]}__sample_domain" in routed or len(model.steps) == 1:
        return model.fit(X, y, **routed)
    seen = model[:-1].fit_transform(X, y, **routed)
    model.steps[-1][1].fit(seen[domain >= 0], labels)
    return model


def opinion(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities of all ``classes``; a classifier without any votes for what it predicts."""
    own = np.asarray(model.classes_)
    places = np.searchsorted(classes, own)
    out = np.zeros((X.shape[0], len(classes)))
    if hasattr(model, "predict_proba"):
        out[:, places] = model.predict_proba(X)
        return out
    predicted = np.searchsorted(classes, np.asarray(model.predict(X)).astype(classes.dtype))
    out[np.arange(len(predicted)), predicted] = 1.0
    return out
