"""The one-class tasks of the UOCT-SVM paper: which rows train, which are judged, and the noise.

One target class with few training rows, related classes as source tasks, and rows of other classes
to be told from it; training rows are disturbed, rows to judge are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.datasets import (
    article_text,
    load_isolet,
    load_ldpa,
    load_mushroom,
    load_newsgroups,
    load_reuters_cross_domain,
    tfidf,
)
from shiftlearn.errors import DataNotFoundError

__all__ = [
    "ISOLET",
    "LDPA",
    "MUSHROOM",
    "NEWSGROUPS",
    "REUTERS",
    "STAND_IN",
    "Draw",
    "draw",
    "pools",
]

Array = NDArray[Any]

MUSHROOM = {
    "MR.edible(1)": ("e", 0),
    "MR.edible(2)": ("e", 1),
    "MR.poisonous(1)": ("p", 0),
    "MR.poisonous(2)": ("p", 1),
}
# matrix, its class for the target, and the half (0 the file's source, -1 its target)
REUTERS = {
    "RT.orgs(1)": ("org_vs_people", 1, 0),
    "RT.orgs(2)": ("org_vs_people", 1, -1),
    "RT.people(1)": ("org_vs_people", -1, 0),
    "RT.people(2)": ("org_vs_people", -1, -1),
    "RT.place(1)": ("org_vs_place", 1, 0),
    "RT.place(2)": ("org_vs_place", 1, -1),
}
_OS, _IBM = "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"
_MAC, _GRAPHICS = "comp.sys.mac.hardware", "comp.graphics"
_BASEBALL, _HOCKEY, _RELIGION = "rec.sport.baseball", "rec.sport.hockey", "talk.religion.misc"
_GUNS, _MIDEAST = "talk.politics.guns", "talk.politics.mideast"
NEWSGROUPS = {
    "NG.os": (_OS, (_GRAPHICS, _IBM, _MAC)),
    "NG.ibm": (_IBM, (_GRAPHICS, _OS, _MAC)),
    "NG.mac": (_MAC, (_GRAPHICS, _OS, _IBM)),
    "NG.graphics": (_GRAPHICS, (_OS, _IBM, _MAC)),
    "NG.hokey": (_HOCKEY, ("rec.autos", _BASEBALL)),
    "NG.baseball": (_BASEBALL, ("rec.autos", _HOCKEY)),
    "NG.autos": ("rec.autos", (_BASEBALL, _HOCKEY)),
    "NG.crypt": ("sci.crypt", ("sci.med", "sci.space")),
    "NG.med": ("sci.med", ("sci.crypt", "sci.space")),
    "NG.space": ("sci.space", ("sci.crypt", "sci.med")),
    "NG.religion": (_RELIGION, (_GUNS, _MIDEAST)),
    "NG.guns": (_GUNS, (_MIDEAST, _RELIGION)),
    "NG.mideast": (_MIDEAST, (_GUNS, _RELIGION)),
}
ISOLET = {
    "Isolet(S)": ("S", "X"),
    "Isolet(X)": ("X", "S"),
    "Isolet(M)": ("M", "N"),
    "Isolet(N)": ("N", "M"),
}
LDPA = {f"LDPA({i})": person for i, person in enumerate("ABCDE", 1)}
STAND_IN = {f"sequence {name}": name for name in ("A01", "A02", "A03")}
_GROUND = "sitting on the ground"
_ABNORMAL = ("falling", "on all fours", _GROUND, f"standing up from {_GROUND}")
_DIRECTIONS = 50
_LDPA_SHARE = 0.1  # the paper uses about one row in ten


@dataclass(frozen=True)
class Pools:
    """Rows of the target class, of each source task, and of what is not the target class.

    ``outside`` says how many of the last are judged: None all, else a number; "as many" as rows of
    the target class.
    """

    target: Array
    sources: tuple[Array, ...]
    nontarget: Array
    outside: int | str | None = "as many"


@dataclass(frozen=True)
class Draw:
    """One repeat: disturbed training rows with their domains, and clean rows to judge.

    ``y`` is 1 inside and -1 outside; ``chosen`` marks the fifth on which parameters are chosen.
    """

    X: Array
    domain: Array
    test: Array
    y: Array
    chosen: Array


def draw(name: str, *, noise: float, seed: int, fraction: float = 0.1) -> Draw:
    """A repeat of a task: which rows train, the noise, and the fifth set aside for parameters."""
    rng = np.random.default_rng(seed)
    found = pools(name, seed)
    order = rng.permutation(len(found.target))
    few = max(2, round(fraction * len(order)))
    sources = list(found.sources)
    domain = np.repeat([*range(len(sources)), -1], [*map(len, sources), few])
    inside = found.target[order[few:]]
    outside = found.nontarget[rng.permutation(len(found.nontarget))[: _many(found, len(inside))]]
    whole = np.concatenate([*sources, found.target, outside])
    X = np.concatenate([*sources, found.target[order[:few]]])
    X = _disturbed(X, whole.std(axis=0), noise, rng)
    y = np.repeat([1, -1], [len(inside), len(outside)])
    chosen = np.zeros(len(y), dtype=bool)
    for label in (1, -1):
        own = np.flatnonzero(y == label)
        chosen[rng.permutation(own)[: round(0.2 * len(own))]] = True
    return Draw(X, domain, np.concatenate([inside, outside]), y, chosen)


def _many(found: Pools, inside: int) -> int | None:
    return inside if found.outside == "as many" else found.outside  # type: ignore[return-value]


def _disturbed(X: Array, spread: Array, share: float, rng: np.random.Generator) -> Array:
    """Gaussian noise on a share of the rows, its size in each dimension drawn once."""
    size = rng.uniform(0, 2 * spread)
    hit = rng.permutation(len(X))[: round(share * len(X))]
    X = X.copy()
    X[hit] += size * rng.standard_normal((len(hit), X.shape[1]))
    return X


def pools(name: str, seed: int = 0) -> Pools:
    """The rows of a task by its name in the paper's tables."""
    if name in MUSHROOM:
        return _mushroom(*MUSHROOM[name])
    if name in REUTERS:
        return _reuters(*REUTERS[name])
    if name in NEWSGROUPS:
        return _newsgroups(*NEWSGROUPS[name])
    if name in ISOLET:
        return _isolet(*ISOLET[name])
    if name in LDPA:
        return _ldpa(LDPA[name], seed)
    return _sequence(STAND_IN[name], seed)


