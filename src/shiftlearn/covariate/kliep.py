"""Kullback-Leibler importance estimation (KLIEP).

    max_α  mean_T log Σ_l α_l φ_l(x)    s.t.  α >= 0,  mean_S Σ_l α_l φ_l(x) = 1

becomes, with θ_l = α_l mean_S φ_l and A_jl = φ_l(x_j) / mean_S φ_l, the likelihood of mixture
proportions, max mean_j log (Aθ)_j over the simplex (`shiftlearn.covariate.proportions`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate
from shiftlearn.covariate.basis import BasisRatio
from shiftlearn.covariate.proportions import mixture_proportions
from shiftlearn.parameters import check_number

__all__ = ["KLIEPRatio"]

Floats = NDArray[np.float64]

_LEAST = 1e-12  # mean of a function over the source: less is no source row near its centre
_FLOOR = 1e-300


class KLIEPRatio(BasisRatio):
    r"""Density ratio by the Kullback-Leibler importance estimation procedure.

    Maximises, with Gaussian functions at target rows :math:`c_l`,

    .. math:: \frac1n \sum_{j=1}^n \log w(x_j), \quad w(x) = \sum_l \alpha_l
              e^{-\gamma \|x-c_l\|^2}, \quad \alpha \ge 0, \quad \frac1m \sum_{i=1}^m w(x_i) = 1

    (Sugiyama et al., 2008). γ is chosen by the likelihood of held-out target rows. Centres with no
    source row in their reach are left out.

    Parameters
    ----------
    gamma : float or None, default=None
        γ; None: chosen among seven widths around the median distance of the centres.
    n_centers : int, default=100
        Most centres.
    cv : int, default=5
        Folds.
    tol : float, default=1e-4
        Largest proved distance of the mean log ratio from its maximum.
    max_iter : int, default=10_000
        Most steps.
    random_state : int, RandomState or None, default=None
        Draws centres and folds.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.

    Attributes
    ----------
    weights_, log_weights_, weights_normalized_, effective_sample_size_, pareto_k_, verdict_
        As in :class:`LogisticRatio`; the mean weight is 1.
    gamma_ : float
        γ in force.
    centers_ : ndarray or CSR of shape (n_centers, n_features)
        The centres.
    coef_ : ndarray of shape (n_centers,)
        α.
    cv_scores_ : ndarray of shape (n_widths,)
        Mean log ratio of held-out target rows; the largest is chosen.
    certificate_ : Certificate
        Of minus the mean log ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import KLIEPRatio
    >>> rng = np.random.default_rng(0)
    >>> Xs, Xt = rng.normal(size=(1000, 1)), rng.normal(0.5, size=(1000, 1))
    >>> ratio = KLIEPRatio(random_state=0).fit(Xs, Xt)
    >>> bool(np.corrcoef(ratio.weights_, np.exp(0.5 * Xs[:, 0]))[0, 1] > 0.9)
    True
    """

    def __init__(
        self,
        gamma: float | None = None,
        *,
        n_centers: int = 100,
        cv: int = 5,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.n_centers = n_centers
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, source: Any, target: Any) -> Floats:
        tol = check_number("tol", self.tol)
        most = int(check_number("max_iter", self.max_iter))
        random = self._draw_centers(target)
        widths = self._widths(source)
        self.cv_scores_ = np.full(len(widths), np.nan)
        best = 0
        if len(widths) > 1:
            folds = [t for _, t in self._folds(target.shape[0], target.shape[0], random)]
            self.cv_scores_ = np.array(
                [self._score(source, target, gamma, folds, most) for gamma in widths]
            )
            best = int(self.cv_scores_.argmax())
        self.gamma_ = float(widths[best])
        means = self._basis(source, self.gamma_).mean(axis=0)
        self.coef_, self.certificate_ = _proportions(
            means, self._basis(target, self.gamma_), tol, most
        )
        return self._log_ratio(source)

    def _score(self, source: Any, target: Any, gamma: float, folds: list[Any], most: int) -> float:
        """Mean log ratio of held-out target rows."""
        means, T = self._basis(source, gamma).mean(axis=0), self._basis(target, gamma)
        total = 0.0
        for held in folds:
            alpha, _ = _proportions(means, T[~held], 1e-2, most)
            total += float(np.log(np.maximum(T[held] @ alpha, _FLOOR)).mean())
        return total / len(folds)


def _proportions(means: Floats, T: Floats, tol: float, most: int) -> tuple[Floats, Certificate]:
    """α and the proof, from the means over the source and the values at the target."""
    alpha = np.zeros(len(means))
    near = means > _LEAST
    if not near.any():
        return alpha, Certificate(np.inf, 0.0, 0.0, True, 0)
    A = T[:, near] / means[near]
    theta, certificate = mixture_proportions(A, tol, most)
    alpha[near] = theta / means[near]
    return alpha, certificate
