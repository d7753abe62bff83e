"""Concepts in programs: the data of study ``adapt-retrieval``.

A setting is a concept and three programs in a row: the source and two stages. Rows of each program
are labelled by whether they belong to the concept, which few do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["PROGRAMS", "Programs"]

Ints = NDArray[np.intp]

ROWS = 1000  # of each program, at most
POSITIVE = 0.1  # share of positives at most: concepts are rare

_TOPS = {
    "comp": ("graphics", "os.ms-windows.misc", "sys.ibm.pc.hardware", "sys.mac.hardware"),
    "rec": ("autos", "motorcycles", "sport.baseball", "sport.hockey"),
    "sci": ("crypt", "electronics", "med", "space"),
    "talk": ("politics.guns", "politics.mideast", "politics.misc", "religion.misc"),
}
_TOPICS = ("acq", "crude", "grain", "interest", "money-fx", "trade")
_PLACES = ("usa", "uk", "japan", "canada")


@dataclass(frozen=True, eq=False)
class Programs:
    """Rows X and labels ±1 of each program, and the kernel that suits them."""

    parts: tuple[tuple[Any, Ints], ...]
    kernel: Mapping[str, Any] = field(default_factory=dict)

    def stage(self, number: int) -> tuple[Any, Ints]:
        """Rows and labels of the source (0) or of a stage after it."""
        return self.parts[number]

    @staticmethod
    def stacked(one: Any, other: Any) -> Any:
        """Rows under one another."""
        if sparse.issparse(one):
            return sparse.vstack([one, other], format="csr")
        return np.vstack([one, other])


def _generated(seed: int) -> Programs:
    from shiftlearn.datasets import make_programs

    data = make_programs(3, random_state=seed)
    parts = [(data.data[data.domain == p], data.target[data.domain == p]) for p in range(3)]
    return Programs(tuple(parts), {"kernel": "rbf", "gamma": 0.05})


def _newsgroups(seed: int) -> Programs:
    """Concept: one of four top-level groups; program: one group of each top."""
    X, concept, program = _newsgroup_rows()
    return _setting(X, [concept == c for c in range(4)], [program == p for p in range(4)], seed)


def _reuters(seed: int) -> Programs:
    """Concept: a topic; program: articles on one place alone."""
    X, topics, places = _reuters_rows()
    return _setting(X, list(topics.T), list(places.T), seed)


def _setting(X: Any, concepts: list[Any], programs: list[Any], seed: int) -> Programs:
    """Concept number ``seed``, and three of the programs; positives thinned out to be rare."""
    rng = np.random.default_rng([seed, 3])
    concept = concepts[seed % len(concepts)]
    parts = []
    for number in rng.permutation(len(programs))[:3]:
        rows = rng.permutation(np.flatnonzero(programs[number]))
        positive, negative = rows[concept[rows]], rows[~concept[rows]]
        negative = negative[:ROWS]
        positive = positive[: max(1, int(POSITIVE * len(negative)))]
        chosen = rng.permutation(np.concatenate([positive, negative]))
        parts.append((X[chosen], np.where(concept[chosen], 1, -1)))
    return Programs(tuple(parts), {"kernel": "linear"})


@cache
def _newsgroup_rows() -> tuple[Any, Ints, Ints]:
    from shiftlearn.datasets import article_text, load_newsgroups, tfidf

    data = load_newsgroups()
    place = {
        f"{top}.{group}": (t, p)
        for t, (top, groups) in enumerate(_TOPS.items())
        for p, group in enumerate(groups)
    }
    kept = np.flatnonzero(np.isin(data.target, list(place)))
    kept = kept[np.random.default_rng(0).permutation(len(kept))[:6000]]
    X, _ = tfidf([article_text(data.data[i]) for i in kept], min_df=3)
    both = np.array([place[group] for group in data.target[kept]])
    return X.tocsr(), both[:, 0], both[:, 1]


@cache
def _reuters_rows() -> tuple[Any, NDArray[np.bool_], NDArray[np.bool_]]:
    from shiftlearn.datasets import load_reuters, tfidf

    chosen = [
        article
        for article in load_reuters()
        if article.body and article.topics and len(article.places) == 1
        and article.places[0] in _PLACES
    ]  # fmt: skip
    X, _ = tfidf([f"{article.title}\n{article.body}" for article in chosen], min_df=3)
    topics = np.array([[t in article.topics for t in _TOPICS] for article in chosen])
    places = np.array([[article.places[0] == p for p in _PLACES] for article in chosen])
    return X.tocsr(), topics, places


PROGRAMS: dict[str, Callable[[int], Programs]] = {
    "programs": _generated,
    "newsgroups": _newsgroups,
    "reuters": _reuters,
}
