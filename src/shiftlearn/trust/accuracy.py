"""What accuracy to expect on new rows, with an interval, with few labels or none.

Without labels nothing proves anything: the interval says how far the combination was off on shifts
that are known (the choosing tasks of ``benchmarks/shifts``), and the words say so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from shiftlearn.domains import label_array, refuse_device_arrays, unlabelled
from shiftlearn.domains.stack import match_columns
from shiftlearn.solvers.platt import fit_platt
from shiftlearn.statistics import is_stream
from shiftlearn.statistics.reservoir import draw_table
from shiftlearn.statistics.survey import SAMPLE_ROWS
from shiftlearn.trust.expected import ESTIMATORS, Evidence
from shiftlearn.trust.labelled import REACH, FewLabels, combine, from_labels, labels_to_halve
from shiftlearn.trust.seen import shift_p_value

__all__ = ["AccuracyEstimate", "AccuracyEstimator"]

Floats = NDArray[np.float64]

# Found on the choosing tasks of benchmarks/shifts: the two estimators whose errors are of opposite
# sign, what stands in where rows are not numbers, and the 5 % and 95 % points of
# (truth - estimate) / (_FLOOR + standard deviation of the members).
_COMBINED = ("transport", "agreement")
_WITHOUT_ROWS = ("thresholded", "transport", "calibrated")
_FLOOR = 0.1
_BELOW, _ABOVE = -0.94, 0.83
_NO_SHIFT = 0.05  # a wrong alarm costs width, an unseen shift the truth of the interval


class AccuracyEstimate(NamedTuple):
    """Value and 90 % interval, as fractions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Look:
    """All that is found without labels of the target."""

    evidence: Evidence
    found: dict[str, float]
    p_value: float


