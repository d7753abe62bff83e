"""Scores of a classifier on the target that need no label of the target.

Each is a callable ``scorer(model, X, y, sample_domain=None)`` for ``scoring=`` of scikit-learn's
searches, and larger is better. They fall into two groups: those that read labels of held-out
**source** rows and weigh them (importance weighting, its control variate, circular validation),
and those that only look at predictions on target rows (entropy, neighbourhood density).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from shiftlearn.parameters import check_number
from shiftlearn.trust.reversal import fit_reversed
from shiftlearn.trust.rows import (
    Metric,
    both_sides,
    embedded,
    probabilities,
    row_scores,
    target_side,
)

__all__ = [
    "CircularValidationScorer",
    "DeepEmbeddedScorer",
    "ImportanceWeightedScorer",
    "PredictionEntropyScorer",
    "ScoreEstimate",
    "SoftNeighborhoodDensityScorer",
]

Floats = NDArray[np.float64]

_VALUES_PER_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class ScoreEstimate:
    """What a scorer found.

    Attributes
    ----------
    value : float
        The score; larger is better.
    standard_error : float
        Of the sampling of the rows, with the weights taken as known; NaN where it has none.
    effective_sample_size : float
        Equally weighted rows behind the value.
    pareto_k : float
        Shape of the weights' tail; NaN where there are no weights.
    """

    value: float
    standard_error: float
    effective_sample_size: float
    pareto_k: float = math.nan


class _LabelFreeScorer(BaseEstimator):
    """Callable for ``scoring=``; ``sample_domain`` is requested under metadata routing."""

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for ``sample_domain`` (a class request needs a method ``score``)."""
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_domain", alias=True)
        return request

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None, **ignored: Any
    ) -> float:
        """Return the score alone, as scikit-learn asks for it."""
        return self.estimate(estimator, X, y, sample_domain=sample_domain).value

    def estimate(
        self, estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None
    ) -> ScoreEstimate:
        """Return the score with what is known about its error.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, n_features)
            Rows that the classifier was not fitted on.
        y : array-like of shape (n,), optional
            Labels of source rows; those of target rows are not read.
        sample_domain : array-like of int of shape (n,), optional
            ``>= 0`` source, ``< 0`` target; without it, rows without a label are the target.

        Returns
        -------
        ScoreEstimate
        """
        raise NotImplementedError


class _WeightedScorer(_LabelFreeScorer):
    """Scores of source rows and their weights, for the two scorers that average them."""

    metric: Metric
    ratio: Any
    features: Any
    X_target: Any

    def estimate(
        self, estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None
    ) -> ScoreEstimate:
        """Return the weighted mean score of the source rows with its standard error.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Labels of source rows; those of target rows are not read.
        sample_domain : array-like of int of shape (n,), optional

        Returns
        -------
        ScoreEstimate
        """
        from shiftlearn.covariate.logistic_ratio import LogisticRatio

        source, labels, target = both_sides(X, y, sample_domain, self.X_target, type(self).__name__)
        scores = row_scores(estimator, source, labels, self.metric)
        ratio = LogisticRatio() if self.ratio is None else clone(self.ratio)
        ratio.fit(
            embedded(self.features, estimator, source), embedded(self.features, estimator, target)
        )
        value, error = self._average(scores, ratio.weights_, ratio.weights_normalized_)
        return ScoreEstimate(value, error, ratio.effective_sample_size_, ratio.pareto_k_)

    def _average(self, scores: Floats, weights: Floats, relative: Floats) -> tuple[float, float]:
        raise NotImplementedError


