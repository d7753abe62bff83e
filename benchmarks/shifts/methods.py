"""Methods by name: each takes a view and gives the classes of the target rows without a label.

``dense`` methods get text through a truncated SVD. ``needs_labels`` methods are run where target
rows are labelled, the others where none is. Raise ``version`` when a method changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from shifts.draws import View

Predict = Callable[[View], np.ndarray]


@dataclass(frozen=True)
class Method:
    """An entry of the registry."""

    name: str
    predict: Predict
    needs_labels: bool
    dense: bool
    version: int


METHODS: dict[str, Method] = {}


def method(
    name: str, *, needs_labels: bool = False, dense: bool = False, version: int = 1
) -> Callable[[Predict], Predict]:
    """Enter the decorated function."""

    def enter(predict: Predict) -> Predict:
        METHODS[name] = Method(name, predict, needs_labels, dense, version)
        return predict

    return enter


def logistic(X: Any, y: np.ndarray, weight: np.ndarray | None = None, C: float = 1.0) -> Any:
    """scikit-learn's logistic regression, the base of all baselines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=C, max_iter=1000).fit(X, y, weight)


def stack(*rows: Any) -> Any:
    """Rows under one another, sparse or dense."""
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.vstack(rows)


@method("source")
def source(view: View) -> np.ndarray:
    return logistic(view.Xs, view.ys).predict(view.Xu)


@method("target", needs_labels=True)
def target(view: View) -> np.ndarray:
    if len(np.unique(view.yl)) == 1:
        return np.full(view.Xu.shape[0], view.yl[0])
    return logistic(view.Xl, view.yl).predict(view.Xu)


@method("union", needs_labels=True)
def union(view: View) -> np.ndarray:
    """Source rows, and target rows of weight 10."""
    weight = np.concatenate([np.ones(len(view.ys)), np.full(len(view.yl), 10.0)])
    rows = stack(view.Xs, view.Xl)
    return logistic(rows, np.concatenate([view.ys, view.yl]), weight).predict(view.Xu)
