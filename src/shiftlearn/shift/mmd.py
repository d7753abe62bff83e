"""Kernel two-sample test: is the difference of two samples more than chance?

The problem: with x_1..x_m from P and y_1..y_n from Q, estimate without bias

    MMD²(P, Q) = E k(x, x') + E k(y, y') - 2 E k(x, y)

and compare it with its values after random reassignments of the pooled rows. Let s in {0, 1}^N mark
the rows that are called x, K the pooled kernel matrix with a zero diagonal, c = s - m/N. Every
reassignment needs only cᵀKc and cᵀK1, so all of them come from one product K [c_1 ... c_B], in
which K is computed block by block and never stored. In explicit features, K = ZZᵀ, it is ZᵀC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftlearn.kernels import Kernel, resolve_kernel
from shiftlearn.resources import memory_budget
from shiftlearn.shift.rows import check_pair, draw_rows, stack_pair, to_dense
from shiftlearn.shift.sums import FeatureSums, KernelSums

__all__ = ["MMDResult", "median_gamma", "mmd_test"]

_EXACT_ROWS = 10_000
_MEDIAN_ROWS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class MMDResult:
    """Outcome of :func:`mmd_test`.

    Attributes
    ----------
    statistic : float
        The unbiased estimate of MMD²; around zero, also below, where the samples are alike.
    p_value : float
        (k + 1) / (B + 1), k the number of the B reassignments with at least this statistic.
    threshold : float
        A statistic above it has ``p_value <= level``; infinite where B is too small for that.
    null : ndarray of shape (B,)
        The statistics of the reassignments.
    kernel : Kernel
        The kernel used, with its gamma as a number.
    method : {"exact", "features"}
        Whether the kernel itself or random features of it were used.
    """

    statistic: float
    p_value: float
    threshold: float
    null: NDArray[np.float64]
    kernel: Kernel
    method: str


def mmd_test(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "median",
    degree: float = 3,
    coef0: float = 0.0,
    n_permutations: int = 500,
    level: float = 0.05,
    method: Literal["auto", "exact", "features"] = "auto",
    n_features: int = 1000,
    memory_limit: Any = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> MMDResult:
    r"""Test whether two samples come from one distribution.

    .. math::

        \widehat{\mathrm{MMD}}{}^2 = \frac{\sum_{i\ne j} k(x_i, x_j)}{m(m-1)}
        + \frac{\sum_{i\ne j} k(y_i, y_j)}{n(n-1)} - \frac{2\sum_{i,j} k(x_i, y_j)}{mn},

    with the p-value of a permutation test, which is valid for every sample size and kernel.

    Parameters
    ----------
    X, Y : array-like or CSR of shape (m, p), (n, p)
        The samples; frames are matched by column name.
    kernel, degree, coef0
        As everywhere in the library; not "precomputed".
    gamma : "median", "scale", "auto" or float
        "median": :math:`1 / (2 \operatorname{median} \|x - z\|^2)` over at most 1000 pooled rows
        (laplacian: one over the median of :math:`\|x - z\|_1`; poly and sigmoid: "scale").
    n_permutations : int
        B, the number of random reassignments.
    level : float
        Probability of a false alarm that ``threshold`` is for.
    method : {"auto", "exact", "features"}
        "exact" computes every kernel value, in time (m + n)² B. "features" replaces the kernel
        by that of ``n_features`` random Fourier features (rbf, laplacian; linear: the columns
        themselves), in time (m + n) ``n_features`` B; the p-value stays valid. "auto":
        "features" above 10,000 pooled rows where the kernel has them.
    n_features : int
        Number of random features.
    memory_limit : "auto" or number of bytes
        Budget for the working arrays.
    random_state : int, RandomState or None
        Draws the reassignments and the features.
    n_jobs : int or None
        Threads for kernel values.

    Returns
    -------
    MMDResult

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola, "A kernel two-sample test",
    Journal of Machine Learning Research 13 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 2)), rng.normal(1.0, size=(80, 2))
    >>> result = mmd_test(X, Y, random_state=0)
    >>> result.p_value < 0.01, result.statistic > result.threshold
    (True, True)
    """
    from sklearn.utils import check_random_state

    _check_arguments(kernel, n_permutations, level, method, n_features)
    X, Y = check_pair(X, Y)
    rng = check_random_state(random_state)
    pooled, m = stack_pair(X, Y), X.shape[0]
    if isinstance(gamma, str) and gamma == "median":
        gamma = median_gamma(pooled, kernel, rng)
    resolved = resolve_kernel(kernel, gamma, degree, coef0, pooled)
    budget = memory_budget(memory_limit)
    sums: KernelSums
    if _wants_features(method, resolved, pooled.shape[0]):
        sums = FeatureSums(pooled, resolved, n_features, budget, rng)
    else:
        sums = KernelSums(pooled, resolved, budget, n_jobs)
    values = _all_statistics(sums, m, n_permutations, rng)
    statistic, null = float(values[0]), values[1:]
    return MMDResult(
        statistic,
        _p_value(statistic, null),
        _threshold(null, level),
        null,
        resolved,
        sums.method,
    )


def median_gamma(X: Any, kernel: Any, rng: np.random.RandomState) -> float | str:
    """1 / (2 median ‖x - z‖²); for the laplacian kernel 1 / median ‖x - z‖₁."""
    from scipy.spatial.distance import pdist

    if kernel not in ("rbf", "laplacian"):
        return "scale"
    rows = to_dense(draw_rows(X, _MEDIAN_ROWS, rng)).astype(np.float64)
    distance = pdist(rows, "sqeuclidean" if kernel == "rbf" else "cityblock")
    middle = float(np.median(distance)) or float(np.mean(distance))
    if middle == 0:
        return 1.0  # all rows are equal, every gamma says the same
    return 1 / (2 * middle) if kernel == "rbf" else 1 / middle


def _check_arguments(
    kernel: Any, n_permutations: int, level: float, method: str, n_features: int
) -> None:
    if isinstance(kernel, str) and kernel == "precomputed":
        raise ValueError('kernel="precomputed" is not supported; pass the rows and a kernel.')
    if not (isinstance(n_permutations, int | np.integer) and n_permutations >= 1):
        raise ValueError(f"n_permutations must be an integer >= 1, got {n_permutations!r}.")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level!r}.")
    if method not in ("auto", "exact", "features"):
        raise ValueError(f'method must be "auto", "exact" or "features", got {method!r}.')
    if not (isinstance(n_features, int | np.integer) and n_features >= 2):
        raise ValueError(f"n_features must be an integer >= 2, got {n_features!r}.")


def _wants_features(method: str, kernel: Kernel, n_rows: int) -> bool:
    possible = kernel.name in ("rbf", "laplacian", "linear")
    if method == "features" and not possible:
        raise ValueError(
            f'method="features" needs kernel "rbf", "laplacian" or "linear", got "{kernel.name}".'
        )
    return possible and (method == "features" or (method == "auto" and n_rows > _EXACT_ROWS))


def _p_value(statistic: float, null: NDArray[np.float64]) -> float:
    """(k + 1) / (B + 1); reassignments equal up to rounding count as reaching the statistic."""
    slack = 1e-9 * max(float(np.abs(null).max()), abs(statistic))
    return float((np.sum(null >= statistic - slack) + 1) / (len(null) + 1))


def _threshold(null: NDArray[np.float64], level: float) -> float:
    """The value that at most level (B + 1) - 1 reassignments lie above."""
    allowed = int(np.floor(level * (len(null) + 1) + 1e-9)) - 1
    return float(np.sort(null)[::-1][allowed]) if allowed >= 0 else float("inf")


def _all_statistics(
    sums: KernelSums, m: int, n_permutations: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Statistic of the given assignment and of the random ones, as many at once as memory lets."""
    N = sums.n_rows
    given = np.arange(N) < m
    values, first = [], True
    width = max(8, sums.budget // (16 * N))
    todo = n_permutations
    while todo or first:
        count = min(todo, width)
        columns = [given] if first else []
        columns += [_assignment(N, m, rng) for _ in range(count)]
        a, b, total = sums(np.array(columns).T, m / N)
        values.append(_unbiased(a, b, total, m, N - m))
        todo, first = todo - count, False
    return np.concatenate(values)


def _assignment(N: int, m: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    marks = np.zeros(N, dtype=bool)
    marks[rng.permutation(N)[:m]] = True
    return marks


def _unbiased(
    a: NDArray[np.float64], b: NDArray[np.float64], total: float, m: int, n: int
) -> NDArray[np.float64]:
    """MMD² from a = cᵀKc, b = cᵀK1, total = 1ᵀK1 with s = c + m/N."""
    share = m / (m + n)
    row_sum = b + share * total  # sᵀK1
    xx = a + 2 * share * b + share**2 * total  # sᵀKs
    yy = total - 2 * row_sum + xx
    return np.asarray(xx / (m * (m - 1)) + yy / (n * (n - 1)) - 2 * (row_sum - xx) / (m * n))
