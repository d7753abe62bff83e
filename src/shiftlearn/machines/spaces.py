"""Where a machine lives: the space of a kernel, or an explicit space of features.

Both answer the same question, min ½‖w‖² + Σ_i c_i max(0, 1 - y_i (⟨w, φ(x_i)⟩ + b)), through its
dual, and hand back the dual variables; only the explicit space knows w itself. ``linear`` is the
dual's p, -1 unless there is a function f' to begin with: then y_i f'(x_i) - 1. ``beside`` puts
columns next to φ(x), so that k becomes k + ffᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from shiftlearn.certificates import Certificate, Event
from shiftlearn.kernels import Kernel, MatrixOperator, resolve_kernel
from shiftlearn.machines.formulations import hinge, signed
from shiftlearn.resources import memory_budget
from shiftlearn.solvers.batch import BatchProblem, solve_batch
from shiftlearn.solvers.decomposition import WHOLE
from shiftlearn.solvers.operators import LowRankSum
from shiftlearn.solvers.qp import solve

__all__ = ["FeatureSpace", "HingeFit", "KernelSpace", "Options", "Space", "check_gram"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_OF_FEW = ("linear", "rbf", "poly")
_SHARED_ROWS = 2000  # Gram matrices of more rows cost more to store than to compute again


@dataclass(frozen=True, slots=True)
class Options:
    """What a solver is told beside the problem."""

    tol: float = 1e-3
    max_iter: int = 10_000_000
    memory_limit: int | float | str = "auto"
    n_jobs: int | None = None
    callback: Callable[[Event], bool | None] | None = None

    @property
    def dtype(self) -> type:
        """Precision of kernel values: float32 unless ``tol`` asks for more."""
        return np.float32 if self.tol >= 1e-5 else np.float64


@dataclass(frozen=True, slots=True)
class HingeFit:
    """A solved two-class problem: a, y a, b, and w where the space is explicit."""

    alpha: Floats
    coef: Floats
    intercept: float
    certificate: Certificate
    weights: Floats | None = None


class Space(Protocol):
    """What the machines ask of a space."""

    def restrict(self, rows: Ints | None) -> Space:
        """The same space with these rows alone."""
        ...

    def beside(self, columns: Floats) -> Space:
        """The same space with more coordinates of each row."""
        ...

    def squares(self) -> Floats:
        """‖φ(x)‖² of each row."""
        ...

    def hinge(
        self,
        signs: Floats,
        costs: Floats,
        *,
        fit_intercept: bool,
        options: Options,
        start: Floats | None = None,
        linear: Floats | None = None,
    ) -> HingeFit:
        """Solve a two-class hinge problem on the rows."""
        ...


@dataclass(frozen=True, slots=True)
class KernelSpace:
    """The rows as seen through a kernel."""

    kernel: Kernel
    operator: Any

    @classmethod
    def of(cls, estimator: Any, X: Any) -> KernelSpace:
        """The space that an estimator's ``kernel``, ``gamma``, ``degree``, ``coef0`` name."""
        kernel = resolve_kernel(
            estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0, X
        )
        if kernel.name == "precomputed":
            check_gram(X)
        return cls(kernel, kernel.operator(X, estimator.n_jobs))

    def shared(self, options: Options) -> KernelSpace:
        """The same space with its Gram matrix stored, where it is cheap to keep."""
        n = self.operator.shape[0]
        size = n * n * np.dtype(options.dtype).itemsize
        cheap = n <= _SHARED_ROWS and size <= memory_budget(options.memory_limit) // 2
        if not cheap or isinstance(self.operator, MatrixOperator):
            return self
        gram = self.operator.block(np.arange(n), None, options.dtype)
        return KernelSpace(self.kernel, MatrixOperator(gram))

    def restrict(self, rows: Ints | None) -> KernelSpace:
        """The same space with these rows alone."""
        if rows is None:
            return self
        operator = self.operator
        if isinstance(operator, MatrixOperator):
            return KernelSpace(self.kernel, MatrixOperator(_principal(operator.matrix, rows)))
        return KernelSpace(self.kernel, operator.restrict(rows))

    def beside(self, columns: Floats) -> KernelSpace:
        """The same space with more coordinates of each row."""
        return KernelSpace(self.kernel, LowRankSum(self.operator, columns))

    def squares(self) -> Floats:
        """‖φ(x)‖² of each row."""
        return np.asarray(self.operator.diagonal())

    def hinge(
        self,
        signs: Floats,
        costs: Floats,
        *,
        fit_intercept: bool,
        options: Options,
        start: Floats | None = None,
        linear: Floats | None = None,
    ) -> HingeFit:
        """Solve a two-class hinge problem on the rows."""
        if start is None and linear is None and self._small(options):
            few = self._hinge_of_few(signs, costs, fit_intercept, options)
            if np.isfinite(few.certificate.objective):
                return few  # else the general solver says what is wrong
        solution = solve(
            hinge(
                self.operator, signs, costs, linear=linear,
                fit_intercept=fit_intercept, convex=self.kernel.positive,
            ),
            tol=options.tol,
            max_iter=options.max_iter,
            start=start,
            memory_limit=options.memory_limit,
            callback=options.callback,
        )  # fmt: skip
        return HingeFit(solution.alpha, *signed(solution, signs), solution.certificate)

    def _small(self, options: Options) -> bool:
        """Whether the compiled solver of small problems may take it, Gram matrix and all."""
        rows = getattr(self.operator, "X", None)
        known = self.kernel.name in _OF_FEW and self.kernel.compiled and self.kernel.positive
        if not (known and isinstance(rows, np.ndarray)) or options.callback is not None:
            return False
        n = rows.shape[0]
        return bool(n <= WHOLE and 8 * n * n <= memory_budget(options.memory_limit))

    def _hinge_of_few(
        self, signs: Floats, costs: Floats, fit_intercept: bool, options: Options
    ) -> HingeFit:
        """The same problem as a batch of one: most of a small fit is the Python around it."""
        rows, n, kernel = self.operator.X, len(signs), self.kernel
        center = kernel.center(rows)
        problem = BatchProblem(
            np.array([0, n]), np.arange(n), signs, np.asarray(costs, dtype=np.float64),
            np.full(n, -1.0),
        )  # fmt: skip
        answer = solve_batch(
            rows if center is None else rows - center, problem,
            kernel=kernel.name, gamma=kernel.gamma, degree=kernel.degree, coef0=kernel.coef0,
            fit_intercept=fit_intercept, tol=options.tol, max_iter=options.max_iter, n_jobs=1,
        )  # fmt: skip
        proof = answer.certificate_of(0)
        path = ((proof.n_iter, proof.objective, proof.violation),)
        return HingeFit(
            answer.alpha, answer.dual_coef, float(answer.intercept[0]), replace(proof, history=path)
        )


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The rows as points Z of an explicit space, found by ``features`` (None: Z is X itself)."""

    Z: Any
    features: Any = None

    @classmethod
    def of(cls, features: Any, X: Any) -> FeatureSpace:
        """Fit a copy of the map ``features`` on X; None stands for the identity."""
        if features is None:
            return cls(X)
        if not (hasattr(features, "fit") and hasattr(features, "transform")):
            raise ValueError(
                "features must be None or a transformer (Nystroem, RandomFourier, or anything with "
                f"fit and transform), got {features!r}."
            )
        fitted = clone(features).fit(X)
        return cls(fitted.transform(X), fitted)

    def kernel_space(self, n_jobs: int | None = None) -> KernelSpace:
        """The same rows through the linear kernel of their features."""
        linear = Kernel("linear")
        return KernelSpace(linear, linear.operator(self.Z, n_jobs))

    def restrict(self, rows: Ints | None) -> FeatureSpace:
        """The same space with these rows alone."""
        return self if rows is None else FeatureSpace(self.Z[rows], self.features)

    def beside(self, columns: Floats) -> FeatureSpace:
        """The same space with more coordinates of each row."""
        if sparse.issparse(self.Z):
            return FeatureSpace(sparse.hstack([self.Z, columns], format="csr"), self.features)
        return FeatureSpace(np.hstack([self.Z, columns]), self.features)

    def squares(self) -> Floats:
        """‖φ(x)‖² of each row."""
        return Kernel("linear").diagonal(self.Z)

    def hinge(
        self,
        signs: Floats,
        costs: Floats,
        *,
        fit_intercept: bool,
        options: Options,
        start: Floats | None = None,
        linear: Floats | None = None,
    ) -> HingeFit:
        """Solve a two-class hinge problem on the rows."""
        from shiftlearn.solvers.linear import LinearProblem, solve_linear

        p = np.full(len(signs), -1.0) if linear is None else linear
        problem = LinearProblem(self.Z, p, costs, signs, 0.0 if fit_intercept else None)
        answer = solve_linear(
            problem,
            tol=options.tol,
            max_iter=min(options.max_iter, 10_000),
            start=start,
            n_jobs=options.n_jobs,
            callback=options.callback,
        )
        intercept = -answer.multiplier if fit_intercept else 0.0
        return HingeFit(
            answer.alpha, signs * answer.alpha, intercept, answer.certificate, answer.weights
        )


def _principal(K: NDArray[Any], rows: Ints) -> NDArray[Any]:
    """K at ``rows`` x ``rows``; copied in a few pieces where the rows are a few runs."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    if len(breaks) > 8:
        return np.asarray(K[np.ix_(rows, rows)])
    runs = [slice(int(run[0]), int(run[-1]) + 1) for run in np.split(rows, breaks)]
    return np.asarray(np.block([[K[left, right] for right in runs] for left in runs]))


def check_gram(K: Any) -> None:
    """Raise unless the precomputed kernel matrix is square and symmetric."""
    n, m = K.shape
    if n != m:
        raise ValueError(
            f"X should be a square kernel matrix with kernel='precomputed', got {n} x {m}."
        )
    slack = 1e-5 * float(np.abs(K).max())
    for start in range(0, n, 512):
        stop = start + 512
        off = np.abs(K[start:stop, start:] - K[start:, start:stop].T).max()
        if off > slack:
            raise ValueError(
                "X must be a symmetric kernel matrix with kernel='precomputed'; entries differ "
                f"from their mirror images by up to {off:g}. Use (X + X.T) / 2 if that is meant."
            )
