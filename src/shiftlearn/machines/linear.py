"""Linear support vector classification on the rows themselves.

For each two-class problem, with y_i = ±1 and costs c_i = C · sample_weight_i · class_weight(y_i):

    min_{w, b}  ½‖w‖² + Σ_i c_i ℓ(1 - y_i (⟨w, x_i⟩ + b)),     ℓ(t) = max(0, t)  or  max(0, t)²

through its dual (`shiftlearn.solvers.linear`): s = y, p = -1, and

    hinge          0 <= a_i <= c_i          squared hinge  0 <= a_i,  D_i = 1 / (2 c_i),

with Σ y_i a_i = 0 where there is an intercept, which is b = minus the multiplier of that sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event as Flag
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import DomainClassifierMixin
from shiftlearn.machines.base import (
    Machine,
    all_or_nothing,
    check_number,
    check_predict_rows,
    progress,
    training_rows,
    warn_scales,
)
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.machines.formulations import combine
from shiftlearn.machines.multiclass import split
from shiftlearn.machines.spaces import FeatureSpace
from shiftlearn.machines.streaming import fit_hinge, open_points
from shiftlearn.resources import n_threads, own_thread
from shiftlearn.solvers.linear import LinearProblem, LinearSolution, solve_linear
from shiftlearn.statistics import Stream

__all__ = ["LinearSVC"]

Floats = NDArray[np.float64]
Callback = Callable[[Event], bool | None]

_LOSSES = ("hinge", "squared_hinge")


class LinearSVC(DomainClassifierMixin, Machine):
    """Linear support vector classifier.

    Minimises, for each class against the rest (for two classes: the second against the first),
    with labels y_i = ±1 and costs c_i = C · sample_weight_i · class_weight(y_i),

        ½‖w‖² + Σ_i c_i ℓ(1 - y_i f(x_i)),     f(x) = ⟨w, x⟩ + b,

    with ℓ(t) = max(0, t), or its square. The intercept b is not penalised, so that the answer does
    not change when the columns are shifted. No kernel matrix is formed: the work grows with the
    non-zeros of X, and the answer proves itself in ``certificate_``.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        ℓ.
    fit_intercept : bool, default=True
        Whether b is there.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs; "balanced" gives all classes the same total cost, counting
        ``sample_weight``.
    multi_class : {"ovr"}, default="ovr"
        Each class against the rest.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int, default=10_000
        Most sweeps over the rows and Newton steps for each problem; stopped early,
        ``certificate_.gap`` bounds the distance from the optimum.
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``, any transformer), fitted on the rows; the
        machine is then linear in its features.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    random_state : int, RandomState or None, default=None
        Draws the order in which rows are visited; None is a fixed order, so that every fit of the
        same data gives the same answer.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        w of each problem (of the features, where ``features`` is given).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b of each problem; where several b are optimal, the middle of their interval.
    features_ : transformer
        The fitted feature map, with ``features``.
    certificate_ : Certificate
        The proof for all problems together (objectives and gaps add up).
    certificates_ : tuple of Certificate
        One for each problem.
    n_iter_ : int
        Most iterations of a problem.

    See Also
    --------
    SVC : the same machine with a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LinearSVC
    >>> X = np.array([[-1.0, 0.0], [-2.0, 1.0], [1.0, 0.0], [3.0, 1.0]])
    >>> model = LinearSVC().fit(X, ["left", "left", "right", "right"])
    >>> model.coef_.round(3)
    array([[1., 0.]])
    >>> model.predict([[-0.5, 2.0]])
    array(['left'], dtype='<U5')
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        multi_class: str = "ovr",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        features: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.tol = tol
        self.max_iter = max_iter
        self.features = features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> LinearSVC:
        """Fit the machine on the source rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_domain : array-like of int of shape (n_samples,), optional
            Rows with a negative entry are target rows and left out.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs; rows of weight 0 are left out.

        Returns
        -------
        LinearSVC
            The fitted estimator.
        """
        with all_or_nothing(self):
            solve = self._solver()
            C = check_number("C", self.C)
            rows = training_rows(
                self,
                X,
                y,
                sample_domain=sample_domain,
                sample_weight=sample_weight,
                class_weight=self.class_weight,
            )
            if self.features is None:
                warn_scales(rows.X)
            space = FeatureSpace.of(self.features, rows.X)
            tasks = split(rows.codes, len(rows.classes), self.multi_class)
            form = partial(
                _problem, space.Z, C * rows.weights, loss=self.loss, intercept=self.fit_intercept
            )
            answers = _solve_all(
                [form(task.signs) for task in tasks], solve, n_threads(self.n_jobs)
            )
            self._adopt(rows.classes, answers, space.features)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Signed distance from the boundary, in units of 1/‖w‖.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them; the machine is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive values mean ``classes_[1]``.
        """
        if "coef_" not in vars(self):
            check_is_fitted(self, "coef_")
        features = vars(self).get("features_")
        scores = LinearScores(self.coef_, self.intercept_, features)
        values = scores.values(check_predict_rows(self, X))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the class of each row: the largest score.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
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

    def _fit_stream(self, stream: Stream) -> None:
        """Fit from blocks: the hinge loss alone, smoothed and certified."""
        self._solver()
        if self.loss != "hinge":
            raise ValueError('loss must be "hinge" to fit from blocks.')
        points = open_points(self, stream)
        scores, answers = fit_hinge(self, points)
        self.classes_ = points.classes
        self.coef_, self.intercept_ = scores.coef, scores.intercept
        self.certificates_ = tuple(answer.certificate for answer in answers)
        self.certificate_ = combine(self.certificates_)
        self.n_iter_ = max(1, *(proof.n_iter for proof in self.certificates_))
        if points.features is not None:
            self.features_ = points.features
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _solver(self) -> partial[LinearSolution]:
        """The solver with the checked parameters of this estimator."""
        if self.loss not in _LOSSES:
            raise ValueError(f'loss must be "hinge" or "squared_hinge", got {self.loss!r}.')
        if self.multi_class != "ovr":
            raise ValueError(
                f'multi_class must be "ovr", got {self.multi_class!r}; SVC(kernel="linear", '
                'multi_class="ovo") fits pairs of classes.'
            )
        return partial(
            solve_linear,
            tol=check_number("tol", self.tol),
            max_iter=int(check_number("max_iter", self.max_iter)),
            random_state=_seed(self.random_state),
            callback=progress(self.callback, self.verbose, type(self).__name__),
        )

    def _adopt(
        self, classes: NDArray[Any], answers: Sequence[LinearSolution], features: Any
    ) -> None:
        """Set the fitted attributes; nothing before this line has touched the estimator."""
        self.classes_ = classes
        self.coef_ = np.stack([answer.weights for answer in answers])
        # 0.0 - b and not -b: an intercept that is not there is 0, never -0.
        self.intercept_ = np.array([0.0 - answer.multiplier for answer in answers])
        self.certificates_ = tuple(answer.certificate for answer in answers)
        self.certificate_ = combine(self.certificates_)
        self.n_iter_ = max(1, *(certificate.n_iter for certificate in self.certificates_))
        if features is not None:
            self.features_ = features


@dataclass(slots=True)
class _Guarded:
    """One callback for several threads: called by one at a time, and stopping all of them."""

    callback: Callback | None
    flag: Flag
    lock: Lock

    def __call__(self, event: Event) -> bool:
        if self.callback is not None and not self.flag.is_set():
            with self.lock:
                if self.callback(event) is True:
                    self.flag.set()
        return self.flag.is_set()


def _problem(Z: Any, costs: Floats, signs: Floats, *, loss: str, intercept: bool) -> LinearProblem:
    """The dual of the machine; see the head of the module."""
    n, total = len(costs), 0.0 if intercept else None
    if loss == "hinge":
        return LinearProblem(Z, np.full(n, -1.0), costs, signs, total)
    return LinearProblem(Z, np.full(n, -1.0), np.full(n, np.inf), signs, total, 0.5 / costs)


def _solve_all(
    problems: Sequence[LinearProblem], solve: partial[LinearSolution], threads: int
) -> list[LinearSolution]:
    """Independent problems, one thread each as far as they go; an interrupt stops all of them."""
    if len(problems) == 1 or threads == 1:
        return [solve(problem, n_jobs=threads) for problem in problems]
    from concurrent.futures import ThreadPoolExecutor

    guarded = _Guarded(solve.keywords["callback"], Flag(), Lock())

    def work(problem: LinearProblem) -> LinearSolution:
        with own_thread():
            return solve(problem, n_jobs=1, callback=guarded)

    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(work, problems))
        except BaseException:
            guarded.flag.set()
            raise


def _seed(random_state: int | np.random.RandomState | None) -> int | None:
    """One number for all problems, so that they do not depend on the order they run in."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return random_state
    return int(random_state.randint(np.iinfo(np.int32).max))
