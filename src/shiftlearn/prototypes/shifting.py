"""One shift of an ensemble: hard negatives, claims, drops, all by the scores F_ij = f_i(x_j).

Hard negatives: row j of another class on which model i fires joins N_i with probability p. The
draw is a hash of the seed, the turn, the exemplar and the row: it depends on nothing else, so that
blocks and threads change nothing, and a larger p adds to what a smaller one draws.
Claims: row j joins P_i of the model of its class that fires on it and whose exemplar is nearest
(ties: the first model). Drops: models that claimed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftlearn import _core
from shiftlearn.prototypes.models import Ensemble, TrainingSet
from shiftlearn.prototypes.rules import Rules

__all__ = ["BLOCK_PRODUCTS", "Draws", "Shifted", "shift"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BLOCK_PRODUCTS = 4e9  # products of one compiled call, about a second: Ctrl-C is heard between them
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Draws:
    """How hard negatives are drawn.

    Attributes
    ----------
    rate : float
        p.
    seed : int
        Of all draws of a fit.
    limit : int or None
        Most new negatives of a model in one shift; those with the smallest hash are taken.
    """

    rate: float
    seed: int
    limit: int | None = None

    def key(self, turn: int) -> int:
        """The number that every pair of one shift is hashed with."""
        return mix((self.seed + turn) & _MASK)


@dataclass(frozen=True, slots=True)
class Shifted:
    """The models that stay, which of them have new rows, and whether anything happened."""

    ensemble: Ensemble
    changed: Bools
    moved: bool


def shift(
    data: TrainingSet, ensemble: Ensemble, draws: Draws, turn: int, rules: Rules, n_jobs: int
) -> Shifted:
    """Apply one shift; the machines of the models that stay are not trained anew here."""
    claims, counts, hits = _look(data, ensemble, draws, turn, rules, n_jobs)
    if draws.limit is not None:
        hits = _limited(ensemble, hits, draws, turn, data.n_rows)
    claimed = np.flatnonzero(claims >= 0).astype(np.int64)
    models = np.concatenate([claims[claimed], hits[:, 0]])
    rows = np.concatenate([claimed, hits[:, 1]])
    grown, changed = ensemble.with_entries(models, rows, data.n_rows)
    stays = _staying(ensemble, np.bincount(claims[claimed], minlength=len(ensemble)), counts, rules)
    moved = bool(changed.any() or not stays.all())
    if stays.all():
        return Shifted(grown, changed, moved)
    return Shifted(grown.take(np.flatnonzero(stays)), changed[stays], moved)


def _look(
    data: TrainingSet, ensemble: Ensemble, draws: Draws, turn: int, rules: Rules, n_jobs: int
) -> tuple[Ints, Ints, Ints]:
    """Claims by row, counts by model (same class, others, itself), hard negatives (model, row)."""
    n, m = data.n_rows, len(ensemble)
    claims, counts = np.full(n, -1, dtype=np.int64), np.zeros((3, m), dtype=np.int64)
    order, starts = ensemble.by_class(data.n_classes)
    width = data.table.parts[3]
    step = max(64, int(BLOCK_PRODUCTS / max(1, m * width)) // 64 * 64)
    hits = [
        _core.prototype_shift(
            *data.table.parts, ensemble.coef, ensemble.figures, order, starts,
            ensemble.exemplars, data.codes, rules.own_claims, draws.rate, draws.key(turn),
            low, min(low + step, n), claims, counts, n_jobs,
        )
        for low in range(0, n, step)
    ]  # fmt: skip
    return claims, counts, np.concatenate(hits)


def _limited(ensemble: Ensemble, hits: Ints, draws: Draws, turn: int, n_rows: int) -> Ints:
    """At most ``limit`` new negatives a model: those drawn with the smallest numbers."""
    old = ensemble.owner * n_rows + ensemble.rows
    fresh = hits[~np.isin(hits[:, 0] * n_rows + hits[:, 1], old)]
    key = np.uint64(draws.key(turn))
    drawn = _mix_many(
        _mix_many(key ^ ensemble.exemplars[fresh[:, 0]].astype(np.uint64))
        ^ fresh[:, 1].astype(np.uint64)
    )
    order = np.lexsort((drawn, fresh[:, 0]))
    models = fresh[order, 0]
    rank = np.arange(len(order)) - np.searchsorted(models, models)
    limit = draws.limit if draws.limit is not None else len(order)
    return np.asarray(fresh[order[rank < limit]])


def _staying(ensemble: Ensemble, claimed: Ints, counts: Ints, rules: Rules) -> Bools:
    """Which models are kept; a class never loses its last one unless the rules allow it."""
    same, other, own = counts
    active = {
        "unclaimed": claimed,
        "silent": same + other,
        "silent-same": same,
        "silent-others": same + other - own,
    }[rules.drop]
    stays = np.asarray(active > 0)
    if rules.keep_classes:
        for c in np.setdiff1d(ensemble.codes, ensemble.codes[stays]):
            mine = np.flatnonzero(ensemble.codes == c)
            stays[mine[np.argmax(same[mine])]] = True
    return stays


def mix(x: int) -> int:
    """A well-mixed 64-bit hash (splitmix64)."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _mix_many(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same hash of an array; unsigned products wrap around."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
