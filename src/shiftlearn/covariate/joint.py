"""Integrated logistic regression for covariate shift: classifier and domain model found together.

S. Bickel, M. Brückner, T. Scheffer, "Discriminative Learning for Differing Training and Test
Distributions", 2007. The objective stands in `shiftlearn.covariate.joint_loss`, how it is minimised
in `shiftlearn.covariate.joint_fit`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from shiftlearn.certificates import Certificate, Event, warn_unless_converged
from shiftlearn.covariate.coordinates import Coordinates, coordinates_of
from shiftlearn.covariate.joint_fit import (
    JointProblem,
    JointSolution,
    plain_logistic,
    with_intercepts,
)
from shiftlearn.covariate.rows import ShiftRows, shift_rows
from shiftlearn.covariate.streaming import StreamedJoint, open_joint
from shiftlearn.domains import DomainClassifierMixin, warn_no_target
from shiftlearn.errors import NoOverlapWarning
from shiftlearn.machines.base import (
    Machine,
    all_or_nothing,
    check_number,
    check_predict_rows,
    progress,
)
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.solvers import newton
from shiftlearn.statistics import Stream

__all__ = ["CovariateShiftLogisticRegression"]

Floats = NDArray[np.float64]
Callback = Callable[[Event], bool | None]

_SOLVERS = ("auto", "newton", "newton-cg")
_SMALL_WEIGHT = 1e-3
_SMALL_SHARE = 0.01
_FUNCTION_ATTRIBUTES = (
    "coef_", "shift_coef_", "features_",
    "support_", "dual_coef_", "shift_dual_coef_", "kernel_residual_",
)  # fmt: skip
_AT_PREDICTION = {"sample_domain": True, "allow_source": True}


class CovariateShiftLogisticRegression(DomainClassifierMixin, Machine):
    r"""Logistic regression under covariate shift, with the weights of the rows learned beside it.

    Labelled source rows x_1..x_m, unlabelled target rows x_{m+1}..x_{m+n}, and P(y given x) the
    same in both. With u = wᵀx + w₀ the log-odds of the label, ℓ the logistic loss, and
    t = vᵀx + v₀ the log-odds of "source row" it minimises

    .. math::

        J(w, v) = \sum_{i \le m} \omega_i\, \rho e^{-t_i}\, \ell(y_i, u_i)
        + \sum_{i \le m} \log(1 + e^{-t_i}) + \sum_{j > m} \log(1 + e^{t_j})
        + \frac{\|w\|^2}{2C} + \frac{\|v\|^2}{2C_\text{shift}} .

    :math:`\rho e^{-t}`, with ρ = m/n, estimates p(x | target) / p(x | source): a source row counts
    as much as it looks like a target row. Because rows that are hard to fit pull t up, these
    weights are smaller than those of the two-stage method (`ReweightedClassifier`); C should be
    chosen for this method and not taken from ordinary logistic regression.

    J is convex in w and in v, not in both: the answer is a stationary point with no direction of
    negative curvature (``certificate_.curvature``), not below ``objective_start_``, and not proved
    to be the lowest one; ``n_starts`` looks further.

    Use it where inputs moved and the rule that labels them did not, and where the linear (or
    kernel) model cannot be right everywhere: then it matters where it is right.

    Parameters
    ----------
    C : float, default=1.0
        s_w², the variance of the prior on w.
    C_shift : float, default=1.0
        s_v², the variance of the prior on v.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        Of both models. Anything but "linear" goes through a factor of the kernel matrix of all
        rows, whose columns ``memory_limit`` bounds.
    gamma : {"scale", "auto"} or float, default="scale"
        As in `SVC`.
    degree, coef0 : float
        Of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether w₀ and v₀ are there; they are not penalised. Without them (as the method was
        published) equal domains of unequal sizes have weights near m/n instead of 1.
    class_weight : dict, "balanced" or None, default=None
        Factors of ω.
    prior_odds : float or None, default=None
        ρ; None is m/n (with ``domain_weight``, the ratio of its sums).
    solver : {"auto", "newton", "newton-cg"}, default="auto"
        Newton's method with the Hessian as a matrix, or through products with it (always for
        sparse rows under "auto"). "auto" also rotates dense rows with more columns than rows into
        their span.
    n_starts : int, default=1
        Starts of Newton's method; the lowest answer is kept. The first is ordinary logistic
        regression, the second two-stage, the third has v = 0, others are drawn.
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``, any transformer), fitted on all rows; both
        models are then linear in its features, and ``kernel`` is not used.
    warm_start : bool, default=False
        Start ``fit`` from the former answer where it has the same shape.
    tol : float, default=1e-6
        Largest gradient entry over max(1, Σ ω).
    max_iter : int, default=100
        Most Newton steps from each start.
    memory_limit : int or "auto", default="auto"
        Bytes for the factor and for blocks of rows.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    random_state : int, RandomState or None, default=None
        Draws the starts behind the third.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    coef_, intercept_ : ndarray of shape (1, n_features) or (n_classes, n_features); (1,) or more
        w and w₀ (of the features, with ``features``); no ``coef_`` with a kernel.
    shift_coef_, shift_intercept_ : ndarray of shape (n_features,), float
        v and v₀.
    support_, dual_coef_, shift_dual_coef_ : ndarrays
        With a kernel: rows of ``fit`` and the coefficients of w and of v there.
    weights_ : ndarray of shape (n_source,)
        ρ exp(-t) of the source rows in their order.
    weights_normalized_ : ndarray of shape (n_source,)
        The same with mean 1; for other learners take these or those of `LogisticRatio`.
    effective_sample_size_ : float
        (Σ r)² / Σ r² of the weights.
    prior_odds_ : float
        ρ.
    objective_, objective_start_ : float
        J at the answer and at the first start.
    objectives_ : tuple of float
        J at the stationary point that each start led to.
    kernel_residual_ : float
        With a kernel, the part of the trace of its matrix that the factor leaves out.
    convexity_margin_ : float
        The least of s_i q_i² / ρ - ω_i (1/P_i - 1 - log(1/P_i)) over the source rows, P_i the
        probability of the row's label: where it is not negative, J is convex at the answer. It
        may be negative although the curvature is positive.
    grad_norm_ : float
        Largest gradient entry.
    certificate_ : Certificate
        ``objective`` is J, ``violation`` the gradient in units of ``tol``, ``curvature`` the
        smallest eigenvalue of the Hessian (by Lanczos' method with "newton-cg"); ``gap`` is NaN.
    n_iter_ : int
        Newton steps.
    features_ : transformer
        The fitted feature map, with ``features``.

    See Also
    --------
    ReweightedClassifier : the two-stage method for any learner.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import CovariateShiftLogisticRegression, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> def label(X):  # not linear: what is right depends on where the rows lie
    ...     return (np.abs(X[:, 0]) > 1).astype(int)
    >>> Xs, Xt = rng.normal(size=(500, 1)), rng.normal(1.0, 0.5, size=(500, 1))
    >>> X, y, sample_domain = stack_domains(Xs, label(Xs), Xt)
    >>> model = CovariateShiftLogisticRegression().fit(X, y, sample_domain=sample_domain)
    >>> plain = LogisticRegression().fit(Xs, label(Xs))
    >>> bool(model.score(Xt, label(Xt)) > plain.score(Xt, label(Xt)) + 0.3)
    True
    """

    __metadata_request__density_ratio: ClassVar[Mapping[str, bool]] = _AT_PREDICTION
    __metadata_request__domain_proba: ClassVar[Mapping[str, bool]] = _AT_PREDICTION

    _functions: LinearScores | Expansion

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_shift: float = 1.0,
        kernel: str | Callable[..., ArrayLike] = "linear",
        gamma: str | float = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        prior_odds: float | None = None,
        solver: str = "auto",
        n_starts: int = 1,
        features: Any = None,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 100,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.C_shift = C_shift
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.prior_odds = prior_odds
        self.solver = solver
        self.n_starts = n_starts
        self.features = features
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
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
        domain_weight: ArrayLike | None = None,
    ) -> CovariateShiftLogisticRegression:
        """Fit both models on labelled source rows and target rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are never read. Source rows without a label take part in
            the domain model only.
        sample_domain : array-like of int of shape (n_samples,), optional
            ``>= 0`` source (several sources are pooled), ``< 0`` target.
        sample_weight : array-like of shape (n_samples,), optional
            ω, of the label loss alone.
        domain_weight : array-like of shape (n_samples,), optional
            Factors of the domain losses, on the rows of both domains.

        Returns
        -------
        CovariateShiftLogisticRegression
            The fitted estimator.
        """
        with all_or_nothing(self):
            prepared = self._prepare(X, y, sample_domain, sample_weight, domain_weight)
            start = vars(self).get("_theta") if self.warm_start else None
            self._adopt(prepared, self._solve(prepared, start))
        self._warn()
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Log-odds of ``classes_[1]``, or one score for each of several classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them; the model is that of the target.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        scores = self._scores(X)[:, :-1]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """The most probable class of each row.

        Parameters
        ----------
        X, sample_domain, allow_source
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(np.intp)])

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """P(class given x).

        Parameters
        ----------
        X, sample_domain, allow_source
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Each row sums to one.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """log P(class given x).

        Parameters
        ----------
        X, sample_domain, allow_source
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)], axis=1)
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def domain_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """P(source row given x), among as many source and target rows as in ``fit``.

        Parameters
        ----------
        X, sample_domain, allow_source
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probabilities.
        """
        return np.asarray(expit(self._scores(X)[:, -1]))

    def density_ratio(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """p(x given target) / p(x given source) as the model has it, ρ exp(-t).

        Parameters
        ----------
        X, sample_domain, allow_source
            As in :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Ratios; inf where they overflow.
        """
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(math.log(self.prior_odds_) - self._scores(X)[:, -1]))

    def _fit_stream(self, stream: Stream) -> None:
        """Fit from blocks, in explicit features; weights of rows by ``density_ratio``."""
        self._check_parameters()
        joint = open_joint(self, stream)
        report = progress(self.callback, self.verbose, type(self).__name__)
        if joint.n_target:
            start = joint.start()
            answer = newton.solve(
                joint.problem(), tol=self.tol, max_iter=int(self.max_iter), start=start.ravel(),
                n_jobs=self.n_jobs, callback=report,
            )  # fmt: skip
            theta = answer.parameters.reshape(start.shape)
        else:
            answer = joint.plain(self.tol)
            theta = joint.plain_theta(answer)
        self._adopt_stream(joint, theta, answer.certificate)

    def _adopt_stream(self, joint: StreamedJoint, theta: Floats, proof: Certificate) -> None:
        """Set the fitted attributes that need no list of rows."""
        width = joint.n_columns
        intercept = theta[:, width] if self.fit_intercept else np.zeros(len(theta))
        if joint.n_scores > 1:
            intercept = np.append(intercept[:-1] - intercept[:-1].mean(), intercept[-1])
        self.classes_, self._theta = joint.classes, theta
        self._functions = LinearScores(theta[:, :width], intercept, joint.features)
        self.coef_, self.shift_coef_ = theta[:-1, :width], theta[-1, :width]
        self.intercept_, self.shift_intercept_ = intercept[:-1].copy(), float(intercept[-1])
        if joint.features is not None:
            self.features_ = joint.features
        first = proof.history[0][1]
        answer = JointSolution(theta, proof, first, (proof.objective,))
        self._adopt_proof(proof, answer, joint.weight)
        self.prior_odds_, mean = joint.odds, 1.0
        self.effective_sample_size_, self.convexity_margin_ = joint.n_source, math.inf
        if joint.n_target:
            mean, self.effective_sample_size_, self.convexity_margin_ = joint.sums(theta)
        else:
            warn_no_target(type(self).__name__, "logistic regression on the source rows")
        warn_unless_converged(proof, type(self).__name__, self.tol)
        self._warn_overlap(int(joint.n_source), mean)

    def _prepare(
        self, X: Any, y: Any, sample_domain: Any, sample_weight: Any, domain_weight: Any
    ) -> Prepared:
        """Checked parameters, rows and their coordinates; nothing of it depends on the costs."""
        self._check_parameters()
        rows = shift_rows(
            self, X, y,
            sample_domain=sample_domain, sample_weight=sample_weight,
            domain_weight=domain_weight, class_weight=self.class_weight,
        )  # fmt: skip
        if rows.n_target == 1:
            warnings.warn(
                "There is only 1 target row: the weights rest on a single point.",
                UserWarning,
                stacklevel=4,
            )
        return Prepared(rows, coordinates_of(self, rows))

    def _check_parameters(self) -> None:
        for name in ("C", "C_shift", "tol", "max_iter", "n_starts"):
            check_number(name, getattr(self, name))
        if self.prior_odds is not None:
            check_number("prior_odds", self.prior_odds)
        if self.solver not in _SOLVERS:
            raise ValueError(
                f'solver must be "auto", "newton" or "newton-cg", got {self.solver!r}.'
            )
        if int(self.n_starts) != self.n_starts:
            raise ValueError(f"n_starts must be a whole number, got {self.n_starts!r}.")

    def _problem(self, prepared: Prepared) -> JointProblem:
        rows = prepared.rows
        return JointProblem(
            prepared.coordinates.Z, rows.codes, rows.omega, rows.domain_weights, rows.n_source,
            len(rows.classes), float(self.C), float(self.C_shift),
            rows.odds if self.prior_odds is None else float(self.prior_odds),
            fit_intercept=bool(self.fit_intercept), hessian=self.solver,
            memory_limit=self.memory_limit, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _solve(self, prepared: Prepared, start: Floats | None = None) -> JointSolution:
        callback = progress(self.callback, self.verbose, type(self).__name__)
        if not prepared.rows.n_target:
            return self._solve_plain(prepared, callback)
        problem = self._problem(prepared)
        return problem.solve(
            tol=self.tol,
            max_iter=int(self.max_iter),
            n_starts=int(self.n_starts),
            random_state=check_random_state(self.random_state),
            start=start if problem.can_start_at(start) else None,
            callback=callback,
        )

    def _solve_plain(self, prepared: Prepared, callback: Callback | None) -> JointSolution:
        """Without a target: logistic regression, and a domain model that knows nothing."""
        rows = prepared.rows
        answer = plain_logistic(
            prepared.coordinates.Z, rows.codes, len(rows.classes), rows.omega, float(self.C),
            fit_intercept=bool(self.fit_intercept), tol=self.tol, max_iter=int(self.max_iter),
            memory_limit=self.memory_limit, n_jobs=self.n_jobs, callback=callback,
        )  # fmt: skip
        label = with_intercepts(answer, self.fit_intercept)
        theta = np.vstack([label, np.zeros((1, label.shape[1]))])
        proof = answer.certificate
        return JointSolution(theta, proof, proof.history[0][1], (proof.objective,))

    def _adopt(self, prepared: Prepared, answer: JointSolution) -> None:
        """Set the fitted attributes; nothing before this line has touched the estimator."""
        rows, coordinates, theta = prepared.rows, prepared.coordinates, answer.theta
        self.classes_ = rows.classes
        self._theta = theta
        width = coordinates.Z.shape[1]
        intercept = theta[:, width] if self.fit_intercept else np.zeros(len(theta))
        self._functions = coordinates.chart.scores(theta[:, :width], intercept)
        self.intercept_, self.shift_intercept_ = intercept[:-1].copy(), float(intercept[-1])
        self._adopt_functions(self._functions, coordinates)
        self._adopt_proof(answer.certificate, answer, float(rows.omega.sum()))
        self._adopt_weights(prepared, theta)

    def _adopt_functions(
        self, functions: LinearScores | Expansion, coordinates: Coordinates
    ) -> None:
        state: dict[str, Any] = self.__dict__
        for name in _FUNCTION_ATTRIBUTES:
            state.pop(name, None)
        if isinstance(functions, Expansion):
            self.support_, self.kernel_residual_ = functions.index, coordinates.residual
            self.dual_coef_ = functions.coef[:, :-1].T.copy()
            self.shift_dual_coef_ = functions.coef[:, -1].copy()
            return
        self.coef_, self.shift_coef_ = functions.coef[:-1], functions.coef[-1]
        if functions.features is not None:
            self.features_ = functions.features

    def _adopt_proof(self, proof: Certificate, answer: JointSolution, total: float) -> None:
        self.certificate_ = proof
        self.objective_, self.objective_start_ = proof.objective, answer.first
        self.objectives_ = answer.objectives
        self.grad_norm_ = proof.violation * max(1.0, total)
        self.n_iter_ = max(1, proof.n_iter)

    def _adopt_weights(self, prepared: Prepared, theta: Floats) -> None:
        rows, m = prepared.rows, prepared.rows.n_source
        if not rows.n_target:
            self.prior_odds_, self.weights_ = 1.0, np.ones(m)
            self.weights_normalized_, self.effective_sample_size_ = np.ones(m), float(m)
            self.convexity_margin_ = math.inf
            return
        problem = self._problem(prepared)
        scores = problem.loss.scores(prepared.coordinates.Z[:m], theta)
        self.prior_odds_ = problem.odds
        logs = math.log(problem.odds) - scores[-1]
        self.weights_ = np.exp(logs)
        self.weights_normalized_ = np.exp(logs - logsumexp(logs) + math.log(m))
        self.effective_sample_size_ = float(np.exp(2 * logsumexp(logs) - logsumexp(2 * logs)))
        self.convexity_margin_ = problem.convexity_margin(scores)

    def _warn(self) -> None:
        """Say where the answer is not converged, or where the weights leave too little."""
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        self._warn_overlap(len(self.weights_), float(self.weights_.mean()))

    def _warn_overlap(self, m: int, mean: float) -> None:
        left = self.effective_sample_size_
        if mean < _SMALL_WEIGHT or left < min(m, max(2.0, _SMALL_SHARE * m)):
            warnings.warn(
                f"Source and target hardly overlap: the {m} source rows have mean weight "
                f"{mean:.2g} and are worth {left:.3g} rows. Their labels say little about the "
                "target; label some target rows (AdaptCV), or use fewer or coarser columns.",
                NoOverlapWarning,
                stacklevel=4,
            )

    def _scores(self, X: Any) -> Floats:
        """Scores of the classes and, last, of the domain."""
        check_is_fitted(self, "classes_")
        index = getattr(self._functions, "index", None)
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        n_support = len(index) if precomputed and index is not None else None
        rows = check_predict_rows(self, X, n_support)
        return np.asarray(self._functions.values(rows, self.n_jobs))


@dataclass(frozen=True, slots=True)
class Prepared:
    """The rows of ``fit`` and their coordinates."""

    rows: ShiftRows
    coordinates: Coordinates
