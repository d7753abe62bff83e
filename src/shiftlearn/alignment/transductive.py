"""Transductive support vector classification: target rows join the margin, with labels of its own.

    min_{w, b, ŷ}  ½‖w‖² + Σ_i c_i max(0, 1 - y_i f(x_i)) + Σ_j C* s_j max(0, 1 - ŷ_j f(z_j))

over f and the labels ŷ of the target rows z, a given share of them positive
(`shiftlearn.alignment.label_switching`); several classes are one such problem for each class
against the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.alignment.label_switching import Train, Transduction, transduce
from shiftlearn.alignment.rows import DomainRows, domain_rows
from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.machines.base import TrainingRows, all_or_nothing, check_number, progress
from shiftlearn.machines.multiclass import Task, split
from shiftlearn.machines.spaces import FeatureSpace, HingeFit, KernelSpace, Options, Space
from shiftlearn.machines.svc import SVC, Prepared

__all__ = ["TransductiveSVC"]

Floats = NDArray[np.float64]


class TransductiveSVC(SVC):
    """Transductive support vector classifier.

    Minimises over f *and* the labels ŷ of the unlabelled target rows z_j, of which a given share
    belongs to each class,

        ½‖w‖² + C Σ_i s_i max(0, 1 - y_i f(x_i)) + C* Σ_j s_j max(0, 1 - ŷ_j f(z_j)),

    so that the boundary keeps clear of the target rows. The problem is not convex; the labels are
    found by exchanging pairs while C* grows from nearly 0 (Joachims, *Transductive inference for
    text classification using support vector machines*, 1999). The machine for the labels found is
    exact. It helps where the classes of the target form clusters, and believes its own mistakes
    where they do not.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin of a source row.
    C_target : float or None, default=None
        C*, the final cost of a violated margin of a target row; None is C.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Share of each class among the target rows; None takes the shares of the source.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width, from the rows of both domains: "scale" is 1 / (n_features · X.var()).
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs of the source rows.
    features : transformer or None, default=None
        A feature map, fitted on the rows of both domains; the machine is linear in its features.
    tol, max_iter, memory_limit, n_jobs, verbose, callback
        As in :class:`SVC`, for each of the trainings.

    Attributes
    ----------
    target_signs_ : ndarray of shape (n_problems, n_target)
        The labels ŷ, +1 or -1, of the target rows in the order of ``fit``; two classes: one row.
    objective_history_ : tuple of tuples of Round
        For each problem every training: the costs, the objective, the pairs exchanged after it.
        At equal costs the objective falls from one to the next.
    certificate_ : Certificate
        The problem is not convex: ``gap`` is NaN.
    certificates_ : tuple of Certificate
        For each problem the proof of the machine for the labels found.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, features_
        As in :class:`SVC` with multi_class="ovr"; target rows are counted under the class of
        their final label.

    See Also
    --------
    SVC : the machine without target rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import TransductiveSVC, stack_domains
    >>> Xs, ys = np.array([[0.0], [1.0]]), [0, 1]
    >>> Xt = np.array([[0.1], [0.2], [0.55], [0.9], [1.0], [1.1]])
    >>> X, y, sample_domain = stack_domains(Xs, ys, Xt)
    >>> model = TransductiveSVC(C=100.0, kernel="linear", class_prior=[1 / 3, 2 / 3])
    >>> model.fit(X, y, sample_domain=sample_domain).predict([[0.3], [0.4]])
    array([0, 1])
    """

    multi_class: ClassVar[str] = "ovr"  # type: ignore[misc]
    fit_intercept: ClassVar[bool] = True  # type: ignore[misc]

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_target: float | None = None,
        class_prior: ArrayLike | None = None,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        features: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.C = C
        self.C_target = C_target
        self.class_prior = class_prior
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
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
    ) -> TransductiveSVC:
        """Fit the machine, and labels of the target rows, together.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows of both domains, or their kernel matrix with kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            Negative for target rows; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs; rows of weight 0 are left out.

        Returns
        -------
        TransductiveSVC
            The fitted estimator.
        """
        with all_or_nothing(self):
            C = check_number("C", self.C)
            C_target = C if self.C_target is None else check_number("C_target", self.C_target)
            options = self._options()
            rows = domain_rows(
                self,
                X,
                y,
                sample_domain=sample_domain,
                sample_weight=sample_weight,
                class_weight=self.class_weight,
            )
            shares = _shares(self.class_prior, rows)
            space = self._shared_space(rows, options)
            tasks = split(rows.codes, len(rows.classes), "ovr")
            found = [
                self._transduce(rows, space, options, task, share, C, C_target)
                for task, share in zip(tasks, shares, strict=True)
            ]
            self._keep(rows, space, tasks, found, options)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def _options(self) -> Options:
        return Options(
            check_number("tol", self.tol),
            int(check_number("max_iter", self.max_iter)),
            self.memory_limit,
            self.n_jobs,
            progress(self.callback, self.verbose, type(self).__name__),
        )

    def _shared_space(self, rows: DomainRows, options: Options) -> Space:
        """The space of all rows; a small Gram matrix is kept for the many trainings."""
        space = self._space(rows.X)
        if rows.n_target and isinstance(space, KernelSpace):
            return space.shared(options)
        return space

    def _transduce(
        self,
        rows: DomainRows,
        space: Space,
        options: Options,
        task: Task,
        share: float,
        C: float,
        C_target: float,
    ) -> Transduction:
        m = rows.n_target
        return transduce(
            _trainer(space, options),
            task.signs,
            C * rows.source_weights,
            C_target * rows.weights[rows.n_source :],
            round(share * m) if m < 2 else min(m - 1, max(1, round(share * m))),
        )

    def _keep(
        self,
        rows: DomainRows,
        space: Space,
        tasks: list[Task],
        found: list[Transduction],
        options: Options,
    ) -> None:
        """Set the fitted attributes as `SVC` does, of source and labelled target rows together."""
        signs = np.array([one.signs for one in found])
        guess = (signs[0] > 0).astype(np.intp) if len(found) == 1 else signs.argmax(axis=0)
        together = TrainingRows(
            rows.X, np.concatenate([rows.codes, guess]), rows.classes, rows.weights, rows.index
        )
        self._adopt(Prepared(together, space, tasks, options), [one.fit for one in found])
        self.target_signs_ = signs
        self.objective_history_ = tuple(one.history for one in found)
        if rows.n_target:
            self.certificate_ = replace(self.certificate_, gap=np.nan)


def _trainer(space: Space, options: Options) -> Train:
    """One hinge problem on all rows of ``space``, and the scores of all rows."""

    def train(signs: Floats, costs: Floats, start: Floats | None) -> tuple[HingeFit, Floats]:
        fit = space.hinge(signs, costs, fit_intercept=True, options=options, start=start)
        if isinstance(space, FeatureSpace):
            return fit, np.asarray(space.Z @ fit.weights + fit.intercept)
        assert isinstance(space, KernelSpace)
        used = np.flatnonzero(fit.coef)
        scores = space.operator.product(used, fit.coef[used], options.dtype)
        return fit, np.asarray(scores + fit.intercept)

    return train


def _shares(class_prior: ArrayLike | None, rows: DomainRows) -> Floats:
    """Share of positive target rows in each two-class problem."""
    k = len(rows.classes)
    prior = rows.class_shares
    if class_prior is not None:
        prior = np.asarray(class_prior, dtype=np.float64)
        if prior.shape != (k,) or not (prior >= 0).all() or not np.isclose(prior.sum(), 1):
            raise ValueError(
                f"class_prior must hold one share for each of the {k} classes "
                f"{rows.classes.tolist()}, none negative, with sum 1; got {class_prior!r}."
            )
    return prior[1:] if k == 2 else prior
