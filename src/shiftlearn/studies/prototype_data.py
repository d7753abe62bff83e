"""The eight data sets, the folds, the label noise and the seven algorithms of the prototype paper.

What the paper leaves open: its generators (the three synthetic sets follow an independent recipe,
so absolute figures differ), its tweets (a stand-in of newsgroup posts in the same class sizes), its
folds (row number modulo ten in file order is inferred from the printed spirals row), and Weka's
implementations (the nearest of scikit-learn take their place).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALGORITHMS",
    "DATA",
    "PSVM",
    "PSVM_DEFAULT",
    "FoldRun",
    "corrected_t",
    "fold_runs",
    "folds",
    "load",
    "noisy",
    "verdict",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DATA = (
    "isolated",
    "striated",
    "spirals",
    "iris",
    "glass",
    "vehicle",
    "segment",
    "twitter stand-in",
)
PSVM, PSVM_DEFAULT, LITERAL = "PSVM (spec)", "PSVM (default)", "PSVM (literal)"
_POSTS = {"sci.space": 99, "rec.autos": 157, "talk.religion.misc": 30, "sci.med": 314}
_CRITICAL = 2.262157  # Student's t, 9 degrees of freedom, two-sided 5 %


@lru_cache(maxsize=16)
def load(name: str, seed: int = 0) -> tuple[Floats, Ints]:
    """Rows and class numbers of one data set; the seed is that of the two generators."""
    from shiftlearn import datasets

    if name == "twitter stand-in":
        return _posts()
    if name in ("isolated", "striated"):
        made = getattr(datasets, f"make_{name}")(seed)
    elif name == "spirals":
        made = datasets.make_spirals()
    else:
        made = getattr(datasets, f"load_{name}")()
    return np.asarray(made.data, dtype=np.float64), _codes(made.target)


def _codes(labels: Any) -> Ints:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _posts() -> tuple[Floats, Ints]:
    """600 posts of four newsgroups, 2,715 most frequent words as counts."""
    from sklearn.feature_extraction.text import CountVectorizer

    from shiftlearn.datasets import load_newsgroups

    everything = load_newsgroups("18828")
    texts, labels = [], []
    for group, count in _POSTS.items():
        rows = np.flatnonzero(everything.target == group)[:count]
        texts += [re.sub(r"(?m)^(From|Subject):.*$", "", everything.data[i]) for i in rows]
        labels += [group] * count
    counts = CountVectorizer(max_features=2715).fit_transform(texts)
    return counts.toarray().astype(np.float64), _codes(labels)


def noisy(y: Ints, share: float, seed: int) -> Ints:
    """Labels with ⌊share·n + ½⌋ of them replaced by another class, uniformly."""
    rng = np.random.default_rng(seed)
    wrong = rng.choice(len(y), int(share * len(y) + 0.5), replace=False)
    n_classes = int(y.max()) + 1
    changed = y.copy()
    changed[wrong] = (y[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return changed


def folds(y: Ints, kind: str, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Ten folds: "shuffled" (stratified) or "modulo" (row number modulo ten, file order)."""
    if kind == "modulo":
        place = np.arange(len(y)) % 10
        for fold in range(10):
            yield np.flatnonzero(place != fold), np.flatnonzero(place == fold)
        return
    from sklearn.model_selection import StratifiedKFold

    yield from StratifiedKFold(10, shuffle=True, random_state=seed).split(y[:, None], y)


@dataclass(frozen=True, slots=True)
class FoldRun:
    """What one algorithm did on one fold."""

    accuracy: float
    clean: float
    seconds: float
    models: float


@lru_cache(maxsize=4096)
def fold_runs(
    data: str, noise: int, kind: str, algorithm: str, seed: int, n_folds: int = 10
) -> tuple[FoldRun, ...]:
    """All folds of one algorithm (the first ``n_folds``), kept for comparisons."""
    X, clean = load(data, seed)
    y = noisy(clean, noise / 100, seed) if noise else clean
    return tuple(
        _one_fold(X, y, clean, train, test, algorithm, seed)
        for train, test in list(folds(y, kind, seed))[:n_folds]
    )


def _one_fold(
    X: Floats, y: Ints, clean: Ints, train: Ints, test: Ints, algorithm: str, seed: int
) -> FoldRun:
    model = ALGORITHMS[algorithm](len(train), X.shape[1], len(np.unique(y)), seed)
    started = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - started
    predicted = model.predict(X[test])
    models = float(len(model.exemplars_)) if hasattr(model, "exemplars_") else float("nan")
    return FoldRun(
        100 * float(np.mean(predicted == y[test])), 100 * float(np.mean(predicted == clean[test])),
        seconds, models,
    )  # fmt: skip


