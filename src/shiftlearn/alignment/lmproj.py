"""Large margin projection: the mean difference alone is kept small (λ = 0 in the kernel's space).

    min_{w, b}  ½‖w‖² + λ_L Σ_r π_r (wᵀd_r)² + C Σ_i c_i max(0, 1 - y_i f(x_i)),      μ = 2 λ_L.

By Sherman and Morrison the machine is the plain one with the kernel

    k̃(x, x') = k(x, x') - κ δ(x) δ(x'),    δ(x) = Σ_j g_j k(x, x_j),    κ = μ / (1 + μ gᵀKg),

g = 1/n on the source rows and -1/m on the target rows, so that no N × N matrix is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from shiftlearn.alignment.daksvc import DAKSVC
from shiftlearn.certificates import Event
from shiftlearn.machines.base import check_number

__all__ = ["LMProjSVC"]


class LMProjSVC(DAKSVC):
    """Large margin projection classifier (LMPROJ).

    Labelled source rows, unlabelled target rows: a support vector machine whose projection has
    nearly the same mean on both. With d the difference of the mean points of source and target in
    the space of the kernel it minimises, for each two-class problem with y_i = ±1 and
    c_i = C · sample_weight_i · class_weight(y_i),

        ½‖w‖² + (μ/2) (wᵀd)² + Σ_i c_i max(0, 1 - y_i f(x_i)),     f(x) = ⟨w, φ(x)⟩ + b

    (Quanz and Huan, *Large margin transductive transfer learning*, 2009). It is :class:`DAKSVC`
    with balance=0 and form="rkhs", and costs little more than :class:`SVC`. Use it where the
    domains differ by a shift of the mean; it does not see other differences.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    alignment : float, default=1.0
        μ = 2 λ_L, the strength of the alignment; 0 is the plain machine.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel.
    sigma : {"median", "paper"} or float, default="median"
        Bandwidth of "rbf": "median" is the median distance between rows of both domains, "paper"
        the square root of the mean norm of the source rows (scale the columns first).
    bandwidth_ratio : float, default=1.0
        γ; the bandwidth is sigma / γ.
    gamma : {"scale", "auto"}, float or None, default=None
        Kernel width as in :class:`SVC`; given, it overrides ``sigma`` and ``bandwidth_ratio``.
    degree, coef0 : int, float
        Of "poly" and "sigmoid".
    sources : {"separate", "pooled"}, default="separate"
        Several source domains: a mean term for each, in parts by their rows, or one for all.
    multi_class : {"ovr", "ovo"}, default="ovr"
        One-vs-rest or one-vs-one; the mean term is the same in all problems.
    features : transformer or None, default=None
        A feature map, fitted on all rows; the machine is then linear in its features.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs.
    weighted_statistics : bool, default=False
        Whether sample_weight counts rows in the means, too.
    tol, max_iter, memory_limit, n_jobs, verbose, callback
        As in :class:`SVC`.

    Attributes
    ----------
    classes_, intercept_, dual_coef_, support_, coef_, beta_, certificate_, certificates_
        As in :class:`DAKSVC`.
    mmd2_ : float
        ‖d‖², the squared maximum mean discrepancy of the domains.
    mean_term_ : ndarray of shape (n_problems,)
        (wᵀd)² at the solution.

    See Also
    --------
    DAKSVC : second moments as well.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LMProjSVC, SVC, stack_domains
    >>> Xs, ys = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 1.0], [2.0, 2.0]]), [0, 0, 1, 1]
    >>> Xt = Xs + np.array([0.0, 3.0])  # the target has moved along the second column
    >>> X, y, sample_domain = stack_domains(Xs, ys, Xt)
    >>> model = LMProjSVC(C=100.0, alignment=1e6, kernel="linear")
    >>> model = model.fit(X, y, sample_domain=sample_domain)
    >>> model.coef_.round(2), model.predict(Xt)
    (array([[1., 0.]]), array([0, 0, 1, 1]))
    """

    form = "rkhs"
    balance = 0.0
    bias = "kkt"
    centered = False
    C_target = None
    rank = None

    def __init__(
        self,
        C: float = 1.0,
        *,
        alignment: float = 1.0,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        sigma: str | float = "median",
        bandwidth_ratio: float = 1.0,
        gamma: str | float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        sources: str = "separate",
        multi_class: str = "ovr",
        features: Any = None,
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
        self.alignment = alignment
        self.kernel = kernel
        self.sigma = sigma
        self.bandwidth_ratio = bandwidth_ratio
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.sources = sources
        self.multi_class = multi_class
        self.features = features
        self.class_weight = class_weight
        self.weighted_statistics = weighted_statistics
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @classmethod
    def from_paper(  # type: ignore[override]
        cls, lam: float, C: float, **options: Any
    ) -> LMProjSVC:
        """The machine in the parameters of its paper: weight λ_L of (wᵀd)², cost C_L.

        Parameters
        ----------
        lam : float
            λ_L.
        C : float
            C_L.
        **options
            Further parameters of the estimator.

        Returns
        -------
        estimator
            With alignment = 2 λ_L.
        """
        return cls(C, alignment=2 * check_number("lam", lam, from_zero=True), **options)
