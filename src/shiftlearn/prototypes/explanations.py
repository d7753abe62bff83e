"""Why a prototype machine said what it said: the models that fired on a row, strongest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Explanation", "Vote", "distances_to", "explanations"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SHOWN = 8  # votes in the text of an explanation


@dataclass(frozen=True, slots=True)
class Vote:
    """One model's part in a prediction.

    Attributes
    ----------
    model : int
        Its position in ``exemplars_``.
    exemplar : int
        The row of ``fit`` that it began with.
    label : Any
        Its class.
    score : float
        f(x); the model fires where it is positive.
    probability : float
        What it adds to its class.
    distance : float
        Distance of the row to the exemplar, in scaled units.
    """

    model: int
    exemplar: int
    label: Any
    score: float
    probability: float
    distance: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The prediction of one row and the votes behind it.

    Attributes
    ----------
    label : Any
        The predicted class.
    silent : bool
        Whether no model fired; the one with the largest score then decided, and is the only vote.
    votes : tuple of Vote
        The firing models, the largest contribution first.
    """

    label: Any
    silent: bool
    votes: tuple[Vote, ...]

    def __str__(self) -> str:
        head = f"{self.label!r}" + (" (no prototype fires)" if self.silent else "")
        lines = [
            f"  {v.probability:.2f} for {v.label!r}: row {v.exemplar}, score {v.score:+.2f}, "
            f"distance {v.distance:.2f}"
            for v in self.votes[:_SHOWN]
        ]
        more = len(self.votes) - _SHOWN
        return "\n".join([head, *lines] + ([f"  and {more} weaker votes"] if more > 0 else []))


def explanations(
    labels: NDArray[Any],
    scores: Floats,
    probabilities: Floats,
    distances: Floats,
    exemplars: Ints,
    model_labels: NDArray[Any],
) -> list[Explanation]:
    """One explanation for each row of ``scores`` (rows by models)."""
    return [
        _explain(*parts, exemplars, model_labels)
        for parts in zip(labels.tolist(), scores, probabilities, distances, strict=True)
    ]


def _explain(
    label: Any, scores: Floats, chances: Floats, distances: Floats, exemplars: Ints, labels: Any
) -> Explanation:
    firing = np.flatnonzero(scores > 0)
    silent = not firing.size
    if silent:
        firing = np.array([scores.argmax()])
    order = firing[np.argsort(-chances[firing], kind="stable")]
    votes = [(int(m), int(exemplars[m]), labels[m : m + 1].tolist()[0]) for m in order]
    figures = zip(scores[order].tolist(), chances[order].tolist(), distances[order].tolist())
    found = tuple(Vote(*vote, *figure) for vote, figure in zip(votes, figures, strict=True))
    return Explanation(label, silent, found)


def distances_to(rows: Any, prototypes: Any) -> Floats:
    """Euclidean distances between two sets of rows, dense or sparse."""
    if sparse.issparse(rows) or sparse.issparse(prototypes):
        from sklearn.metrics.pairwise import euclidean_distances

        return np.asarray(euclidean_distances(rows, prototypes), dtype=np.float64)
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(rows, prototypes), dtype=np.float64)
