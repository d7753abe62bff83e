"""Kernel mean matching: weights that move the mean of the source rows onto that of the target.

    min_β  ‖ (1/m) Σ_i β_i φ(x_i) - (1/n) Σ_j φ(x_j) ‖²    s.t.  0 <= β <= B,  |mean(β) - 1| <= ε

As a quadratic program, with κ_i = (m/n) Σ_j k(x_i, x_j),

    min_β  ½ βᵀKβ - κᵀβ,    0 <= β <= B,    m(1 - ε) <= Σ β_i <= m(1 + ε),

where a further variable e of zero cost, 0 <= e <= 2mε, turns the two-sided sum into the equality
Σ β_i + e = m(1 + ε) of the one program that `shiftlearn.solvers` solves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.certificates import Certificate, Event, warn_unless_converged
from shiftlearn.covariate.ratios import RatioEstimator
from shiftlearn.errors import InfeasibleError
from shiftlearn.features import resolve_features
from shiftlearn.kernels import MatrixOperator, resolve_kernel
from shiftlearn.machines.base import progress
from shiftlearn.parameters import check_number
from shiftlearn.resources import memory_budget
from shiftlearn.shift.rows import stack_pair
from shiftlearn.solvers.faces import DenseMatrix, FactorMatrix, solve_faces
from shiftlearn.solvers.operators import complete
from shiftlearn.solvers.qp import Problem, Solution, solve
from shiftlearn.statistics import row_blocks

__all__ = ["KernelMeanMatching", "WithSlack"]

Floats = NDArray[np.float64]

_NOT_MATCHED = 0.95  # of ‖μ_T‖² left over: the weighted source has nothing in common with it
_SAMPLE, _ROWS = 500, 1024
_COPIES = 1.7  # of the kernel matrix at once: itself and a face of it
_PAIRS, _MOVES = 3000, 3_000_000  # largest problem and most moves for the pairwise solver


@dataclass(frozen=True, slots=True)
class _Bounds:
    """B, and the ends of the sum of the weights."""

    B: float
    least: float
    most: float

    @classmethod
    def of(cls, B: Any, eps: Any, m: int) -> _Bounds:
        """Check B and ε for m rows (ε None: (√m - 1)/√m)."""
        B = check_number("B", B)
        width = 1.0 - 1.0 / math.sqrt(m)
        if eps is not None:
            width = check_number("eps", eps, from_zero=True)
        if 1.0 - width > B:
            raise InfeasibleError(
                f"B={B:g} and eps={width:g} contradict each other: weights of at most B cannot "
                f"have a mean of at least 1 - eps = {1 - width:g}. B must be >= {1 - width:g} or "
                f"eps >= {1 - B:g}."
            )
        return cls(B, m * max(0.0, 1.0 - width), m * (1.0 + width))

    def upper(self, m: int) -> Floats:
        """Upper bounds of the weights and of e."""
        return np.append(np.full(m, self.B), self.most - self.least)

    def start(self, m: int) -> Floats:
        """Equal weights on every second row, and e."""
        weights = np.zeros(m)
        weights[::2] = min(self.B, self.most / m)
        lack = max(0.0, self.least - weights.sum())
        weights[1::2] = min(self.B, lack / max(1, m // 2))
        weights += np.minimum(self.B - weights, max(0.0, self.least - weights.sum()) / m)
        return np.append(weights, self.most - weights.sum())


class KernelMeanMatching(RatioEstimator):
    r"""Weights of the source rows by kernel mean matching, exactly.

    Minimises

    .. math:: \Big\|\frac1m \sum_{i=1}^m \beta_i \varphi(x_i) - \frac1n \sum_{j=1}^n
              \varphi(x_j)\Big\|^2 \quad\text{s.t.}\quad 0 \le \beta_i \le B, \quad
              \Big|\frac1m \sum_i \beta_i - 1\Big| \le \varepsilon

    (Huang, Smola, Gretton, Borgwardt and Schölkopf, 2007). ``certificate_`` belongs to the
    equivalent quadratic program ½ βᵀKβ - κᵀβ with κ_i = (m/n) Σ_j k(x_i, x_j). There is no weight
    for rows other than those of ``fit``.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian"} or callable, default="rbf"
        A positive semidefinite kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Width; "scale" is 1 / (n_features · X.var()) over the rows of both domains.
    B : float, default=1000.0
        Largest weight.
    eps : float or None, default=None
        Largest distance of the mean weight from 1; None: (√m - 1)/√m.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``), fitted on the rows of both domains:
        then no kernel matrix is formed, K = ZZᵀ + ridge · I, and memory grows with the rows only.
    ridge : float, default=1e-6
        Penalty ½ ridge · ‖β‖² with ``features``, in units of m times the mean of ‖z‖² (the map
        has fewer columns than there are rows, so the weights would not be unique).
    tol : float, default=1e-7
        Largest violation of the optimality conditions of the quadratic program.
    max_iter : int, default=2000
        Most changes of the set of free weights.
    memory_limit : int or "auto", default="auto"
        Bytes for the kernel matrix; above them rows are computed on demand, which takes long.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    Attributes
    ----------
    weights_, log_weights_ : ndarray of shape (m,)
        β.
    weights_normalized_ : ndarray of shape (m,)
        The same with mean 1.
    effective_sample_size_ : float
        Equally weighted rows that the weighted rows are worth.
    pareto_k_ : float
        Shape of the weights' tail.
    verdict_ : str
        Both in words.
    mismatch_ : float
        What the weights leave of the distance: ‖μ_β - μ_T‖² / ‖μ_T‖², where μ_T's length is
        estimated from at most 500 target rows.
    kernel_ : Kernel
        With ``gamma`` resolved (None with ``features``).
    certificate_ : Certificate
        Objective of the quadratic program, proved gap, violation.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import KernelMeanMatching
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> KernelMeanMatching(gamma=1.0, eps=0.0).fit(X, [[1.0], [2.0]]).weights_.round(2)
    array([0. , 1.5, 1.5])
    """

    def __init__(
        self,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        *,
        gamma: str | float = "scale",
        B: float = 1000.0,
        eps: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        features: Any = None,
        ridge: float = 1e-6,
        tol: float = 1e-7,
        max_iter: int = 2000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.B = B
        self.eps = eps
        self.degree = degree
        self.coef0 = coef0
        self.features = features
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _fit(self, source: Any, target: Any) -> Floats:
        m = source.shape[0]
        bounds = _Bounds.of(self.B, self.eps, m)
        tol = check_number("tol", self.tol)
        check_number("max_iter", self.max_iter)
        memory_budget(self.memory_limit)
        if self.features is None:
            solution, length = self._in_kernel_space(source, target, bounds, tol)
        else:
            solution, length = self._in_feature_space(source, target, bounds, tol)
        self.certificate_: Certificate = solution.certificate
        self._beta = solution.alpha[:m]
        left = 2.0 * self.certificate_.objective / m**2 + length
        self.mismatch_ = max(0.0, left) / length if length > 0 else 0.0
        self.bounds_ = bounds.least, bounds.most
        warn_unless_converged(self.certificate_, type(self).__name__, tol)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._beta))

    def _adopt(self, log_weights: Floats) -> None:
        super()._adopt(log_weights)
        self.weights_ = self._beta  # not through its logarithm: B is kept to the last bit
        del self._beta

    def _collapse(self) -> str:
        if self.mismatch_ > _NOT_MATCHED:
            return (
                f"the best weights leave {100 * self.mismatch_:.0f} % of the target's mean "
                "unmatched, because hardly any source row lies where the target rows are"
            )
        return super()._collapse()

    def _in_kernel_space(
        self, source: Any, target: Any, bounds: _Bounds, tol: float
    ) -> tuple[Solution, float]:
        kernel = self._kernel(stack_pair(source, target))
        m, n = source.shape[0], target.shape[0]
        kappa = kernel.product(source, target, np.full(n, m / n), np.float64, self.n_jobs)
        sample = target[_spread(n)]
        inner = kernel.block(sample, sample, np.float64, self.n_jobs)
        self.kernel_ = kernel
        if _COPIES * 8 * (m + 1) ** 2 <= memory_budget(self.memory_limit):
            matrix = np.zeros((m + 1, m + 1))
            for start in range(0, m, _ROWS):  # no second copy of the whole
                rows = source[start : start + _ROWS]
                block = kernel.block(rows, source, np.float64, self.n_jobs)
                matrix[start : start + len(block), :m] = block
            solution = self._dense(matrix, kappa, bounds, tol)
        else:
            solution = self._on_demand(kernel.operator(source, self.n_jobs), kappa, bounds, tol)
        return solution, _mean_length(inner, n)

    def _kernel(self, rows: Any) -> Any:
        kernel = resolve_kernel(self.kernel, self.gamma, self.degree, self.coef0, rows)
        if kernel.name == "precomputed":
            raise ValueError(
                'kernel="precomputed" is not supported, because two kernel matrices are needed; '
                "pass a callable that looks the values up."
            )
        if not kernel.positive:
            raise ValueError(
                f"kernel={self.kernel!r} with these parameters is not positive semidefinite, so "
                'the problem is not convex; use "rbf", "laplacian", "linear" or "poly" with '
                "coef0 >= 0."
            )
        return kernel

    def _dense(self, matrix: Floats, kappa: Floats, bounds: _Bounds, tol: float) -> Solution:
        m = len(kappa)
        linear, upper = np.append(-kappa, 0.0), bounds.upper(m)
        report = progress(self.callback, self.verbose, type(self).__name__)
        solution = solve_faces(
            DenseMatrix(matrix),
            linear,
            upper,
            bounds.most,
            start=bounds.start(m),
            tol=tol,
            max_iter=int(self.max_iter),
            callback=report,
        )
        if solution.certificate.converged or self.callback is not None or m > _PAIRS:
            return solution
        total = np.array([bounds.most])  # pairs of variables do not go round in circles
        problem = Problem(MatrixOperator(matrix), linear, upper, totals=total)
        pairs = solve(problem, tol=tol, max_iter=_MOVES, start=solution.alpha)
        better = pairs.certificate.violation < solution.certificate.violation
        return pairs if better else solution

    def _on_demand(self, operator: Any, kappa: Floats, bounds: _Bounds, tol: float) -> Solution:
        m = len(kappa)
        needed = _COPIES * 8 * (m + 1) ** 2
        warnings.warn(
            f"The kernel matrix of {m} source rows does not fit into memory_limit, so its rows are "
            f"computed on demand, which takes very long at tol={tol:g}. Use features=Nystroem(300),"
            f" or memory_limit={needed:.2g}.",
            UserWarning,
            stacklevel=5,
        )
        problem = Problem(
            WithSlack(operator),
            np.append(-kappa, 0.0),
            bounds.upper(m),
            totals=np.array([bounds.most]),
        )
        return solve(
            problem,
            tol=tol,
            start=bounds.start(m),
            memory_limit=self.memory_limit,
            callback=progress(self.callback, self.verbose, type(self).__name__),
        )

    def _in_feature_space(
        self, source: Any, target: Any, bounds: _Bounds, tol: float
    ) -> tuple[Solution, float]:
        ridge = check_number("ridge", self.ridge)
        self.kernel_ = None
        self.features_ = resolve_features(self.features, stack_pair(source, target))
        Z = self._mapped(source)
        mean = self._mean_of(target)
        m = source.shape[0]
        kappa = m * (Z[:m] @ mean)
        size = float(np.einsum("ij,ij->", Z, Z)) / m
        penalty = np.append(np.full(m, ridge * m * size), 0.0)
        solution = solve_faces(
            FactorMatrix(Z, penalty),
            np.append(-kappa, 0.0),
            bounds.upper(m),
            bounds.most,
            start=bounds.start(m),
            tol=tol,
            max_iter=int(self.max_iter),
            callback=progress(self.callback, self.verbose, type(self).__name__),
        )
        return solution, float(mean @ mean)

    def _mapped(self, rows: Any) -> Floats:
        """The features of the rows, and a row of zeros for e."""
        Z: Floats | None = None
        at = 0
        for (part,) in row_blocks(rows, rows=8192):
            block = np.asarray(self.features_.transform(part), dtype=np.float64)
            if Z is None:
                Z = np.zeros((rows.shape[0] + 1, block.shape[1]))
            Z[at : at + len(block)] = block
            at += len(block)
        assert Z is not None
        return Z

    def _mean_of(self, rows: Any) -> Floats:
        total: Any = 0.0
        for (part,) in row_blocks(rows, rows=8192):
            total = total + np.asarray(self.features_.transform(part), dtype=np.float64).sum(axis=0)
        return np.asarray(total / rows.shape[0])


class WithSlack:
    """An operator with one more row and column of zeros, for the variable of the sum."""

    def __init__(self, operator: Any) -> None:
        self._operator = complete(operator)
        self._n = self._operator.shape[0]
        self.shape = (self._n + 1, self._n + 1)

    def diagonal(self) -> Floats:
        """The diagonal entries."""
        return np.append(self._operator.diagonal(), 0.0)

    def block(self, rows: Any, columns: Any = None, dtype: Any = np.float32) -> NDArray[Any]:
        """The entries at ``rows`` × ``columns`` (None: all)."""
        rows = np.asarray(rows)
        width = self._n + 1 if columns is None else len(columns)
        inside = rows < self._n
        out = np.zeros((len(rows), width), dtype=dtype)
        if columns is None:
            out[inside, : self._n] = self._operator.block(rows[inside], None, dtype)
            return out
        known = np.asarray(columns) < self._n
        out[np.ix_(inside, known)] = self._operator.block(
            rows[inside], np.asarray(columns)[known], dtype
        )
        return out

    def product(self, rows: Any, coef: Any, dtype: Any = np.float32) -> Floats:
        """Columns ``rows`` times ``coef``."""
        inside = np.asarray(rows) < self._n
        return np.append(self._operator.product(np.asarray(rows)[inside], coef[inside], dtype), 0.0)

    def restrict(self, rows: Any) -> Any:
        """The principal submatrix of these rows (ascending)."""
        inside = np.asarray(rows) < self._n
        part = self._operator.restrict(np.asarray(rows)[inside])
        return part if inside.all() else WithSlack(part)


def _spread(n: int) -> NDArray[np.intp]:
    """At most so many indices, evenly spread over n."""
    return np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)


def _mean_length(inner: Floats, n: int) -> float:
    """‖mean of n rows‖² from the kernel matrix of a sample of them."""
    k = len(inner)
    own = float(np.trace(inner)) / k
    if k == 1:
        return own
    cross = (float(inner.sum()) - k * own) / (k * (k - 1))
    return own / n + cross * (n - 1) / n
