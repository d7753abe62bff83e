"""What the description of prototype machines leaves open, and how each reading of it decides.

The algorithm (exemplar machines, negatives, shifts, choice on held-out rows) is the same in every
reading; a `Rules` object holds the decisions on which readers differ. It is private: users choose
a ``reading``, studies vary single decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["READINGS", "Rules", "rules_of", "varied"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Decisions of one reading; the defaults are those of ``reading="spec"``.

    Attributes
    ----------
    stratified : bool
        Whether every class gives its share to the held-out rows.
    later : bool
        Of equally accurate iterates keep the latest (else the earliest).
    own_claims : bool
        Whether an exemplar may claim itself in a shift.
    drop : {"unclaimed", "silent", "silent-same", "silent-others"}
        The models that a shift removes: those that claimed no row; that fire on no row at all; on
        no row of their class; on no row but their exemplar.
    keep_classes : bool
        Whether a class always keeps one model.
    calibration : {"capped", "uncapped", "votes", "fixed"}
        Platt's sigmoid evaluated at most at the largest training score; anywhere; every firing
        model counts 1; the sigmoid with A = -1, B = 0.
    every_vote : bool
        Add up all models instead of the firing ones.
    local_costs : bool
        C divided by the squared distance of the exemplar to its nearest negative.
    balanced : bool
        Both sides of every machine weigh the same.
    refit : bool
        Train once more on all rows, for the chosen number of shifts.
    """

    stratified: bool = True
    later: bool = True
    own_claims: bool = False
    drop: str = "unclaimed"
    keep_classes: bool = True
    calibration: str = "capped"
    every_vote: bool = False
    local_costs: bool = False
    balanced: bool = False
    refit: bool = False


_SPEC = Rules()
_LITERAL = Rules(later=False, own_claims=True, drop="silent", keep_classes=False)
_DEFAULT = Rules()
# Where the cost is chosen by the library: both sides of a machine weigh the same (one exemplar
# against seven negatives and more), and what was chosen is trained once more on all rows.
_CHOSEN = Rules(balanced=True, refit=True)

READINGS = {"default": _DEFAULT, "spec": _SPEC, "literal": _LITERAL}


def rules_of(reading: str, chosen_cost: bool = False) -> Rules:
    """Return the decisions of a reading; ``chosen_cost``: the library chooses C."""
    if not isinstance(reading, str) or reading not in READINGS:
        raise ValueError(f"reading must be one of {sorted(READINGS)}, got {reading!r}.")
    rules = _CHOSEN if chosen_cost and reading == "default" else READINGS[reading]
    return replace(rules, **_changes.get())


_changes: ContextVar[dict[str, Any]] = ContextVar("prototype rules", default={})  # noqa: B039


@contextmanager
def varied(**changes: Any) -> Iterator[None]:
    """Change single decisions of every reading inside the block: for studies."""
    token = _changes.set(changes)
    try:
        yield
    finally:
        _changes.reset(token)
