"""Studies ``covariate-spam`` and ``covariate-text``: linear models of sparse texts.

Both draw n unlabelled test texts, give them to every method, and compare the risk 1 - AUC on these
texts with that of iid learning.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.studies.base import study
from shiftlearn.studies.covariate_methods import (
    BIAS,
    IID,
    JOINT,
    KMM,
    TWO_STAGE,
    Costs,
    Task,
    auc,
    chosen,
    fitted_scores,
    risk_reduction,
    settings,
)

__all__ = ["covariate_spam", "covariate_text"]

_METHODS = (IID, TWO_STAGE, BIAS, KMM, JOINT)
_COSTS = (1.0, 10.0, 100.0, 1000.0)
_GRIDS = {"C": _COSTS, "C_shift": (0.1, 1.0, 10.0, 100.0), "B": (2.0, 10.0, 1000.0)}
_TUNING_SIZE = 256
_TRAINING = 1000
_FIGURES = {"reduction": "reduction of 1 - AUC (%)", "auc": "AUC (%)"}


@study(
    "covariate-spam",
    title="Spam: reduction of the risk 1 - AUC over iid learning",
    grid={"inbox": (0, 1, 2), "method": _METHODS, "n": (32, 64, 128, 256, 512, 1024, 2048)},
    columns="n",
    figures=_FIGURES,
    seeds=10,
    quick={"inbox": (0,), "method": (IID, TWO_STAGE, JOINT), "n": (128,)},
    quick_seeds=1,
    data=tuple(f"ecml2006-spam/task_a_u0{i}_eval_lab.tf.gz" for i in range(3)),
)
def covariate_spam(inbox: int, method: str, n: int, seed: int) -> dict[str, float]:
    """Trained on 1,000 mails of two users, tested on n mails of a third, linear, 10 draws.

    The paper uses nine inboxes and public training mails, which are not public any more; the three
    inboxes of the 2006 challenge are each the test in turn. It states 50 % at 2,048 mails for the
    joint method, better than all others, and that mean matching does not beat iid; iid AUC
    0.992. Rows are log(1 + count), of length one. The costs of each method (at most 16 settings)
    are chosen once an inbox on 452 other labelled mails of that inbox, with 256 mails drawn; at
    n = 2,048 all draws are the same mails. Density estimates are left out: there are 206,908
    terms. Draws where iid makes no error have no reduction and are left out.
    """
    return _figures(f"inbox {inbox}", method, n, seed)


@study(
    "covariate-text",
    title="Texts by date: reduction of the risk 1 - AUC over iid learning",
    grid={
        "task": ("newsgroups: pc or mac", "newsgroups: autos or motorcycles", "reuters: money"),
        "method": _METHODS,
        "n": (32, 64, 128, 256),
    },
    columns="n",
    figures=_FIGURES,
    seeds=10,
    quick={"task": ("newsgroups: pc or mac",), "n": (128,)},
    quick_seeds=1,
    data=("20newsgroups/20news-bydate.tar.xz", "reuters21578/reuters21578.tar.xz"),
)
def covariate_text(task: str, method: str, n: int, seed: int) -> dict[str, float]:
    """Trained on the earlier texts, tested on n later ones, linear, 10 draws.

    A stand-in for the paper's Cora experiment (papers before and after 1995, 18 % at 1,024 for the
    joint method, best of all; iid AUC 0.979), whose data are not public. 20 Newsgroups in its
    version by date, two pairs of neighbouring groups; Reuters-21578 with Lewis's split by date,
    articles on interest rates against articles on money markets (those with both left out). Rows
    are tf-idf of length one whose terms and frequencies come from the earlier texts. The costs of
    each method (at most 16 settings) are chosen once a task on a third of the later texts, which
    are not drawn. Where fewer than n others are left, all of them are taken.
    """
    return _figures(task, method, n, seed)


def _figures(name: str, method: str, n: int, seed: int) -> dict[str, float]:
    own, plain = _area(name, method, n, seed), _area(name, IID, n, seed)
    if math.isnan(own):
        return {}
    reduction = risk_reduction(own, plain)
    figures = {"auc": 100 * own}
    return figures if math.isnan(reduction) else {"reduction": reduction, **figures}


@functools.lru_cache(maxsize=4096)
def _area(name: str, method: str, n: int, seed: int) -> float:
    """AUC on the drawn texts."""
    pool = _pool(name)
    drawn = np.random.default_rng([seed, n]).permutation(pool.test)[:n]
    scores, _ = fitted_scores(method, pool.task(drawn), _costs(name, method))
    return auc(pool.y[drawn], scores(pool.X[drawn]))


@functools.lru_cache(maxsize=64)
def _costs(name: str, method: str) -> Costs:
    """Chosen on labelled later texts that are never drawn."""
    pool = _pool(name)
    rows = pool.X[pool.tuning], pool.y[pool.tuning]
    drawn = np.random.default_rng(99).permutation(pool.tuning)[:_TUNING_SIZE]
    return chosen(method, [(pool.task(drawn), *rows)], settings(method, **_GRIDS))


class _Pool:
    """Texts of a task: earlier ones, later ones for tuning, later ones to draw from."""

    def __init__(self, X: Any, y: NDArray[np.int64], source: Any, tuning: Any, test: Any) -> None:
        used = np.flatnonzero(np.diff(X.tocsc().indptr))
        self.X, self.y = X[:, used], y
        self.source, self.tuning, self.test = source, tuning, test

    def task(self, drawn: Any) -> Task:
        """The source and the drawn texts, in the terms that they have: others have no weight."""
        source, target = self.X[self.source], self.X[drawn]
        known = np.flatnonzero(source.getnnz(axis=0) + target.getnnz(axis=0))
        return Task(
            source, self.y[self.source], target, {"kernel": "linear"}, lambda rows: rows[:, known]
        )


@functools.cache
def _pool(name: str) -> _Pool:
    if name.startswith("inbox"):
        return _inbox(int(name.split()[1]))
    return _reuters() if name.startswith("reuters") else _newsgroups(name)


def _inbox(number: int) -> _Pool:
    from sklearn.preprocessing import normalize

    from shiftlearn.datasets import load_spam

    mails = load_spam()
    assert mails.domain is not None
    rng = np.random.default_rng(number)
    others = rng.permutation(np.flatnonzero(mails.domain != number))[:_TRAINING]
    own = rng.permutation(np.flatnonzero(mails.domain == number))
    y = (mails.target == 1).astype(np.int64)
    return _Pool(normalize(mails.data.log1p().tocsr()), y, np.sort(others), own[:452], own[452:])


_GROUPS = {
    "newsgroups: pc or mac": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "newsgroups: autos or motorcycles": ("rec.autos", "rec.motorcycles"),
}


def _newsgroups(name: str) -> _Pool:
    from shiftlearn.datasets import article_text, load_newsgroups

    every = load_newsgroups("bydate")
    assert every.domain is not None
    rows = np.flatnonzero(np.isin(every.target, _GROUPS[name]))
    texts = [article_text(every.data[i]) for i in rows]
    return _dated(texts, every.target[rows] == _GROUPS[name][1], every.domain[rows] >= 0)


def _reuters() -> _Pool:
    from shiftlearn.datasets import load_reuters

    kept = [
        article
        for article in load_reuters()
        if article.split in ("TRAIN", "TEST")
        and ("interest" in article.topics) != ("money-fx" in article.topics)
    ]
    texts = [f"{article.title}\n{article.body}" for article in kept]
    label = np.array(["interest" in article.topics for article in kept])
    return _dated(texts, label, np.array([article.split == "TRAIN" for article in kept]))


def _dated(texts: list[str], labels: Any, earlier: NDArray[np.bool_]) -> _Pool:
    from shiftlearn.datasets import tfidf

    _, vectorizer = tfidf([text for text, old in zip(texts, earlier, strict=True) if old])
    X = vectorizer.transform(texts)
    later = np.random.default_rng(0).permutation(np.flatnonzero(~earlier))
    third = len(later) // 3
    y = np.asarray(labels).astype(np.int64)
    return _Pool(X.tocsr(), y, np.flatnonzero(earlier), later[:third], later[third:])
