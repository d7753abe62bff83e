"""One-class support vector machine: the smallest half-space that holds most of the rows.

    min_{w, ρ}  ½‖w‖² - ρ ν W + Σ_i w_i max(0, ρ - ⟨w, φ(x_i)⟩),     W = Σ_i w_i

(w_i: sample weights, 1 unless given). Its dual has 0 <= a_i <= w_i and Σ a_i = νW, the scaling of
the usual libraries. Given the scores h = Ka, the optimal ρ is the smallest of them that the
weights at or below reach νW: a weighted quantile, exact without a tolerance on a.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import find_domains
from shiftlearn.machines.base import (
    Machine,
    all_or_nothing,
    check_number,
    check_predict_rows,
    check_rows,
    check_weights,
    progress,
    take_rows,
    warn_scales,
)
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.machines.formulations import one_class, quantile_offset
from shiftlearn.machines.relative import Answer, Solver, score_sizes, solve_relative
from shiftlearn.machines.spaces import FeatureSpace, KernelSpace, Options
from shiftlearn.machines.streaming import open_inliers, solve_one_class
from shiftlearn.solvers.qp import solve
from shiftlearn.statistics import Stream

__all__ = ["OneClassSVM"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class OneClassSVM(OutlierMixin, Machine):
    """One-class support vector machine.

    Minimises, with sample weights w_i and W their sum,

        ½‖w‖² - ρ ν W + Σ_i w_i max(0, ρ - ⟨w, φ(x_i)⟩);     a row is inside where ⟨w, φ(x)⟩ >= ρ.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside and lower bound on that of support vectors,
        0 < nu <= 1.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width: "scale" is 1 / (n_features · X.var()), "auto" 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``, any transformer), fitted on the rows: then
        the cost grows with the rows only.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, divided by the largest score.
    max_iter : int, default=10_000_000
        Most steps of the solver.
    memory_limit : int or "auto", default="auto"
        Bytes for kernel blocks.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    Attributes
    ----------
    offset_ : float
        ρ; ``decision_function`` is ``score_samples`` minus it.
    offset_interval_ : tuple of float
        Ends of the optimal ρ at the scores; ``offset_`` is their midpoint.
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors in the X of ``fit``, ascending.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors (None with a precomputed kernel or ``features``).
    dual_coef_ : ndarray of shape (1, n_support)
        a.
    intercept_ : ndarray of shape (1,)
        -ρ.
    coef_ : ndarray of shape (1, n_features)
        w, for kernel="linear" and with ``features``.
    certificate_ : Certificate
        Objective and gap in the scaling above; ``violation`` is divided by the largest score.
    n_iter_ : int
        Solver steps.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import OneClassSVM
    >>> X = np.array([[0.0], [0.4], [0.5], [0.6], [9.0]])
    >>> OneClassSVM(nu=0.3, gamma=1.0).fit(X).predict([[0.5], [5.0]])
    array([ 1, -1])
    """

    _scores: Expansion | LinearScores

    def __init__(
        self,
        nu: float = 0.5,
        *,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        features: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> OneClassSVM:
        """Fit the machine on the source rows; y is not read.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows, or the kernel matrix with kernel="precomputed".
        y : ignored
            Present for pipelines.
        sample_domain : array-like of int of shape (n_samples,), optional
            Rows with a negative entry are target rows and left out.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; rows of weight 0 are left out.

        Returns
        -------
        OneClassSVM
            The fitted estimator.
        """
        with all_or_nothing(self):
            nu = check_number("nu", self.nu, upto=1.0)
            report = progress(self.callback, self.verbose, type(self).__name__)
            options = Options(
                check_number("tol", self.tol),
                int(check_number("max_iter", self.max_iter)),
                self.memory_limit,
                self.n_jobs,
                report,
            )
            rows, weights, index = self._rows(X, sample_domain, sample_weight)
            self._solve(rows, weights, index, nu, options)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def score_samples(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """⟨w, φ(x)⟩ for each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them; the machine is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more normal.
        """
        if "_scores" not in vars(self):
            check_is_fitted(self, "_scores")
        narrow = len(self.support_) if self.kernel == "precomputed" else None
        X = check_predict_rows(self, X, narrow)
        return np.asarray(self._scores.values(X, self.n_jobs)[:, 0])

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """``score_samples(X) - offset_``: not negative inside.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Signed scores.
        """
        return self.score_samples(X) - self.offset_

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[np.int64]:
        """+1 inside, -1 outside.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            +1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def coef_(self) -> Floats:
        """The weights w of the linear function."""
        if not isinstance(self._scores, LinearScores):
            raise AttributeError("coef_ exists for kernel='linear' and with features= only")
        return self._scores.coef

    def _rows(
        self, X: Any, sample_domain: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, Floats, Ints]:
        """The rows to train on, their weights and their positions."""
        X = check_rows(self, X)
        n = X.shape[0]
        weights = check_weights(sample_weight, n)
        used = weights > 0
        if sample_domain is not None:
            used &= find_domains(None, sample_domain, n).source
        index = np.flatnonzero(used)
        if not index.size:
            raise ValueError("sample_domain and sample_weight leave no source row of any weight.")
        if index.size == n:
            return X, weights, index
        return take_rows(self, X, index), weights[index], index

    def _solve(self, X: Any, weights: Floats, index: Ints, nu: float, options: Options) -> None:
        if self.kernel != "precomputed":
            warn_scales(X)
        total = nu * float(weights.sum())
        space: Any
        if self.features is not None:
            space = FeatureSpace.of(self.features, X)
            run = _explicit_solver(space, weights, total, options)
            operator = space.kernel_space(self.n_jobs).operator
        else:
            space = KernelSpace.of(self, X)
            run = _kernel_solver(space, weights, nu, options)
            operator = space.operator
        answer = solve_relative(run, *_score_sizes(operator, weights, total), options.tol)
        self._adopt(X, weights, index, nu, space, answer, options)

    def _fit_stream(self, stream: Stream) -> None:
        """Fit from blocks, in explicit features: smoothed and certified; no support vectors."""
        nu = check_number("nu", self.nu, upto=1.0)
        points, features = open_inliers(self, stream)
        answer = solve_one_class(self, points, nu)
        self.offset_ = -answer.intercept
        self.offset_interval_ = (self.offset_, self.offset_)
        self.intercept_ = np.array([answer.intercept])
        self.support_, self.support_vectors_ = np.empty(0, dtype=np.intp), None
        self.n_support_, self.dual_coef_ = np.zeros(1, dtype=np.intp), np.empty((1, 0))
        self.certificate_ = answer.certificate
        self.n_iter_ = max(1, answer.certificate.n_iter)
        self._scores = LinearScores(answer.weights[None], np.zeros(1), features)
        if features is not None:
            self.features_ = features
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _adopt(
        self,
        X: Any,
        weights: Floats,
        index: Ints,
        nu: float,
        space: KernelSpace | FeatureSpace,
        answer: Answer,
        options: Options,
    ) -> None:
        used = np.flatnonzero(answer.alpha)
        low, high = quantile_offset(answer.scores, weights, nu * float(weights.sum()))
        self.offset_interval_ = (low, high)
        self.offset_ = 0.5 * (low + high)
        self.intercept_ = np.array([-self.offset_])
        self.support_ = index[used]
        self.n_support_ = np.array([len(used)])
        self.dual_coef_ = answer.alpha[None, used]
        self.certificate_ = answer.certificate
        self.n_iter_ = max(1, answer.certificate.n_iter)
        known = self.features is None and self.kernel != "precomputed"
        self.support_vectors_ = X[used] if known else None
        none = np.zeros(1)
        if isinstance(space, FeatureSpace):
            assert answer.weights is not None
            self._scores = LinearScores(answer.weights[None], none, space.features)
            self.features_ = space.features
        elif space.kernel.name == "linear":
            w = np.asarray(X[used].T @ answer.alpha[used], dtype=np.float64)
            self._scores = LinearScores(w[None], none)
        else:
            self._scores = Expansion(
                space.kernel, self.support_vectors_, self.support_, self.dual_coef_.T, none,
                n_columns=self.n_features_in_, dtype=options.dtype,
            )  # fmt: skip


