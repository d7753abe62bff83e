"""Studies of UOCT-SVM: Tables 2, 3 and 4, Figures 3, 4 and 5, and the offsets.

What the paper leaves open and how it is settled here: the rows to tell the target class from are as
many as the rows of the class that are judged (text: drawn from the other top categories; mushroom:
the other edibility with the target's stalk shape); the noise is Gaussian; parameters are chosen on
a fifth of the judged rows of both kinds, set aside by the seed, by the same grid for every method.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.errors import DataNotFoundError
from shiftlearn.studies.base import Reference, study
from shiftlearn.studies.one_class_data import (
    ISOLET,
    LDPA,
    MUSHROOM,
    NEWSGROUPS,
    REUTERS,
    STAND_IN,
    Draw,
    draw,
)

__all__ = [
    "natural",
    "noise_sweep",
    "one_source",
    "sensitivity",
    "several_sources",
    "table",
    "times",
]

Floats = NDArray[np.float64]

OC, TLOC, UOC, UOCT = "OC-SVM", "TLOC-SVM", "UOC-SVM", "UOCT-SVM"
PRINTED, AUTO, TLOC_LEFT_OUT = "UOCT-SVM printed", "UOCT-SVM auto", "TLOC-SVM left-out"
METHODS = (UOCT, UOC, TLOC, OC, PRINTED, AUTO, TLOC_LEFT_OUT)

# Costs: the share of rows that may lie outside, C_t = 1 / (share n_t), or (C of the target, C of
# the sources) under a hard margin; widths: multiples of 1 / (d var).
COSTS: tuple[Any, ...] = (0.1, 0.3, 0.5, 0.7, (1.0, 0.1), (100.0, 10.0))
WIDTHS = (0.5,)
GRIDS = {"full": (COSTS, WIDTHS), "small": ((0.3, 0.6), (0.5,))}

_FIGURES = {"f": "F (%)"}
_FIRST_TABLE = {
    "MR.edible(1)": (87.51, 84.36, 84.09, 81.97),
    "MR.edible(2)": (85.68, 81.39, 82.55, 78.11),
    "MR.poisonous(1)": (82.85, 80.14, 80.62, 78.19),
    "MR.poisonous(2)": (85.49, 80.76, 81.84, 78.22),
    "RT.orgs(1)": (79.63, 76.26, 74.01, 70.35),
    "RT.orgs(2)": (84.39, 78.66, 80.83, 73.92),
    "RT.people(1)": (82.84, 80.53, 76.98, 74.17),
    "RT.people(2)": (75.72, 71.05, 72.15, 68.08),
    "RT.place(1)": (70.74, 63.51, 66.78, 61.88),
    "RT.place(2)": (81.36, 76.12, 75.82, 71.73),
}
_SECOND_TABLE = {
    "NG.os": (76.63, 72.16, 70.95, 67.57),
    "NG.ibm": (80.26, 77.81, 76.75, 74.49),
    "NG.mac": (79.58, 75.77, 75.43, 72.21),
    "NG.graphics": (83.57, 78.26, 77.31, 73.31),
    "NG.hokey": (84.81, 79.58, 81.19, 76.65),
    "NG.baseball": (78.79, 76.05, 75.93, 71.97),
    "NG.autos": (71.34, 72.96, 68.32, 69.35),
    "NG.crypt": (80.76, 75.89, 78.18, 73.86),
    "NG.med": (78.74, 73.59, 76.28, 69.88),
    "NG.space": (81.37, 76.78, 76.24, 71.76),
    "NG.religion": (79.06, 74.72, 75.33, 72.23),
    "NG.guns": (75.25, 77.41, 71.88, 73.79),
    "NG.mideast": (81.31, 78.94, 77.97, 75.92),
}
_THIRD_TABLE = {
    "Isolet(S)": (90.06, 85.94, 87.29, 83.58),
    "Isolet(X)": (88.82, 87.27, 85.75, 83.64),
    "Isolet(M)": (93.26, 91.18, 89.91, 89.01),
    "Isolet(N)": (91.32, 89.29, 88.69, 85.99),
    "LDPA(1)": (86.98, 84.12, 83.66, 80.42),
    "LDPA(2)": (77.84, 74.75, 73.86, 71.53),
    "LDPA(3)": (83.11, 78.28, 79.87, 74.55),
    "LDPA(4)": (84.46, 79.48, 81.82, 78.64),
    "LDPA(5)": (79.46, 75.72, 78.25, 73.27),
}


def _references(*printed: Mapping[str, tuple[float, ...]]) -> tuple[Reference, ...]:
    return tuple(
        Reference("f", value, {"data": name, "method": method})
        for rows in printed
        for name, values in rows.items()
        for method, value in zip((UOCT, UOC, TLOC, OC), values, strict=True)
    )


# -- one repeat of one task: every method at every setting ------------------------------------


@lru_cache(maxsize=4)
def _chosen(name: str, noise: float, seed: int, grid: str) -> dict[str, float]:
    """F of each method on the judged rows, at the setting with the best F on those set aside."""
    task = draw(name, noise=noise, seed=seed)
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    for cost, width in _settings(grid):
        for method, scores in _decisions(task, cost, width):
            found[method].append((_f(task, scores, task.chosen), _f(task, scores, ~task.chosen)))
    return {method: max(pairs, key=lambda pair: pair[0])[1] for method, pairs in found.items()}


def _settings(grid: str) -> Iterator[tuple[Any, float]]:
    costs, widths = GRIDS[grid]
    return ((cost, width) for width in widths for cost in costs)


def _f(task: Draw, decisions: Floats, rows: NDArray[np.bool_]) -> float:
    """F of the target class, in percent."""
    inside, taken = task.y[rows] > 0, decisions[rows] >= 0
    return 200.0 * float((inside & taken).sum()) / float(inside.sum() + taken.sum())


def _decisions(task: Draw, cost: Any, width: float) -> Iterator[tuple[str, Floats]]:
    """Decision values of all methods at one setting."""
    costs = _costs(task, cost)
    options = {"gamma": width / (task.X.shape[1] * task.X.var())}
    target = task.domain < 0
    alone, both = (task.X[target], None, costs[-1:]), (task.X, task.domain, costs)
    yield OC, _fit(*alone, uncertainty=None, **options).decision_function(task.test)
    yield UOC, _fit(*alone, offset="observed", **options).decision_function(task.test)
    still = _fit(*both, uncertainty=None, offset="left-out", **options)
    scores = still.score_samples(task.test)
    yield TLOC, scores - still.offsets_at("observed")[-1]
    yield TLOC_LEFT_OUT, scores - still.offset_
    yield AUTO, _fit(*both, **options).decision_function(task.test)
    moved = _fit(*both, offset="observed", **options)
    scores = moved.score_samples(task.test)
    yield UOCT, scores - moved.offset_
    yield PRINTED, scores - moved.offsets_at("corrected")[-1]


def _costs(task: Draw, cost: Any) -> list[float]:
    """C of each task, the target last."""
    labels = [*range(int(task.domain.max()) + 1), -1]
    if isinstance(cost, tuple):
        return [cost[1]] * (len(labels) - 1) + [cost[0]]
    return [1.0 / (cost * float((task.domain == label).sum())) for label in labels]


def _fit(X: Any, domain: Any, costs: list[float], **options: Any) -> Any:
    from shiftlearn import UncertainOneClassTransferSVM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the printed offset warns as it should, hundreds of times
        return UncertainOneClassTransferSVM(C=costs, **options).fit(X, sample_domain=domain)


# -- the tables ------------------------------------------------------------


def table(data: str, method: str, grid: str, seed: int, noise: float = 0.4) -> dict[str, float]:
    """One entry of a table."""
    try:
        return {"f": _chosen(data, noise, seed, grid)[method]}
    except DataNotFoundError:
        if data in LDPA:  # the publisher's whole file is not here: said in the study's text
            return {}
        raise


_TABLE = {
    "columns": "method",
    "figures": _FIGURES,
    "seeds": 10,
    "quick_seeds": 1,
}


@study(
    "one-class-one-source",
    title="UOCT-SVM, one source task, 40 % noise (Table 2)",
    grid={"data": (*MUSHROOM, *REUTERS), "method": METHODS, "grid": ("full",)},
    quick={"data": ("MR.edible(1)", "RT.orgs(1)"), "grid": ("small",)},
    references=_references(_FIRST_TABLE),
    **_TABLE,
)
def one_source(data: str, method: str, grid: str, seed: int) -> dict[str, float]:
    """Mushroom and Reuters: one related task, 40 % of the training rows disturbed.

    Mushroom one-hot without the stalk shape; Reuters the published term weights in their 50 leading
    singular directions, rows of unit length. Six settings a method: the share of rows that may lie
    outside 0.1, 0.3, 0.5, 0.7 (C_t = 1 / (share n_t)) or hard margins with (C_target, C_source) =
    (1, 0.1), (100, 10); RBF, γ = 0.5 / (d var); μ = C ("pair"). UOC-SVM and UOCT-SVM with
    offsets at the observed rows and δ as printed; "printed" places them at the moved rows; "auto"
    is the library's default. Chosen on a fifth of the judged rows, the same for all methods.
    """
    return table(data, method, grid, seed)


@study(
    "one-class-several-sources",
    title="UOCT-SVM, several source tasks, 40 % noise (Table 3)",
    grid={"data": tuple(NEWSGROUPS), "method": METHODS, "grid": ("full",)},
    quick={"data": ("NG.med",), "grid": ("small",)},
    references=_references(_SECOND_TABLE),
    **_TABLE,
)
def several_sources(data: str, method: str, grid: str, seed: int) -> dict[str, float]:
    """20 Newsgroups (19997): the other groups of the top category are the source tasks.

    Subject and body, tf-idf in the 50 leading singular directions of the whole collection, rows of
    unit length; judged against as many articles of other top categories. Everything else as in
    one-class-one-source, with μ = C / K ("mean"). In plain tf-idf of 2,000 or 34,000 terms the
    noise, drawn for each term, drowns the few terms an article has: there no method passes F = 73
    on NG.med even with the best offset in hindsight. The directions were chosen on such trials
    with four of the thirteen tasks.
    """
    return table(data, method, grid, seed)


@study(
    "one-class-natural",
    title="UOCT-SVM on data uncertain by nature (Table 4)",
    grid={"data": (*ISOLET, *LDPA, *STAND_IN), "method": METHODS, "grid": ("full",)},
    quick={"data": ("Isolet(S)", "sequence A01"), "grid": ("small",)},
    references=_references(_THIRD_TABLE),
    **_TABLE,
)
def natural(data: str, method: str, grid: str, seed: int) -> dict[str, float]:
    """Spoken letters and body tags, no noise added.

    Isolet: one letter the target, its partner the source, judged against 300 rows of other letters.
    LDPA(1) to (5) need the publisher's whole file and are not run without it; one row in ten is
    used. As a stand-in, the three sequences of person A that are at hand, each in turn the target
    and the other two the source: marked "sequence", not comparable with the paper. Settings as in
    one-class-one-source.
    """
    return table(data, method, grid, seed, noise=0.0)


# -- the figures ------------------------------------------------------------

_NOISY = (
    *("RT.orgs(1)", "RT.people(1)", "RT.place(1)", "MR.edible(1)", "MR.poisonous(2)"),
    *("NG.os", "NG.hokey", "NG.crypt"),
)


@study(
    "one-class-noise",
    title="UOCT-SVM as the noise grows (Figure 3)",
    grid={
        "data": _NOISY,
        "method": METHODS,
        "noise": (0.2, 0.4, 0.6, 0.8, 1.0),
        "grid": ("full",),
    },
    columns="noise",
    figures=_FIGURES,
    seeds=10,
    quick={"data": ("RT.orgs(1)",), "noise": (0.2, 1.0), "grid": ("small",)},
    quick_seeds=1,
)
def noise_sweep(data: str, method: str, noise: float, grid: str, seed: int) -> dict[str, float]:
    """F against the share of training rows disturbed; settings as in the tables.

    The paper prints curves only: all methods fall, UOCT-SVM stays on top and falls least.
    """
    return table(data, method, grid, seed, noise)


@study(
    "one-class-sensitivity",
    title="UOCT-SVM: costs of source and target (Figure 5)",
    grid={
        "method": (UOCT, AUTO),
        "C_source": (0.01, 0.1, 1.0, 10.0, 1000.0),
        "C_target": (0.01, 0.1, 1.0, 10.0, 1000.0),
    },
    columns="C_target",
    figures=_FIGURES,
    seeds=5,
    quick={"C_source": (0.1, 10.0), "C_target": (0.1, 1.0)},
    quick_seeds=1,
)
def sensitivity(method: str, C_source: float, C_target: float, seed: int) -> dict[str, float]:
    """MR.edible(1), 40 % noise, γ = 1 / (d var), all judged rows; nothing is chosen.

    The paper prints curves: best C_source = 0.1 at C_target = 1, and the reverse.
    """
    task = draw("MR.edible(1)", noise=0.4, seed=seed)
    options = {"gamma": 1.0 / (task.X.shape[1] * task.X.var())}
    if method == UOCT:
        options["offset"] = "observed"
    model = _fit(task.X, task.domain, [C_source, C_target], **options)
    return {"f": _f(task, model.decision_function(task.test), np.ones(len(task.y), dtype=bool))}


@study(
    "one-class-times",
    title="Training times of the four methods (Figure 4)",
    grid={"data": ("MR.edible(1)", "RT.orgs(1)", "NG.os"), "method": (OC, TLOC, UOC, UOCT)},
    columns="method",
    figures={"seconds": "seconds a fit"},
    seeds=5,
    quick={"data": ("MR.edible(1)", "RT.orgs(1)")},
    quick_seeds=1,
)
def times(data: str, method: str, seed: int) -> dict[str, float]:
    """Seconds of one fit at the share 0.1, γ = 1 / (d var), 40 % noise.

    The paper prints OC < TLOC < UOC < UOCT, up to 100 s on text and 0.4 s on mushroom; its machines
    and ours differ, the order is what can be compared. Its UOC-SVM takes longer than TLOC-SVM, here
    it has a tenth of the rows.
    """
    task = draw(data, noise=0.4, seed=seed)
    costs, own = _costs(task, 0.1), task.domain < 0
    alone = method in (OC, UOC)
    X, domain = (task.X[own], None) if alone else (task.X, task.domain)
    options: dict[str, Any] = {"uncertainty": None if method in (OC, TLOC) else "knn"}
    options["gamma"] = 1.0 / (task.X.shape[1] * task.X.var())
    start = time.perf_counter()
    _fit(X, domain, costs[-1:] if alone else costs, offset="observed", **options)
    return {"seconds": time.perf_counter() - start}
