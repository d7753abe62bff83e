"""Which of the rows that a scorer is given are source and which target, and what a model says.

With metadata routing a scorer receives ``sample_domain``. Without routing it only sees the rows of
a fold: then rows without a label (None, NaN, pandas' NA) are the target, as everywhere in the
library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from shiftlearn.domains import find_domains, label_array, unlabelled
from shiftlearn.domains.labels import plain_labels

__all__ = ["both_sides", "embedded", "probabilities", "row_scores", "target_side"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Metric = str | Callable[[Any, Any], Any]

_LEAST = 1e-15  # probability of a class that the model has never seen


def target_side(X: Any, y: Any, sample_domain: Any) -> Any:
    """The target rows of X; all of X where nothing tells the domains apart. y is only looked at
    for marks.
    """
    n = _num_samples(X)
    if sample_domain is None and y is None:
        return X
    domains = find_domains(y, sample_domain, n)
    if sample_domain is None and not domains.has_target:
        return X
    if not domains.has_target:
        raise ValueError(
            "The scored rows hold no target row (sample_domain < 0); score the target or both "
            'domains, DomainKFold(score_on="target").'
        )
    return X if not domains.has_source else _safe_indexing(X, np.flatnonzero(domains.target))


def both_sides(
    X: Any, y: Any, sample_domain: Any, X_target: Any, name: str
) -> tuple[Any, NDArray[Any], Any]:
    """Labelled source rows, their labels, and target rows (``X_target`` where X holds none)."""
    n = _num_samples(X)
    labels = label_array(y, n)
    domains = find_domains(labels, sample_domain, n)
    source = np.flatnonzero(domains.source)
    source = source[~unlabelled(labels[source])]
    if not len(source):
        raise ValueError(
            f"{name} reads labels of the source, but the scored rows hold no labelled source row "
            '(sample_domain >= 0); split with DomainKFold(score_on="both") and route sample_domain.'
        )
    if domains.has_target:
        X_target = _safe_indexing(X, np.flatnonzero(domains.target))
    elif X_target is None:
        raise ValueError(_no_target(name, sample_domain is None))
    return _safe_indexing(X, source), plain_labels(labels[source]), X_target


def _no_target(name: str, unsaid: bool) -> str:
    found = f"{name} compares both domains, but found no target row among the scored rows"
    if unsaid:
        return (
            f"{found}: nothing says which rows are target. Either enable metadata routing and pass "
            "sample_domain, or mark target rows by y = None (stack_domains(Xs, ys, Xt)), or give "
            f"the target once, {name}(X_target=...)."
        )
    return f'{found} (sample_domain < 0); split with DomainKFold(score_on="both") or give X_target.'


def probabilities(model: Any, X: Any) -> Floats:
    """P(class | x) of each row, from ``predict_proba``, else from scores read as log-odds."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    if not hasattr(model, "decision_function"):
        raise TypeError(
            f"{type(model).__name__} has neither predict_proba nor decision_function, of which "
            "this score needs one."
        )
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def row_scores(model: Any, X: Any, labels: NDArray[Any], metric: Metric) -> Floats:
    """One number a row, the larger the better."""
    if callable(metric):
        values = np.asarray(metric(labels, model.predict(X)), dtype=np.float64)
        if values.shape != labels.shape:
            raise ValueError(
                f"metric(labels, predicted) must return one number a row, an array of shape "
                f"{labels.shape}; got shape {values.shape}."
            )
        return values
    if metric == "accuracy":
        return _same(labels, np.asarray(model.predict(X))).astype(np.float64)
    if metric not in ("neg_log_loss", "neg_brier_score"):
        raise ValueError(
            'metric must be "accuracy", "neg_log_loss", "neg_brier_score" or a callable, got '
            f"{metric!r}."
        )
    p = probabilities(model, X)
    hits = np.stack([_same(labels, np.full(len(labels), c)) for c in model.classes_], axis=1)
    if metric == "neg_log_loss":
        return np.asarray(np.log(np.maximum((p * hits).sum(axis=1), _LEAST)))
    missed = 1.0 - hits.any(axis=1)  # a class unknown to the model has probability 0
    return np.asarray(-((p - hits) ** 2).sum(axis=1) - missed)


def _same(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(a.astype(object) == b.astype(object), dtype=bool)


def embedded(features: Any, model: Any, X: Any) -> Any:
    """The rows as the domains are to be compared on."""
    if features is None:
        return X
    if callable(features):
        return features(X)
    if hasattr(features, "transform"):
        return features.transform(X)
    if features != "pipeline":
        raise ValueError(
            'features must be None, "pipeline", a fitted transformer or a callable, got '
            f"{features!r}."
        )
    steps = getattr(model, "steps", None)
    return X if steps is None or len(steps) < 2 else model[:-1].transform(X)
