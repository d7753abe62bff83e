"""Unconstrained least-squares importance fitting (uLSIF) and its relative form (RuLSIF).

    min_α  ½ αᵀHα - hᵀα + (λ/2) ‖α‖²,    H = (1 - a) mean_S φφᵀ + a mean_T φφᵀ,  h = mean_T φ,

is ½ E_S (w - p_T/p_S)² up to a constant (for a = 0), on Gaussian functions φ at target rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from shiftlearn.covariate.basis import BasisRatio
from shiftlearn.parameters import check_number

__all__ = ["ULSIFRatio"]

Floats = NDArray[np.float64]

_PENALTIES = 10.0 ** np.arange(-3.0, 2.0)


class ULSIFRatio(BasisRatio):
    r"""Density ratio by unconstrained least-squares importance fitting.

    Minimises, with Gaussian functions :math:`\varphi_l(x) = e^{-\gamma\|x-c_l\|^2}` at target
    rows :math:`c_l`,

    .. math:: \tfrac12 \alpha^\top H \alpha - h^\top \alpha + \tfrac\lambda2 \|\alpha\|^2,
              \qquad H = \frac1m \sum_{i} \varphi(x_i)\varphi(x_i)^\top,
              \quad h = \frac1n \sum_j \varphi(x_j),

    and sets negative coefficients to zero (Kanamori, Hido and Sugiyama, 2009). γ and λ are chosen
    by cross-validation of :math:`\tfrac12 E_S w^2 - E_T w`. With ``relative`` a > 0 the ratio to
    the mixture, :math:`p_T / (a\,p_T + (1-a)\,p_S) \le 1/a`, is estimated instead (Yamada et al.,
    2013).

    Parameters
    ----------
    gamma : float or None, default=None
        γ; None: chosen among seven widths around the median distance of the centres.
    penalty : float or None, default=None
        λ; None: chosen among 0.001, 0.01, ..., 10.
    n_centers : int, default=100
        Most centres.
    relative : float, default=0.0
        a in [0, 1).
    cv : int, default=5
        Folds.
    random_state : int, RandomState or None, default=None
        Draws centres and folds.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.

    Attributes
    ----------
    weights_, log_weights_, weights_normalized_, effective_sample_size_, pareto_k_, verdict_
        As in :class:`LogisticRatio`.
    gamma_, penalty_ : float
        γ and λ in force.
    centers_ : ndarray or CSR of shape (n_centers, n_features)
        The centres.
    coef_ : ndarray of shape (n_centers,)
        α.
    cv_scores_ : ndarray of shape (n_widths, n_penalties)
        ½ E_S w² - E_T w on held-out rows; the smallest is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import ULSIFRatio
    >>> rng = np.random.default_rng(0)
    >>> Xs, Xt = rng.normal(size=(1000, 1)), rng.normal(0.5, size=(1000, 1))
    >>> ratio = ULSIFRatio(random_state=0).fit(Xs, Xt)
    >>> bool(np.corrcoef(ratio.weights_, np.exp(0.5 * Xs[:, 0]))[0, 1] > 0.9)
    True
    """

    def __init__(
        self,
        gamma: float | None = None,
        penalty: float | None = None,
        *,
        n_centers: int = 100,
        relative: float = 0.0,
        cv: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.penalty = penalty
        self.n_centers = n_centers
        self.relative = relative
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, source: Any, target: Any) -> Floats:
        share = check_number("relative", self.relative, from_zero=True)
        if share >= 1:
            raise ValueError(f"relative must lie in [0, 1), got {self.relative!r}.")
        penalties = _PENALTIES
        if self.penalty is not None:
            penalties = np.array([check_number("penalty", self.penalty)])
        random = self._draw_centers(target)
        widths = self._widths(source)
        self.cv_scores_ = np.full((len(widths), len(penalties)), np.nan)
        best = 0
        if self.cv_scores_.size > 1:
            folds = self._folds(source.shape[0], target.shape[0], random)
            self.cv_scores_ = np.array(
                [self._scores(source, target, gamma, penalties, folds, share) for gamma in widths]
            )
            best = int(self.cv_scores_.argmin())
        width, penalty = divmod(best, len(penalties))
        self.gamma_, self.penalty_ = float(widths[width]), float(penalties[penalty])
        S, T = self._basis(source, self.gamma_), self._basis(target, self.gamma_)
        self.coef_ = _ridge(S, T, penalties[[penalty]], share)[0]
        return self._log_ratio(source)

    def _scores(
        self, source: Any, target: Any, gamma: float, penalties: Floats, folds: Any, share: float
    ) -> Floats:
        """The mean held-out criterion of each penalty."""
        S, T = self._basis(source, gamma), self._basis(target, gamma)
        total = np.zeros(len(penalties))
        for s, t in folds:
            for i, alpha in enumerate(_ridge(S[~s], T[~t], penalties, share)):
                ws, wt = S[s] @ alpha, T[t] @ alpha
                squares = (1 - share) * np.mean(ws**2) + share * np.mean(wt**2)
                total[i] += 0.5 * squares - np.mean(wt)
        return total / len(folds)


def _ridge(S: Floats, T: Floats, penalties: Floats, share: float) -> Floats:
    """max(0, (H + λI)⁻¹ h) for each λ, from one eigendecomposition."""
    H = (1 - share) * (S.T @ S) / len(S) + share * (T.T @ T) / len(T)
    values, vectors = eigh(H)
    turned = vectors.T @ T.mean(axis=0)
    alphas = turned / (np.maximum(values, 0.0) + penalties[:, None]) @ vectors.T
    return np.asarray(np.maximum(alphas, 0.0))
