"""Locally weighted ensemble: models of the source, weighted by the target's own structure.

    P(y | x) = Σ_i w_i(x) P_i(y | x)

with weights from `shiftlearn.alignment.agreement`; new rows look at the target rows of ``fit``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from shiftlearn.alignment.agreement import Votes, combine_votes
from shiftlearn.alignment.fitted_rows import FittedRows
from shiftlearn.alignment.rows import DomainRows, domain_rows
from shiftlearn.domains import DomainClassifierMixin
from shiftlearn.machines.base import Machine, all_or_nothing, check_number, check_predict_rows
from shiftlearn.machines.calibration import CrossFittedPlatt, fit_weighted
from shiftlearn.machines.svc import SVC

__all__ = ["LocallyWeightedEnsemble"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class LocallyWeightedEnsemble(DomainClassifierMixin, Machine):
    """Locally weighted ensemble of models of the source.

    Averages the probabilities P_i of models trained on the source rows with weights of their own at
    each point x of the target,

        P(y | x) = Σ_i s_i(x) P_i(y | x) / Σ_i s_i(x),    s_i = 2 #(V_i ∩ V_T) / (#V_i + #V_T),

    where V_T are those of the h nearest target rows that lie in x's cluster, and V_i those for
    which model i predicts the class that it predicts for x. A point where no s_i reaches the
    threshold gets the mean probabilities of the reliable points of its cluster. After Gao, Fan,
    Jiang and Han, *Knowledge transfer via multiple model local structure mapping*, 2008.

    Parameters
    ----------
    estimators : list of (str, classifier) or None, default=None
        The models; None: logistic regression, :class:`SVC`, and the nearest five rows. A model
        without ``predict_proba`` gets its probabilities from a Platt sigmoid that is cross-fitted
        on the source rows.
    n_clusters : int or None, default=None
        Clusters of the target rows; None: as many as classes.
    n_neighbors : int, default=10
        h.
    threshold : float, default=0.5
        The least max s_i of a reliable point; s_i is at most 1.
    clustering : {"kmeans", "spectral"}, default="kmeans"
        How the target rows are clustered.
    cv : int, default=5
        Folds of the cross-fitted sigmoids.
    random_state : int, RandomState or None, default=None
        Draws the starts of the clustering.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    estimators_ : list of (str, classifier)
        The fitted models; their classes are numbers, positions in ``classes_``.
    clusters_ : ndarray of shape (n_target,)
        Cluster of each target row of ``fit``.
    weights_ : ndarray of shape (n_target, n_estimators)
        Weights of the models at the target rows.
    reliable_ : ndarray of bool of shape (n_target,)
        Whether some s_i reaches the threshold.
    transduction_ : ndarray of shape (n_target,)
        The classes of the target rows of ``fit``, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LocallyWeightedEnsemble, stack_domains
    >>> rng = np.random.default_rng(0)
    >>> ys = np.repeat([0, 1], 20)
    >>> Xs = rng.normal(size=(40, 2)) + 3 * ys[:, None]
    >>> X, y, sample_domain = stack_domains(Xs, ys, Xs + 0.5)
    >>> model = LocallyWeightedEnsemble(random_state=0).fit(X, y, sample_domain=sample_domain)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([0, 1])
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]] | None = None,
        *,
        n_clusters: int | None = None,
        n_neighbors: int = 10,
        threshold: float = 0.5,
        clustering: str = "kmeans",
        cv: int = 5,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.clustering = clustering
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> LocallyWeightedEnsemble:
        """Train the models on the source rows and weigh them on the target rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            Negative for target rows; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight 0 are left out; the weights go to the models that take them.

        Returns
        -------
        LocallyWeightedEnsemble
            The fitted estimator. Without target rows the models have equal weights.
        """
        with all_or_nothing(self):
            self._check()
            rows = domain_rows(self, X, y, sample_domain=sample_domain, sample_weight=sample_weight)
            self.classes_ = rows.classes
            self.estimators_ = [
                (name, _fit_member(model, rows, int(self.cv)))
                for name, model in self._members(rows.n_source)
            ]
            self._target: FittedRows | None = None
            self._adopt_target(rows)
        return self

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of the target domain.
        sample_domain, allow_source
            Accepted for scorers that pass them; all rows are taken as target rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "estimators_")
        X = check_predict_rows(self, X)
        said = self._member_probabilities(X)
        if self._target is None:
            return np.asarray(np.mean(said, axis=0))
        target, m = self._target, len(self.clusters_)
        _, neighbours = self._search.kneighbors(X, min(int(self.n_neighbors), m))
        own = pairwise_distances_argmin(X, self._centres)
        votes = combine_votes(neighbours, self.clusters_, own, self._known, said)
        result = self._with_cluster_means(votes, own)
        places = target.find(X)
        result[places >= 0] = self._probabilities[places[places >= 0]]
        return result

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of the target domain.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check(self) -> None:
        for name, least in (("n_neighbors", 1), ("cv", 2), ("n_clusters", 1)):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and value >= least
            if not whole and not (name == "n_clusters" and value is None):
                raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")
        check_number("threshold", self.threshold, upto=1.0, from_zero=True)
        if self.clustering not in ("kmeans", "spectral"):
            raise ValueError(f'clustering must be "kmeans" or "spectral", got {self.clustering!r}.')

    def _members(self, n_source: int) -> list[tuple[str, Any]]:
        if self.estimators is None:
            return [
                ("logistic", LogisticRegression(max_iter=1000)),
                ("svc", SVC(multi_class="ovr")),
                ("neighbours", KNeighborsClassifier(min(5, n_source))),
            ]
        members = [tuple(pair) for pair in self.estimators]
        good = all(len(pair) == 2 and hasattr(pair[1], "fit") for pair in members)
        if not members or not good:
            raise ValueError(
                "estimators must be a list of at least one (name, classifier), got "
                f"{self.estimators!r}."
            )
        return members

    def _member_probabilities(self, X: Any) -> list[Floats]:
        return [np.asarray(model.predict_proba(X)) for _, model in self.estimators_]

    def _adopt_target(self, rows: DomainRows) -> None:
        """Cluster the target rows and weigh the models there."""
        k, m = len(rows.classes), rows.n_target
        self.clusters_ = np.zeros(0, dtype=np.intp)
        self.weights_ = np.zeros((0, len(self.estimators_)))
        self.reliable_, self.transduction_ = np.zeros(0, dtype=bool), rows.classes[:0]
        if not m:
            return
        self.clusters_, self._centres = self._cluster(rows.target, k)
        self._search = NearestNeighbors().fit(rows.target)
        self._known = self._member_probabilities(rows.target)
        votes = combine_votes(
            _others(self._search, min(int(self.n_neighbors), m - 1)),
            self.clusters_,
            self.clusters_,
            self._known,
            self._known,
        )
        self.weights_, self.reliable_ = votes.weights, self._reliable(votes)
        self._means = _cluster_means(votes, self.clusters_, self.reliable_, len(self._centres))
        self._probabilities = self._with_cluster_means(votes, self.clusters_)
        self.transduction_ = self.classes_[self._probabilities.argmax(axis=1)]
        self._target = FittedRows(rows.target)

    def _cluster(self, target: Any, n_classes: int) -> tuple[Ints, Floats]:
        """Clusters of the target rows, numbered 0, 1, ..., and their centres."""
        m = target.shape[0]
        count = min(n_classes if self.n_clusters is None else int(self.n_clusters), m)
        if self.clustering == "kmeans":
            model = KMeans(count, n_init=10, random_state=self.random_state)
        else:
            model = SpectralClustering(
                count,
                affinity="nearest_neighbors",
                n_neighbors=min(int(self.n_neighbors), m),
                random_state=self.random_state,
            )
        with warnings.catch_warnings():  # a graph of separate parts is what clusters look like
            warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
            model.fit(target)
        _, labels = np.unique(model.labels_, return_inverse=True)
        member = np.eye(labels.max() + 1)[labels]
        centres = np.asarray((target.T @ member).T) / member.sum(axis=0)[:, None]
        return labels, centres

    def _reliable(self, votes: Votes) -> NDArray[np.bool_]:
        return np.asarray(votes.agreement.max(axis=1) >= self.threshold)

    def _with_cluster_means(self, votes: Votes, own: Ints) -> Floats:
        """The weighted probabilities; of unreliable rows those of their cluster."""
        means = self._means[own]
        replace = ~self._reliable(votes) & np.isfinite(means[:, 0])
        return np.where(replace[:, None], means, votes.probabilities)


def _fit_member(model: Any, rows: DomainRows, n_splits: int) -> Any:
    """A copy of the model, fitted on the source, with probabilities."""
    weights = rows.weights[: rows.n_source]
    if hasattr(model, "predict_proba"):
        return fit_weighted(clone(model), rows.source, rows.codes, weights)
    return CrossFittedPlatt(model, n_splits).fit(rows.source, rows.codes, weights)


def _others(search: NearestNeighbors, h: int) -> Ints:
    """The h nearest of the other target rows."""
    if h < 1:
        return np.zeros((search.n_samples_fit_, 0), dtype=np.intp)
    return np.asarray(search.kneighbors(n_neighbors=h, return_distance=False))


def _cluster_means(votes: Votes, clusters: Ints, reliable: NDArray[np.bool_], count: int) -> Floats:
    """Mean probabilities of the reliable rows of each cluster; NaN where there is none."""
    means = np.full((count, votes.probabilities.shape[1]), np.nan)
    for c in range(count):
        own = reliable & (clusters == c)
        if own.any():
            means[c] = votes.probabilities[own].mean(axis=0)
    return means
