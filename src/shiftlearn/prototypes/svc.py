"""Prototype support vector machines: classes in scattered regions, one linear machine a region.

Training begins with one machine for each row e (an exemplar machine: e against a few near rows of
other classes),

    min_{w, b}  ½‖w‖² + C Σ_{j in P and N} ω_j max(0, 1 - t_j (⟨w, x_j⟩ + b)),   P = {e},  t = ±1,

and then shifts them: rows go to the positives P of the nearest machine that fires on them, some of
the rows that it fires on wrongly go to its negatives N, and machines that nobody needs are dropped.
The iterate that is best on held-out rows is kept. A. T. Shen and A. P. Danyluk, *Prototype Support
Vector Machines: Supervised Classification in Complex Datasets*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import DomainClassifierMixin
from shiftlearn.machines.base import (
    Machine,
    TrainingRows,
    all_or_nothing,
    check_predict_rows,
    progress,
    training_rows,
    warn_scales,
)
from shiftlearn.prototypes.choice import Plan, Settings, checked_plan, fit_plan
from shiftlearn.prototypes.explanations import Explanation, distances_to, explanations
from shiftlearn.prototypes.models import votes
from shiftlearn.prototypes.table import Columns
from shiftlearn.prototypes.training import class_probabilities
from shiftlearn.resources import n_threads

__all__ = ["ExemplarSVC", "PrototypeSVC"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_ROWS = 8192  # rows whose scaled copy is alive while predicting
_PAIRS = 1 << 22  # scores alive while explaining


class PrototypeSVC(DomainClassifierMixin, Machine):
    """Prototype support vector machine: an ensemble of linear machines, each for one region.

    Each machine minimises, over its positives and negatives (t_j = ±1, row weights ω_j),

        ½‖w‖² + C Σ_j ω_j max(0, 1 - t_j (⟨w, x_j⟩ + b)).

    It begins as one row against its nearest rows of other classes; shifts add the rows that it
    should stand for and some that it takes wrongly, and drop the machines that stand for nothing.
    The iterate with the best accuracy on held-out rows is kept. Classes may lie in many regions of
    any shape: no kernel is chosen, and a prediction is explained by rows of the training set.

    Parameters
    ----------
    n_shifts : int, default=10
        Shifts; 0 leaves the exemplar machines as they are and holds nothing out.
    n_negatives : int, default=7
        Negatives that a machine begins with.
    hard_negative_rate : float or "auto", default="auto"
        Chance that a row which a machine takes wrongly joins its negatives, at each shift. "auto"
        chooses 0.05 or 0.005 (the value of the paper) by the held-out rows.
    validation_fraction : float, default=0.25
        Share of every class that is held out to choose the iterate.
    C : float or "auto", default="auto"
        Cost of a violated margin, on scaled columns. With a small cost machines with several near
        negatives do not fire even on their own exemplar. "auto" makes three decisions: C_j is
        C n / (2 n₊) on the n₊ positives of a machine of n rows and C n / (2 n₋) on its n₋
        negatives, so that both sides weigh the same; C in {0.1, 1, 10} is chosen by the held-out
        rows; and what they chose is trained once more on all rows. A number is the same for all
        rows, and the held-out rows stay out.
    scale : {"range", "standard", None}, default="range"
        Units of the columns: range [-1, 1], variance 1, or as they are. Distances between rows are
        measured in these units.
    reading : {"default", "spec", "literal"}, default="default"
        How what the printed description leaves open is decided. "spec" pins C = 100, a hard
        negative rate of 0.005 and scale="range"; "literal" follows the words of the paper: C = 1
        on columns as they are, an exemplar may claim itself, only silent machines are dropped.
        Both win over arguments that they pin.
    max_exemplars : int or None, default=None
        Most machines to begin with, drawn class by class; None: one for every row.
    max_hard_negatives : int or None, default=None
        Most rows that join the negatives of a machine at one shift.
    warm_start : bool, default=False
        Whether ``fit`` with a larger ``n_shifts`` on the same rows goes on from where it stopped.
    tol : float, default=1e-6
        Largest violation of the optimality conditions of a machine.
    max_iter : int, default=1_000_000
        Most steps of the solver for each machine.
    random_state : int, RandomState or None, default=None
        Decides held-out rows, drawn exemplars and hard negatives; nothing else is random.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event` before every shift; returning True
        stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    exemplars_ : ndarray of int, shape (n_models,)
        The row of ``fit`` with which each machine began, ascending.
    prototype_classes_ : ndarray of shape (n_models,)
        The label of each machine.
    prototypes_ : ndarray or CSR of shape (n_models, n_features)
        The rows ``exemplars_``.
    coef_, intercept_ : ndarray of shape (n_models, n_features) and (n_models,)
        The machines, for columns as they are given (not scaled).
    calibration_ : ndarray of shape (n_models, 3)
        A and B of each machine's sigmoid 1/(1 + exp(A min(f, cap) + B)), and cap.
    positive_sets_, negative_sets_ : list of ndarray
        The rows of ``fit`` that each machine stands for, and those that it excludes.
    n_models_per_iteration_, validation_scores_ : ndarray
        Size and held-out accuracy of every iterate of the run that chose (NaN where nothing was
        held out).
    best_iteration_ : int
        The iterate that was best; with C="auto" that many shifts are made again on all rows.
    validation_indices_ : ndarray of int
        The rows held out.
    C_, hard_negative_rate_, scale_ : float, float, str or None
        The values in force.
    certificate_ : Certificate
        The proof for all kept machines together (objectives and gaps add up).
    n_iter_ : int
        Iterates trained.

    See Also
    --------
    ExemplarSVC : The same without shifts.

    Examples
    --------
    >>> from shiftlearn import PrototypeSVC
    >>> from shiftlearn.datasets import make_isolated
    >>> d = make_isolated(0)
    >>> model = PrototypeSVC(random_state=0).fit(d.data, d.target)
    >>> model.score(d.data, d.target) > 0.85
    True
    >>> vote = model.explain(d.data[:1])[0].votes[0]
    >>> bool(d.target[vote.exemplar] == vote.label)
    True
    """

    def __init__(
        self,
        n_shifts: int = 10,
        *,
        n_negatives: int = 7,
        hard_negative_rate: float | str = "auto",
        validation_fraction: float = 0.25,
        C: float | str = "auto",
        scale: str | None = "range",
        reading: str = "default",
        max_exemplars: int | None = None,
        max_hard_negatives: int | None = None,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1_000_000,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.n_shifts = n_shifts
        self.n_negatives = n_negatives
        self.hard_negative_rate = hard_negative_rate
        self.validation_fraction = validation_fraction
        self.C = C
        self.scale = scale
        self.reading = reading
        self.max_exemplars = max_exemplars
        self.max_hard_negatives = max_hard_negatives
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> PrototypeSVC:
        """Fit on the source rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int, optional
            ``>= 0`` source, ``< 0`` target. Target rows are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs, of the counts in the sigmoids and of the held-out accuracy; rows
            of weight 0 are left out.

        Returns
        -------
        PrototypeSVC
            The fitted estimator.
        """
        with all_or_nothing(self):
            settings = checked_plan(self._settings())
            rows = training_rows(
                self, X, y, sample_domain=sample_domain, sample_weight=sample_weight
            )
            if settings.scale is None and self.reading == "default":
                warn_scales(rows.X)
            columns = Columns.of(rows.X, settings.scale)
            state = vars(self).get("_state") if self.warm_start else None
            plan = fit_plan(settings, rows, columns, state, self._random(), self._told(settings))
            self._adopt(settings, rows, columns, plan)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Sums of the firing machines' probabilities by class.

        Where no machine fires: p_c - 1, all negative, with p the softmax over the classes of their
        largest scores. With two classes: p(second) - p(first), as in ``predict_proba``.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them; the machine is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        sums, chances, fires = self._votes(X)
        if len(self.classes_) == 2:
            return np.asarray(chances[:, 1] - chances[:, 0])
        return np.where(fires[:, None], sums, chances - 1)

    def predict_proba(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Shares of the classes in the votes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._votes(X)[1]

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the class with the largest vote; ties go to the first class.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        winners = self._votes(X)[1].argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def silent_rows(self, X: Any) -> Bools:
        """Whether no machine fires on a row: it lies in no region that training knows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the machine with the largest score had to decide.
        """
        return ~self._votes(X)[2]

    def apply(self, X: Any) -> Ints:
        """Position in ``exemplars_`` of the nearest firing prototype of the predicted class.

        A grouping of the rows into regions. Rows on which none fires go to the machine with the
        largest score.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Positions.
        """
        parts = [self._nearest(*block) for block in self._blocks_of_scores(X)]
        return np.concatenate(parts)

    def explain(self, X: Any) -> list[Explanation]:
        """The machines that fired on each row: exemplar, score, probability, distance.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        list of Explanation
            With ``label``, ``silent`` and ``votes``, the largest contribution first.
        """
        found: list[Explanation] = []
        for scores, distances, winners in self._blocks_of_scores(X):
            A, B, cap = self.calibration_.T
            with np.errstate(invalid="ignore"):
                z = A * np.minimum(scores, cap) + B
            chances = expit(-z)
            found += explanations(
                self.classes_[winners], scores, chances, distances, self.exemplars_,
                self.prototype_classes_,
            )  # fmt: skip
        return found

    def _settings(self) -> Settings:
        return Settings(
            n_shifts=self.n_shifts, n_negatives=self.n_negatives,
            hard_negative_rate=self.hard_negative_rate,
            validation_fraction=self.validation_fraction, C=self.C, scale=self.scale,
            reading=self.reading, max_exemplars=self.max_exemplars,
            max_hard_negatives=self.max_hard_negatives, tol=self.tol, max_iter=self.max_iter,
            n_jobs=n_threads(self.n_jobs),
        )  # fmt: skip

    def _random(self) -> np.random.RandomState:
        rng: np.random.RandomState = check_random_state(self.random_state)
        return rng

    def _told(self, settings: Settings) -> Callable[[str, int], bool] | None:
        """Report of one shift to the user; True stops."""
        report = progress(self.callback, self.verbose, type(self).__name__)
        if report is None:
            return None

        def told(phase: str, turn: int) -> bool:
            share = turn / max(1, settings.n_shifts)
            return report(Event(phase, share, float("nan"), float("nan"))) is True

        return told

    def _adopt(self, settings: Settings, rows: TrainingRows, columns: Columns, plan: Plan) -> None:
        """Set the fitted attributes; nothing before this line has touched the estimator."""
        best, inside = plan.final, plan.rows
        self.classes_ = rows.classes
        self.C_, self.hard_negative_rate_ = plan.C, plan.rate
        self.scale_ = settings.scale
        at = inside[best.exemplars]
        self.exemplars_ = np.asarray(rows.positions(at))
        self.prototypes_ = rows.X[at]
        self.prototype_classes_ = rows.classes[best.codes]
        self.coef_, self.intercept_ = columns.unscaled(best.coef, best.figures[0])
        self.calibration_ = np.ascontiguousarray(best.figures[1:].T)
        owner, where = best.owner, inside[best.rows]
        same = rows.codes[where] == best.codes[owner]
        original = np.asarray(rows.positions(where))
        self.positive_sets_ = _sets(original, owner, same, len(best))
        self.negative_sets_ = _sets(original, owner, ~same, len(best))
        self.validation_indices_ = np.asarray(rows.positions(plan.held))
        self.n_models_per_iteration_ = np.array(plan.trace.sizes)
        self.validation_scores_ = np.array(plan.trace.scores)
        self.best_iteration_ = plan.trace.best_iteration
        self.certificate_ = best.certificate(settings.tol)
        self.n_iter_ = len(plan.trace.scores)
        self._columns, self._every = columns, settings.rules.every_vote
        self._ensemble = best.bare()
        self._state = plan if self.warm_start else None

    def _votes(self, X: Any) -> tuple[Floats, Floats, Bools]:
        """Sums and probabilities by class, and whether a machine fires, block by block."""
        if "_ensemble" not in vars(self):
            check_is_fitted(self, "coef_")
        X = check_predict_rows(self, X)
        parts = [self._vote(X[i : i + _ROWS]) for i in range(0, X.shape[0], _ROWS)]
        if len(parts) == 1:
            return parts[0]
        sums, chances, fires = (np.concatenate(column) for column in zip(*parts, strict=True))
        return sums, chances, fires

    def _vote(self, X: Any) -> tuple[Floats, Floats, Bools]:
        ensemble = self._ensemble
        table, intercept = self._columns.without_shift(X, ensemble.coef, ensemble.figures[0])
        moved = ensemble.with_intercept(intercept)
        sums, largest, fires = votes(
            table, moved, len(self.classes_), self._every, n_threads(self.n_jobs)
        )
        voted = fires | self._every
        return sums, class_probabilities(sums, largest, voted), voted

    def _blocks_of_scores(self, X: Any) -> Any:
        """Scores, distances to the exemplars and predicted class numbers, some rows at a time."""
        if "_ensemble" not in vars(self):
            check_is_fitted(self, "coef_")
        X = check_predict_rows(self, X)
        step = max(1, _PAIRS // len(self.exemplars_))
        prototypes = self._stretched(self._same_kind(self.prototypes_, X))[0]
        for low in range(0, X.shape[0], step):
            block = X[low : low + step]
            rows, intercept = self._stretched(block)
            scores = np.asarray(rows @ self._ensemble.coef.T) + intercept
            winners = self._vote(block)[1].argmax(axis=1)
            yield scores, distances_to(rows, prototypes), winners

    def _stretched(self, X: Any) -> tuple[Any, Floats]:
        """Rows in scaled units and the intercepts that go with them."""
        ensemble = self._ensemble
        table, intercept = self._columns.without_shift(X, ensemble.coef, ensemble.figures[0])
        return table.matrix, intercept

    @staticmethod
    def _same_kind(prototypes: Any, X: Any) -> Any:
        """Prototypes dense or sparse as X is: moved columns differ between the two."""
        if sparse.issparse(X):
            return sparse.csr_matrix(prototypes)
        return prototypes.toarray() if sparse.issparse(prototypes) else prototypes

    def _nearest(self, scores: Floats, distances: Floats, winners: Ints) -> Ints:
        candidates = (scores > 0) & (self._ensemble.codes == winners[:, None])
        nearest = np.where(candidates, distances, np.inf).argmin(axis=1)
        return np.asarray(np.where(candidates.any(axis=1), nearest, scores.argmax(axis=1)))


class ExemplarSVC(PrototypeSVC):
    """Ensemble of exemplar machines: every training row against its nearest rows of other classes.

    `PrototypeSVC` without shifts: nothing is chosen, so nothing is held out. Each machine minimises
    ½‖w‖² + C Σ_j ω_j max(0, 1 - t_j (⟨w, x_j⟩ + b)) over one positive and ``n_negatives``
    negatives.

    Parameters
    ----------
    n_negatives : int, default=7
        Negatives of each machine.
    C, scale, reading, max_exemplars, tol, max_iter, random_state, n_jobs, verbose, callback
        As in `PrototypeSVC`.

    Examples
    --------
    >>> from shiftlearn import ExemplarSVC
    >>> from shiftlearn.datasets import make_spirals
    >>> d = make_spirals()
    >>> ExemplarSVC().fit(d.data, d.target).exemplars_.shape
    (194,)
    """

    def __init__(
        self,
        n_negatives: int = 7,
        *,
        C: float = 100.0,
        scale: str | None = "range",
        reading: str = "default",
        max_exemplars: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 1_000_000,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        super().__init__(
            0, n_negatives=n_negatives, C=C, scale=scale, reading=reading,
            max_exemplars=max_exemplars, tol=tol, max_iter=max_iter, random_state=random_state,
            n_jobs=n_jobs, verbose=verbose, callback=callback,
        )  # fmt: skip


def _sets(rows: Ints, owner: Ints, chosen: Bools, n_models: int) -> list[Ints]:
    counts = np.bincount(owner[chosen], minlength=n_models)
    return np.split(rows[chosen], np.cumsum(counts)[:-1])
