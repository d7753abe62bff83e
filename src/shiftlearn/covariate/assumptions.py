"""Did the inputs move, or only the class proportions?

Unlabelled target rows can refute "only the proportions moved", p_T(x) = Σ_k q_k p_S(x | k): then
every score s(x) has the target distribution F_T = Σ_k q_k F_S(· | k). The score is the out-of-fold
answer of a classifier of source against target, the statistic

    D = max_s | F̂_T(s) - Σ_k q̂_k F̂_S(s | k) |,

and its distribution under the hypothesis comes from a bootstrap: target rows drawn from source rows
with the estimated proportions q̂, and q̂ estimated anew each time. With q̂ held at the source's own
proportions the same is a test of "nothing moved". "The inputs moved" (covariate shift) cannot be
refuted without target labels, as every p_T(x) is possible; it is what remains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["AssumptionTest", "compare", "largest_difference"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Estimate = Callable[[Ints, Ints], Floats]  # indices of source and of target rows -> proportions


@dataclass(frozen=True, slots=True)
class AssumptionTest:
    """Which of the assumptions the unlabelled target rows support.

    Attributes
    ----------
    verdict : {"nothing moved", "class proportions moved", "inputs moved"}
        "nothing moved" where that is not refuted; else "class proportions moved" where that alone
        is not refuted; else "inputs moved".
    no_shift_p_value : float
        Of "nothing moved".
    proportions_p_value : float
        Of "only the class proportions moved".
    no_shift_statistic, proportions_statistic : float
        Largest difference of the distributions of the scores, in [0, 1].
    level : float
        A hypothesis with a smaller p-value is refuted.
    """

    verdict: str
    no_shift_p_value: float
    proportions_p_value: float
    no_shift_statistic: float
    proportions_statistic: float
    level: float

    def __str__(self) -> str:
        return (
            f"{self.verdict} (nothing moved: p = {self.no_shift_p_value:.3g}; only the class "
            f"proportions moved: p = {self.proportions_p_value:.3g}; without target labels a "
            "change of the rule p(y | x) cannot be seen)"
        )


def compare(
    source: Floats,
    codes: Ints,
    target: Floats,
    estimate: Estimate,
    n_bootstrap: int,
    level: float,
    random: np.random.RandomState,
) -> AssumptionTest:
    """Test both hypotheses on scores of the source rows, their classes, scores of the target."""
    m, n, k = len(source), len(target), int(codes.max()) + 1
    own = np.bincount(codes, minlength=k) / m
    q = estimate(np.arange(m), m + np.arange(n))
    found = (
        largest_difference(source, np.ones(m), target),
        largest_difference(source, (q / own)[codes], target),
    )
    drawn = np.array(
        [_one_draw(source, codes, n, own, q, estimate, random) for _ in range(n_bootstrap)]
    )
    p_values = [(1 + np.count_nonzero(drawn[:, i] >= found[i])) / (n_bootstrap + 1) for i in (0, 1)]
    if p_values[0] > level:
        verdict = "nothing moved"
    else:
        verdict = "class proportions moved" if p_values[1] > level else "inputs moved"
    return AssumptionTest(verdict, p_values[0], p_values[1], found[0], found[1], level)


def _one_draw(
    source: Floats,
    codes: Ints,
    n: int,
    own: Floats,
    q: Floats,
    estimate: Estimate,
    random: np.random.RandomState,
) -> tuple[float, float]:
    """Both statistics on source rows drawn as source and as target of the hypothesis."""
    m = len(source)
    first = random.randint(m, size=m)
    still = source[random.randint(m, size=n)]
    chances = (q / own)[codes]
    moved = random.choice(m, size=n, p=chances / chances.sum())
    again = estimate(first, moved)
    present = np.bincount(codes[first], minlength=len(q)) / m
    factors = np.divide(again, present, out=np.zeros_like(again), where=present > 0)
    weights = factors[codes[first]]
    if not weights.any():
        weights = np.ones(m)
    return (
        largest_difference(source[first], np.ones(m), still),
        largest_difference(source[first], weights, source[moved]),
    )


def largest_difference(source: Floats, weights: Floats, target: Floats) -> float:
    """Largest difference of the weighted distribution of one sample and that of another.

    Examples
    --------
    >>> import numpy as np
    >>> largest_difference(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([1.0]))
    0.25
    """
    values = np.concatenate([source, target])
    order = np.argsort(values, kind="stable")
    steps = np.concatenate([weights / weights.sum(), np.full(len(target), -1.0 / len(target))])
    running = np.cumsum(steps[order])
    last = np.append(np.diff(values[order]) > 0, True)  # after all equal values
    return float(np.abs(running[last]).max())
