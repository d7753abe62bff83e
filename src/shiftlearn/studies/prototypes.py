"""Studies of the prototype machines: the paper's Tables 2 to 5, choices, shifts, clusters."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from shiftlearn.studies.base import Reference, study
from shiftlearn.studies.prototype_data import (
    ALGORITHMS,
    DATA,
    PSVM,
    PSVM_DEFAULT,
    FoldRun,
    fold_runs,
    folds,
    load,
    verdict,
)

__all__ = ["choices", "clusters", "decisions", "shifts", "tables", "wins"]

_COMPETITORS = ("C4.5", "boosted C4.5", "linear SVM", "boosted linear", "quadratic SVM", "MLP")
_FILES = (
    "iris/iris.data", "glass/glass.data", "vehicle/xaa.dat", "segment/segmentation.data",
    "20newsgroups/20news-18828.tar.xz",
)  # fmt: skip
_PRINTED: dict[int, dict[str, tuple[float, ...]]] = {
    0: {
        PSVM: (90.9, 97.3, 21.8, 96.0, 52.8, 79.4, 95.2, 55.8),
        "C4.5": (98.1, 69.4, 0.0, 94.0, 69.1, 73.8, 97.1, 54.5),
        "boosted C4.5": (98.5, 90.1, 0.0, 94.0, 72.9, 75.7, 98.1, 60.5),
        "linear SVM": (62.5, 48.5, 0.0, 98.7, 63.5, 80.4, 96.3, 62.2),
        "boosted linear": (62.5, 53.4, 5.63, 97.3, 63.1, 80.4, 96.1, 62.2),
        "quadratic SVM": (81.9, 72.8, 0.0, 96.7, 69.7, 80.4, 95.8, 52.3),
        "MLP": (80.6, 75.0, 20.6, 97.3, 70.6, 79.7, 96.2, 52.3),
    },
    10: {
        PSVM: (71.9, 76.8, 29.0, 88.7, 50.0, 68.1, 84.3),
        "C4.5": (84.8, 60.3, 9.79, 84.7, 62.2, 63.1, 85.5),
        "boosted C4.5": (83.6, 64.3, 9.79, 83.3, 66.3, 67.6, 85.4),
        "linear SVM": (59.3, 52.0, 11.9, 90.0, 53.7, 71.5, 84.1),
        "boosted linear": (57.9, 56.8, 16.9, 90.0, 57.5, 69.1, 84.0),
        "quadratic SVM": (75.5, 66.8, 10.3, 90.0, 61.6, 57.4, 67.8),
        "MLP": (73.9, 67.4, 17.1, 91.3, 61.7, 71.0, 85.4),
    },
}
_SIZES = {
    (PSVM, 0): (323, 149, 47, 54, 35, 110, 453, 42),
    (PSVM, 10): (122, 170, 56, 24, 37, 113, 323),
    ("exemplars", 0): (720, 720, 175, 135, 193, 761, 2079, 540),
}


def _printed() -> tuple[Reference, ...]:
    """The paper's figures: accuracy under its own folds, sizes under any."""
    found = [
        Reference("accuracy", value, {"noise": noise, "algorithm": name, "data": data})
        for noise, rows in _PRINTED.items()
        for name, values in rows.items()
        for data, value in zip(DATA, values)
    ]
    found += [
        Reference("models", value, {"noise": noise, "algorithm": name, "data": data})
        for (name, noise), values in _SIZES.items()
        for data, value in zip(DATA, values)
    ]
    return tuple(found)


