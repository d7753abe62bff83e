"""Source and target as the published data have them: fields, speakers, inboxes, groups, dates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from shiftlearn import datasets
from shifts.task import Shift

load = cache(lambda name, *args: getattr(datasets, name)(*args))


def between(name: str, source: Sequence[int], target: Sequence[int]) -> Shift:
    """Some domains of a data set against others."""
    data = load(name)
    one, other = np.isin(data.domain, source), np.isin(data.domain, target)
    return Shift(data.data[one], data.target[one], data.data[other], data.target[other])


def spam(source: int, target: int) -> Shift:
    """One inbox against another, tf-idf of the published counts."""
    return _weighted(between("load_spam", [source], [target]))


def reuters(task: str, version: int) -> Shift:
    """The published weights of the cross-domain matrices, rows of unit length."""
    Xs, ys, Xt, yt = load("load_reuters_cross_domain", task, version).split()
    return Shift(normalize(Xs), ys, normalize(Xt), yt)


def newsgroups(task: int) -> Shift:
    """Subgroups of the same two top groups."""
    Xs, ys, Xt, yt = load("load_newsgroups_task", task).split()
    return Shift(*_text(Xs, Xt, ys, yt))


def newsgroups_over_time(groups: Sequence[str], rows: int, rng: np.random.Generator) -> Shift:
    """Earlier against later articles of some groups."""
    Xs, ys, Xt, yt = load("load_newsgroups", "bydate").split()
    parts = []
    for texts, labels in ((Xs, ys), (Xt, yt)):
        found = rng.permutation(np.flatnonzero(np.isin(labels, groups)))[:rows]
        parts.append(([texts[i] for i in found], labels[found]))
    (Xs, ys), (Xt, yt) = parts
    return Shift(*_text(Xs, Xt, ys, yt))


def adult(source: Sequence[int], target: Sequence[int], drop: Sequence[int]) -> Shift:
    """People with one of the 0/1 columns ``source`` against those with ``target``."""
    data = load("load_libsvm", "a9a")
    X = data.data.toarray()
    one, other = X[:, source].any(axis=1), X[:, target].any(axis=1)
    kept = np.setdiff1d(np.arange(X.shape[1]), drop)
    return Shift(X[np.ix_(one, kept)], data.target[one], X[np.ix_(other, kept)], data.target[other])


def heart(column: int, threshold: float) -> Shift:
    """Patients at or below a threshold of one column against the others."""
    data = load("load_libsvm", "heart_scale")
    X = data.data.toarray()
    low = X[:, column] <= threshold
    rest = np.delete(X, column, axis=1)
    return Shift(rest[low], data.target[low], rest[~low], data.target[~low])


def mushroom(source: int) -> Shift:
    """One stalk shape against the other."""
    data = datasets.load_mushroom(one_hot=True)
    one = data.domain == source
    return Shift(data.data[one], data.target[one], data.data[~one], data.target[~one])


def segment(column: int, reverse: bool = False) -> Shift:
    """One side of the pictures against the other; the place itself is left out."""
    data = load("load_segment")
    low = (data.data[:, column] <= np.median(data.data[:, column])) != reverse
    rest = np.delete(data.data, [0, 1, 2], axis=1)
    return Shift(rest[low], data.target[low], rest[~low], data.target[~low])


def diabetes_by_sex(reverse: bool = False) -> Shift:
    """Whether the disease progresses more than in half of the patients; one sex, then the other."""
    X, y = diabetes()
    low = (X[:, 1] <= 0) != reverse
    rest = np.delete(X, 1, axis=1)
    return Shift(rest[low], y[low], rest[~low], y[~low])


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_diabetes

    X, progress = load_diabetes(return_X_y=True)
    return X, (progress > np.median(progress)).astype(int)


def faces(name: str, angle: float, rng: np.random.Generator) -> Shift:
    """Half of each person's images upright, the other half rotated."""
    data = load(name)
    return rotated(data.data, data.target, angle, rng)


def rotated(X: np.ndarray, y: np.ndarray, angle: float, rng: np.random.Generator) -> Shift:
    """Every second image of each class, and the others rotated."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    source, target = order[::2], order[1::2]
    return Shift(X[source], y[source], datasets.rotate_images(X[target], angle), y[target])


def without_shift(shift: Shift, rng: np.random.Generator) -> Shift:
    """The rows of the source alone, a random half each."""
    order = rng.permutation(len(shift.ys))
    one, other = order[: len(order) // 2], order[len(order) // 2 :]
    return Shift(shift.Xs[one], shift.ys[one], shift.Xs[other], shift.ys[other])


def programs() -> Shift:
    """Rare positives in clusters whose means drift from one program to the next."""
    data = datasets.make_programs()
    one, other = data.domain == 0, data.domain == 1
    return Shift(data.data[one], data.target[one], data.data[other], data.target[other])


def generated(name: str, **options: Any) -> Shift:
    """One of the library's generators."""
    return Shift(*getattr(datasets, name)(**options).split())


def _text(Xs: list[str], Xt: list[str], ys: np.ndarray, yt: np.ndarray) -> tuple[Any, ...]:
    texts = [datasets.article_text(text) for text in [*Xs, *Xt]]
    X, _ = datasets.tfidf(texts, min_df=3)
    return X[: len(ys)], ys, X[len(ys) :], yt


def _weighted(shift: Shift) -> Shift:
    from scipy.sparse import vstack

    rows = vstack([shift.Xs, shift.Xt], format="csr")
    rows = rows[:, np.flatnonzero(np.diff(rows.tocsc().indptr) >= 3)]
    X = TfidfTransformer(sublinear_tf=True).fit_transform(rows)
    return Shift(X[: len(shift.ys)], shift.ys, X[len(shift.ys) :], shift.yt)
