"""Linear functions as sources: a linear change of a linear function is one vector again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shiftlearn.adaptation.sources import Source, Sources

__all__ = ["LinearSource", "linear_parts"]

Floats = NDArray[np.float64]

_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class LinearSource:
    """f'(x) = coef x + intercept, all that is left of a chain of linear models."""

    coef_: Floats
    intercept_: Floats
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Floats:
        """The scores at the rows of X."""
        rows = X if sparse.issparse(X) else np.asarray(X)
        values = np.asarray(rows @ self.coef_.T + self.intercept_)
        return values[:, 0] if len(self.classes_) == 2 else values


def linear_parts(sources: Sources, X: Any, scores: Floats) -> tuple[Floats, Floats] | None:
    """Weights (n_sources, n_columns, d) and intercepts (n_sources, n_columns) of the sources.

    None where a source is not linear, or not known to be: its ``coef_`` and ``intercept_`` must
    give the scores that it gave at the rows X.
    """
    d, n_columns = X.shape[1], sources.n_columns
    coef, intercept = np.zeros((0, n_columns, d)), np.zeros((0, n_columns))
    if not sources.members:
        return coef, intercept
    if sources.transform is not None or not X.shape[0]:
        return None
    parts = [_parts(member, sources.classes, d) for member in sources.members]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    for m, (W, b) in enumerate(known):
        away = np.abs(X @ W.T + b - scores[:, m]).max()
        if not away <= _SAME * (1.0 + np.abs(scores[:, m]).max()):
            return None
    return np.stack([W for W, _ in known]), np.stack([b for _, b in known])


def _parts(member: Source, classes: NDArray[Any], d: int) -> tuple[Floats, Floats] | None:
    """The linear function of one source over all classes; aligning classes is linear too."""
    model = member.model
    coef = getattr(model, "full_coef_", None)
    intercept = getattr(model, "full_intercept_", None)
    if coef is None and not hasattr(model, "sources_"):
        coef, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if not isinstance(coef, np.ndarray) or intercept is None or member.classes is None:
        return None
    own = 1 if len(member.classes) == 2 else len(member.classes)
    if coef.ndim != 2 or coef.shape != (own, d) or np.size(intercept) not in (1, own):
        return None
    levels = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), (own,))
    W = member.columns(coef.T.astype(np.float64), classes, "margin")
    b = member.columns(levels[None].copy(), classes, "margin")
    return np.ascontiguousarray(W.T), b[0]
