"""From checked arguments to a finished run: what is held out, which cost and which rate.

The cost C and the hard negative rate p may be "auto": every candidate runs on the same rows D with
the same draws, and the held-out rows V decide. Nothing outside the rows of ``fit`` is looked at.
"""

from __future__ import annotations

import hashlib
import numbers
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.machines.base import TrainingRows
from shiftlearn.parameters import check_number
from shiftlearn.prototypes.models import Ensemble, TrainingSet, exemplar_models
from shiftlearn.prototypes.rules import Rules, rules_of
from shiftlearn.prototypes.shifting import Draws
from shiftlearn.prototypes.table import Columns
from shiftlearn.prototypes.training import Options, Trace, go_on, hold_out, run

__all__ = ["COSTS", "RATES", "Plan", "Settings", "checked_plan", "fit_plan"]

Ints = NDArray[np.int64]
Told = Callable[[str, int], bool] | None

COSTS = (1.0, 0.1, 10.0)
RATES = (0.05, 0.005)
_SCALES = ("range", "standard", None)
_SPEC_C, _SPEC_RATE = 100.0, 0.005
_TRIAL_SHIFTS = 3  # shifts by which candidates are compared
_TRIAL_EXEMPLARS = 500  # machines with which they begin
_TRIAL_TOL = 1e-3


@dataclass(frozen=True, slots=True)
class Settings:
    """The constructor's arguments, with what ``reading`` pins after `checked_plan`."""

    n_shifts: int
    n_negatives: int
    hard_negative_rate: float | str
    validation_fraction: float
    C: float | str
    scale: str | None
    reading: str
    max_exemplars: int | None
    max_hard_negatives: int | None
    tol: float
    max_iter: int
    n_jobs: int

    @property
    def rules(self) -> Rules:
        """The decisions of the reading."""
        return rules_of(self.reading, self.C == "auto")


@dataclass(frozen=True, slots=True)
class Plan:
    """A finished run and what it was made of.

    Attributes
    ----------
    trace : Trace
        The run that chose the iterate, on the rows ``inside``, judged by the rows ``held``.
    final : Ensemble
        What predicts: the best iterate of ``trace``, or its like trained on all rows.
    rows : ndarray of int64
        The training rows that ``final`` counts from 0.
    C, rate : float
        In force.
    seed : int
        Of the draws.
    fingerprint : str
        Of rows and settings, for a later fit that goes on.
    """

    trace: Trace
    final: Ensemble
    rows: Ints
    inside: Ints
    held: Ints
    C: float
    rate: float
    seed: int
    fingerprint: str


def checked_plan(s: Settings) -> Settings:
    """Check every argument, then let the reading pin its own."""
    rules_of(s.reading)
    _whole("n_shifts", s.n_shifts, 0)
    _whole("n_negatives", s.n_negatives, 1)
    for name in ("max_exemplars", "max_hard_negatives"):
        if getattr(s, name) is not None:
            _whole(name, getattr(s, name), 1)
    if s.C != "auto":
        check_number("C", s.C)
    if s.hard_negative_rate != "auto":
        check_number("hard_negative_rate", s.hard_negative_rate, upto=1.0, from_zero=True)
    v = check_number("validation_fraction", s.validation_fraction, from_zero=True)
    if v >= 1:
        raise ValueError(f"validation_fraction must be >= 0 and < 1, got {v!r}.")
    if s.scale not in _SCALES:
        raise ValueError(f'scale must be "range", "standard" or None, got {s.scale!r}.')
    check_number("tol", s.tol)
    check_number("max_iter", s.max_iter)
    if s.reading == "spec":
        return replace(s, C=_SPEC_C, hard_negative_rate=_SPEC_RATE, scale="range")
    if s.reading == "literal":
        return replace(s, C=1.0, scale=None)
    return s


def fit_plan(
    s: Settings,
    rows: TrainingRows,
    columns: Columns,
    state: Plan | None,
    rng: np.random.RandomState,
    told: Told,
) -> Plan:
    """Split, choose what is "auto", run; or go on from ``state``."""
    full = TrainingSet(
        columns.apply(rows.X), rows.codes.astype(np.int32), rows.weights, len(rows.classes)
    )
    mark = _fingerprint(full, s)
    if state is not None:
        return _continued(s, full, state, mark, told)
    held = _held(s, full.codes, rng)
    inside = np.setdiff1d(np.arange(full.n_rows), held)
    data, out = full.take(inside), full.take(held)
    exemplars = _exemplars(data.codes, s.max_exemplars, rng)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    C, rate = _choose(s, data, out, exemplars, seed, told)
    options, tell = _options(s, C, rate, seed), _shift_told(told, "shifts")
    trial = _trial(s, options, held)
    trace = run(data, out, exemplars, s.n_shifts, trial, told=tell)
    plan = Plan(trace, trace.best, inside, inside, held, C, rate, seed, mark)
    return _refitted(s, full, plan, options)


def _choose(
    s: Settings, data: TrainingSet, held: TrainingSet, exemplars: Ints, seed: int, told: Told
) -> tuple[float, float]:
    """The best candidate after a few shifts: first the cost, then the rate."""
    costs, rates = _candidates(s, held)
    found: dict[tuple[float, float], tuple[float, float]] = {}
    if len(costs) * len(rates) == 1:
        return costs[0], rates[0]
    some = _spread(data.codes, exemplars, _TRIAL_EXEMPLARS)
    first = exemplar_models(data, some, s.n_negatives, s.n_jobs)

    def best_of(candidates: list[tuple[float, float]]) -> tuple[float, float]:
        for one in candidates:
            if one not in found:
                options = replace(_options(s, *one, seed), tol=max(s.tol, _TRIAL_TOL))
                tell, shifts = _shift_told(told, "choice"), min(s.n_shifts, _TRIAL_SHIFTS)
                found[one] = _merit(run(data, held, some, shifts, options, first, tell))
        return max(found, key=found.__getitem__)

    best = best_of([(C, rates[0]) for C in costs])
    return best_of([(best[0], rate) for rate in rates])