class ImportanceWeightedScorer(_WeightedScorer):
    r"""Mean score on held-out source rows, each weighted by the density ratio.

    With scores :math:`s_i` (1 for a right prediction) and weights :math:`w_i \approx
    p_T(x_i)/p_S(x_i)`,

    .. math:: \hat s = \frac{\sum_i w_i s_i}{\sum_i w_i} \quad\text{or}\quad
              \hat s = \frac1m \sum_i w_i s_i

    (Sugiyama, Krauledat and Müller, 2007): an estimate of the score on the target where only the
    inputs moved and the domains overlap. Its standard error takes the weights as known.

    Parameters
    ----------
    metric : {"accuracy", "neg_log_loss", "neg_brier_score"} or callable, default="accuracy"
        The score of a row; a callable takes labels and predictions and returns one number a row.
    ratio : ratio estimator or None, default=None
        Cloned and fitted on the scored rows; None: ``LogisticRatio()``.
    normalized : bool, default=True
        Divide by the sum of the weights (never outside the range of the scores) or by the count.
    features : {None, "pipeline"}, transformer or callable, default=None
        Where the domains are compared: on the rows as they are, on what the steps of a pipeline
        before its last make of them, or on what a fitted transformer or function returns.
    X_target : array-like or None, default=None
        Target rows for folds that hold none (``DomainKFold(score_on="source")``).

    See Also
    --------
    DeepEmbeddedScorer : less variance by a control variate.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn.metrics import ImportanceWeightedScorer
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(400, 1)), rng.normal(1.0, size=(400, 1))]
    >>> y, sample_domain = (X[:, 0] + rng.normal(size=800) > 0).astype(int), np.repeat([0, -1], 400)
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> scorer = ImportanceWeightedScorer()
    >>> found = scorer.estimate(model, X[200:], y[200:], sample_domain=sample_domain[200:])
    >>> bool(abs(found.value - model.score(X[400:], y[400:])) < 2 * found.standard_error)
    True
    """

    def __init__(
        self,
        metric: Metric = "accuracy",
        *,
        ratio: Any = None,
        normalized: bool = True,
        features: Any = None,
        X_target: Any = None,
    ) -> None:
        self.metric = metric
        self.ratio = ratio
        self.normalized = normalized
        self.features = features
        self.X_target = X_target

    def _average(self, scores: Floats, weights: Floats, relative: Floats) -> tuple[float, float]:
        m = len(scores)
        if not self.normalized:
            return float(np.mean(weights * scores)), _error_of_mean(weights * scores)
        total = relative.sum()
        if total == 0:
            return math.nan, math.nan
        value = float(relative @ scores / total)
        spread = float(np.sqrt(np.sum((relative * (scores - value)) ** 2)) / total)
        return value, spread * math.sqrt(m / (m - 1)) if m > 1 else math.nan


class DeepEmbeddedScorer(_WeightedScorer):
    r"""Importance-weighted score with the weights' known mean as a control variate.

    .. math:: \hat s = \frac1m \sum_i w_i s_i + \eta \Big(\frac1m \sum_i w_i - 1\Big),
              \qquad \eta = -\frac{\mathrm{Cov}(w s, w)}{\mathrm{Var}(w)},

    with the domains told apart in the space that the classifier itself makes of the rows (deep
    embedded validation; You, Wang, Long and Jordan, 2019). The value may leave the range of the
    scores.

    Parameters
    ----------
    metric : {"accuracy", "neg_log_loss", "neg_brier_score"} or callable, default="accuracy"
        The score of a row.
    ratio : ratio estimator or None, default=None
        Cloned and fitted on the scored rows; None: ``LogisticRatio()``.
    features : {None, "pipeline"}, transformer or callable, default="pipeline"
        Where the domains are compared; "pipeline": on the output of the steps of a pipeline before
        its last (other classifiers: on the rows), callable: for example a network's last layer.
    X_target : array-like or None, default=None
        Target rows for folds that hold none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn.metrics import DeepEmbeddedScorer
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(400, 1)), rng.normal(1.0, size=(400, 1))]
    >>> y, sample_domain = (X[:, 0] + rng.normal(size=800) > 0).astype(int), np.repeat([0, -1], 400)
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> value = DeepEmbeddedScorer()(model, X[200:], y[200:], sample_domain=sample_domain[200:])
    >>> bool(abs(value - model.score(X[400:], y[400:])) < 0.1)
    True
    """

    def __init__(
        self,
        metric: Metric = "accuracy",
        *,
        ratio: Any = None,
        features: Any = "pipeline",
        X_target: Any = None,
    ) -> None:
        self.metric = metric
        self.ratio = ratio
        self.features = features
        self.X_target = X_target

    def _average(self, scores: Floats, weights: Floats, relative: Floats) -> tuple[float, float]:
        weighted = weights * scores
        centred = weights - weights.mean()
        variance = float(centred @ centred)
        eta = 0.0 if variance == 0 else -float(centred @ weighted) / variance
        return float(weighted.mean() + eta * (weights.mean() - 1)), _error_of_mean(
            weighted + eta * weights
        )


