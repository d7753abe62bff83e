"""Any classifier, trained on source rows that count as much as the target has of their kind.

    min_f  Σ_i w(x_i) ω_i ℓ(y_i, f(x_i)),    w ≈ p_T / p_S,

with the weights of a ratio estimator, handed over as ``sample_weight`` or by drawing rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from shiftlearn.covariate.handing_over import as_rows, fit_weighted, systematic_draw
from shiftlearn.covariate.logistic_ratio import LogisticRatio
from shiftlearn.domains import (
    DomainClassifierMixin,
    DomainSplit,
    check_two_classes,
    split_domains,
    warn_no_target,
)
from shiftlearn.errors import NoOverlapWarning
from shiftlearn.machines.base import all_or_nothing
from shiftlearn.parameters import check_weights

__all__ = ["ReweightedClassifier"]

Floats = NDArray[np.float64]


def _estimator_has(method: str) -> Any:
    def check(self: Any) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), method)

    return check


class ReweightedClassifier(MetaEstimatorMixin, DomainClassifierMixin, BaseEstimator):
    r"""Trains any classifier on source rows weighted by a density ratio.

    Minimises what the classifier minimises, :math:`\sum_i w_i\, \omega_i\, \ell(y_i, f(x_i))`
    over the labelled source rows, with :math:`w_i \approx p_T(x_i)/p_S(x_i)` from ``ratio`` and
    :math:`\omega` the ``sample_weight`` of ``fit``.

    Parameters
    ----------
    estimator : classifier
        Any classifier, also a pipeline or a search that ends in one; cloned.
    ratio : ratio estimator or None, default=None
        Cloned; None: ``LogisticRatio()``. It sees the rows as they are passed to ``fit``.
    mode : {"weight", "resample"}, default="weight"
        How the weights reach the classifier: as ``sample_weight``, or by drawing as many rows as
        there are, each in proportion to its weight (for classifiers that take no weights).
    random_state : int, RandomState or None, default=None
        Draws the rows of ``mode="resample"``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    ratio_ : ratio estimator or None
        The fitted ratio; None without target rows.
    weights_ : ndarray of shape (n_labelled_source,)
        w_i of the labelled source rows, in their order (without ``sample_weight``).
    effective_sample_size_ : float
        Equally weighted rows that the weighted source rows are worth.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from shiftlearn import KernelMeanMatching, ReweightedClassifier, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> Xs, Xt = rng.normal(size=(200, 1)), rng.normal(1.5, 0.5, size=(100, 1))
    >>> X, y, sample_domain = stack_domains(Xs, np.where(np.abs(Xs[:, 0]) < 1, "in", "out"), Xt)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = ReweightedClassifier(forest, KernelMeanMatching(B=10.0))
    >>> model.fit(X, y, sample_domain=sample_domain).predict([[0.8], [1.6]])
    array(['in', 'out'], dtype='<U3')
    """

    def __init__(
        self,
        estimator: Any,
        ratio: Any = None,
        *,
        mode: str = "weight",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.ratio = ratio
        self.mode = mode
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> ReweightedClassifier:
        """Weigh the source rows and train the classifier on them.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            Negative for target rows; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            ω; read on labelled source rows, has no part in the ratio.
        **fit_params : dict
            Handed to the ``fit`` of the classifier (with metadata routing: as it requests).

        Returns
        -------
        ReweightedClassifier
            The fitted estimator. Without target rows all weights are 1.
        """
        with all_or_nothing(self):
            self._check_parameters()
            X = as_rows(X)
            n = _num_samples(X)
            omega = check_weights(sample_weight, n)
            split = split_domains(y, sample_domain, n)
            validate_data(self, X, skip_check_array=True)
            rows = np.flatnonzero(split.labelled_source)
            self.weights_ = self._weigh(X, split)
            used = omega[rows] > 0
            given = None if sample_weight is None else omega[rows][used]
            self._train(X, split, rows[used], self.weights_[used], given, fit_params)
        return self

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Labels of the rows, as the classifier predicts them.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them; the prediction is that for the target.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return np.asarray(self._fitted(X).predict(X))

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Probabilities of the classes, where the classifier has them."""
        return np.asarray(self._fitted(X).predict_proba(X))

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Their logarithms."""
        return np.asarray(self._fitted(X).predict_log_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Scores of the rows, where the classifier has them."""
        return np.asarray(self._fitted(X).decision_function(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """What the classifier requests; ``sample_weight`` is handed to it by us."""
        inner = get_routing_for_object(self.estimator)
        if hasattr(inner, "fit") and "sample_weight" in inner.fit.requests:
            inner.fit.requests["sample_weight"] = False
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=inner, method_mapping=mapping)

    def _weigh(self, X: Any, split: DomainSplit) -> Floats:
        """The ratio at the labelled source rows; ones without target rows."""
        labelled = split.labelled_source
        if not split.domains.has_target:
            warn_no_target(type(self).__name__, "the classifier on unweighted source rows")
            self.ratio_ = None
            self.effective_sample_size_ = float(labelled.sum())
            return np.ones(int(labelled.sum()))
        self.ratio_ = LogisticRatio() if self.ratio is None else clone(self.ratio)
        source = np.flatnonzero(split.domains.source)
        target = np.flatnonzero(split.domains.target)
        self.ratio_.fit(_safe_indexing(X, source), _safe_indexing(X, target))
        weights = np.asarray(self.ratio_.weights_, dtype=np.float64)[labelled[source]]
        if not (weights.any() and np.all(np.isfinite(weights))):
            warnings.warn(
                f"{type(self).__name__}: no labelled source row has a positive finite weight, so "
                "the classifier was trained on unweighted source rows.",
                NoOverlapWarning,
                stacklevel=4,
            )
            weights = np.ones(len(weights))
        self.effective_sample_size_ = float(self.ratio_.effective_sample_size_)
        return weights

    def _train(
        self,
        X: Any,
        split: DomainSplit,
        rows: NDArray[np.intp],
        weights: Floats,
        omega: Floats | None,
        fit_params: dict[str, Any],
    ) -> None:
        present, codes = np.unique(split.codes[rows], return_inverse=True)
        self.classes_ = split.classes[present]
        check_two_classes(self.classes_, type(self).__name__)
        plain = self.ratio_ is None and omega is None
        total = weights if omega is None else weights * omega
        if self.mode == "resample" and not plain:
            chosen = systematic_draw(total, codes, check_random_state(self.random_state))
            rows, codes, plain = rows[chosen], codes[chosen], True
        if fit_params:
            fit_params = self._routed(fit_params)
        self.estimator_ = fit_weighted(
            clone(self.estimator),
            _safe_indexing(X, rows),
            self.classes_[codes],
            None if plain else total,
            fit_params,
        )

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        import sklearn

        if not sklearn.get_config()["enable_metadata_routing"]:
            return fit_params
        routed: dict[str, Any] = process_routing(self, "fit", **fit_params).estimator.fit
        return routed

    def _fitted(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        validate_data(self, as_rows(X), skip_check_array=True, reset=False)
        return self.estimator_

    def _check_parameters(self) -> None:
        if self.mode not in ("weight", "resample"):
            raise ValueError(f'mode must be "weight" or "resample", got {self.mode!r}.')
        for name, value in (("estimator", self.estimator), ("ratio", self.ratio)):
            wrong = isinstance(value, type) or not hasattr(value, "fit")
            if wrong and not (name == "ratio" and value is None):
                raise TypeError(f"{name} must be an estimator with fit, got {value!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan and self.ratio is not None
        return tags