def _kernel_solver(space: KernelSpace, weights: Floats, nu: float, options: Options) -> Solver:
    problem = one_class(space.operator, weights, nu, convex=space.kernel.positive)

    def run(tol: float, start: Floats | None) -> Answer:
        solution = solve(
            problem,
            tol=tol,
            max_iter=options.max_iter,
            start=start,
            memory_limit=options.memory_limit,
            callback=options.callback,
        )
        return Answer(solution.alpha, solution.gradient, solution.certificate)

    return run


def _explicit_solver(
    space: FeatureSpace, weights: Floats, total: float, options: Options
) -> Solver:
    from shiftlearn.solvers.linear import LinearProblem, solve_linear

    problem = LinearProblem(space.Z, np.zeros(len(weights)), weights, None, total)

    def run(tol: float, start: Floats | None) -> Answer:
        solution = solve_linear(
            problem,
            tol=tol,
            max_iter=min(options.max_iter, 10_000),
            start=start,
            n_jobs=options.n_jobs,
            callback=options.callback,
        )
        return Answer(solution.alpha, solution.gradient, solution.certificate, solution.weights)

    return run


def _score_sizes(operator: Any, weights: Floats, total: float) -> tuple[float, float]:
    """The sizes of `score_sizes` from 256 rows that share ``total``."""
    sample = np.arange(0, len(weights), max(1, len(weights) // 256))
    shares = np.full(len(sample), total / len(sample))
    return score_sizes(operator, sample, shares, operator.diagonal())