class PredictionEntropyScorer(_LabelFreeScorer):
    r"""Minus the mean entropy of the predicted probabilities on the target rows.

    .. math:: \hat s = \frac1n \sum_j \sum_c p_c(x_j) \log p_c(x_j)
              \qquad (\le 0,\ 0\text{ for certain predictions}).

    Sure is not right: a model that predicts one class everywhere scores best (Morerio, Cavazza and
    Murino, 2018, use it under a constraint). Scores of a classifier without probabilities are
    read as log-odds, so compare only models of one kind then.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn.metrics import PredictionEntropyScorer
    >>> X, y = np.array([[-1.0], [1.0]]), [0, 1]
    >>> sure, unsure = (LogisticRegression(C=C).fit(X, y) for C in (100.0, 0.01))
    >>> PredictionEntropyScorer()(sure, X) > PredictionEntropyScorer()(unsure, X)
    True
    """

    def estimate(
        self, estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None
    ) -> ScoreEstimate:
        """Return minus the mean entropy over the target rows.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, n_features)
        y : ignored
            Only marks of unlabelled rows are looked for, where ``sample_domain`` is absent.
        sample_domain : array-like of int of shape (n,), optional
            Without it, and without marks in y, all rows are scored.

        Returns
        -------
        ScoreEstimate
        """
        p = probabilities(estimator, target_side(X, y, sample_domain))
        negative = -_entropy(p)
        return ScoreEstimate(float(negative.mean()), _error_of_mean(negative), float(len(p)))


