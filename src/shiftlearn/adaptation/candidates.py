"""What a search over adaptations chooses among: named candidates, and what it costs to fit one.

Every candidate gives scores of the classes: log-probabilities up to a constant a row. A source's
scores enter as numbers, F of shape (n, n_sources, n_columns), computed once for all candidates and
folds. Rows may be given in any orthonormal coordinates of their span: the default candidates see
inner products alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning

from shiftlearn.adaptation.base import Adapter
from shiftlearn.adaptation.logistic import AdaptLogisticRegression
from shiftlearn.adaptation.sources import Source
from shiftlearn.adaptation.svc import AdaptSVC
from shiftlearn.errors import ScaleWarning

__all__ = ["Candidate", "Constant", "Fitted", "Material", "default_candidates", "fit_candidate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
UNION_WEIGHT = 10.0  # of a labelled target row beside a source row


class Constant(TransformerMixin, BaseEstimator):
    """One column of ones: the change of a model with it is a penalised bias for each class."""

    def fit(self, X: Any, y: Any = None) -> Constant:
        """Nothing to learn."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Floats:
        """Ones."""
        return np.ones((X.shape[0], 1))


@dataclass(frozen=True)
class Candidate:
    """A name and an estimator; ``estimator`` None is the source as it is.

    ``kind``: "adapt" learns a change of the sources, "alone" sees no source, "union" is fitted on
    the source rows and, with weight 10, the target rows.
    """

    name: str
    estimator: Any
    kind: str = "adapt"
    inner_products: bool = False

    @property
    def margins(self) -> bool:
        """Whether its scores are margins, not log-odds."""
        return self.estimator is not None and not hasattr(self.estimator, "predict_proba")

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that make it what it is."""
        if self.estimator is None or not hasattr(self.estimator, "get_params"):
            return {}
        return dict(self.estimator.get_params(deep=False))


@dataclass(frozen=True)
class Material:
    """Labelled target rows in two forms, their classes, weights, source scores; source rows.

    ``X`` are the rows, ``Z`` the same in coordinates of their span; ``shares`` the class
    proportions that the source knows, where it does.
    """

    X: Any
    Z: Any
    codes: Ints
    weights: Floats
    scores: Floats
    n_own: int
    n_classes: int
    source_X: Any = None
    source_codes: Ints | None = None
    shares: Floats | None = None
    memo: dict[str, Any] = field(default_factory=dict)

    def tables(self, rows: Ints | slice) -> list[Floats]:
        """The scores of each source at some rows, as estimators take them."""
        return tables_of(self.scores[rows])


@dataclass(frozen=True)
class Fitted:
    """A fitted candidate: scores of new rows; ``temperature`` turns margins into log-odds."""

    candidate: Candidate
    model: Any
    n_own: int
    n_classes: int
    temperature: float = 1.0

    def scores(self, X: Any, source_scores: Floats) -> Floats:
        """Scores (n, n_columns) at rows X."""
        if self.candidate.estimator is None:
            values = source_scores[:, : self.n_own].mean(axis=1)
        elif isinstance(self.model, Adapter):
            given = tables_of(source_scores) if self.candidate.kind == "adapt" else None
            values = self.model.decision_function(X, source_scores=given or None)
        else:
            member = replace(Source.of(self.model), name=self.candidate.name)
            values = member.columns(member.read(X, "log"), np.arange(self.n_classes), "log")
        return self.temperature * np.asarray(values).reshape(X.shape[0], -1)


def tables_of(scores: Floats) -> list[Floats]:
    """One table a source."""
    two = scores.shape[2] == 1
    return [scores[:, m, 0] if two else scores[:, m] for m in range(scores.shape[1])]


def log_probabilities(scores: Floats) -> Floats:
    """Logarithms of the probabilities of all classes, (n, n_classes), from scores."""
    if scores.shape[1] == 1:
        f = scores[:, 0]
        return np.stack([-np.logaddexp(0.0, f), -np.logaddexp(0.0, -f)], axis=1)
    return np.asarray(log_softmax(scores, axis=1))


def default_candidates(
    n_sources: int, gamma: float, union: bool, n_jobs: int | None
) -> list[Candidate]:
    """From the source alone over small changes to strong ones, and the rows alone."""
    found: list[Candidate] = []

    def logistic(**more: Any) -> AdaptLogisticRegression:
        return AdaptLogisticRegression(**more, n_jobs=n_jobs)

    if n_sources:
        found.append(Candidate("source alone", None))
        biases = logistic(features=Constant(), fit_intercept=False, C=10.0)
        found.append(Candidate("trust and biases", biases, inner_products=True))
    for C in STRENGTHS if n_sources else ():
        found.append(Candidate(f"logistic, C={C:g}", logistic(C=C), inner_products=True))
    if n_sources:
        found += _margins("adapt", gamma, n_jobs, source_weights="learned")
    found += [
        Candidate(f"target alone, C={C:g}", logistic(C=C), "alone", True) for C in (10.0, 100.0)
    ]
    if not n_sources:
        found += _margins("alone", gamma, n_jobs)
    if union:
        found.append(Candidate("union", logistic(C=10.0), "union"))
    return found


def _margins(kind: str, gamma: float, n_jobs: int | None, **more: Any) -> list[Candidate]:
    def machine(**own: Any) -> AdaptSVC:
        return AdaptSVC(
            source_transform="scale", kernel_scale="mean", tol=1e-2, n_jobs=n_jobs, **own, **more
        )

    return [
        Candidate("margin, linear", machine(kernel="linear", C=10.0), kind, True),
        *(
            Candidate(f"margin, rbf, C={C:g}", machine(gamma=gamma, C=C), kind, True)
            for C in (3.0, 30.0)
        ),
    ]


def fit_candidate(candidate: Candidate, material: Material, rows: Ints | None = None) -> Fitted:
    """Fit on some of the labelled rows, in the coordinates Z; on all of them, in their own."""
    shape = (material.n_own, material.n_classes)
    if candidate.estimator is None:
        return Fitted(candidate, None, *shape)
    X = material.X if rows is None or not candidate.inner_products else material.Z
    chosen: Ints | slice = slice(None) if rows is None else rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = _fit(candidate, material, X[chosen], chosen, rows is None)
    return Fitted(candidate, model, *shape)


def _fit(
    candidate: Candidate, material: Material, X: Any, chosen: Ints | slice, whole: bool
) -> Any:
    codes, weights = material.codes[chosen], material.weights[chosen]
    model = clone(candidate.estimator)
    if candidate.kind == "union":
        return _fit_union(candidate.name, model, material, X, codes, weights, whole)
    if not isinstance(model, Adapter):
        return model.fit(X, codes, sample_weight=weights)
    given = material.tables(chosen) if candidate.kind == "adapt" else []
    numbers = np.arange(material.n_classes)
    model.partial_fit(X, codes, numbers, sample_weight=weights, source_scores=given or None)
    return model


def _fit_union(
    name: str, model: Any, material: Material, X: Any, codes: Ints, weights: Floats, whole: bool
) -> Any:
    """Folds start from the answer on all rows: it is near."""
    stacked = sparse.vstack([material.source_X, X], format="csr") if sparse.issparse(X) else None
    rows = np.vstack([material.source_X, X]) if stacked is None else stacked
    y = np.concatenate([material.source_codes, codes])
    n_source = rows.shape[0] - len(codes)
    cost = np.concatenate([np.ones(n_source), UNION_WEIGHT * weights / weights.mean()])
    model.set_params(warm_start=True, tol=1e-4)
    former = material.memo.get(name)
    if former is not None:
        model._former = former
    numbers = np.arange(material.n_classes)
    model._adapt(rows, y, None, cost, None, numbers)
    if whole:
        material.memo[name] = model._former
    return model


def as_candidates(given: Sequence[tuple[str, Any]] | str) -> list[Candidate]:
    """Candidates that a user named."""
    if isinstance(given, (str, Mapping)) or not len(given):
        raise ValueError(
            f'candidates must be "default" or a list of (name, estimator), got {given!r}.'
        )
    found = []
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(f"candidates must hold pairs (name, estimator), got {pair!r}.")
        name, estimator = pair
        if estimator is not None and not hasattr(estimator, "fit"):
            raise ValueError(
                f"candidate {name!r} must be an estimator, or None for the source alone, got "
                f"{estimator!r}."
            )
        found.append(Candidate(name, estimator))
    names = [candidate.name for candidate in found]
    if len(set(names)) < len(names):
        raise ValueError(f"candidates must have different names, got {names}.")
    return found
