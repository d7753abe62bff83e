"""Support vector classification with a kernel.

For each two-class problem, with y_i = ±1 and costs c_i = C · sample_weight_i · class_weight(y_i):

    min_{w, b}  ½‖w‖² + Σ_i c_i max(0, 1 - y_i (⟨w, φ(x_i)⟩ + b))

Several classes are several such problems (`shiftlearn.machines.multiclass`) in one space
(`shiftlearn.machines.spaces`), so that kernel work is shared between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
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
from shiftlearn.machines.formulations import combine
from shiftlearn.machines.multiclass import Task, split, vote_scores
from shiftlearn.machines.spaces import FeatureSpace, HingeFit, KernelSpace, Options, Space
from shiftlearn.machines.streaming import fit_hinge, open_points
from shiftlearn.statistics import Stream

__all__ = ["SVC", "Prepared", "svc_path"]

Floats = NDArray[np.float64]

_EXPLICIT_ROWS = 1000  # linear kernels with more rows are solved on the rows themselves


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about a fit that does not depend on C."""

    rows: TrainingRows
    space: Space
    tasks: list[Task]
    options: Options


class SVC(DomainClassifierMixin, Machine):
    """Support vector classifier.

    Minimises, for each two-class problem with labels y_i = ±1 and costs
    c_i = C · sample_weight_i · class_weight(y_i),

        ½‖w‖² + Σ_i c_i max(0, 1 - y_i (⟨w, φ(x_i)⟩ + b)),     f(x) = ⟨w, φ(x)⟩ + b.

    The answer is exact up to ``tol`` and proves itself in ``certificate_``. Fitting takes a few
    times the work of the part of the kernel matrix that belongs to the support vectors; beyond
    some 10⁵ rows use ``features=Nystroem(...)``, whose cost grows with the rows only.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel; a callable takes two sets of rows and returns the matrix between them.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width: "scale" is 1 / (n_features · X.var()), "auto" 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether b is there; it is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs; "balanced" gives all classes the same total cost, counting
        ``sample_weight``.
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``, any transformer), fitted on the rows; the
        machine is then linear in its features, and the kernel parameters are not used.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One problem for each pair of classes, or for each class against the rest. Pairs are the
        default: together they need fewer kernel values (each row meets m - 1 small problems
        instead of m large ones) and give scikit-learn's answers.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int, default=10_000_000
        Most steps of the solver for each problem; stopped early, the answer is still feasible and
        ``certificate_.gap`` bounds its distance from the optimum.
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
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors in the X of ``fit``, ascending.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors (not with a precomputed kernel nor with ``features``).
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (n_rows, n_support)
        y_i a_i. Two classes: one row. "ovr": one row for each class. "ovo": n_classes - 1 rows,
        row m for the problem with the m-th of the other classes (scikit-learn's layout).
    intercept_ : ndarray of shape (n_problems,)
        b.
    coef_ : ndarray of shape (n_problems, n_features)
        w, for kernel="linear" and with ``features`` (of the features then).
    features_ : transformer
        The fitted feature map, with ``features``.
    certificate_ : Certificate
        The proof for all problems together (objectives and gaps add up).
    certificates_ : tuple of Certificate
        One for each problem.
    n_iter_ : int
        Solver steps over all problems.

    Notes
    -----
    In "ovo" problems class i of a pair i < j is +1; with two classes ``classes_[1]`` is.
    ``decision_function`` has one column for each class (one value for two classes): votes, ties
    broken by the sum of decisions, and ``predict`` is its largest column.

    With kernel="precomputed" ``predict`` takes the kernel between new rows and either all rows of
    ``fit`` or the support vectors alone, ``K[:, model.support_]``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = SVC().fit(X, ["left", "left", "right", "right"])
    >>> model.predict([[-0.8, -1.0]])
    array(['left'], dtype='<U5')
    >>> model.certificate_.converged
    True
    """

    _scores: Expansion | LinearScores
    _support_rows: Any

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
        multi_class: str = "ovo",
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
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
        self.multi_class = multi_class
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
    ) -> SVC:
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
        SVC
            The fitted estimator.
        """
        with all_or_nothing(self):
            C = check_number("C", self.C)
            prepared = self._prepare(X, y, sample_domain, sample_weight)
            fits = [
                _task_path(prepared, task, [C], self.fit_intercept)[0] for task in prepared.tasks
            ]
            self._adopt(prepared, fits)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Scores of the classes; the larger, the more likely.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them; the machine is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive values mean ``classes_[1]``.
        """
        if "_scores" not in vars(self):
            check_is_fitted(self, "_scores")
        narrow = len(self.support_) if self.kernel == "precomputed" else None
        values = self._scores.values(check_predict_rows(self, X, narrow), self.n_jobs)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.asarray(values[:, 0])
        return values if self.multi_class == "ovr" else vote_scores(values, n_classes)

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
    def support_vectors_(self) -> Any:
        """The support vectors, in the order of ``support_``."""
        rows = self._support_rows
        if rows is None:
            raise AttributeError("the rows of precomputed kernels and of features are not known")
        return rows[self._support_order]

    @property
    def coef_(self) -> Floats:
        """The weights w of the linear functions."""
        if not isinstance(self._scores, LinearScores):
            raise AttributeError("coef_ exists for kernel='linear' and with features= only")
        return self._scores.coef

    def _prepare(
        self, X: Any, y: Any, sample_domain: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Prepared:
        """Check everything and put the rows into their space."""
        tol = check_number("tol", self.tol)
        max_iter = int(check_number("max_iter", self.max_iter))
        rows = training_rows(
            self,
            X,
            y,
            sample_domain=sample_domain,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
        )
        n_classes = len(rows.classes)
        if n_classes > 2 and self.multi_class == "ovo":
            rows = rows.by_class(self)
        tasks = split(rows.codes, n_classes, self.multi_class)
        report = progress(self.callback, self.verbose, type(self).__name__)
        options = Options(tol, max_iter, self.memory_limit, self.n_jobs, report)
        space = self._space(rows.X)
        if len(tasks) > 1 and isinstance(space, KernelSpace):
            space = space.shared(options)
        return Prepared(rows, space, tasks, options)

    def _fit_stream(self, stream: Stream) -> None:
        """Fit from blocks, in explicit features: smoothed and certified; no support vectors."""
        points = open_points(self, stream)
        if self.multi_class not in ("ovo", "ovr"):
            raise ValueError(f'multi_class must be "ovo" or "ovr", got {self.multi_class!r}.')
        scores, answers = fit_hinge(self, points)
        self._scores = scores
        self.classes_ = points.classes
        self.intercept_ = scores.intercept
        self.support_ = np.empty(0, dtype=np.intp)
        self.n_support_ = np.zeros(len(points.classes), dtype=np.intp)
        self.dual_coef_ = np.empty((len(answers), 0))
        self._support_rows, self._support_order = None, self.support_
        self.certificates_ = tuple(answer.certificate for answer in answers)
        self.certificate_ = combine(self.certificates_)
        self.n_iter_ = max(1, self.certificate_.n_iter)
        if points.features is not None:
            self.features_ = points.features
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _space(self, X: Any) -> Space:
        if self.kernel != "precomputed":
            warn_scales(X)
        large = self.kernel == "linear" and X.shape[0] > _EXPLICIT_ROWS
        if self.features is not None or large:
            return FeatureSpace.of(self.features, X)
        return KernelSpace.of(self, X)

    def _adopt(self, prepared: Prepared, fits: Sequence[HingeFit]) -> None:
        """Set the fitted attributes; nothing before this line has touched the estimator."""
        rows, space = prepared.rows, prepared.space
        pairwise = prepared.tasks[0].rows is not None
        dual = _pairwise_dual(rows, prepared.tasks, fits) if pairwise else _dual(fits)
        used = np.flatnonzero(dual.any(axis=1))
        positions = rows.positions(used)
        order = np.argsort(positions)
        self.classes_ = rows.classes
        self.support_ = positions[order]
        self.n_support_ = np.bincount(rows.codes[used], minlength=len(rows.classes))
        self.dual_coef_ = dual[used[order]].T
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.certificates_ = tuple(fit.certificate for fit in fits)
        self.certificate_ = combine(self.certificates_)
        self.n_iter_ = max(1, self.certificate_.n_iter)
        known = self.features is None and self.kernel != "precomputed"
        self._support_rows = rows.X[used] if known else None
        self._support_order = order
        self._scores = self._decision(prepared, fits, dual, used, pairwise)
        if isinstance(space, FeatureSpace) and space.features is not None:
            self.features_ = space.features

    def _decision(
        self,
        prepared: Prepared,
        fits: Sequence[HingeFit],
        dual: Floats,
        used: NDArray[np.intp],
        pairwise: bool,
    ) -> Expansion | LinearScores:
        rows, space, options = prepared.rows, prepared.space, prepared.options
        if isinstance(space, FeatureSpace):
            coef = np.array([fit.weights for fit in fits])
            return LinearScores(coef, self.intercept_, space.features)
        assert isinstance(space, KernelSpace)
        if space.kernel.name == "linear":
            coef = np.stack([_primal(rows.X, task, fit) for task, fit in zip(prepared.tasks, fits)])
            return LinearScores(coef, self.intercept_)
        counts = self.n_support_
        starts = np.concatenate([[0], np.cumsum(counts)]) if pairwise else None
        return Expansion(
            space.kernel, self._support_rows, rows.positions(used), dual[used], self.intercept_,
            starts, self.n_features_in_, options.dtype,
        )  # fmt: skip


def svc_path(
    X: Any,
    y: Any,
    Cs: Sequence[float],
    *,
    estimator: SVC | None = None,
    sample_domain: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> list[SVC]:
    """Fit one :class:`SVC` for each cost in ``Cs``, each started from the answer before it.

    The rows are checked and packed once, and every two-class problem goes through the costs from
    the smallest to the largest: a · C₂ / C₁ is feasible for C₂ and near its answer.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Labels.
    Cs : sequence of float
        Costs.
    estimator : SVC, optional
        Where all other parameters come from; its C is not used.
    sample_domain, sample_weight
        As in :meth:`SVC.fit`.

    Returns
    -------
    list of SVC
        Fitted machines in the order of ``Cs``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import svc_path
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> [model.C for model in svc_path(X, y, [0.1, 10.0])]
    [0.1, 10.0]
    """
    costs = [check_number("Cs", C) for C in Cs]
    if not costs:
        raise ValueError("Cs is empty; at least one cost is needed.")
    template = SVC() if estimator is None else estimator
    models = [clone(template).set_params(C=C) for C in costs]
    first = models[0]
    prepared = first._prepare(X, y, sample_domain, sample_weight)
    ascending = sorted(range(len(costs)), key=costs.__getitem__)
    paths = [
        _task_path(prepared, task, [costs[k] for k in ascending], first.fit_intercept)
        for task in prepared.tasks
    ]
    for place, k in enumerate(ascending):
        model = models[k]
        model.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            model.feature_names_in_ = first.feature_names_in_
        model._adopt(prepared, [path[place] for path in paths])
        warn_unless_converged(model.certificate_, f"SVC(C={costs[k]:g})", first.tol)
    return models


def _task_path(
    prepared: Prepared, task: Task, costs: Sequence[float], fit_intercept: bool
) -> list[HingeFit]:
    """One two-class problem for ascending costs."""
    space = prepared.space.restrict(task.rows)
    weights = prepared.rows.weights
    weights = weights if task.rows is None else weights[task.rows]
    fits: list[HingeFit] = []
    for place, C in enumerate(costs):
        start = fits[-1].alpha * (C / costs[place - 1]) if fits else None
        fits.append(
            space.hinge(
                task.signs, C * weights,
                fit_intercept=fit_intercept, options=prepared.options, start=start,
            )
        )  # fmt: skip
    return fits


def _dual(fits: Sequence[HingeFit]) -> Floats:
    return np.stack([fit.coef for fit in fits], axis=1)


def _pairwise_dual(rows: TrainingRows, tasks: Sequence[Task], fits: Sequence[HingeFit]) -> Floats:
    """Coefficients of each row in the problems of its class, one column for each other class."""
    n_classes = len(rows.classes)
    dual = np.zeros((len(rows.codes), n_classes - 1))
    for (i, j), task, fit in zip(combinations(range(n_classes), 2), tasks, fits, strict=True):
        assert task.rows is not None
        first = rows.codes[task.rows] == i
        dual[task.rows[first], j - 1] = fit.coef[first]
        dual[task.rows[~first], i] = fit.coef[~first]
    return dual


def _primal(X: Any, task: Task, fit: HingeFit) -> Floats:
    """The sum w = Σ y_i a_i x_i over the rows of a problem."""
    used = np.flatnonzero(fit.coef)
    rows = used if task.rows is None else task.rows[used]
    return np.asarray(X[rows].T @ fit.coef[used], dtype=np.float64)