@contextmanager
def _plain_words_off() -> Iterator[None]:
    """Competitors on columns as they are and short of iterations warn in every fold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _runs(data: str, noise: int, kind: str, algorithm: str, seed: int) -> tuple[FoldRun, ...]:
    """All folds; the perceptron on 2,715 columns takes days, so one fold stands for ten."""
    one = algorithm == "MLP" and data == DATA[-1]
    with _plain_words_off():
        return fold_runs(data, noise, kind, algorithm, seed, 1 if one else 10)


@study(
    "prototype-tables",
    title="Prototype machines: Tables 2, 4 and 5",
    grid={
        "folds": ("modulo", "shuffled"),
        "noise": (0, 10),
        "algorithm": tuple(ALGORITHMS),
        "data": DATA,
    },
    columns="data",
    figures={
        "accuracy": "accuracy (%)",
        "clean": "accuracy against clean test labels (%)",
        "deviation": "standard deviation over the folds",
        "models": "models",
        "seconds": "training time of a fold (s)",
    },
    seeds=5,
    quick={
        "folds": ("modulo",),
        "noise": (0,),
        "algorithm": tuple(name for name in ALGORITHMS if name != "MLP"),
        "data": ("spirals", "iris", "glass"),
    },
    quick_seeds=1,
    references=_printed(),
    applies=lambda s: not (s["noise"] and s["data"] == DATA[-1]),
    data=_FILES,
)
def tables(folds: str, noise: int, algorithm: str, data: str, seed: int) -> dict[str, float]:
    """Ten folds of each algorithm on each data set, with and without 10 % label noise.

    "modulo": the fold of a row is its number modulo ten in file order, as the printed spirals row
    suggests; "shuffled": stratified and shuffled. Noise is drawn once for the whole set, so test
    labels are noisy too; the accuracy against the clean labels stands beside. The paper prints
    neither its generators nor its tweets, so isolated, striated and the text set are stand-ins.
    Weka's algorithms are replaced by the nearest of scikit-learn; AdaBoost.M1 is rebuilt. The
    perceptron on the text set is run on one fold of ten.
    """
    runs = _runs(data, noise, folds, algorithm, seed)
    accuracy = np.array([run.accuracy for run in runs])
    found = {
        "accuracy": float(accuracy.mean()),
        "deviation": float(accuracy.std()),
        "seconds": float(np.mean([run.seconds for run in runs])),
    }
    if noise:
        found["clean"] = float(np.mean([run.clean for run in runs]))
    if not np.isnan(runs[0].models):
        found["models"] = float(np.mean([run.models for run in runs]))
    return found


@study(
    "prototype-wins",
    title="Prototype machines: Table 3, significant wins, losses and ties",
    grid={
        "folds": ("modulo", "shuffled"),
        "noise": (0, 10),
        "machine": (PSVM, PSVM_DEFAULT),
        "sets": ("all",),
        "against": _COMPETITORS,
    },
    columns="against",
    figures={"wins": "wins", "losses": "losses", "ties": "ties"},
    seeds=1,
    quick={
        "folds": ("shuffled",), "noise": (0,), "machine": (PSVM_DEFAULT,),
        "sets": ("few",), "against": ("C4.5", "linear SVM"),
    },
    quick_seeds=1,
    data=_FILES,
)  # fmt: skip
def wins(
    folds: str, noise: int, machine: str, sets: str, against: str, seed: int
) -> dict[str, float]:
    """Corrected paired t-test over ten folds, two-sided at 5 %, for every data set.

    The paper counts 16 wins, 13 losses and 19 ties over all six algorithms without noise, 14, 7 and
    21 with it (no text set there). "few" are spirals, iris and glass; the text set is left out for
    the multilayer perceptron, which needs days for it.
    """
    names: tuple[str, ...] = ("spirals", "iris", "glass") if sets == "few" else DATA
    if noise or against == "MLP":
        names = tuple(name for name in names if name != DATA[-1])
    verdicts = [
        verdict(
            np.array([run.accuracy for run in _runs(name, noise, folds, machine, seed)]),
            np.array([run.accuracy for run in _runs(name, noise, folds, against, seed)]),
        )
        for name in names
    ]
    return {
        "wins": float(verdicts.count(1)),
        "losses": float(verdicts.count(-1)),
        "ties": float(verdicts.count(0)),
    }


@study(
    "prototype-choices",
    title="Prototype machines: does choosing C and p on held-out rows pay?",
    grid={
        "noise": (0, 10),
        "algorithm": (PSVM_DEFAULT, PSVM, "exemplars", "linear SVM"),
        "data": DATA[:-1],
    },
    columns="data",
    figures={"accuracy": "accuracy (%)", "seconds": "training time of a fold (s)"},
    seeds=5,
    quick={"noise": (0,), "data": ("spirals", "iris", "glass"), "algorithm": (PSVM_DEFAULT, PSVM)},
    quick_seeds=1,
    references=tuple(
        Reference("accuracy", value, {"noise": noise, "algorithm": name, "data": data})
        for noise in (0, 10)
        for name in (PSVM_DEFAULT, PSVM)
        for data, value in zip(DATA[:-1], _PRINTED[noise][PSVM])
        if data != "spirals"
    ),
    data=_FILES,
)
def choices(noise: int, algorithm: str, data: str, seed: int) -> dict[str, float]:
    """Nested: everything is chosen inside ``fit`` on the training part of each of ten folds.

    Stratified shuffled folds, a new shuffle, noise and generator seed for each repeat. The default
    (candidates for C and p, balanced sides, a last training on all rows) was settled on other data
    (scikit-learn's wine, breast cancer and digits, three generated sets), never on these. The
    printed figures belong to unshuffled folds; spirals, where that matters, has none here.
    """
    runs = _runs(data, noise, "shuffled", algorithm, seed)
    return {
        "accuracy": float(np.mean([run.accuracy for run in runs])),
        "seconds": float(np.mean([run.seconds for run in runs])),
    }


_DECISIONS: dict[str, dict[str, Any]] = {
    "as specified": {},
    "earliest iterate": {"later": False},
    "exemplars claim themselves": {"own_claims": True},
    "drop silent models": {"drop": "silent"},
    "classes may vanish": {"keep_classes": False},
    "sigmoid not capped": {"calibration": "uncapped"},
    "raw votes": {"calibration": "votes"},
    "fixed sigmoid": {"calibration": "fixed"},
    "all models vote": {"every_vote": True},
    "local costs, c = 10": {"local_costs": True, "C": 10.0},
    "balanced costs": {"balanced": True},
    "C = 1": {"C": 1.0},
    "C = 1000": {"C": 1000.0},
    "p = 0.05": {"rate": 0.05},
    "k = 3": {"k": 3},
    "k = 15": {"k": 15},
    "v = 0.1": {"v": 0.1},
    "trained again on all rows": {"refit": True},
}


@study(
    "prototype-decisions",
    title="Prototype machines: each open decision against its alternative",
    grid={"decision": tuple(_DECISIONS), "data": ("isolated", "striated", "iris", "glass")},
    columns="data",
    figures={"accuracy": "accuracy (%)", "models": "models"},
    seeds=2,
    quick={"decision": tuple(_DECISIONS)[:8], "data": ("iris", "glass")},
    quick_seeds=1,
    data=("iris/iris.data", "glass/glass.data"),
)
def decisions(decision: str, data: str, seed: int) -> dict[str, float]:
    """One decision changed at a time, the others as specified.

    C = 100, p = 0.005, k = 7, v = 0.25. Ten shuffled stratified folds. These figures describe;
    nothing was chosen by them.
    """
    X, y = load(data, seed)
    with _plain_words_off():
        parts = list(folds(y, "shuffled", seed))
    done = [_varied(X, y, *fold, decision, seed) for fold in parts]
    accuracy, models = np.array(done).T
    return {"accuracy": float(accuracy.mean()), "models": float(models.mean())}


def _varied(X: Any, y: Any, train: Any, test: Any, decision: str, seed: int) -> tuple[float, float]:
    """Accuracy and size with one decision changed."""
    from shiftlearn import PrototypeSVC
    from shiftlearn.prototypes.rules import varied

    change = dict(_DECISIONS[decision])
    model = PrototypeSVC(
        C=change.pop("C", 100.0), hard_negative_rate=change.pop("rate", 0.005),
        n_negatives=change.pop("k", 7), validation_fraction=change.pop("v", 0.25),
        random_state=seed,
    )  # fmt: skip
    with varied(**change):
        model.fit(X[train], y[train])
        accuracy = 100 * model.score(X[test], y[test])
    return accuracy, float(len(model.exemplars_))


@study(
    "prototype-shifts",
    title="Prototype machines: accuracy and size after each shift",
    grid={
        "data": ("isolated", "striated", "spirals", "iris", "glass", "vehicle", "segment"),
        "shift": tuple(range(21)),
    },
    columns="shift",
    figures={"accuracy": "accuracy (%)", "models": "models"},
    seeds=3,
    quick={"data": ("isolated", "spirals"), "shift": (0, 1, 2, 5, 10)},
    quick_seeds=1,
    data=_FILES,
)
def shifts(data: str, shift: int, seed: int) -> dict[str, float]:
    """Every iterate on test rows, as specified (C = 100, p = 0.005), up to twenty shifts.

    Five shuffled stratified folds of ten. The paper says that 10 to 20 iterations suffice.
    """
    accuracy, models = np.mean([course[shift] for course in _courses(data, seed)], axis=0)
    return {"accuracy": float(accuracy), "models": float(models)}


@lru_cache(maxsize=64)
def _courses(data: str, seed: int) -> list[list[tuple[float, float]]]:
    X, y = load(data, seed)
    with _plain_words_off():
        parts = list(folds(y, "shuffled", seed))[:5]
    return [_course(X, y, *fold, seed) for fold in parts]


def _course(X: Any, y: Any, train: Any, test: Any, seed: int) -> list[tuple[float, float]]:
    """(accuracy on test rows, models) of iterates 0 to 20."""
    from shiftlearn.prototypes.courses import iterates

    return [
        (100 * accuracy, float(size))
        for accuracy, size in iterates(X[train], y[train], X[test], y[test], 20, seed)
    ]


@study(
    "prototype-clusters",
    title="Prototype machines: regions found without asking for their number",
    grid={"method": (PSVM, PSVM_DEFAULT, "k-means"), "data": ("isolated", "striated")},
    columns="data",
    figures={
        "index": "adjusted Rand index with the true regions",
        "regions": "regions found",
    },
    seeds=5,
    quick_seeds=1,
)
def clusters(method: str, data: str, seed: int) -> dict[str, float]:
    """Rows grouped by `apply` against the clusters they were drawn from; k-means knows the number.

    The background of "isolated" counts as one region. Rows are those of the fit.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    from shiftlearn import PrototypeSVC, datasets

    made = getattr(datasets, f"make_{data}")(seed)
    if method == "k-means":
        found = KMeans(len(np.unique(made.ids)), n_init=10, random_state=seed).fit_predict(
            made.data
        )
    else:
        reading = "spec" if method == PSVM else "default"
        model = PrototypeSVC(reading=reading, random_state=seed).fit(made.data, made.target)
        found = model.apply(made.data)
    return {
        "index": float(adjusted_rand_score(made.ids, found)),
        "regions": float(len(np.unique(found))),
    }
