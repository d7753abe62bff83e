"""What the views share: moments of each domain, kept as a stream, and rows mapped by their domain.

A view is a transformer z = T_d(x) with one map for each domain d, found from the weight, mean and
scatter of the domains alone. `fit` forgets, `partial_fit` goes on; both need one pass and keep one
`Moments` a domain, so that rows may come in blocks and domains in any order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import (
    _check_feature_names_in,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from shiftlearn.domains import (
    check_sample_domain,
    find_domains,
    refuse_device_arrays,
    warn_no_target,
)
from shiftlearn.parameters import check_weights
from shiftlearn.statistics import Block, Moments, MomentValues, Stream, row_blocks
from shiftlearn.statistics.streamed import StreamedMethods
from shiftlearn.statistics.survey import SAMPLE_ROWS, coded, survey_stream

__all__ = ["Affine", "DomainView", "pooled"]

Floats = NDArray[np.float64]
Affine = tuple[Floats, Floats, Floats]  # centre, matrix or column factors, new centre

_SPARSE_COMPONENTS = 200
_REQUEST = {"sample_domain": True}


class DomainView(StreamedMethods, TransformerMixin, BaseEstimator):
    """Base of the views: subclasses say how maps follow from the moments of the domains."""

    __metadata_request__fit: ClassVar[Mapping[str, bool]] = _REQUEST
    __metadata_request__partial_fit: ClassVar[Mapping[str, bool]] = _REQUEST
    __metadata_request__transform: ClassVar[Mapping[str, bool]] = {**_REQUEST, "allow_source": True}

    features: Any
    _diagonal: ClassVar[bool] = False

    @abstractmethod
    def _maps(self, moments: dict[int, MomentValues]) -> dict[int | None, Affine]:
        """The map of each domain that has one; None is the map of rows of unknown domain."""

    def _check(self) -> None:
        """Raise where a parameter is wrong, before any work."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> DomainView:
        """Find the maps from the rows of both domains.

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
        DomainView
            The fitted view.
        """
        self._check()
        rows, domains, weights = self._counted(X, y, sample_domain, sample_weight, reset=True)
        features = self._fit_features(rows)
        moments = self._added({}, rows, domains, weights, features)
        self._keep(moments, features)
        if not any(label < 0 for label in moments):
            warn_no_target(type(self).__name__, self._without_target)
        return self

    def _fit_stream(self, stream: Stream) -> None:
        """One pass for the moments, and one before it where a map stands in front."""
        self._check()
        sparse_first = any(hasattr(block.X, "indptr") for block in _first(stream))
        needed = self.features is not None or sparse_first
        survey = survey_stream(stream, labels=False, sample=SAMPLE_ROWS if needed else 0)
        self.n_features_in_ = survey.n_columns
        features = self._fit_features(survey.rows) if needed else None
        moments = stream.then(coded(np.empty(0), labels=False)).reduce(
            lambda block: self._added({}, block.X, block.domains, block.weights, features),
            _merged,
        )
        self._keep(moments, features)
        if not any(label < 0 for label in moments):
            warn_no_target(type(self).__name__, self._without_target)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> DomainView:
        """Add the rows of one more block; the parameters are those of ``fit``.

        ``features`` are fitted on the first block.
        """
        self._check()
        first = not hasattr(self, "_moments")
        rows, domains, weights = self._counted(X, y, sample_domain, sample_weight, reset=first)
        features = self._fit_features(rows) if first else self.features_
        before = {} if first else self._moments
        self._keep(self._added(before, rows, domains, weights, features), features)
        return self

    def transform(
        self,
        X: Any,
        *,
        sample_domain: ArrayLike | None = None,
        allow_source: bool = True,
    ) -> NDArray[np.floating]:
        """Map each row by the map of its domain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        sample_domain : array-like of int or int, optional
            The domain of each row; without it all are rows of the target.
        allow_source
            Accepted for tools that pass it.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The rows in the common space; float32 for float32 rows.
        """
        check_is_fitted(self, "n_features_in_")
        rows = self._rows(X, reset=False)
        labels = self._known(sample_domain, rows.shape[0])
        Z = rows if self.features_ is None else np.asarray(self.features_.transform(rows))
        out = np.array(Z, dtype=rows.dtype)
        for label in np.unique(labels):
            chosen = np.flatnonzero(labels == label)
            form = self._map_of(int(label))
            if form is not None:
                out[chosen] = _apply(form, Z[chosen])
        return out

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.floating]:
        """Fit, then map the rows of ``fit``, each by the map of its own domain."""
        domains = fit_params.get("sample_domain")
        self.fit(X, y, **fit_params)
        if domains is None:
            domains = find_domains(y, None, _num_samples(X)).sample_domain
        return self.transform(X, sample_domain=domains)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns that ``transform`` returns."""
        check_is_fitted(self, "n_features_in_")
        if self.features_ is not None:
            return np.asarray(self.features_.get_feature_names_out(input_features), dtype=object)
        return np.asarray(_check_feature_names_in(self, input_features), dtype=object)

    _without_target: ClassVar[str] = "maps that change nothing"

    def _rows(self, X: Any, *, reset: bool) -> Any:
        refuse_device_arrays(X, "X")
        kinds = [np.float64, np.float32]
        return validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=reset)

    def _counted(
        self,
        X: Any,
        y: Any,
        sample_domain: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
    ) -> tuple[Any, NDArray[np.int64], Floats]:
        """Rows, domains and weights, without the rows of weight 0."""
        rows = self._rows(X, reset=reset)
        domains = find_domains(y, sample_domain, rows.shape[0]).sample_domain
        weights = check_weights(sample_weight, rows.shape[0])
        if weights.all():
            return rows, domains, weights
        kept = np.flatnonzero(weights)
        return rows[kept], domains[kept], weights[kept]

    def _fit_features(self, rows: Any) -> Any:
        """The fitted map in front, None where dense rows are used as they are."""
        if self.features is not None:
            return clone(self.features).fit(rows)
        if not sparse.issparse(rows):
            return None
        size = min(_SPARSE_COMPONENTS, min(rows.shape) - 1)
        if size < 1:
            raise ValueError(f"X is sparse of shape {rows.shape}, too small for a truncated SVD.")
        return TruncatedSVD(size, random_state=0).fit(rows)

    def _added(
        self,
        before: dict[int, Moments],
        rows: Any,
        domains: NDArray[np.int64],
        weights: Floats,
        features: Any,
    ) -> dict[int, Moments]:
        """The moments with these rows; those before are left as they were."""
        after = {k: Moments(diagonal=self._diagonal).merge(m) for k, m in before.items()}
        for block, labels, block_weights in row_blocks(rows, domains, weights):
            Z = block if features is None else features.transform(block)
            for label in np.unique(labels):
                chosen = labels == label
                part = after.setdefault(int(label), Moments(diagonal=self._diagonal))
                part.update(Z[chosen], block_weights[chosen])
        return after

    def _keep(self, moments: dict[int, Moments], features: Any) -> None:
        self._cache: dict[str, Any] = {}
        self.features_ = features
        self._moments = moments
        self.domains_ = tuple(sorted(moments))
        self._all_maps()  # errors belong to fit, not to transform

    def _all_maps(self) -> dict[int | None, Affine]:
        if "maps" not in self._cache:
            values = {label: part.finish() for label, part in self._moments.items()}
            self._cache["maps"] = self._maps(values)
        maps: dict[int | None, Affine] = self._cache["maps"]
        return maps

    def _map_of(self, label: int) -> Affine | None:
        maps = self._all_maps()
        return maps.get(label, maps.get(None) if label < 0 else None)

    def _known(self, sample_domain: ArrayLike | None, n: int) -> NDArray[np.int64]:
        """The domain of each row; a target domain that ``fit`` did not see counts as the target."""
        if sample_domain is None:
            return np.full(n, np.iinfo(np.int64).min)
        labels = check_sample_domain(sample_domain, n)
        unknown = sorted({int(d) for d in np.unique(labels) if d >= 0} - set(self.domains_))
        if unknown:
            raise ValueError(
                f"sample_domain holds the source domains {unknown}, unknown to this "
                f"{type(self).__name__}; it was fitted on {list(self.domains_)}."
            )
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def pooled(moments: dict[int, MomentValues], *, target: bool | None) -> MomentValues | None:
    """The moments of all target (or source, or all) domains together; None where there are none."""
    parts = [m for label, m in moments.items() if target is None or (label < 0) == target]
    if not parts:
        return None
    weight = float(sum(m.weight for m in parts))
    mean = np.asarray(sum(m.weight * m.mean for m in parts) / weight)
    spread = sum(m.scatter + m.weight * _square(m.mean - mean, m.scatter.ndim) for m in parts)
    return MomentValues(sum(m.count for m in parts), weight, mean, np.asarray(spread))


def _square(v: Floats, ndim: int) -> Floats:
    return v**2 if ndim == 1 else np.outer(v, v)


def _apply(form: Affine, Z: NDArray[np.floating]) -> Floats:
    centre, matrix, new = form
    moved = Z - centre
    return np.asarray((moved * matrix if matrix.ndim == 1 else moved @ matrix) + new)


def _first(stream: Stream) -> list[Block]:
    return [next(iter(stream.source))]


def _merged(a: dict[int, Moments], b: dict[int, Moments]) -> dict[int, Moments]:
    for label, moments in b.items():
        if label in a:
            a[label].merge(moments)
        else:
            a[label] = moments
    return a