class SoftNeighborhoodDensityScorer(_LabelFreeScorer):
    r"""How densely the predictions on the target rows lie together.

    With the probabilities of row j divided by their length, :math:`u_j`, and the neighbourhood
    :math:`P_{ij} \propto e^{u_i^\top u_j/\tau}` over :math:`j \ne i`,

    .. math:: \hat s = -\frac1n \sum_i \sum_{j \ne i} P_{ij} \log P_{ij}

    (Saito et al., 2021): large where each row has many neighbours with the same prediction. Like
    the entropy it cannot see that all predictions are the same.

    Parameters
    ----------
    temperature : float, default=0.05
        τ.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn.metrics import SoftNeighborhoodDensityScorer
    >>> X, y = np.linspace(-1, 1, 20)[:, None], np.repeat([0, 1], 10)
    >>> sure = LogisticRegression(C=100.0).fit(X, y)
    >>> bool(SoftNeighborhoodDensityScorer()(sure, X) < np.log(19))
    True
    """

    def __init__(self, temperature: float = 0.05) -> None:
        self.temperature = temperature

    def estimate(
        self, estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None
    ) -> ScoreEstimate:
        """Return the mean entropy of the neighbourhoods of the target rows.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, n_features)
        y : ignored
            Only marks of unlabelled rows are looked for, where ``sample_domain`` is absent.
        sample_domain : array-like of int of shape (n,), optional
            Without it, and without marks in y, all rows are scored.

        Returns
        -------
        ScoreEstimate
        """
        temperature = check_number("temperature", self.temperature)
        p = probabilities(estimator, target_side(X, y, sample_domain))
        if len(p) < 2:
            raise ValueError(f"At least 2 target rows are needed to be neighbours, got {len(p)}.")
        unit = p / np.sqrt(np.einsum("ij,ij->i", p, p))[:, None]
        rows = max(1, _VALUES_PER_BLOCK // len(p))
        total = sum(
            _neighbourhood_entropy(unit, start, min(start + rows, len(p)), temperature)
            for start in range(0, len(p), rows)
        )
        return ScoreEstimate(total / len(p), math.nan, float(len(p)))


class CircularValidationScorer(_LabelFreeScorer):
    """Score on the source of the same method trained back from the predicted target rows.

    The target rows get the labels that the classifier predicts, a clone is fitted with them as
    source (and the source rows, unlabelled, as target), and its predictions of the source rows are
    compared with their labels (Bruzzone and Marconcini, 2010). Where one class is predicted for all
    target rows, the clone is the constant.

    Parameters
    ----------
    metric : {"accuracy", "neg_log_loss", "neg_brier_score"} or callable, default="accuracy"
        The score of a row; a callable takes labels and predictions and returns one number a row.
    X_target : array-like or None, default=None
        Target rows for folds that hold none.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import LSDAKSVC
    >>> from shiftlearn.metrics import CircularValidationScorer
    >>> rng = np.random.default_rng(0)
    >>> y, sample_domain = np.tile([0, 1], 40), np.repeat([0, -1], 40)
    >>> X = rng.normal(size=(80, 2)) + 3 * y[:, None] + (sample_domain < 0)[:, None]
    >>> model = LSDAKSVC().fit(X, y, sample_domain=sample_domain)
    >>> CircularValidationScorer()(model, X, y, sample_domain=sample_domain) > 0.8
    True
    """

    def __init__(self, metric: Metric = "accuracy", *, X_target: Any = None) -> None:
        self.metric = metric
        self.X_target = X_target

    def estimate(
        self, estimator: Any, X: Any, y: Any = None, *, sample_domain: Any = None
    ) -> ScoreEstimate:
        """Return the score of the way back with its standard error.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Labels of source rows; those of target rows are not read.
        sample_domain : array-like of int of shape (n,), optional

        Returns
        -------
        ScoreEstimate
        """
        source, labels, target = both_sides(X, y, sample_domain, self.X_target, type(self).__name__)
        predicted = np.asarray(estimator.predict(target))
        if len(np.unique(predicted)) == 1:
            backward: Any = _Constant(predicted[:1])
        else:
            backward = fit_reversed(estimator, source, labels, target, predicted)
        scores = row_scores(backward, source, labels, self.metric)
        return ScoreEstimate(float(scores.mean()), _error_of_mean(scores), float(len(scores)))


class _Constant:
    """The classifier that a single class leaves."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        return np.repeat(self.classes_, _num_samples(X))

    def predict_proba(self, X: Any) -> Floats:
        return np.ones((_num_samples(X), 1))


def _error_of_mean(values: Floats) -> float:
    n = len(values)
    return float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan


def _entropy(p: Floats) -> Floats:
    """-Σ p log p of each row, with 0 log 0 = 0."""
    from scipy.special import entr

    return np.asarray(entr(p).sum(axis=1))


def _neighbourhood_entropy(unit: Floats, start: int, stop: int, temperature: float) -> float:
    """Σ of the entropies of the neighbourhoods of rows start..stop."""
    logits = unit[start:stop] @ unit.T / temperature
    logits[np.arange(stop - start), np.arange(start, stop)] = -np.inf
    logits -= logits.max(axis=1, keepdims=True)
    return float(_entropy_of_logits(logits).sum())


def _entropy_of_logits(logits: Floats) -> Floats:
    """log Σ e^l - Σ l e^l / Σ e^l."""
    p = np.exp(logits)
    total = p.sum(axis=1)
    mean = np.einsum("ij,ij->i", p, np.where(np.isneginf(logits), 0.0, logits)) / total
    return np.asarray(np.log(total) - mean)