class AccuracyEstimator(BaseEstimator):
    r"""Estimate the accuracy of a fitted classifier on unlabelled rows.

    ``method="auto"`` is the mean of two estimators whose errors differ,

    .. math:: \hat a = \tfrac12 (a_\text{COT} + a_\text{agreement}),

    optimal-transport confidence with the class proportions that are believed, and the probability
    that a model on source rows mapped onto the target gives to the classifier's predictions;
    with an interval whose width grows with their disagreement; both were found on shifts that no
    figure in the documentation is measured on. Where a two-sample test sees no shift, it is the
    accuracy on the source rows with its binomial error. Labels of a random part of the target
    are used through a control variate and decide more the more there are.

    Parameters
    ----------
    method : str, default="auto"
        Or one of "validation", "thresholded" (ATC), "transport" (COT), "transport-thresholded"
        (COTT), "calibrated", "difference", "agreement", "importance".
    random_state : int, RandomState or None, default=0
        Draws rows for tests and transport.

    Attributes
    ----------
    details_ : dict
        After ``estimate``: the figure of every estimator, the p-value of the test ("shift"), and
        with labels the accuracy and standard error by labels.
    words_ : str
        After ``estimate``: what was found and what it is worth.
    labels_to_halve_ : int
        After ``estimate``: how many more random labels would halve the interval.
    sampled_rows_ : dict
        Of :class:`Blocks` and Dask collections at most 20,000 rows are drawn, in one pass: for
        "source" and "target" the rows drawn, and all there are.

    See Also
    --------
    ShiftSearchCV : whether another model would do better.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import AccuracyEstimator
    >>> from shiftlearn.datasets import make_gaussian_shift
    >>> Xs, ys, Xt, yt = make_gaussian_shift(random_state=0).split()
    >>> model = LogisticRegression().fit(Xs[::2], ys[::2])
    >>> estimator = AccuracyEstimator().fit(model, Xs[1::2], ys[1::2])
    >>> value, low, high = estimator.estimate(Xt)
    >>> low <= model.score(Xt, yt) <= high
    True
    """

    def __init__(self, method: str = "auto", *, random_state: Any = 0) -> None:
        self.method = method
        self.random_state = random_state

    def fit(self, classifier: Any, X_source: Any, y_source: Any = None) -> AccuracyEstimator:
        """Take the classifier and labelled rows that it was not trained on.

        Parameters
        ----------
        classifier : fitted classifier
            Of any library, with ``predict_proba`` or ``decision_function``.
        X_source : array-like
            Rows as the classifier takes them.
        y_source : array-like
            Their labels; those of :class:`Blocks` come with the blocks.

        Returns
        -------
        AccuracyEstimator
        """
        if self.method not in ("auto", *ESTIMATORS):
            names = ", ".join(f'"{name}"' for name in ("auto", *ESTIMATORS))
            raise ValueError(f"method must be one of {names}; got {self.method!r}.")
        refuse_device_arrays(X_source, "X_source")
        self.sampled_rows_: dict[str, tuple[int, int]] = {}
        X_source, y_source = self._held("source", X_source, y_source)
        classes = np.asarray(_classes_of(classifier))
        codes = _codes(y_source, classes, _num_samples(X_source), "y_source")
        if (codes < 0).any():
            raise ValueError("y_source must label every row of X_source; some are missing.")
        self.classifier_, self.classes_ = classifier, classes
        self._codes, self._X_source = codes, X_source
        self._sigmoids = None
        if not hasattr(classifier, "predict_proba"):
            scores = np.asarray(classifier.decision_function(X_source), dtype=np.float64)
            positive = codes == 1 if scores.ndim == 1 else codes[:, None] == np.arange(len(classes))
            self._sigmoids = fit_platt(scores, positive, n_jobs=1).rising()
        self.source_accuracy_ = float(np.mean(self._probabilities(X_source).argmax(1) == codes))
        return self

    def estimate(self, X_target: Any, y_target: Any = None) -> AccuracyEstimate:
        """Estimate the accuracy on these rows.

        Parameters
        ----------
        X_target : array-like
            Rows as the classifier takes them.
        y_target : array-like, optional
            Labels of a random part of the rows; None or NaN elsewhere.

        Returns
        -------
        AccuracyEstimate
            ``value, low, high``: fractions; the interval is meant to hold the truth nine times in
            ten.
        """
        check_is_fitted(self, "classifier_")
        refuse_device_arrays(X_target, "X_target")
        X_target, y_target = self._held("target", X_target, y_target)
        X_source, X_target = _same_columns(self._X_source, X_target)
        labels = None
        if y_target is not None:
            labels = _codes(y_target, self.classes_, _num_samples(X_target), "y_target")
        return self._answer(self._look(X_source, X_target), labels)

    def _held(self, name: str, X: Any, y: Any) -> tuple[Any, Any]:
        """Rows and labels in memory: as they are, or drawn from a stream."""
        if not is_stream(X):
            return X, y
        drawn = draw_table(X, y, SAMPLE_ROWS)
        self.sampled_rows_[name] = (int(drawn.rows.shape[0]), drawn.n_all)
        return drawn.rows, drawn.labels

    def _look(self, X_source: Any, X_target: Any) -> _Look:
        """What costs time, and does not depend on labels of the target."""
        evidence = self._evidence(X_source, X_target)
        found = {name: form(evidence) for name, form in ESTIMATORS.items()}
        return _Look(evidence, found, self._p_value(evidence))

    def _answer(self, look: _Look, labels: NDArray[np.intp] | None) -> AccuracyEstimate:
        """Value and interval, by labels too where there are some."""
        value, below, above = self._without_labels(look)
        self.details_: dict[str, float] = {**look.found, "shift": look.p_value}
        error = (below + above) / (2 * REACH)
        variance = max(value * (1 - value), 0.02)
        n, prior, words = 0, error, _without_words(look.p_value)
        if labels is not None and (labels != -1).any():
            few = _few(look.evidence, labels)
            value, error = combine(few, value + (above - below) / 2, prior)
            below = above = REACH * error
            n, variance = few.n, few.variance
            self.details_ |= {"labels": few.value, "labels, standard error": few.error}
            words = f"By {n} labels of a random part and by the estimators without labels."
        low, high = max(value - below, 0.0), min(value + above, 1.0)
        self.labels_to_halve_ = labels_to_halve(error, prior, variance, n)
        self.words_ = (
            f"Expected accuracy {100 * value:.1f} %, between {100 * low:.1f} and {100 * high:.1f} "
            f"(90 %); on held-out source rows {100 * self.source_accuracy_:.1f} %. {words} About "
            f"{self.labels_to_halve_} more random labels would halve the interval."
        )
        return AccuracyEstimate(value, low, high)

    def _probabilities(self, X: Any) -> Floats:
        if self._sigmoids is None:
            return np.asarray(self.classifier_.predict_proba(X), dtype=np.float64)
        p = self._sigmoids.probability(np.asarray(self.classifier_.decision_function(X)))
        if p.ndim == 1:
            return np.column_stack([1 - p, p])
        return np.asarray(p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300))

    def _evidence(self, X_source: Any, X_target: Any) -> Evidence:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        source, target = self._probabilities(X_source), self._probabilities(X_target)
        rows = _numbers(X_source, X_target, seed)
        return Evidence(source, target, self._codes, rows[0], rows[1], seed)

    def _p_value(self, evidence: Evidence) -> float:
        if evidence.source_rows is None:  # rows are not numbers: what the classifier says of them
            return shift_p_value(evidence.source, evidence.target, evidence.seed)
        return shift_p_value(evidence.source_rows, evidence.target_rows, evidence.seed)

    def _without_labels(self, look: _Look) -> tuple[float, float, float]:
        """Value and reach of the interval below and above it."""
        found, evidence = look.found, look.evidence
        names = _WITHOUT_ROWS if math.isnan(found["agreement"]) else _COMBINED
        said = np.array([found[name] for name in names])
        value = float(said.mean())
        if self.method != "auto":
            value = found[self.method]
            if math.isnan(value):
                raise ValueError(f'method="{self.method}" needs rows that are numbers.')
        elif not look.p_value < _NO_SHIFT:
            n, m = len(evidence.codes), len(evidence.target)
            p = (evidence.accuracy * n + 1) / (n + 2)
            reach = REACH * math.sqrt(p * (1 - p) * (1 / n + 1 / m))
            return evidence.accuracy, reach, reach
        width = _FLOOR + float(said.std())
        return value, -_BELOW * width, _ABOVE * width