def corrected_t(a: Floats, b: Floats) -> float:
    """Corrected paired t of ten folds (Nadeau and Bengio): variance times 1/10 + 1/9.

    Without any spread it is 0 for equal means and infinite otherwise.
    """
    d = np.asarray(a) - np.asarray(b)
    spread = d.std(ddof=1)
    if spread == 0:
        return 0.0 if d.mean() == 0 else float(np.copysign(np.inf, d.mean()))
    return float(d.mean() / (np.sqrt(1 / 10 + 1 / 9) * spread))


def verdict(a: Floats, b: Floats) -> int:
    """1 where a is significantly better than b, -1 where worse, 0 otherwise (5 %)."""
    t = corrected_t(a, b)
    return int(np.sign(t)) if abs(t) > _CRITICAL else 0


class BoostedM1:
    """AdaBoost.M1: ten rounds of reweighting, stopped at an error of 0 or of one half and more."""

    def __init__(self, make: Callable[[], Any], rounds: int = 10) -> None:
        self.make = make
        self.rounds = rounds

    def fit(self, X: Floats, y: Ints) -> BoostedM1:
        """Fit up to ``rounds`` members on weights of mean 1."""
        weights = np.ones(len(y))
        self.members_: list[tuple[float, Any]] = []
        self.n_classes_ = int(y.max()) + 1
        for _ in range(self.rounds):
            member = self.make().fit(X, y, sample_weight=weights)
            wrong = member.predict(X) != y
            error = float(weights[wrong].sum() / weights.sum())
            if error == 0 or error >= 0.5:
                if not self.members_:
                    self.members_ = [(1.0, member)]
                break
            self.members_.append((float(np.log((1 - error) / error)), member))
            weights = np.where(wrong, weights * (1 - error) / error, weights)
            weights *= len(weights) / weights.sum()
        return self

    def predict(self, X: Floats) -> Ints:
        """The class with the largest sum of member weights."""
        votes = np.zeros((len(X), self.n_classes_))
        for weight, member in self.members_:
            votes[np.arange(len(X)), member.predict(X)] += weight
        return np.asarray(votes.argmax(axis=1))


def _psvm(reading: str) -> Callable[..., Any]:
    def make(n: int, d: int, k: int, seed: int) -> Any:
        from shiftlearn import PrototypeSVC

        return PrototypeSVC(reading=reading, random_state=seed, n_jobs=1)

    return make


def _exemplars(n: int, d: int, k: int, seed: int) -> Any:
    from shiftlearn import ExemplarSVC

    return ExemplarSVC(random_state=seed, n_jobs=1)


def _tree(n: int, d: int, k: int, seed: int) -> Any:
    """The third argument imitates C4.5's penalty on numeric splits."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=2, min_impurity_decrease=np.log2(n) / n,
        random_state=seed,
    )  # fmt: skip


def _linear(n: int, d: int, k: int, seed: int) -> Any:
    """Rows as they are; on some sets LIBSVM would not come to an end without a limit."""
    from sklearn.svm import SVC

    return SVC(kernel="linear", C=1.0, max_iter=2_000_000)


def _quadratic(n: int, d: int, k: int, seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(kernel="poly", degree=2, gamma=1 / d, coef0=0.0, C=1.0, max_iter=2_000_000)


def _perceptron(n: int, d: int, k: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    return make_pipeline(
        MinMaxScaler((-1, 1)),
        MLPClassifier(
            ((d + k) // 2,), activation="logistic", solver="sgd", learning_rate_init=0.3,
            momentum=0.2, nesterovs_momentum=False, batch_size=1, max_iter=200, alpha=0, tol=0,
            n_iter_no_change=200, random_state=seed,
        ),
    )  # fmt: skip


def _boosted(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda n, d, k, seed: BoostedM1(lambda: make(n, d, k, seed))


ALGORITHMS: dict[str, Callable[..., Any]] = {
    PSVM: _psvm("spec"),
    PSVM_DEFAULT: _psvm("default"),
    LITERAL: _psvm("literal"),
    "exemplars": _exemplars,
    "C4.5": _tree,
    "boosted C4.5": _boosted(_tree),
    "linear SVM": _linear,
    "boosted linear": _boosted(_linear),
    "quadratic SVM": _quadratic,
    "MLP": _perceptron,
}
