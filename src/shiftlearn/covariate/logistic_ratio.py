"""The density ratio from one logistic model of "source or target?".

    min_{v, v0}  Σ_{i source} log(1 + e^{-t_i}) + Σ_{j target} log(1 + e^{t_j}) + ‖v‖² / (2 C),
                 t = vᵀx + v0

is a ridge logistic regression of the m + n rows, and by Bayes' rule

    p_T(x) / p_S(x) = (m / n) e^{-t(x)}:

the count of the **source** rows over that of the target rows (Bickel, Brückner and Scheffer,
ICML 2007). The exponential is never computed as 1/q - 1 from a rounded probability q.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import warn_unless_converged
from shiftlearn.covariate.ratios import PointwiseRatio, clipped
from shiftlearn.covariate.streamed_ratios import StreamedDomains, open_pair
from shiftlearn.features import resolve_features
from shiftlearn.parameters import check_number
from shiftlearn.shift.rows import stack_pair
from shiftlearn.solvers.logistic import solve_logistic

__all__ = ["LogisticRatio", "SelectionBiasRatio"]

Floats = NDArray[np.float64]


class _DomainModel(PointwiseRatio):
    """The logistic model that both ratios read."""

    C: float
    fit_intercept: bool
    prior_odds: float | None
    features: Any
    tol: float
    max_iter: int
    n_jobs: int | None

    def _fit(self, source: Any, target: Any) -> Floats:
        C, tol = check_number("C", self.C), check_number("tol", self.tol)
        odds = source.shape[0] / target.shape[0]
        if self.prior_odds is not None:
            odds = check_number("prior_odds", self.prior_odds)
        self._check_more()
        rows = stack_pair(source, target)
        self.features_ = resolve_features(self.features, rows)
        selector = (np.arange(rows.shape[0]) < source.shape[0]).astype(np.intp)
        fitted = solve_logistic(
            self._mapped(rows),
            selector,
            n_classes=2,
            penalty=1.0 / C,
            fit_intercept=bool(self.fit_intercept),
            tol=tol,
            max_iter=int(check_number("max_iter", self.max_iter)),
            n_jobs=self.n_jobs,
        )
        self.coef_, self.intercept_ = fitted.coef[0], float(fitted.intercept[0])
        self.certificate_, self.log_odds_ = fitted.certificate, math.log(odds)
        warn_unless_converged(fitted.certificate, type(self).__name__, tol)
        return self._of_source(source)

    def _fit_streams(self, X_source: Any, X_target: Any) -> None:
        C, tol = check_number("C", self.C), check_number("tol", self.tol)
        self._check_more()
        domains = open_pair(self, X_source, X_target)
        odds = domains.n_source / domains.n_target
        if self.prior_odds is not None:
            odds = check_number("prior_odds", self.prior_odds)
        self.features_, self.log_odds_ = domains.features, math.log(odds)
        self.coef_, self.intercept_, self.certificate_ = domains.model(
            C=C, fit_intercept=bool(self.fit_intercept), tol=tol,
            max_iter=int(check_number("max_iter", self.max_iter)),
        )  # fmt: skip
        warn_unless_converged(self.certificate_, type(self).__name__, tol)
        m = domains.n_source
        first, second = self._settle(domains)
        self.effective_sample_size_ = math.exp(2 * first - second)
        words = f"{m} rows worth {self.effective_sample_size_:.1f}, mean {math.exp(first) / m:.3g}"
        self.verdict_ = f"from blocks, the tail was not looked at ({words})"

    def _settle(self, domains: StreamedDomains) -> tuple[float, float]:
        """Log sums of the weights and of their squares over the source rows of a stream."""
        return domains.log_sums(lambda Z: self._of_scores(self._linear(Z)))

    def _linear(self, Z: Any) -> Floats:
        return np.asarray(Z @ self.coef_ + self.intercept_, dtype=np.float64)

    def _of_scores(self, t: Floats) -> Floats:
        """Log weights from domain scores."""
        raise NotImplementedError

    def domain_scores(self, X: Any) -> Floats:
        """Log-odds t(x) that a row is from the source."""
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self, "verdict_")
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )
        return self._scores(rows)

    def _scores(self, rows: Any) -> Floats:
        return np.asarray(self._mapped(rows) @ self.coef_ + self.intercept_, dtype=np.float64)

    def _mapped(self, rows: Any) -> Any:
        return rows if self.features_ is None else self.features_.transform(rows)

    def _of_source(self, source: Any) -> Floats:
        return self._log_ratio(source)

    def _check_more(self) -> None:
        """Check the parameters of the subclass."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LogisticRatio(_DomainModel):
    r"""Density ratio from a logistic regression of source against target rows.

    Minimises, with :math:`t = v^\top x + v_0`,

    .. math:: \sum_{i=1}^m \log(1 + e^{-t_i}) + \sum_{j=1}^n \log(1 + e^{t_j})
              + \frac{\|v\|^2}{2C},

    and gives a row the weight :math:`\frac mn e^{-t(x)}` (the source's count over the target's).
    Exact where the two densities are normal with equal covariances; with ``features`` for others.

    Parameters
    ----------
    C : float, default=1.0
        Prior variance of v; the smaller, the nearer all weights are to 1.
    fit_intercept : bool, default=True
        Whether there is an unpenalised v0. Without one, identical domains have weights
        near m / n instead of 1.
    prior_odds : float or None, default=None
        p(source) / p(target) before a row is seen; None: m / n.
    clip_weights : float or None, default=None
        Largest weight.
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``), fitted on the rows of both domains.
    tol : float, default=1e-6
        Largest entry of the gradient over the number of rows.
    max_iter : int, default=100
        Most Newton iterations.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.

    Attributes
    ----------
    weights_, log_weights_ : ndarray of shape (m,)
        Weights of the source rows of ``fit``.
    weights_normalized_ : ndarray of shape (m,)
        The same with mean 1.
    effective_sample_size_ : float
        Equally weighted rows that the weighted rows are worth.
    pareto_k_ : float
        Shape of the weights' tail.
    verdict_ : str
        Both in words.
    coef_ : ndarray of shape (n_features,)
        v.
    intercept_ : float
        v0.
    certificate_ : Certificate
        Objective, proved gap, largest gradient entry.

    See Also
    --------
    ReweightedClassifier : uses the weights in any classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LogisticRatio
    >>> rng = np.random.default_rng(0)
    >>> ratio = LogisticRatio().fit(rng.normal(size=(5000, 1)), rng.normal(1, size=(2500, 1)))
    >>> ratio.weights([[0.5], [1.5]]).round(1)  # of normals one apart: exp(x - 1/2)
    array([1. , 2.7])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        prior_odds: float | None = None,
        clip_weights: float | None = None,
        features: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.prior_odds = prior_odds
        self.clip_weights = clip_weights
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _check_more(self) -> None:
        clipped(np.zeros(0), self.clip_weights)

    def _log_ratio(self, rows: Any) -> Floats:
        return self._of_scores(self._scores(rows))

    def _of_scores(self, t: Floats) -> Floats:
        return clipped(self.log_odds_ - t, self.clip_weights)


class SelectionBiasRatio(_DomainModel):
    r"""Weights for sample selection bias: one over the probability of being selected.

    With the model q(x) = p(source | x) of :class:`LogisticRatio`, a row has the weight

    .. math:: \frac{1}{q(x)} = 1 + e^{-t(x)},

    normalised to mean 1 over the source rows of ``fit``. Target rows are read as rows of the
    population that were not selected, so before the normalisation no weight is under 1: the
    method never discards a source row.

    Parameters
    ----------
    C : float, default=1.0
        Prior variance of v.
    fit_intercept : bool, default=True
        Whether there is an unpenalised v0.
    features : transformer or None, default=None
        A feature map, fitted on the rows of both domains.
    tol : float, default=1e-6
        Largest entry of the gradient over the number of rows.
    max_iter : int, default=100
        Most Newton iterations.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.

    Attributes
    ----------
    weights_, log_weights_ : ndarray of shape (m,)
        Weights of the source rows of ``fit``, of mean 1.
    effective_sample_size_, pareto_k_, verdict_
        As in :class:`LogisticRatio`.
    coef_, intercept_, certificate_
        The logistic model.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import SelectionBiasRatio
    >>> rng = np.random.default_rng(0)
    >>> ratio = SelectionBiasRatio().fit(rng.normal(size=(500, 1)), rng.normal(1, size=(500, 1)))
    >>> float(ratio.weights_.mean().round(6)), bool(ratio.weights_.min() > 0.3)
    (1.0, True)
    """

    prior_odds = None

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        features: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _of_source(self, source: Any) -> Floats:
        inverse = np.logaddexp(0.0, -self._scores(source))
        largest = inverse.max()
        self.log_mean_ = float(largest + np.log(np.mean(np.exp(inverse - largest))))
        return np.asarray(inverse - self.log_mean_)

    def _settle(self, domains: StreamedDomains) -> tuple[float, float]:
        self.log_mean_ = 0.0
        first, second = super()._settle(domains)
        self.log_mean_ = first - math.log(domains.n_source)
        return first - self.log_mean_, second - 2 * self.log_mean_

    def _log_ratio(self, rows: Any) -> Floats:
        return self._of_scores(self._scores(rows))

    def _of_scores(self, t: Floats) -> Floats:
        return np.asarray(np.logaddexp(0.0, -t) - self.log_mean_)
