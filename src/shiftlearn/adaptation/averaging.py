"""Averaging candidates by the likelihood of rows that they were not fitted on.

With p_ic the probability that candidate c gave to the label of row i while i was held out, weights
w on the simplex maximise the likelihood of the average, with a Dirichlet prior,

    Σ_i ω_i log Σ_c w_c p_ic + Σ_c a_c log w_c,

which is concave; the EM steps below never lower it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from shiftlearn.adaptation.candidates import Candidate, Material, fit_candidate, log_probabilities

__all__ = ["HeldOut", "average_weights", "check_folds", "cross_fitted", "held_out_folds"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_STEPS = 500
_LEFT_OUT_ONE_BY_ONE = 10
_FLOOR = 0.01  # share of equal probabilities mixed in: one confident error must not decide
_PRIOR_ROWS = 5.0  # the prior weighs as much as so many rows
_PRIOR_SHARES = {"union": 0.5, "source": 0.1}  # the other candidates share the rest
_TEMPERATURES = np.exp(np.linspace(np.log(0.1), np.log(20.0), 24))
_SMALLEST = 1e-3  # of the largest weight: lighter candidates are left out


def average_weights(likelihood: Floats, row_weights: Floats, prior: Floats) -> Floats:
    """Weights of the candidates (columns) from the likelihood of each row's label.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.9, 0.5], [0.8, 0.5], [0.9, 0.5]])
    >>> average_weights(p, np.ones(3), np.full(2, 0.1)).round(2)
    array([0.93, 0.07])
    """
    weights = prior / prior.sum()
    total = row_weights.sum() + prior.sum()
    for _ in range(_STEPS):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        after = (row_weights @ shares + prior) / total
        done = np.abs(after - weights).max() < 1e-6
        weights = after
        if done:
            break
    weights = np.where(weights < _SMALLEST * weights.max(), 0.0, weights)
    return np.asarray(weights / weights.sum())


def check_folds(cv: Any) -> None:
    """Raise for a ``cv`` that is nothing of what it may be."""
    number = isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and cv >= 2
    iterable = not isinstance(cv, str) and (hasattr(cv, "split") or hasattr(cv, "__iter__"))
    if not (number or iterable or (isinstance(cv, str) and cv == "auto")):
        raise ValueError(
            'cv must be "auto", a number of folds >= 2, a splitter or a list of splits, got '
            f"{cv!r}."
        )


def held_out_folds(
    codes: Ints, cv: Any, rng: np.random.RandomState, index: Ints | None = None
) -> list[tuple[Ints, Ints]]:
    """(kept, held out) rows of each fold, classes spread evenly.

    ``cv``: a number of folds; "auto", which leaves one out up to 10 rows and takes 5 folds of
    more; a splitter of the labelled rows; or a list of splits of the rows of ``fit``, of which
    the labelled ones have the positions ``index``.
    """
    n = len(codes)
    if not isinstance(cv, (str, int, np.integer)):
        splitter = check_cv(cv, codes, classifier=True)
        found = splitter.split(np.zeros((n, 1)), codes)
        places = None if hasattr(cv, "split") else index
        return [(_among(kept, places), _among(out, places)) for kept, out in found]
    n_folds = (n if n <= _LEFT_OUT_ONE_BY_ONE else 5) if cv == "auto" else min(int(cv), n)
    order = np.lexsort((rng.permutation(n), codes))
    fold = np.empty(n, dtype=np.intp)
    fold[order] = np.arange(n) % n_folds
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


def _among(rows: Any, index: Ints | None) -> Ints:
    """Positions among the labelled rows of those given by their positions in ``fit``."""
    rows = np.asarray(rows, dtype=np.intp)
    if index is None:
        return np.asarray(rows, dtype=np.intp)
    places = np.searchsorted(index, rows)
    found = places < len(index)
    found[found] = index[places[found]] == rows[found]
    return np.asarray(places[found])


@dataclass(frozen=True)
class HeldOut:
    """What each candidate (column) said of rows that it had not seen.

    Attributes
    ----------
    likelihood : ndarray of shape (n, n_candidates)
        Probability of each row's label.
    correct : ndarray of bool of shape (n, n_candidates)
        Whether that label was the most probable.
    temperatures : ndarray of shape (n_candidates,)
        What turns the scores of margin machines into log-odds; 1 for the others.
    row_weights : ndarray of shape (n,)
        ``sample_weight`` (a row of weight 2 counts as two), times the factor of the row's class
        where the labelled rows have other class proportions than the target.
    prior : ndarray of shape (n_candidates,)
        Weight of each candidate before any row, in rows.
    """

    likelihood: Floats
    correct: NDArray[np.bool_]
    temperatures: Floats
    row_weights: Floats
    prior: Floats

    def weights(self, averaging: bool) -> Floats:
        """Weights of the candidates: those of the best average, or 1 for the best of all."""
        if averaging:
            return average_weights(self.likelihood, self.row_weights, self.prior)
        best = int(self.log_likelihood().argmax())
        return np.asarray(np.arange(len(self.prior)) == best, dtype=np.float64)

    def log_likelihood(self) -> Floats:
        """Mean over the rows, for each candidate."""
        return np.asarray(np.average(np.log(self.likelihood), axis=0, weights=self.row_weights))

    def accuracy(self) -> Floats:
        """Share of the rows whose label was the most probable, for each candidate."""
        return np.asarray(np.average(self.correct, axis=0, weights=self.row_weights))

    def gain(self, weights: Floats, reference: int) -> tuple[float, float]:
        """Mean gain in log-likelihood of the average over one candidate, its standard error."""
        gains = np.log(self.likelihood @ weights) - np.log(self.likelihood[:, reference])
        mean = float(np.average(gains, weights=self.row_weights))
        variance = np.average((gains - mean) ** 2, weights=self.row_weights)
        return mean, float(np.sqrt(variance / max(1, len(gains) - 1)))


def cross_fitted(
    candidates: list[Candidate], material: Material, folds: list[tuple[Ints, Ints]]
) -> HeldOut:
    """Fit every candidate without each fold, and let it predict that fold."""
    n, k = len(material.codes), material.n_classes
    columns = [_held_out_scores(candidate, material, folds) for candidate in candidates]
    temperatures = np.array([
        _temperature(scores, material) if candidate.margins else 1.0
        for candidate, scores in zip(candidates, columns, strict=True)
    ])  # fmt: skip
    logs = np.stack(
        [log_probabilities(a * f) for a, f in zip(temperatures, columns, strict=True)], axis=1
    )
    own = logs[np.arange(n), :, material.codes]
    likelihood = (1 - _FLOOR) * np.exp(own) + _FLOOR / k
    correct = logs.argmax(axis=2) == material.codes[:, None]
    weights = material.weights * drawn_by_class(material)
    return HeldOut(likelihood, correct, temperatures, weights, _prior(candidates))


def drawn_by_class(material: Material) -> Floats:
    """A factor for each row that brings the class proportions back; ones where none is needed.

    Labelled rows with as many of each class as of any other were drawn class by class, and say
    nothing of the target's proportions. Those of the source are the best guess then.
    """
    counts = np.bincount(material.codes, minlength=material.n_classes)
    present = counts[counts > 0]
    if material.shares is None or present.max() - present.min() > 1:
        return np.ones(len(material.codes))
    factors = (material.shares / np.maximum(counts, 1))[material.codes]
    return np.asarray(factors / factors.mean()) if factors.any() else np.ones(len(factors))


def _prior(candidates: list[Candidate]) -> Floats:
    """Half for the union, a tenth for the source alone, the rest in equal shares."""
    kinds = ["source" if one.estimator is None else one.kind for one in candidates]
    shares = np.array([_PRIOR_SHARES.get(kind, 0.0) / kinds.count(kind) for kind in kinds])
    others = shares == 0
    shares[others] = (1.0 - shares.sum()) / max(1, others.sum())
    return np.asarray(_PRIOR_ROWS * shares / shares.sum())


def _held_out_scores(
    candidate: Candidate, material: Material, folds: list[tuple[Ints, Ints]]
) -> Floats:
    found = np.zeros((len(material.codes), material.scores.shape[2]))
    rows = material.Z if candidate.inner_products else material.X
    for kept, out in folds:
        fitted = fit_candidate(candidate, material, kept)
        found[out] = fitted.scores(rows[out], material.scores[out])
    return found


def _temperature(scores: Floats, material: Material) -> float:
    """The factor on margins under which the held-out labels are most likely."""
    rows = np.arange(len(material.codes))
    losses = [
        -material.weights @ log_probabilities(a * scores)[rows, material.codes]
        for a in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(losses))])