def _few(evidence: Evidence, labels: NDArray[np.intp]) -> FewLabels:
    """The control variate: how probable the predicted class is by two opinions."""
    rows = np.arange(len(evidence.target))
    guess = evidence.calibrated_target[rows, evidence.predicted]
    if evidence.mapped_model_says is not None:
        guess = (guess + evidence.mapped_model_says[rows, evidence.predicted]) / 2
    known = labels != -1
    right = evidence.predicted[known] == labels[known]
    return from_labels(right, guess[known], float(guess.mean()))


def _without_words(p_value: float) -> str:
    if not p_value < _NO_SHIFT:
        return (
            f"No shift is seen (p = {p_value:.2g}), so the accuracy on the source is expected; "
            "a shift that this test does not see is possible."
        )
    return (
        "The domains differ, and without labels no estimate is proved: the interval is what known "
        "shifts suggest, and the truth is more often below than above it."
    )


def _classes_of(classifier: Any) -> Any:
    if not hasattr(classifier, "classes_"):
        raise TypeError(
            "classifier must be a fitted classifier with classes_, got "
            f"{type(classifier).__name__}."
        )
    if not (hasattr(classifier, "predict_proba") or hasattr(classifier, "decision_function")):
        raise TypeError(
            "classifier must have predict_proba or decision_function, which "
            f"{type(classifier).__name__} has not."
        )
    return classifier.classes_


def _codes(y: Any, classes: NDArray[Any], n: int, name: str) -> NDArray[np.intp]:
    """Positions in ``classes``; -1 without a label, -2 (never right) for other labels of a target.

    A class that the classifier does not know is an error in the source.
    """
    labels = label_array(y, n)
    known = ~unlabelled(labels)
    places = {value: place for place, value in enumerate(classes.tolist())}
    codes = np.full(n, -1, dtype=np.intp)
    codes[known] = [places.get(value, -2) for value in labels[known].tolist()]
    if name == "y_source" and (codes == -2).any():
        strange = sorted({str(v) for v in labels[codes == -2].tolist()})
        raise ValueError(
            f"y_source holds {strange}, which are not among the classifier's classes "
            f"{classes.tolist()}."
        )
    return codes


def _same_columns(source: Any, target: Any) -> tuple[Any, Any]:
    """Frames with the same columns in the order of the source; an error names the others."""
    if hasattr(source, "columns") and hasattr(target, "columns"):
        matched = match_columns({"X_source": source, "X_target": target})
        return matched[0], matched[1]
    shapes = [getattr(X, "shape", np.shape(X)) for X in (source, target)]
    if all(len(shape) == 2 for shape in shapes) and shapes[0][1] != shapes[1][1]:
        raise ValueError(f"X_target has {shapes[1][1]} columns, X_source has {shapes[0][1]}.")
    return source, target


def _numbers(source: Any, target: Any, seed: int) -> tuple[Floats | None, Floats | None]:
    """Both sets of rows as dense numbers (text by a truncated SVD), None where they are not."""
    try:
        pair = [check_array(X, accept_sparse="csr", dtype=np.float64) for X in (source, target)]
    except (ValueError, TypeError):
        return None, None
    if not sparse.issparse(pair[0]):
        return pair[0], pair[1]
    both = sparse.vstack(pair, format="csr")
    size = max(min(200, min(both.shape) - 1), 1)
    svd = TruncatedSVD(size, random_state=seed).fit(both)
    return svd.transform(pair[0]), svd.transform(pair[1])
