"""The aligned metric as a transformer: any linear learner behind it is an aligned one.

    z̃ = Tᵀz,   TᵀMT = I,   M = I + μ [ (1 - λ) Σ_r π_r d_r d_rᵀ + λ Σ_r π_r |Δ_r| ]

½ ‖w̃‖² in the new columns is ½ wᵀMw in the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shiftlearn.alignment.streaming import Metric, metric_of
from shiftlearn.alignment.strength import AUTO, Strength, between
from shiftlearn.alignment.terms import DomainMoments
from shiftlearn.domains import find_domains, refuse_device_arrays, warn_no_target
from shiftlearn.features import resolve_features
from shiftlearn.machines.base import all_or_nothing
from shiftlearn.parameters import check_weights
from shiftlearn.statistics import row_blocks

__all__ = ["DomainWhitener"]

Floats = NDArray[np.float64]

_REQUEST = {"sample_domain": True}
_WIDEST = 5000


class DomainWhitener(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Columns in which a small weight vector is one that does not see the shift.

    From the means and second moments of the rows of each domain, with d their difference of means
    and Δ that of second moments, it finds T with TᵀMT = I for

        M = I + μ [(1-λ) d dᵀ + λ abs(Δ)]

    and maps rows to Tᵀz. A linear learner with the penalty ½‖w̃‖² behind it (``LinearSVC``,
    logistic regression, ridge) minimises its loss plus ½ wᵀMw: :class:`DAKSVC` with that learner's
    loss. Rows of both domains go through the same map; labels are not read.

    Moments are sums: ``partial_fit`` takes rows in blocks of any size, domains in any order, in
    memory that does not grow with the number of rows.

    Parameters
    ----------
    balance : float in [0, 1], default=0.5
        λ: 0 compares means only, 1 second moments only.
    alignment : float or "auto", default="auto"
        μ. "auto" is 10 / ‖Σ‖_F with Σ the covariance of the source rows, so that neither the units
        of the columns nor the number of rows matters.
    centered : bool, default=False
        Compare covariances in place of second moments.
    sources : {"separate", "pooled"}, default="separate"
        One pair of terms for each source domain, or one for all.
    features : transformer or None, default=None
        A feature map (``Nystroem``, ``RandomFourier``, any transformer), fitted on the rows of
        ``fit`` or of the first block; z are its features. Without it z are the columns.

    Attributes
    ----------
    whitening_ : ndarray of shape (n_features_z, n_features_z)
        T.
    alignment_ : float
        μ in force.
    mmd2_, scatter_trace_ : float
        ‖d‖² and tr abs(Δ).
    features_ : transformer or None
        The fitted map.

    See Also
    --------
    DAKSVC : the hinge machine with this metric, for kernels too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from shiftlearn import DomainWhitener, stack_domains
    >>> Xs, ys = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 1.0], [2.0, 2.0]]), [0, 0, 1, 1]
    >>> X, y, sample_domain = stack_domains(Xs, ys, Xs + [0.0, 3.0])
    >>> whitener = DomainWhitener(alignment=100.0).fit(X, sample_domain=sample_domain)
    >>> LogisticRegression().fit(whitener.transform(Xs), ys).predict(whitener.transform(X[4:]))
    array([0, 0, 1, 1])
    """

    features_: Any
    _moments: DomainMoments
    _cache: dict[str, Any]

    __metadata_request__fit: ClassVar[Mapping[str, bool]] = _REQUEST
    __metadata_request__partial_fit: ClassVar[Mapping[str, bool]] = _REQUEST
    __metadata_request__transform: ClassVar[Mapping[str, bool]] = {**_REQUEST, "allow_source": True}

    def __init__(
        self,
        balance: float = 0.5,
        *,
        alignment: float | str = AUTO,
        centered: bool = False,
        sources: str = "separate",
        features: Any = None,
    ) -> None:
        self.balance = balance
        self.alignment = alignment
        self.centered = centered
        self.sources = sources
        self.features = features

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find T from the rows of both domains.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of all domains.
        y : array-like of shape (n_samples,), optional
            Not read, except for marks of unlabelled rows where ``sample_domain`` is not given.
        sample_domain : array-like of int of shape (n_samples,), optional
            The domain of each row: >= 0 source, < 0 target.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the moments.

        Returns
        -------
        self
            The fitted transformer.
        """
        with all_or_nothing(self):
            self.__dict__.pop("_moments", None)
            self._add(X, y, sample_domain, sample_weight)
        if not self._moments.has_target:
            warn_no_target(type(self).__name__, "the identity")
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add the rows of one more block; the parameters are those of ``fit``.

        ``features`` are fitted on the first block.
        """
        with all_or_nothing(self):
            self._add(X, y, sample_domain, sample_weight)
        return self

    def transform(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Map rows to Tᵀz.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of either domain.
        sample_domain, allow_source
            Accepted for tools that pass them; the map is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples, n_features_z)
            The whitened rows.
        """
        check_is_fitted(self, "_moments")
        rows = self._rows(X, reset=False)
        Z = rows if self.features_ is None else self.features_.transform(rows)
        return np.asarray(Z @ self.whitening_.astype(rows.dtype, copy=False))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:
        """Fit, then map the rows of ``fit``."""
        return self.fit(X, y, **fit_params).transform(X)

    @property
    def whitening_(self) -> Floats:
        """T, computed when it is asked for first after new rows."""
        check_is_fitted(self, "_moments")
        if "whitening" not in self._cache:
            metric, strength = self._metric, self._strength()
            turn = metric.spectrum.whitening(strength.balance, self.alignment_)
            self._cache["whitening"] = metric.matrix(turn)
        return np.asarray(self._cache["whitening"])

    @property
    def alignment_(self) -> float:
        """μ in force."""
        check_is_fitted(self, "_moments")
        if not self._moments.has_target:
            return self._strength().resolved_alignment(None)
        return self._strength().resolved_alignment(self._moments.source_covariance_size())

    @property
    def mmd2_(self) -> float:
        """‖d‖²."""
        return self._metric.spectrum.mmd2

    @property
    def scatter_trace_(self) -> float:
        """The trace of abs(Δ)."""
        return self._metric.spectrum.scatter_trace

    @property
    def _metric(self) -> Metric:
        check_is_fitted(self, "_moments")
        if "metric" not in self._cache:
            self._cache["metric"] = metric_of(
                self._moments, self._n_features_out, form="rkhs",
                scatter=self._strength().scatter, sources=self.sources, centered=self.centered,
            )  # fmt: skip
        metric: Metric = self._cache["metric"]
        return metric

    def _strength(self) -> Strength:
        if self.sources not in ("separate", "pooled"):
            raise ValueError(f'sources must be "separate" or "pooled", got {self.sources!r}.')
        rule = isinstance(self.alignment, str) and self.alignment == AUTO
        mu = None if rule else between("alignment", self.alignment, np.inf)
        return Strength(between("balance", self.balance, 1.0), mu, None, None)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        refuse_device_arrays(X, "X")
        kinds = [np.float64, np.float32]
        return validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=reset)

    def _add(self, X: Any, y: Any, sample_domain: Any, sample_weight: Any) -> None:
        self._strength()
        first = "_moments" not in vars(self)
        rows = self._rows(X, reset=first)
        domain = find_domains(y, sample_domain, rows.shape[0]).sample_domain
        weights = check_weights(sample_weight, rows.shape[0])
        if not weights.all():
            kept = np.flatnonzero(weights)
            rows, domain, weights = rows[kept], domain[kept], weights[kept]
        features = resolve_features(self.features, rows) if first else self.features_
        moments = DomainMoments() if first else self._moments.copy()
        counted = None if (weights == 1.0).all() else weights
        if features is None:
            _check_width(rows)
            moments.merge(DomainMoments.of(rows, domain, counted))
            self._n_features_out = int(rows.shape[1])
        else:
            for block, labels, w in row_blocks(rows, domain, counted):
                Z = features.transform(block)
                _check_width(Z)
                moments.update(Z, labels, w)
                self._n_features_out = int(Z.shape[1])
        self._moments, self.features_ = moments, features
        self._cache = {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_width(Z: Any) -> None:
    if sparse.issparse(Z) and Z.shape[1] > _WIDEST:
        raise ValueError(
            f"X has {Z.shape[1]} sparse columns; a map of more than {_WIDEST} would fill memory. "
            "Give features=TruncatedSVD(...) or another map, or use DAKSVC(kernel='linear'), which "
            "needs no such matrix."
        )
