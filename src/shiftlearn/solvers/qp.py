"""The one quadratic program under every margin machine, and its solver.

    min_a  ½ aᵀQa + pᵀa    s.t.  0 <= a_i <= C_i,   for each group g:  Σ_{i in g} s_i a_i = r_g

with Q_ij = s_i s_j K_ij. The solver sees K only as an operator: "rows `idx` against the first
columns" and "the diagonal". Each variable belongs to one group or to none (group -1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate, Event

__all__ = ["Operator", "Problem", "Solution", "solve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Operator(Protocol):
    """A symmetric n×n matrix that is asked for blocks of itself, never stored by the solver."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        ...

    def diagonal(self) -> Floats:
        """The n diagonal entries."""
        ...

    def block(
        self, rows: Ints, columns: Ints | None, dtype: type = np.float32
    ) -> NDArray[np.floating]:
        """The entries at ``rows`` × ``columns`` (None: all columns)."""
        ...


@dataclass(frozen=True, slots=True)
class Problem:
    """One instance of the program above. Arrays are float64 and of length n unless said otherwise.

    ``signs`` (s, +1/-1) defaults to ones, ``groups`` (group index of each variable, -1: none) to
    no group, ``totals`` holds r_g. ``convex`` is False where K may be indefinite.
    """

    operator: Operator
    linear: Floats
    upper: Floats
    signs: Floats | None = None
    groups: Ints | None = None
    totals: Floats | None = None
    convex: bool = True


@dataclass(frozen=True, slots=True)
class Solution:
    """``alpha`` (a), ``gradient`` (Qa + p), ``multipliers`` (b_g) and the certificate.

    The optimality conditions read: G_i - b_g s_i >= 0 where a_i = 0, = 0 in between, <= 0 at C_i.
    ``multiplier_intervals`` (n_groups × 2) are the ends of the optimal multipliers at ``alpha``.
    """

    alpha: Floats
    gradient: Floats
    multipliers: Floats
    multiplier_intervals: Floats
    certificate: Certificate


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    start: Floats | None = None,
    memory_limit: int | float | str = "auto",
    n_jobs: int | None = None,
    callback: Callable[[Event], bool | None] | None = None,
) -> Solution:
    """Solve ``problem`` until the optimality conditions are violated by at most ``tol``.

    ``start`` is an a to begin with (clipped to the box; sums are restored). ``max_iter`` counts
    inner steps. A callback that returns True stops with a certified, feasible answer.
    """
    raise NotImplementedError