def _candidates(s: Settings, held: TrainingSet) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Costs and rates to try; without held-out rows the first of them are taken."""
    some = held.n_rows > 0
    costs = COSTS if s.C == "auto" else (float(s.C),)
    rates = RATES if s.hard_negative_rate == "auto" else (float(s.hard_negative_rate),)
    return (costs, rates) if some else (costs[:1], rates[:1])


def _merit(trace: Trace) -> tuple[float, float]:
    """Held-out accuracy of the best iterate; likelihood decides between equals."""
    at = trace.best_iteration
    return trace.scores[at], -trace.losses[at]


def _refitted(s: Settings, full: TrainingSet, plan: Plan, options: Options) -> Plan:
    """The chosen number of shifts once more, on all rows, where the rules say so."""
    if not s.rules.refit or not plan.held.size:
        return replace(plan, final=plan.trace.best)
    every = np.arange(full.n_rows, dtype=np.int64)
    exemplars = _spread(full.codes, every, s.max_exemplars)
    again = run(full, full.take(every[:0]), exemplars, plan.trace.best_iteration, options)
    return replace(plan, final=again.ensemble, rows=every)


def _trial(s: Settings, options: Options, held: Ints) -> Options:
    """A run that only says how many shifts to make on all rows need not be exact."""
    again = s.rules.refit and held.size > 0
    return replace(options, tol=max(s.tol, _TRIAL_TOL)) if again else options


def _options(s: Settings, C: float, rate: float, seed: int) -> Options:
    draws = Draws(rate, seed, s.max_hard_negatives)
    return Options(C, draws, s.rules, s.n_negatives, s.tol, int(s.max_iter), s.n_jobs)


def _shift_told(told: Told, phase: str) -> Callable[[Trace], bool] | None:
    if told is None:
        return None
    return lambda trace: told(phase, len(trace.scores) - 1)


def _continued(s: Settings, full: TrainingSet, old: Plan, mark: str, told: Told) -> Plan:
    """More shifts from where the last fit stopped; the same as one longer fit."""
    if mark != old.fingerprint:
        raise ValueError(
            "warm_start=True goes on with the rows and settings of the last fit, and X, y, "
            "sample_weight or a parameter other than n_shifts is different now. Use "
            "warm_start=False to begin anew."
        )
    done = len(old.trace.scores) - 1
    if s.n_shifts < done:
        raise ValueError(
            f"n_shifts must be at least {done}, the shifts that the last fit did "
            f"(warm_start=True), got {s.n_shifts}."
        )
    data, held = full.take(old.inside), full.take(old.held)
    trace = replace(
        old.trace, scores=[*old.trace.scores], losses=[*old.trace.losses], sizes=[*old.trace.sizes]
    )
    options = _options(s, old.C, old.rate, old.seed)
    trial = _trial(s, options, old.held)
    go_on(data, held, trace, s.n_shifts, trial, _shift_told(told, "shifts"))
    return _refitted(s, full, replace(old, trace=trace), options)


def _held(s: Settings, codes: NDArray[np.int32], rng: np.random.RandomState) -> Ints:
    """The held-out rows; none where nothing is chosen, with a warning where something should be."""
    if s.n_shifts == 0:
        return np.empty(0, dtype=np.int64)
    held = hold_out(codes, float(s.validation_fraction), rng, s.rules.stratified)
    if not held.size:
        warnings.warn(
            f"validation_fraction={s.validation_fraction} of {len(codes)} rows leaves no row to "
            "choose an iterate by: the last one is kept.",
            UserWarning,
            stacklevel=4,
        )
    return held


def _exemplars(codes: NDArray[np.int32], most: int | None, rng: np.random.RandomState) -> Ints:
    """All rows, or about ``most`` of them, every class by its share and at least one of each."""
    n = len(codes)
    if most is None or most >= n:
        return np.arange(n, dtype=np.int64)
    drawn = []
    for c in np.unique(codes):
        mine = np.flatnonzero(codes == c)
        drawn.append(rng.permutation(mine)[: max(1, most * len(mine) // n)])
    return np.sort(np.concatenate(drawn)).astype(np.int64)


def _spread(codes: NDArray[np.int32], exemplars: Ints, most: int | None) -> Ints:
    """The same number by evenly spaced rows of each class; the same rows in every call."""
    n = len(exemplars)
    if most is None or most >= n:
        return exemplars
    kept = []
    for c in np.unique(codes[exemplars]):
        mine = exemplars[codes[exemplars] == c]
        count = max(1, most * len(mine) // n)
        kept.append(mine[np.arange(count) * len(mine) // count])
    return np.sort(np.concatenate(kept)).astype(np.int64)


def _fingerprint(full: TrainingSet, s: Settings) -> str:
    """A mark of the rows and of everything but ``n_shifts`` and ``n_jobs``."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (full.table.parts[0], full.codes, full.weights):
        digest.update(np.ascontiguousarray(array).data)
    digest.update(repr(replace(s, n_shifts=0, n_jobs=1)).encode())
    return digest.hexdigest()


def _whole(name: str, value: Any, least: int) -> None:
    whole = issubclass(type(value), numbers.Integral) and type(value) is not bool
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}.")
