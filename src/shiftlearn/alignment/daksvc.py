"""Domain adaptation kernel support vector classification.

    min_{w, b}  ½ wᵀMw + Σ_i c_i max(0, 1 - y_i (⟨w, z_i⟩ + b)),
    M = I + μ [ (1 - λ) Σ_r π_r d_r d_rᵀ + λ Σ_r π_r |Δ_r| ]

(J. Tao, S. Wang, "Domain Adaptation Kernel Support Vector Machine", 2012) with z the columns of
the kernel matrix (form="coef", the paper's) or the points of the kernel's own space (form="rkhs").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.alignment.frames import AlignedSpace
from shiftlearn.alignment.machine import (
    AlignedMachine,
    Answer,
    Prepared,
    proved,
)
from shiftlearn.alignment.streamed_fit import open_aligned
from shiftlearn.alignment.strength import Strength
from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import warn_no_target
from shiftlearn.machines.formulations import combine
from shiftlearn.machines.multiclass import Task, split
from shiftlearn.machines.spaces import HingeFit
from shiftlearn.statistics import Stream as RowStream

__all__ = ["DAKSVC"]

Floats = NDArray[np.float64]


class DAKSVC(AlignedMachine):
    """Domain adaptation kernel support vector classifier.

    Labelled source rows, unlabelled target rows: a large margin classifier whose projection of the
    two domains is alike in mean and second moment. With features z of the rows, mean difference
    d and difference Δ of the (uncentred) second moments between source and target, it minimises,
    for each two-class problem with y_i = ±1 and c_i = C · sample_weight_i · class_weight(y_i),

        ½ wᵀ{I + μ [(1-λ) d dᵀ + λ abs(Δ)]}w + Σ_i c_i max(0, 1 - y_i f(x_i)),
        f(x) = ⟨w, z(x)⟩ + b,

    where abs(Δ) has the eigenvectors of Δ and the moduli of its eigenvalues. Several sources give
    one pair of terms each, in parts by their rows.

    Parameters
    ----------
    C : float or "auto", default="auto"
        C', the cost of a violated margin. "auto" is 3 divided by the variance of the labelled rows
        in the features as the metric shrinks them, so that it means the same at every alignment.
    balance : float in [0, 1], default=0.5
        λ: 0 compares means only (LMPROJ), 1 second moments only.
    alignment : float or "auto", default="auto"
        μ, the strength of the alignment; 0 is the plain machine in the same features. "auto" is
        10 / ‖Σ‖_F, Σ the covariance of the labelled rows in the features.
    form : {"rkhs", "coef"}, default="rkhs"
        The features: "rkhs" the points φ(x) of the kernel's space, as in a plain SVM; "coef"
        z(x) = (k(x, x_1), ..., k(x, x_N)) over all N rows of ``fit``, as in the paper.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel.
    sigma : {"median", "paper"} or float, default="median"
        Bandwidth σ of the Gaussian kernel exp(-‖x - x'‖² / (2 (σ / bandwidth_ratio)²)): "median" is
        the median distance between rows of both domains, "paper" the root of the mean norm of the
        source rows, which depends on the units: scale the columns first.
    bandwidth_ratio : float, default=1.0
        The paper's γ.
    gamma : float, "scale", "auto" or None, default=None
        Kernel width in place of ``sigma`` and ``bandwidth_ratio``; "scale" uses all rows.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    bias : {"kkt", "class_mean"}, default="kkt"
        b by the optimality conditions, or minus the midpoint of the two class means of f - b on the
        source (the paper's rule, which is not optimal; the certificate is that of the optimal b).
    centered : bool, default=False
        Compare covariances in place of second moments.
    C_target : float or None, default=None
        Cost of labelled target rows; None never reads a target label.
    sources : {"separate", "pooled"}, default="separate"
        One pair of terms for each source domain, or one for all. Targets are always pooled.
    multi_class : {"ovr", "ovo"}, default="ovr"
        Several classes: each against the rest, or each pair. The metric is the same in all.
    features : transformer or None, default=None
        A feature map fitted on all rows (``Nystroem``, ``RandomFourier``, any transformer): the
        machine runs on its features, at a cost that grows with the rows only.
    rank : int or None, default=None
        Eigenpairs of each scatter term to keep; None keeps all for up to 6000 rows whose matrix
        fits into ``memory_limit``, and 512 else. What the others can change is part of
        ``certificate_.gap``.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs.
    weighted_statistics : bool, default=False
        Whether ``sample_weight`` counts in the moments of the domains too.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int, default=10_000_000
        Most steps of the solver for each problem.
    memory_limit : int or "auto", default="auto"
        Bytes for matrices.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops the solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    labelled_ : ndarray
        Positions of the rows of the loss in the X of ``fit``.
    dual_coef_ : ndarray of shape (n_problems, n_labelled)
        y_i a_i.
    support_ : ndarray
        Positions of the rows that the decision function is made of.
    beta_ : ndarray of shape (n_problems, n_support)
        β in f(x) = Σ_j β_j k(x_j, x) + b, for kernels.
    coef_ : ndarray of shape (n_problems, n_features)
        For kernel="linear" and with ``features`` (of the features then).
    intercept_ : ndarray of shape (n_problems,)
        b.
    certificate_, certificates_ : Certificate, tuple of Certificate
        The proof for all problems together, and for each. ``objective`` is the value of the
        minimised dual, minus the objective above at the optimum (as in `SVC`).
    C_, alignment_, lam0_, C_paper_ : float
        C' and μ in force, and the paper's λ0 = 1/μ and C = C' λ0.
    kernel_, sigma_
        The kernel with its numbers, and σ where a rule gave it.
    mmd2_, scatter_trace_ : float
        ‖d‖² and tr abs(Δ) in the features.
    mean_term_, scatter_term_ : ndarray of shape (n_problems,)
        (wᵀd)² and wᵀabs(Δ)w at the solution.
    features_ : transformer
        The fitted map, with ``features``.

    Notes
    -----
    The defaults are made for data that nobody tuned for: they mean the same in all units and at
    all numbers of rows. The setting of the specification is one call away,
    ``DAKSVC(alignment=1e3, C=1.0, form="coef", sigma="paper")``, and ``DAKSVC.from_paper`` takes
    the paper's own parameters. For probabilities compose
    :class:`~sklearn.calibration.CalibratedClassifierCV` (it is calibrated on the source).

    See Also
    --------
    LSDAKSVC : the same with squared errors; one linear system for all classes.

    Examples
    --------
    >>> from shiftlearn import DAKSVC, SVC
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> moons = make_rotated_moons(40, n_per_moon=100, random_state=0)
    >>> Xs, ys, Xt, yt = moons.split()
    >>> plain = SVC(gamma=2).fit(Xs, ys)
    >>> model = DAKSVC(C=1.0, alignment=1e3, form="coef", sigma="paper")
    >>> model = model.fit(moons.data, moons.target, sample_domain=moons.domain)
    >>> bool(model.score(Xt, yt) > plain.score(Xt, yt) + 0.05)
    True
    """

    def __init__(
        self,
        C: float | str = "auto",
        *,
        balance: float = 0.5,
        alignment: float | str = "auto",
        form: str = "rkhs",
        kernel: str | Callable[..., ArrayLike] = "rbf",
        sigma: str | float = "median",
        bandwidth_ratio: float = 1.0,
        gamma: str | float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        bias: str = "kkt",
        centered: bool = False,
        C_target: float | None = None,
        sources: str = "separate",
        multi_class: str = "ovr",
        features: Any = None,
        rank: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        weighted_statistics: bool = False,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.C = C
        self.balance = balance
        self.alignment = alignment
        self.form = form
        self.kernel = kernel
        self.sigma = sigma
        self.bandwidth_ratio = bandwidth_ratio
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.bias = bias
        self.centered = centered
        self.C_target = C_target
        self.sources = sources
        self.multi_class = multi_class
        self.features = features
        self.rank = rank
        self.class_weight = class_weight
        self.weighted_statistics = weighted_statistics
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _strength(self) -> Strength:
        if self.bias not in ("kkt", "class_mean"):
            raise ValueError(f'bias must be "kkt" or "class_mean", got {self.bias!r}.')
        if self.multi_class not in ("ovr", "ovo"):
            raise ValueError(f'multi_class must be "ovo" or "ovr", got {self.multi_class!r}.')
        return super()._strength()

    def _fit_stream(self, stream: RowStream) -> None:
        """Fit from blocks: moments, then the hinge problem under their metric."""
        strength = self._strength()
        if self.bias != "kkt":
            raise ValueError(f'bias must be "kkt" to fit from blocks, got {self.bias!r}.')
        aligned = open_aligned(self, stream, strength)
        scores, answers, turned = aligned.hinge(self)
        spectrum = aligned.metric.spectrum
        self.classes_ = aligned.points.classes
        self.C_, self.alignment_ = aligned.C, aligned.alignment
        self.intercept_, self._scores = scores.intercept, scores
        self.certificates_ = tuple(answer.certificate for answer in answers)
        self.certificate_ = combine(self.certificates_)
        self.n_iter_ = max(1, self.certificate_.n_iter)
        self.mmd2_, self.scatter_trace_ = spectrum.mmd2, spectrum.scatter_trace
        self.mean_term_ = ((spectrum.differences.T @ turned) ** 2).sum(axis=0)
        self.scatter_term_ = np.asarray(spectrum.values @ turned**2)
        if aligned.points.features is not None:
            self.features_ = aligned.points.features
        if not (aligned.points.survey.domains < 0).any():
            warn_no_target(type(self).__name__)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _solve(
        self,
        prepared: Prepared,
        strength: Strength,
        aligned: AlignedSpace,
        start: Answer | None = None,
    ) -> Answer:
        """Every two-class problem in the same whitened space."""
        rows, options = prepared.rows, self._options()
        space = aligned.space(options)
        costs = rows.costs(strength.C, strength.C_target)
        tasks = split(rows.codes, len(rows.classes), self.multi_class)
        fits = []
        for k, task in enumerate(tasks):
            own = slice(None) if task.rows is None else task.rows
            first = None if start is None else np.minimum(np.abs(start.coef[own, k]), costs[own])
            fits.append(
                space.restrict(task.rows).hinge(
                    task.signs, costs[own], fit_intercept=True, options=options, start=first
                )
            )
        coef = _columns(len(costs), tasks, fits)
        intercept = np.array([fit.intercept for fit in fits])
        if self.bias == "class_mean":
            intercept = _midpoints(aligned.values(coef), tasks, ~rows.from_target)
        proofs = proved([fit.certificate for fit in fits], aligned.slack(coef))
        return Answer(coef, intercept, proofs)


def _columns(n: int, tasks: list[Task], fits: list[HingeFit]) -> Floats:
    """Signed dual variables of all labelled rows, one column a problem."""
    coef = np.zeros((n, len(tasks)))
    for k, (task, fit) in enumerate(zip(tasks, fits, strict=True)):
        coef[slice(None) if task.rows is None else task.rows, k] = fit.coef
    return coef


def _midpoints(values: Floats, tasks: list[Task], source: NDArray[np.bool_]) -> Floats:
    """b = -½ (mean of f - b over the positive + over the negative source rows)."""
    out = np.empty(len(tasks))
    for k, task in enumerate(tasks):
        own = np.arange(len(source)) if task.rows is None else task.rows
        known = source[own]
        sides = [own[known & (task.signs == sign)] for sign in (1.0, -1.0)]
        out[k] = -0.5 * sum(values[rows, k].mean() for rows in sides if len(rows))
    return out
