"""Least squares classification: one linear system instead of a quadratic program.

    min_{w, b}  ½ Σ_k ‖w_k‖² + ½ Σ_i c_i ‖y_i - Wᵀφ(x_i) - b‖²,      c_i = C · weight_i

with y_i one-hot over the classes (the scores of all classes then sum to one everywhere), or ±1 for
two classes, which is the same classifier: f = f_2 - f_1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import DomainClassifierMixin
from shiftlearn.machines.base import (
    Machine,
    TrainingRows,
    all_or_nothing,
    check_number,
    check_predict_rows,
    progress,
    training_rows,
    warn_scales,
)
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.machines.spaces import FeatureSpace, KernelSpace
from shiftlearn.machines.streaming import labelled_moments, open_points
from shiftlearn.solvers.least_squares import (
    LeastSquares,
    solve_dual,
    solve_moments,
    solve_primal,
)
from shiftlearn.statistics import Stream

__all__ = ["LSSVC"]

Floats = NDArray[np.float64]


class LSSVC(DomainClassifierMixin, Machine):
    """Least squares support vector classifier.

    Minimises, with costs c_i = C · sample_weight_i · class_weight(y_i),

        ½ Σ_k ‖w_k‖² + ½ Σ_i c_i ‖y_i - f(x_i)‖²,     f(x) = Wᵀφ(x) + b,

    where y_i is the one-hot code of the label; two classes are coded by one number, -1 and +1.
    One factorisation serves all classes. Every row becomes a support vector, and the exact form
    needs the n × n kernel matrix: beyond some 10⁴ rows use ``features=Nystroem(...)``.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared errors.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel; a linear one with fewer columns than rows is solved in the columns.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width: "scale" is 1 / (n_features · X.var()), "auto" 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether b is there; it is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs.
    features : transformer or None, default=None
        A feature map, fitted on the rows; the machine is then linear in its features.
    tol : float, default=1e-6
        Largest residual of the linear system for which the answer counts as converged.
    memory_limit : int or "auto", default="auto"
        Bytes for the kernel matrix, float64 where it fits, else float32 with refinement.
    n_jobs : int or None, default=None
        Threads for kernel values; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the stages.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event` before the factorisation; returning
        True has no effect, because there is no answer to stop with.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    support_ : ndarray of shape (n_support,)
        Positions of the rows used, ascending.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        A, one row for two classes, else one for each class.
    intercept_ : ndarray of shape (n_outputs,)
        b.
    coef_ : ndarray of shape (n_outputs, n_features)
        W, for kernel="linear" and with ``features`` (of the features then).
    features_ : transformer
        The fitted feature map, with ``features``.
    certificate_ : Certificate
        ``gap`` is computed from the residual and exact.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LSSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> LSSVC(kernel="linear").fit(X, [0, 0, 1, 1]).predict([[-0.8, -1.0]])
    array([0])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        features: Any = None,
        tol: float = 1e-6,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.features = features
        self.tol = tol
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
    ) -> LSSVC:
        """Fit the machine on the source rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows, or the kernel matrix with kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_domain : array-like of int of shape (n_samples,), optional
            Rows with a negative entry are target rows and left out.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs; rows of weight 0 are left out.

        Returns
        -------
        LSSVC
            The fitted estimator.
        """
        with all_or_nothing(self):
            costs = check_number("C", self.C)
            tol = check_number("tol", self.tol)
            rows = training_rows(
                self,
                X,
                y,
                sample_domain=sample_domain,
                sample_weight=sample_weight,
                class_weight=self.class_weight,
            )
            self._solve(rows, costs * rows.weights, tol)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them; the machine is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive values mean ``classes_[1]``; else the scores sum to one.
        """
        if "_scores" not in vars(self):
            check_is_fitted(self, "_scores")
        narrow = len(self.support_) if self.kernel == "precomputed" else None
        values = self._scores.values(check_predict_rows(self, X, narrow), self.n_jobs)
        return np.asarray(values[:, 0]) if len(self.classes_) == 2 else values

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the class of each row: the largest score.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(np.intp)])

    @property
    def coef_(self) -> Floats:
        """The weights W of the linear functions."""
        if not isinstance(self._scores, LinearScores):
            raise AttributeError("coef_ exists for kernel='linear' and with features= only")
        return self._scores.coef

    def _fit_stream(self, stream: Stream) -> None:
        """Fit from blocks, in explicit features: one pass for the moments of rows and labels."""
        points = open_points(self, stream)
        moments = labelled_moments(points, check_number("C", self.C), self.n_jobs)
        answer = solve_moments(
            moments, points.n_columns,
            fit_intercept=self.fit_intercept, tol=check_number("tol", self.tol),
        )  # fmt: skip
        assert answer.weights is not None
        self.classes_, self.intercept_ = points.classes, answer.intercept
        self.support_, self.dual_coef_ = np.empty(0, dtype=np.intp), answer.dual.T
        self.certificate_ = answer.certificate
        self._scores = LinearScores(answer.weights.T, answer.intercept, points.features)
        if points.features is not None:
            self.features_ = points.features
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _solve(self, rows: TrainingRows, costs: Floats, tol: float) -> None:
        if self.kernel != "precomputed":
            warn_scales(rows.X)
        Y = _codes(rows)
        report = progress(self.callback, self.verbose, type(self).__name__)
        if report is not None:
            report(Event("factorise", 0.0, np.nan, np.nan))
        explicit = None
        if self.features is not None or self.kernel == "linear":
            explicit = FeatureSpace.of(self.features, rows.X)
        if explicit is not None and explicit.Z.shape[1] < len(costs):
            answer = solve_primal(explicit.Z, Y, costs, fit_intercept=self.fit_intercept, tol=tol)
            assert answer.weights is not None
            scores: Any = LinearScores(answer.weights.T, answer.intercept, explicit.features)
        else:
            answer, scores = self._solve_dual(rows, explicit, Y, costs, tol)
        self._adopt(rows, answer, scores, explicit)

    def _solve_dual(
        self,
        rows: TrainingRows,
        explicit: FeatureSpace | None,
        Y: Floats,
        costs: Floats,
        tol: float,
    ) -> tuple[LeastSquares, Any]:
        """Solve for the dual variables; an explicit space has the linear kernel of its points."""
        if explicit is None:
            space = KernelSpace.of(self, rows.X)
        else:
            space = explicit.kernel_space(self.n_jobs)
        answer = solve_dual(
            space.operator, Y, costs,
            fit_intercept=self.fit_intercept, tol=tol, memory_limit=self.memory_limit,
            convex=space.kernel.positive,
        )  # fmt: skip
        if explicit is not None:
            weights = np.asarray(explicit.Z.T @ answer.dual, dtype=np.float64)
            return answer, LinearScores(weights.T, answer.intercept, explicit.features)
        known = None if self.kernel == "precomputed" else rows.X
        index = rows.positions(np.arange(len(costs)))
        return answer, Expansion(
            space.kernel, known, index, answer.dual, answer.intercept,
            n_columns=self.n_features_in_, dtype=np.float64,
        )  # fmt: skip

    def _adopt(
        self, rows: TrainingRows, answer: LeastSquares, scores: Any, explicit: FeatureSpace | None
    ) -> None:
        self.classes_ = rows.classes
        self.support_ = rows.positions(np.arange(len(rows.codes)))
        self.dual_coef_ = answer.dual.T
        self.intercept_ = answer.intercept
        self.certificate_ = answer.certificate
        self._scores = scores
        if explicit is not None and explicit.features is not None:
            self.features_ = explicit.features


def _codes(rows: TrainingRows) -> Floats:
    """±1 in one column for two classes, else one-hot."""
    if len(rows.classes) == 2:
        return np.where(rows.codes == 1, 1.0, -1.0)[:, None]
    return np.eye(len(rows.classes))[rows.codes]
