"""A committee of views: what to use without target labels when nobody can say which map is right.

Each view of the rows is right for another kind of shift, and which kind it is cannot be seen
without labels. So the probabilities of models on several views are averaged: their errors differ.
Three findings decide how far the committee is trusted (all limits were found on the choosing tasks
of ``benchmarks/shifts``):

no shift        a kernel two-sample test does not tell the domains apart: the source model alone;
proportions     moved class proportions ruin maps that align moments. They are estimated from the
                source model's predictions and believed where they explain the movement of the mean;
                source rows then count in the moments by how frequent their class is in the target;
confusion       a source model that confuses the classes cannot say which proportions moved: the
                source model alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from shiftlearn.domains import DomainClassifierMixin, warn_no_target
from shiftlearn.machines.base import all_or_nothing
from shiftlearn.parameters import check_number
from shiftlearn.resources import n_threads
from shiftlearn.statistics import Stream, by_blocks, is_stream
from shiftlearn.statistics.streamed import StreamedMethods
from shiftlearn.trust.members import Front, Member, fit_view, fresh, unseen_probabilities
from shiftlearn.trust.proportions import Proportions, find_proportions
from shiftlearn.trust.seen import SHIFT_LEVEL, shift_p_value
from shiftlearn.trust.streamed_members import StreamedMembers, check_streamable, open_members
from shiftlearn.views import CoralMapper, DomainStandardizer, MongeMapper
from shiftlearn.views.rows import BothRows, both_rows, numeric_rows

__all__ = ["ShiftCommittee"]

Floats = NDArray[np.float64]

_ROUNDS, _SHARE = 5, 0.8
_SOURCE_WEIGHT = 0.5
_LEAST_FACTOR = 1e-3


class ShiftCommittee(StreamedMethods, DomainClassifierMixin, BaseEstimator):
    """Average the probabilities of the source model and of models on views of both domains.

        P(y | x) = Σ_m w_m P_m(y | T_m(x)) / Σ_m w_m,

    where P_m is the estimator fitted on the source rows as the view T_m shows them, then
    self-trained in that view (:class:`SelfTrainingAdapter`). Target labels are never read.

    Parameters
    ----------
    estimator : classifier or None, default=None
        None: logistic regression. A classifier without ``predict_proba`` gets its probabilities
        from a Platt sigmoid that is cross-fitted on the source rows.
    views : "default" or list of (name, transformer), default="default"
        Transformers with ``fit(X, sample_domain=, sample_weight=)`` and ``transform``, which take
        rows without a domain as target rows. "default": :class:`MongeMapper` and
        :class:`DomainStandardizer` for dense rows, :class:`MongeMapper` and :class:`CoralMapper`
        for sparse ones, which all views get through one ``TruncatedSVD(200)``.
    self_training : bool, default=True
        Whether the models train themselves on the target; without it the models of the views vote.
    source_weight : "auto" or float, default="auto"
        Weight of the plain source model; every other member weighs 1. "auto": 1/2, but the source
        model alone where no shift is seen or the classes are confused too much to see proportions.
    random_state : int, RandomState or None, default=None
        Draws folds, the rows and permutations of the test, and the truncated SVD.
    n_jobs : int or None, default=None
        Threads over views.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the source.
    members_ : list of (name, member)
        Each has ``predict_proba(X)`` for target rows; the first is the source model.
    weights_ : ndarray of shape (n_members,)
        w, of sum 1.
    proportions_ : Proportions or None
        Class proportions of source and target as far as they were believed to move.
    shift_p_value_ : float
        p-value of the two-sample test; NaN where a domain has a single row.
    verdict_ : str
        What was found, in words.
    sampled_rows_ : dict
        After a fit from :class:`Blocks` or Dask collections, for each domain the rows drawn for the
        test and the proportions, and all there are.

    See Also
    --------
    ShiftSearchCV : chooses among candidates, this one included, and says whether to adapt at all.

    Examples
    --------
    >>> from shiftlearn import ShiftCommittee
    >>> from shiftlearn.datasets import make_gaussian_shift
    >>> data = make_gaussian_shift(random_state=0)
    >>> X, y, domain = data.data, data.target, data.domain
    >>> committee = ShiftCommittee(random_state=0).fit(X, y, sample_domain=domain)
    >>> [name for name, _ in committee.members_][:2]
    ['source', 'source, self-trained']
    >>> committee.agreement(X[domain < 0]).shape
    (300,)
    """

    def __init__(
        self,
        estimator: Any = None,
        views: Any = "default",
        self_training: bool = True,
        source_weight: float | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.self_training = self_training
        self.source_weight = source_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> ShiftCommittee:
        """Fit all members.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            >= 0 source, < 0 target; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Weights in the models and in the moments; rows of weight 0 are left out.

        Returns
        -------
        ShiftCommittee
            The fitted committee. Without target rows it is the source model.
        """
        with all_or_nothing(self):
            self._check()
            rows = both_rows(self, X, y, sample_domain, sample_weight)
            self.classes_ = rows.classes
            if rows.target.shape[0] == 0:
                warn_no_target("ShiftCommittee", "the source model alone")
                self._adopt_source(rows)
            else:
                self._adopt(rows, check_random_state(self.random_state).randint(2**31 - 1))
        return self

    def _fit_stream(self, stream: Stream) -> None:
        """All members from passes; test, proportions and the SVD from a sample of the rows."""
        self._check()
        model = check_streamable(self.estimator, self._views(sparse_rows=False))
        streamed = open_members(self, stream, model)
        rows = streamed.sample
        self.classes_ = rows.classes
        if rows.target.shape[0] == 0:
            warn_no_target("ShiftCommittee", "the source model alone")
            self._adopt_source(rows, streamed)
        else:
            self._adopt(rows, check_random_state(self.random_state).randint(2**31 - 1), streamed)

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Averaged probabilities of the members.

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
        check_is_fitted(self, "members_")
        X = numeric_rows(self, X, reset=False)
        heard = np.flatnonzero(self.weights_)
        parts = [self.weights_[i] * self.members_[i][1].predict_proba(X) for i in heard]
        return np.asarray(sum(parts))

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the most probable class of each row; the parameters of ``predict_proba``."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def agreement(self, X: Any) -> Floats:
        """Say row by row how far the members agree, whatever their weights.

        One minus the mean total variation between the members' probabilities and their mean: 1
        where all say the same. Rows of low agreement are those to look at, or to label.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of the target domain.

        Returns
        -------
        ndarray of shape (n_samples,)
            In [0, 1].
        """
        check_is_fitted(self, "members_")
        if is_stream(X):
            agreed: Floats = by_blocks(self.agreement, X)
            return agreed
        X = numeric_rows(self, X, reset=False)
        said = np.array([member.predict_proba(X) for _, member in self.members_])
        apart = np.abs(said - said.mean(axis=0)).sum(axis=2) / 2
        return np.asarray(1 - apart.mean(axis=0))

    def _check(self) -> None:
        if not isinstance(self.self_training, bool | np.bool_):
            raise ValueError(f"self_training must be True or False, got {self.self_training!r}.")
        if self.source_weight != "auto":
            check_number("source_weight", self.source_weight, from_zero=True)
        self._views(sparse_rows=False)
        fresh(self.estimator)

    def _views(self, *, sparse_rows: bool) -> list[tuple[str, Any]]:
        if isinstance(self.views, str) and self.views == "default":
            second = ("coral", CoralMapper()) if sparse_rows else None
            return [("monge", MongeMapper()), second or ("standardised", DomainStandardizer())]
        good = isinstance(self.views, Sequence) and not isinstance(self.views, str)
        good = good and all(
            isinstance(pair, Sequence) and len(pair) == 2 and hasattr(pair[1], "transform")
            for pair in self.views
        )
        names = [pair[0] for pair in self.views] if good else []
        if not good or len(set(names)) < len(names) or "source" in names:
            raise ValueError(
                'views must be "default" or a list of (name, transformer) with different names, '
                f'none of them "source"; got {self.views!r}.'
            )
        return [tuple(pair) for pair in self.views]

    def _adopt_source(self, rows: BothRows, streamed: StreamedMembers | None = None) -> None:
        nothing = np.ones(rows.source.n_classes)
        self.members_: list[tuple[str, Member]] = self._fits(rows, streamed, None, nothing, 0)(
            "source", None
        )
        self.weights_ = np.ones(1)
        self.proportions_: Proportions | None = None
        self.shift_p_value_ = float("nan")
        self.verdict_ = "There are no target rows: this is the source model."

    def _adopt(self, rows: BothRows, seed: int, streamed: StreamedMembers | None = None) -> None:
        """From all rows, or from a sample of them and the stream that they were drawn from."""
        front = Front.of(rows, seed)
        dense = [front(rows.source.X), front(rows.target)]
        self.shift_p_value_ = shift_p_value(dense[0], dense[1], seed)
        rounds = _ROUNDS if self.self_training else 0
        nothing = np.ones(rows.source.n_classes)
        first = self._fits(rows, streamed, None, nothing, rounds)("source", None)
        self.proportions_ = self._proportions(rows, dense, first[0][1], seed)
        factors = nothing
        if self.proportions_ is not None:
            ratio = self.proportions_.target / self.proportions_.source
            factors = np.maximum(ratio, _LEAST_FACTOR)
        views = self._views(sparse_rows=sparse.issparse(rows.target))
        fit = self._fits(rows, streamed, front, factors, rounds)
        jobs = 1 if streamed is not None else min(n_threads(self.n_jobs), len(views) or 1)
        fits = Parallel(n_jobs=jobs, prefer="threads")(delayed(fit)(*pair) for pair in views)
        last = [first[-1]] if len(first) > 1 else []
        self.members_ = [first[0], *last, *(found[-1] for found in fits)]
        self._weigh()

    def _fits(
        self,
        rows: BothRows,
        streamed: StreamedMembers | None,
        front: Front | None,
        factors: Floats,
        rounds: int,
    ) -> Callable[[str, Any], list[tuple[str, Member]]]:
        """What fits the members on a view (name, transformer)."""
        if streamed is not None:
            return lambda name, view: streamed.fit_view(name, view, front, factors, rounds, _SHARE)
        return lambda name, view: fit_view(
            name, view, front, rows, factors, self.estimator, rounds, _SHARE
        )

    def _proportions(
        self, rows: BothRows, dense: list[Any], source_model: Member, seed: int
    ) -> Proportions | None:
        unseen = unseen_probabilities(self.estimator, rows.source, seed)
        if unseen is None:
            return None
        weights = rows.target_weights
        found = weights @ source_model.predict_proba(rows.target) / weights.sum()
        source, codes = rows.source, rows.source.codes
        return find_proportions(dense[0], codes, source.weights, unseen, dense[1], found)

    def _weigh(self) -> None:
        others = np.ones(len(self.members_) - 1)
        known = self.proportions_ is not None and self.proportions_.known
        words = [_NO_PROPORTIONS if self.proportions_ is None else self.proportions_.words()]
        seen = self.shift_p_value_ < SHIFT_LEVEL
        weight = _SOURCE_WEIGHT
        if not (seen and known):
            weight, others = 1.0, 0 * others
        words.insert(0, "The domains differ" if seen else "No shift was seen")
        words[0] += f" (two-sample test, p = {self.shift_p_value_:.3g})."
        if not (seen and known) and self.source_weight == "auto":
            words.append("The source model alone decides.")
        if self.source_weight != "auto":
            weight, others = float(self.source_weight), np.ones(len(others))
        raw = np.concatenate([[weight], others])
        if not raw.any():
            raise ValueError("source_weight is 0 and there is no other member; add views.")
        self.weights_ = raw / raw.sum()
        self.verdict_ = " ".join(words)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = self.estimator
        tags.input_tags.sparse = estimator is None or get_tags(estimator).input_tags.sparse
        return tags


_NO_PROPORTIONS = "A class has a single source row, so class proportions could not be estimated."
