"""Study ``one-class-offsets``: where the offsets of UOCT-SVM belong when no labels choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.studies.base import Reference, study
from shiftlearn.studies.one_class import AUTO, OC, PRINTED, TLOC, TLOC_LEFT_OUT, UOC, UOCT, _fit

__all__ = ["offsets"]

_UOC_PRINTED, _UOCT_LEFT_OUT = "UOC-SVM printed", "UOCT-SVM left-out, whole δ"
_METHODS = (OC, TLOC, _UOC_PRINTED, PRINTED, UOC, UOCT, TLOC_LEFT_OUT, _UOCT_LEFT_OUT, AUTO)
_PAIRS = ((3, 8), (4, 9), (1, 7), (5, 6))
_DIGITS = {
    f"digits, {share:.0%} train, noise {noise:.0%}": (share, noise, 0.02, cost)
    for share, cost in ((0.1, 0.2), (0.03, 0.4))
    for noise in (0.0, 0.4, 1.0)
}
_GAUSSIAN = {
    f"d={d}, {n} rows, C={cost:g}": (d, n, source, cost)
    for d in (2, 8, 30)
    for n in (20, 100)
    for source, cost in ((0.02, 0.1), (0.1, 1.0))
}
_DIGIT_FIGURES = {
    OC: (62.6, 83.9, 82.4, 20.4, 24.8, 37.6),
    TLOC: (63.5, 84.1, 78.6, 23.2, 29.4, 54.6),
    _UOC_PRINTED: (0.0,) * 6,
    PRINTED: (0.0,) * 6,
    UOC: (71.4, 82.2, 70.4, 28.2, 53.5, 78.8),
    UOCT: (70.9, 78.0, 67.4, 36.7, 58.9, 69.7),
}
_GAUSSIAN_FIGURES = {
    TLOC: (57.0, 77.7, 82.7, 82.9, 53.2, 73.6, 88.7, 90.4, 42.0, 58.7, 85.9, 88.4),
    PRINTED: (23.6, 55.5, 64.9, 69.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0),
    UOCT: (57.6, 83.1, 84.0, 83.2, 58.1, 94.7, 93.6, 97.7, 53.4, 92.1, 92.4, 98.6),
}


def _references(
    names: Mapping[str, Any], figures: Mapping[str, tuple[float, ...]]
) -> tuple[Reference, ...]:
    return tuple(
        Reference("f", value, {"data": name, "method": method})
        for method, values in figures.items()
        for name, value in zip(names, values, strict=True)
    )


@study(
    "one-class-offsets",
    title="Offsets of one-class machines, nothing chosen on labels",
    grid={"data": (*_DIGITS, *_GAUSSIAN), "method": _METHODS},
    columns="method",
    figures={"f": "F (%)"},
    seeds=40,
    quick={"data": (*list(_DIGITS)[:2], *list(_GAUSSIAN)[6:8])},
    quick_seeds=4,
    references=(
        *_references(_DIGITS, _DIGIT_FIGURES),
        *_references(_GAUSSIAN, _GAUSSIAN_FIGURES),
    ),
    reference_name="reference",
)
def offsets(data: str, method: str, seed: int) -> dict[str, float]:
    """8 x 8 digits and Gaussian tasks, costs as given, the same for all methods.

    "left-out" places the offset where the nominal share of rows would lie outside if each had been
    left out; "auto" does so with a quarter of the neighbour distance as bound; "printed" places it
    at the moved rows. Four pairs of digits, ten repeats each; 40 repeats of the Gaussian tasks. The
    reference is an independent run of the same protocol. F of the target class on clean rows of
    which half belong to it; accepting everything gives 66.7.
    """
    return {"f": _all(data, seed)[method]}


@lru_cache(maxsize=4)
def _all(data: str, seed: int) -> dict[str, float]:
    from shiftlearn.datasets import make_digit_pair, make_gaussian_tasks

    if data in _DIGITS:
        fraction, noise, source, cost = _DIGITS[data]
        repeat, pair = divmod(seed, len(_PAIRS))
        task = make_digit_pair(*_PAIRS[pair], fraction=fraction, noise=noise, random_state=repeat)
        gamma = 0.1
    else:
        d, n, source, cost = _GAUSSIAN[data]
        task, gamma = make_gaussian_tasks(d, n, random_state=seed), 0.5 / d
    return {
        method: _f(task.test_target, decisions)
        for method, decisions in _decisions(task, [source, cost], gamma)
    }


def _f(y: NDArray[Any], decisions: NDArray[np.float64]) -> float:
    taken, inside = decisions >= 0, y > 0
    return 200.0 * float((inside & taken).sum()) / float(inside.sum() + taken.sum())


def _decisions(
    task: Any, costs: list[float], gamma: float
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    target = task.domain < 0
    alone = (task.data[target], None, costs[-1:])
    both = (task.data, task.domain, costs)
    whole: dict[str, Any] = {"offset": "left-out", "delta_scale": 1.0, "gamma": gamma}
    fits = (
        (_fit(*alone, uncertainty=None, gamma=gamma), {OC: "observed"}),
        (_fit(*both, uncertainty=None, offset="left-out", gamma=gamma),
         {TLOC: "observed", TLOC_LEFT_OUT: "left-out"}),
        (_fit(*alone, **whole), {UOC: "observed", _UOC_PRINTED: "corrected"}),
        (_fit(*both, **whole),
         {UOCT: "observed", PRINTED: "corrected", _UOCT_LEFT_OUT: "left-out"}),
        (_fit(*both, gamma=gamma), {AUTO: "left-out"}),
    )  # fmt: skip
    for model, places in fits:
        scores = model.score_samples(task.test)
        for method, place in places.items():
            yield method, scores - model.offsets_at(place)[-1]
