"""UOCT-SVM: a one-class machine from related tasks and uncertain rows.

Y. Xiao, B. Liu, P. S. Yu, Z. Hao, "A robust one-class transfer learning method with uncertain
data", Knowledge and Information Systems, 2014. The problem stands in
:mod:`shiftlearn.oneclass.alternation`; here the parameters become costs and bounds, the rows the
form that suits them, and the answer a scikit-learn outlier detector.

=========  ==========================  ==========================================
           without source rows         with source tasks
=========  ==========================  ==========================================
noise      UOC-SVM                     UOCT-SVM
no noise   OC-SVM (uncertainty=None)   TLOC-SVM (uncertainty=None)
=========  ==========================  ==========================================
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import check_predict_domain
from shiftlearn.features import resolve_features
from shiftlearn.kernels import resolve_kernel
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
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.machines.spaces import check_gram
from shiftlearn.oneclass.alternation import Outcome, Program, Rules, Settings, alternate
from shiftlearn.oneclass.bounds import bound_scores
from shiftlearn.oneclass.checks import not_negative, one_of, whole_number
from shiftlearn.oneclass.linear_rows import LinearRows
from shiftlearn.oneclass.mapped_rows import Mapped
from shiftlearn.oneclass.offsets import LEAST_SHARE, left_out_scores, optimal_offsets
from shiftlearn.oneclass.rows import Frame, Points, UncertainRows
from shiftlearn.oneclass.span import Span
from shiftlearn.oneclass.streaming import check_streamable, open_tasks, report_of
from shiftlearn.oneclass.tasks import (
    Tasks,
    check_feasible,
    find_tasks,
    penalties,
    row_costs,
    task_costs,
)
from shiftlearn.resources import memory_budget
from shiftlearn.statistics import Stream

__all__ = ["UncertainOneClassTransferSVM"]

Floats = NDArray[np.float64]

_GUESSED = 0.25  # share of the neighbour distance that rows move by where nothing else is known
_REQUEST = {"sample_domain": True, "allow_source": True}


class UncertainOneClassTransferSVM(OutlierMixin, Machine):
    """One-class machine for a target task with few, noisy rows and related source tasks.

    With w_t = w0 + v_t the half-space of task t and Δx the displacement of a row, minimises

        ‖w0‖² + Σ_t μ_t ‖v_t‖² - Σ_t ρ_t + Σ_ti C_ti max(0, ρ_t - ⟨w_t, φ(x_ti + Δx_ti)⟩)

    over w0, v, ρ and, in turn, over ‖Δx_ti‖ <= δ_ti; a row belongs to task t where
    ⟨w_t, φ(x)⟩ >= ρ_t. With one task it is ½‖w‖² - ρ + Σ_i C_i max(0, ρ - ⟨w, φ(x_i + Δx_i)⟩).

    Rows with a negative ``sample_domain`` are the target, each value >= 0 is a source task; without
    ``sample_domain`` all rows are the target. Labels are not read: all rows are taken as normal.

    Parameters
    ----------
    C : float, sequence or dict, default=1.0
        Cost of a slack in the target task; a sequence (sources by label, then the target) or a
        dict keyed by label speaks for all tasks. At least 1 / n_t; from 1 on no slack is
        tolerated, and C acts through μ alone.
    C_source : "auto", float, sequence or dict, default="auto"
        The same for the source tasks; "auto" is max(0.1 C, min(1, 2 / n_t)).
    nu, nu_source : float, sequence, dict or None, default=None
        Share of rows that may lie outside, in (0, 1]: C_t = 1 / (ν_t n_t), instead of the costs.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel; a callable k(X, Z) may have an attribute ``gradient(Z, x)``. "precomputed" needs
        ``uncertainty=None``.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width; "scale" is 1 / (n_features · X.var()) over the rows of all tasks.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    features : transformer or None, default=None
        A feature map, fitted on the rows. With uncertainty it must have a ``pullback``, as
        ``Nystroem`` and ``RandomFourier`` do.
    reg : {"auto", "pair", "mean"}, float, sequence or dict, default="auto"
        μ_t: C_t ("pair"), C_t / K ("mean"), or given; "auto" is "pair" for up to two tasks, else
        "mean", and 1 for a task whose cost came from ν.
    uncertainty : {"knn", None}, float or array-like of shape (n_samples,), default="knn"
        δ: the mean distance to the nearest other rows of the task, nothing (None: TLOC-SVM), or
        given.
    n_neighbors : int, float or "own", default=0.1
        How many neighbours: a number, a share of the target's rows, or a tenth of each task's own.
    offset : {"auto", "left-out", "observed", "corrected"}, default="auto"
        At whose scores ρ is placed: those of the rows where they were observed ("observed"), the
        same as if each row had been left out ("left-out": the nominal share of rows to come, and
        at least one in twenty, lies outside), or, as printed in the paper, those of the rows where
        they were moved to ("corrected"), which rejects nearly everything where δ is comparable to
        the spread of the class. "auto" is "left-out", and the paper's where no row is uncertain.
    delta_scale : "auto" or float, default="auto"
        Factor on all δ; "auto" is 0.25 where offset="auto" and δ comes from the neighbours, else 1.
    update : {"all", "slack", "minimal"}, default="all"
        Move every row by δ, those with a slack alone, or those by no more than the slack asks for.
    safeguard : bool, default=False
        Keep a row's former displacement where the new one would lower its score; then the objective
        never rises, whatever the kernel.
    round_tol : float, default=0.1
        Stop when the objective changes by no more than this share; infinity stops after one
        move.
    max_rounds : int, default=50
        Most solves; 1 is TLOC-SVM.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, divided by the largest score.
    max_iter : int, default=10_000_000
        Most steps of the solver in a round.
    memory_limit : int or "auto", default="auto"
        Bytes for kernel blocks, distances and inner products.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    Attributes
    ----------
    tasks_ : ndarray of int of shape (K,)
        The tasks' ``sample_domain`` labels, the target last.
    offset_ : float
        ρ of the target; ``decision_function`` is ``score_samples`` minus it.
    offsets_, offset_intervals_ : ndarray of shape (K,) and (K, 2)
        ρ of all tasks, and the ends of the optimal ones at the scores.
    costs_, reg_ : ndarray of shape (K,)
        C_t and μ_t in force.
    bound_scores_ : ndarray of shape (n_samples,)
        δ times ``delta_scale``.
    displacements_ : ndarray of shape (n_samples, n_features)
        Δx of the last solve (made on request; dense).
    objective_history_ : tuple of float
        The minimised objective after each solve; it is never positive.
    n_rounds_ : int
        Solves.
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors in the X of ``fit``, task by task.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The corrected support vectors (None with a precomputed kernel).
    dual_coef_ : ndarray of shape (1, n_support)
        a; those of each task sum to 1.
    coef_ : ndarray of shape (1, n_features)
        w of the target, for kernel="linear" and with ``features``.
    task_coef_ : ndarray of shape (K, n_features)
        w_t of all tasks, there too.
    certificate_ : Certificate
        Of the last solve; ``objective`` is the minimised objective, ``gap`` bounds its distance
        from the optimum for these displacements.
    n_iter_ : int
        Solver steps in all rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import UncertainOneClassTransferSVM
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(3.0, 1.0, (200, 2)), rng.normal(3.5, 1.0, (10, 2))])
    >>> domain = np.repeat([0, -1], [200, 10])
    >>> model = UncertainOneClassTransferSVM(nu=0.1, nu_source=0.1)
    >>> model.fit(X, sample_domain=domain).predict([[3.5, 3.5], [9.0, 0.0]])
    array([ 1, -1])
    """

    __metadata_request__score_samples: ClassVar[Mapping[str, bool]] = _REQUEST

    def __init__(
        self,
        C: Any = 1.0,
        *,
        C_source: Any = "auto",
        nu: Any = None,
        nu_source: Any = None,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        features: Any = None,
        reg: Any = "auto",
        uncertainty: Any = "knn",
        n_neighbors: int | float | str = 0.1,
        offset: str = "auto",
        delta_scale: float | str = "auto",
        update: str = "all",
        safeguard: bool = False,
        round_tol: float = 0.1,
        max_rounds: int = 50,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.C = C
        self.C_source = C_source
        self.nu = nu
        self.nu_source = nu_source
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.features = features
        self.reg = reg
        self.uncertainty = uncertainty
        self.n_neighbors = n_neighbors
        self.offset = offset
        self.delta_scale = delta_scale
        self.update = update
        self.safeguard = safeguard
        self.round_tol = round_tol
        self.max_rounds = max_rounds
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
    ) -> UncertainOneClassTransferSVM:
        """Fit the half-spaces of all tasks; y is not read.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Normal rows of all tasks, or the kernel matrix with kernel="precomputed".
        y : ignored
            Present for pipelines.
        sample_domain : array-like of int of shape (n_samples,), optional
            >= 0: a source task, < 0: the target; without it all rows are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the costs; rows of weight 0 are left out before anything is computed.

        Returns
        -------
        UncertainOneClassTransferSVM
            The fitted estimator.
        """
        with all_or_nothing(self):
            rules, settings = self._check_rules(), self._check_settings()
            X = check_rows(self, X)
            weights = check_weights(sample_weight, X.shape[0])
            tasks = find_tasks(sample_domain, weights)
            if not tasks.in_order:
                X, weights = take_rows(self, X, tasks.index), weights[tasks.index]
            program = self._program(X, weights, tasks)
            rows = self._uncertain_rows(X, tasks, settings)
            self._adopt(alternate(rows, program, rules, settings), program)
        self._warn()
        return self

    def _fit_stream(self, stream: Stream) -> None:
        """TLOC-SVM from blocks, in explicit features: smoothed and certified; no rows are kept."""
        self._check_rules()
        tol = check_streamable(self)
        found = open_tasks(self, stream)
        weights, offsets, proof = found.solve(tol, report_of(self))
        self.certificate_ = replace(proof, objective=-proof.objective)
        self.objective_history_: tuple[float, ...] = (self.certificate_.objective,)
        self.tasks_, self._tasks = found.tasks.labels, found.tasks
        self.offsets_, self.offset_ = offsets, float(offsets[-1])
        self.offset_intervals_ = np.column_stack([offsets, offsets])
        self.costs_, self.reg_ = found.costs, found.penalties
        self.support_, self.support_vectors_ = np.empty(0, dtype=np.intp), None
        self.n_support_ = np.zeros(found.tasks.count, dtype=np.intp)
        self.dual_coef_ = np.empty((1, 0))
        self._scores = LinearScores(weights, np.zeros(len(weights)), found.features)
        self.n_rounds_, self.n_iter_ = 1, max(1, self.certificate_.n_iter)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def score_samples(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """⟨w_t, φ(x)⟩ for each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain : array-like of int of shape (n_samples,), optional
            The task of each row; the target where it is not given.
        allow_source : bool
            Accepted for scorers that pass it.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more normal.
        """
        scores, tasks = self._scored(X, sample_domain)
        return np.asarray(scores[np.arange(len(tasks)), tasks])

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """``score_samples`` minus the offset of the row's task: not negative inside.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain : array-like of int of shape (n_samples,), optional
            The task of each row; the target where it is not given.
        allow_source : bool
            Accepted for scorers that pass it.

        Returns
        -------
        ndarray of shape (n_samples,)
            Signed scores.
        """
        scores, tasks = self._scored(X, sample_domain)
        return np.asarray(scores[np.arange(len(tasks)), tasks] - self.offsets_[tasks])

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[np.int64]:
        """+1 inside, -1 outside.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain : array-like of int of shape (n_samples,), optional
            The task of each row; the target where it is not given.
        allow_source : bool
            Accepted for scorers that pass it.

        Returns
        -------
        ndarray of shape (n_samples,)
            +1 or -1.
        """
        return np.where(self.decision_function(X, sample_domain=sample_domain) >= 0, 1, -1)

    def offsets_at(self, offset: str) -> Floats:
        """The offsets ρ_t that another rule gives the same half-spaces, without another fit.

        Parameters
        ----------
        offset : {"left-out", "observed", "corrected"}
            As in the constructor; "left-out" only where the fit used it ("auto" does).

        Returns
        -------
        ndarray of shape (K,)
            ρ of all tasks; ``score_samples(X) - offsets_at(...)[-1]`` decides for the target.
        """
        check_is_fitted(self, "_places")
        one_of("offset", offset, tuple(self._places))
        return self._optimal(offset)[0]

    @property
    def coef_(self) -> Floats:
        """The weights of the target's linear function."""
        return self.task_coef_[-1:]

    @property
    def task_coef_(self) -> Floats:
        """The weights of all tasks' linear functions."""
        check_is_fitted(self, "_scores")
        if not isinstance(self._scores, LinearScores):
            raise AttributeError("coef_ exists for kernel='linear' and with features= only")
        return self._scores.coef

    @property
    def displacements_(self) -> Floats:
        """Δx of each row of ``fit``."""
        check_is_fitted(self, "_scores")
        out = np.zeros((len(self.bound_scores_), self.n_features_in_))
        out[self._tasks.index] = self._displaced.displacements()
        return out

    def _scored(self, X: Any, sample_domain: ArrayLike | None) -> tuple[Floats, NDArray[np.intp]]:
        """Scores of each row in all tasks, and the row's own task."""
        check_is_fitted(self, "_scores")
        narrow = len(self.support_) if self.kernel == "precomputed" else None
        X = check_predict_rows(self, X, narrow)
        labels = self.tasks_.tolist()
        own = check_predict_domain(sample_domain, X.shape[0], labels, labels[-1])
        return self._scores.values(X, self.n_jobs), self._tasks.positions(own)

    # -- from parameters to a problem ------------------------------------------------------------

    def _check_rules(self) -> Rules:
        one_of("offset", self.offset, ("auto", "left-out", "observed", "corrected"))
        one_of("update", self.update, ("all", "slack", "minimal"))
        round_tol = not_negative("round_tol", self.round_tol, upto=math.inf)
        most = whole_number("max_rounds", self.max_rounds, 1)
        rounds = 1 if self.uncertainty is None else most
        return Rules(self.update, bool(self.safeguard), round_tol, rounds)

    def _check_settings(self) -> Settings:
        if self.kernel == "precomputed" and self.uncertainty is not None:
            raise ValueError(
                "kernel='precomputed' has no gradient: where the rows are not known they cannot be "
                "moved. Pass uncertainty=None (TLOC-SVM), or the rows and a kernel's name."
            )
        return Settings(
            check_number("tol", self.tol),
            int(check_number("max_iter", self.max_iter)),
            self.memory_limit,
            progress(self.callback, self.verbose, type(self).__name__),
        )

    def _program(self, X: Any, weights: Floats, tasks: Tasks) -> Program:
        """Costs, penalties and bounds, all checked."""
        totals = np.bincount(tasks.of_row, weights, tasks.count).astype(np.float64)
        costs, by_share = task_costs(self, tasks, totals)
        per_row = row_costs(costs, weights, tasks)
        check_feasible(costs, per_row, tasks)
        penalty = penalties(self.reg, costs, by_share, tasks)
        bounds = self._scale() * bound_scores(
            self.uncertainty, self.n_neighbors, X, tasks,
            memory_limit=self.memory_limit, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.costs_, self.reg_ = costs, penalty
        return Program.of(tasks, per_row, penalty, bounds)

    def _scale(self) -> float:
        if not (isinstance(self.delta_scale, str) and self.delta_scale == "auto"):
            return not_negative("delta_scale", self.delta_scale)
        guessed = isinstance(self.uncertainty, str)
        return _GUESSED if guessed and self.offset == "auto" else 1.0

    def _offset(self) -> str:
        """Where the offsets are placed."""
        if self.offset != "auto":
            return self.offset
        return "observed" if self.uncertainty is None else "left-out"

    def _uncertain_rows(self, X: Any, tasks: Tasks, settings: Settings) -> UncertainRows:
        """The rows in the form that suits their kernel and their shape."""
        if self.kernel != "precomputed":
            warn_scales(X)
        dtype = np.float32 if settings.tol >= 1e-5 else np.float64
        frame = Frame(tasks, dtype, self.n_jobs, self.memory_limit)
        moving = self.uncertainty is not None
        if self.features is not None:
            features = resolve_features(self.features, X)
            if moving and not hasattr(features, "pullback"):
                raise ValueError(
                    f"features={self.features!r} has no pullback (the transposed Jacobian), so "
                    "rows cannot be moved through it; use Nystroem or RandomFourier, or "
                    "uncertainty=None."
                )
            return Mapped.of(features, self._filled(X) if moving else X, frame)
        kernel = resolve_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
        if kernel.name == "precomputed":
            check_gram(X)
        if kernel.name == "linear":
            return LinearRows.of(X, frame)
        if moving and kernel.of_products and (X.shape[1] > X.shape[0] or self._too_large(X)):
            return Span.of(kernel, X, frame)
        return Points.of(kernel, self._filled(X) if moving else X, frame)

    def _too_large(self, X: Any) -> bool:
        """Whether sparse rows would not fit as an array."""
        return bool(sparse.issparse(X)) and 8 * X.shape[0] * X.shape[1] > self._budget() // 4

    def _filled(self, X: Any) -> Any:
        """Sparse rows as an array: corrected rows are dense."""
        if not sparse.issparse(X):
            return X
        if self._too_large(X):
            raise ValueError(
                f"corrected rows are dense, and {X.shape[0]} x {X.shape[1]} numbers do not fit "
                f"into a quarter of memory_limit ({self._budget()} bytes). Raise it, reduce the "
                "columns (TruncatedSVD), use kernel='linear', 'rbf', 'poly' or 'sigmoid' without "
                "features, or uncertainty=None."
            )
        return X.toarray()

    def _budget(self) -> int:
        return memory_budget(self.memory_limit)

    # -- from the answer to an estimator -----------------------------------------------------------

    def _adopt(self, found: Outcome, program: Program) -> None:
        tasks, rows, model = program.tasks, found.rows, found.model
        moved = len(found.history) > 1
        observed = rows.observed_scores(model) if moved else found.scores
        self.tasks_, self._tasks = tasks.labels, tasks
        self._remember(found, program, observed)
        self.support_ = tasks.index[model.support]
        self.n_support_ = np.bincount(tasks.of_row[model.support], minlength=tasks.count)
        self.dual_coef_ = found.alpha[None, model.support]
        known = self.kernel != "precomputed"
        self.support_vectors_ = rows.support(model.support) if known else None
        self.bound_scores_ = np.zeros(tasks.n_rows)
        self.bound_scores_[tasks.index] = program.bounds
        self.objective_history_ = found.history
        self.n_rounds_ = len(found.history)
        self.certificate_ = found.certificate
        self.n_iter_ = max(1, found.certificate.n_iter)
        self._scores, self._displaced = rows.scorer(model), rows.displaced()
        near = self.tol * float(np.abs(observed).max())  # as near as the scores are known
        target = observed[tasks.rows(tasks.target)]
        self._rejected = float((target < self.offset_ - near).mean())
        self._degenerate = found.degenerate

    def _remember(self, found: Outcome, program: Program, observed: Floats) -> None:
        """Keep the scores at which offsets may be placed."""
        place = "observed" if found.degenerate else self._offset()
        self._places = {"observed": observed, "corrected": found.scores}
        if place == "left-out":
            self._places[place] = left_out_scores(
                found.rows, found.alpha, observed, program.table.diagonal(), program.tasks
            )
        self._row_costs = program.costs
        self.offsets_, self.offset_intervals_ = self._optimal(place)
        self.offset_ = float(self.offsets_[-1])

    def _optimal(self, place: str) -> tuple[Floats, Floats]:
        share = LEAST_SHARE if place == "left-out" else 0.0
        return optimal_offsets(self._places[place], self._row_costs, self._tasks, share)

    def _warn(self) -> None:
        """Say what is doubtful about the answer."""
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        if self._degenerate:
            warnings.warn(
                "the rows have the origin in their hull, so w = 0 and every offset is 0: nothing "
                "is told apart. One-class machines look from the origin: do not centre the data "
                "for kernel='linear', or use kernel='rbf'.",
                UserWarning,
                stacklevel=3,
            )
            return
        nominal = 1.0 / (self.costs_[-1] * self._tasks.sizes()[-1])
        if self._rejected > max(0.5, 2 * nominal) + 1e-9:
            warnings.warn(
                f"{self._rejected:.0%} of the observed target rows lie outside, though "
                f"{nominal:.0%} would be nominal: the displacements are large against the spread "
                'of the class. Use offset="observed", or lower delta_scale.',
                UserWarning,
                stacklevel=3,
            )