def _mushroom(label: str, shape: int) -> Pools:
    data = _loaded(load_mushroom, one_hot=True)
    own, same = data.target == label, data.domain == shape
    return Pools(data.data[own & same], (data.data[own & ~same],), data.data[~own & same])


def _reuters(matrix: str, label: int, half: int) -> Pools:
    data = _loaded(load_reuters_cross_domain, matrix)
    X = _reuters_rows(matrix)
    own, same = data.target == label, data.domain == half
    return Pools(X[own & same], (X[own & ~same],), X[~own & same])


def _newsgroups(group: str, related: tuple[str, ...]) -> Pools:
    X, groups = _articles()
    top = group.split(".")[0]
    elsewhere = np.array([not name.startswith(top + ".") for name in groups])
    return Pools(X[groups == group], tuple(X[groups == one] for one in related), X[elsewhere])


def _isolet(letter: str, other: str) -> Pools:
    data = _loaded(load_isolet)
    outside = ~np.isin(data.target, (letter, other))
    own, source = (data.data[data.target == one] for one in (letter, other))
    return Pools(own, (source,), data.data[outside], 300)


def _ldpa(person: str, seed: int) -> Pools:
    """Person ``person`` as the target, one other person, drawn by ``seed``, as the source."""
    data = _loaded(load_ldpa)
    people = np.array([data.domain_names[d][0] for d in data.domain])
    others = [one for one in "ABCDE" if one != person]
    if set(people) != set("ABCDE"):
        raise DataNotFoundError("LDPA: the five-person tasks need the whole file of the publisher.")
    source = others[np.random.default_rng(seed).integers(4)]
    return _activities(data, people == person, people == source, seed)


def _sequence(name: str, seed: int) -> Pools:
    """One sequence of person A as the target, the other two of those at hand as the source."""
    data = _loaded(load_ldpa)
    names = np.array([data.domain_names[d] for d in data.domain])
    others = np.isin(names, [one for one in ("A01", "A02", "A03") if one != name])
    return _activities(data, names == name, others, seed)


def _activities(data: Any, target: Array, source: Array, seed: int) -> Pools:
    X = (data.data - data.data.mean(0)) / data.data.std(0)
    used = np.random.default_rng(seed).random(len(X)) < _LDPA_SHARE
    normal = ~np.isin(data.target, _ABNORMAL)
    return Pools(
        X[used & normal & target], (X[used & normal & source],), X[used & ~normal & target], None
    )


@lru_cache(maxsize=8)
def _loaded(load: Callable[..., Any], *place: Any, **options: Any) -> Any:
    return load(*place, **options)


@lru_cache(maxsize=2)
def _reuters_rows(matrix: str) -> Array:
    return _directions(_loaded(load_reuters_cross_domain, matrix).data)


@lru_cache(maxsize=1)
def _articles() -> tuple[Array, Array]:
    """Subject and body of all articles, and their groups."""
    data = load_newsgroups("19997")
    X, _ = tfidf(map(article_text, data.data), min_df=5)
    return _directions(X), np.array(data.target)


def _directions(X: Any) -> Array:
    """Rows of unit length in the leading singular directions of unit-length term weights."""
    from sklearn.preprocessing import normalize
    from sklearn.utils.extmath import randomized_svd

    U, sizes, _ = randomized_svd(normalize(X), _DIRECTIONS, n_iter=2, random_state=0)
    return np.asarray(normalize(U * sizes))
