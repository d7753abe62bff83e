"""Formulations: from data to the one quadratic program, and from its solution to a function.

Hinge machines minimise  ½‖w‖² + Σ_i c_i max(0, 1 - y_i f(x_i))  with f = ⟨w, φ(x)⟩ + b; their dual
is  min ½ aᵀQa - 1ᵀa,  0 <= a_i <= c_i,  Σ y_i a_i = 0  (no sum without b),
Q_ij = y_i y_j k(x_i, x_j).

The one-class machine minimises  ½‖w‖² - ρ νW + Σ_i w_i max(0, ρ - ⟨w, φ(x_i)⟩)  with W = Σ w_i;
its dual is  min ½ aᵀKa,  0 <= a_i <= w_i,  Σ a_i = νW.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate
from shiftlearn.solvers.qp import Operator, Problem, Solution

__all__ = ["combine", "hinge", "one_class", "quantile_offset", "signed"]

Floats = NDArray[np.float64]


def hinge(
    operator: Operator,
    signs: Floats,
    costs: Floats,
    *,
    linear: Floats | None = None,
    fit_intercept: bool = True,
    convex: bool = True,
) -> Problem:
    """The dual of a hinge machine with labels ``signs`` (+1/-1) and a cost for each row.

    ``linear`` is p, -1 unless said otherwise (a source's margin moves it).
    """
    n = signs.shape[0]
    one_group = fit_intercept or None
    return Problem(
        operator,
        np.full(n, -1.0) if linear is None else linear,
        costs,
        signs,
        one_group and np.zeros(n, dtype=np.intp),
        one_group and np.zeros(1),
        convex,
    )


def signed(solution: Solution, signs: Floats) -> tuple[Floats, float]:
    """Coefficients y_i a_i and intercept of a hinge machine.

    With G_i = y_i f⁰(x_i) - 1 and multiplier ν, G_i - ν y_i = y_i (f⁰(x_i) - ν) - 1: b = -ν.
    """
    intercept = -float(solution.multipliers[0]) if solution.multipliers.shape[0] else 0.0
    return signs * solution.alpha, intercept


def one_class(operator: Operator, weights: Floats, nu: float, *, convex: bool = True) -> Problem:
    """The dual of the one-class machine in the scaling of the usual libraries."""
    n = weights.shape[0]
    total = np.array([nu * weights.sum()])
    return Problem(operator, np.zeros(n), weights, None, np.zeros(n, dtype=np.intp), total, convex)


def quantile_offset(scores: Floats, weights: Floats, total: float) -> tuple[float, float]:
    """Ends of the interval of optimal offsets ρ: minimisers of -ρ r + Σ w_i max(0, ρ - h_i).

    The smallest h at which the weights below it reach r = ``total``, and the next value where
    they meet r exactly; exact without a tolerance on a.
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    first = int(np.searchsorted(reached, total * (1 - 1e-9)))
    first = min(first, len(order) - 1)
    low = float(scores[order[first]])
    if reached[first] > total * (1 + 1e-9) or first + 1 == len(order):
        return low, low
    return low, float(scores[order[first + 1]])


def combine(certificates: Iterable[Certificate]) -> Certificate:
    """One certificate for independent problems: objectives and gaps add up."""
    parts = list(certificates)
    if len(parts) == 1:
        return parts[0]
    return Certificate(
        objective=math.fsum(part.objective for part in parts),
        gap=math.fsum(part.gap for part in parts),
        violation=max(part.violation for part in parts),
        converged=all(part.converged for part in parts),
        n_iter=sum(part.n_iter for part in parts),
    )
