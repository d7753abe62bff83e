"""Members of a committee: a classifier on a view of the rows, before and after self-training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from shiftlearn.machines.calibration import CrossFittedPlatt
from shiftlearn.views.rows import BothRows, SourceRows
from shiftlearn.views.self_training import fit_codes, self_train

__all__ = ["Front", "Member", "default_classifier", "fit_view", "fresh", "unseen_probabilities"]

Floats = NDArray[np.float64]

_COMPONENTS = 200
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Front:
    """What makes rows dense: nothing for dense rows, one truncated SVD for all views of sparse."""

    svd: Any

    @classmethod
    def of(cls, rows: BothRows, seed: int) -> Front:
        """Fitted on the rows of both domains."""
        if not sparse.issparse(rows.target):
            return cls(None)
        both = sparse.vstack([rows.source.X, rows.target], format="csr")
        size = min(_COMPONENTS, min(both.shape) - 1)
        if size < 1:
            raise ValueError(f"X is sparse of shape {both.shape}, too small for a truncated SVD.")
        return cls(TruncatedSVD(size, random_state=seed).fit(both))

    def __call__(self, X: Any) -> Any:
        """The rows, dense."""
        return X if self.svd is None else self.svd.transform(X)


@dataclass(frozen=True, slots=True)
class Member:
    """A fitted classifier behind a fitted view; None is the view that shows rows as they are."""

    model: Any
    view: Any = None
    front: Front | None = None

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of target rows."""
        if self.view is not None:
            X = self.view.transform(X if self.front is None else self.front(X))
        return np.asarray(self.model.predict_proba(X), dtype=np.float64)


def default_classifier() -> Any:
    """The classifier of everything here where the user named none."""
    return LogisticRegression(max_iter=1000)


def fresh(estimator: Any) -> Any:
    """An unfitted copy that will have probabilities (by cross-fitted sigmoids if need be)."""
    model = default_classifier() if estimator is None else clone(estimator)
    if hasattr(model, "predict_proba"):
        return model
    if hasattr(model, "decision_function"):
        return CrossFittedPlatt(model)
    raise TypeError(
        "estimator must have predict_proba or decision_function, which "
        f"{type(model).__name__} has not."
    )


def unseen_probabilities(estimator: Any, rows: SourceRows, seed: int) -> Floats | None:
    """Probabilities of each source row by a model that did not see it.

    None where a class has one row only: then nothing can be held out.
    """
    folds = min(_FOLDS, int(np.bincount(rows.codes).min()))
    if folds < 2:
        return None
    out = np.empty((len(rows.codes), rows.n_classes))
    cut = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, test in cut.split(np.zeros(len(rows.codes)), rows.codes):
        part = SourceRows(rows.X[train], rows.codes[train], rows.weights[train], rows.n_classes)
        out[test] = fit_codes(fresh(estimator), part).predict_proba(rows.X[test])
    return out


def fit_view(
    name: str,
    view: Any,
    front: Front | None,
    rows: BothRows,
    factors: Floats,
    estimator: Any,
    rounds: int,
    share: float,
) -> list[tuple[str, Member]]:
    """The member on one view, and the same after self-training (``rounds`` 0: without).

    ``factors``: by how much each class of the source counts in the moments of the view.
    """
    source, target = rows.source, rows.target
    fitted = None
    if view is not None:
        fitted, source, target = _seen_through(clone(view), front, rows, factors)
    model = fit_codes(fresh(estimator), source)
    members = [(name, Member(model, fitted, front))]
    if rounds and target.shape[0]:
        trained = self_train(model, source, target, rounds, share, 0.15, rows.target_weights)
        members.append((f"{name}, self-trained", Member(trained.model, fitted, front)))
    return members


def _seen_through(
    view: Any, front: Front | None, rows: BothRows, factors: Floats
) -> tuple[Any, SourceRows, Any]:
    """The fitted view and what both domains look like in it."""
    source = rows.source
    seen = [X if front is None else front(X) for X in (source.X, rows.target)]
    Z = sparse.vstack(seen, format="csr") if sparse.issparse(seen[0]) else np.vstack(seen)
    n, m = len(source.codes), rows.target.shape[0]
    domain = np.concatenate([rows.source_domain, np.full(m, -1)])
    weights = np.concatenate([source.weights * factors[source.codes], rows.target_weights])
    view.fit(Z, sample_domain=domain, sample_weight=weights)
    moved = view.transform(Z, sample_domain=domain)
    through = SourceRows(moved[:n], source.codes, source.weights, source.n_classes)
    return view, through, moved[n:]
