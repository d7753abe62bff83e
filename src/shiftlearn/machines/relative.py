"""Solves whose tolerance is a share of the largest score, which only the answer tells.

The one-class machines have no unit margin to measure by: their scores h = Qa scale with the kernel,
the costs and the rows. The violation that ``tol`` bounds is therefore divided by max |h|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate

__all__ = ["Answer", "Solver", "score_sizes", "solve_relative"]

Floats = NDArray[np.float64]

_ROUNDS = 4  # solves with a tolerance that follows the size of the scores


@dataclass(frozen=True, slots=True)
class Answer:
    """The dual variables a, the scores h = Qa, the certificate; w where the space is explicit."""

    alpha: Floats
    scores: Floats
    certificate: Certificate
    weights: Floats | None = None


Solver = Callable[[float, Floats | None], Answer]


def solve_relative(
    run: Solver, size: float, least: float, tol: float, start: Floats | None = None
) -> Answer:
    """Solve until the violation is at most ``tol`` times the largest score.

    ``run(tol, start)`` is one solve. How large the scores are is known at the answer only: ``size``
    is a guess, and where it was too large the next solve starts from the answer of the one before.
    Scores under ``least`` are rounding: there the rows have the origin in their hull, and w = 0 is
    the answer.
    """
    answer = run(tol * size, start)
    steps = answer.certificate.n_iter
    for _ in range(_ROUNDS):
        size = max(float(np.abs(answer.scores).max()), least)
        if answer.certificate.violation <= tol * size or not answer.certificate.converged:
            break
        answer = run(tol * size, answer.alpha)
        steps += answer.certificate.n_iter
    relative = answer.certificate.violation / size
    converged = answer.certificate.converged and relative <= tol
    certificate = replace(answer.certificate, violation=relative, converged=converged, n_iter=steps)
    return replace(answer, certificate=certificate)


def score_sizes(
    operator: Any, sample: NDArray[np.intp], shares: Floats, diagonal: Floats
) -> tuple[float, float]:
    """What the largest score may be, and what is too small to be one.

    The first is half the largest where the rows of ``sample`` have the dual variables ``shares``.
    """
    scores = operator.product(sample, shares)
    least = 1e-6 * float(shares.sum()) * float(np.abs(diagonal).max()) or 1.0
    return max(0.5 * float(np.abs(scores).max()), least), least
