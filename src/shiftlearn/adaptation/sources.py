"""Sources: black boxes whose scores f'(x) a model is adapted from.

Nothing of a source is used but numbers. Whatever it is (a fitted classifier of any library, a
function, an array of scores), its output becomes one table of scores for each source,

    f'_m(x)        one number a row for two classes, the score of the second one,
    f'_mc(x)       one number a row and class for more,

over the classes of the adapted model, which are those of the sources and of the labelled rows
together. A class that a source does not know has the score 0 there.

Margin machines read margins (``decision_function``, else 2q - 1 of probabilities q); logistic ones
read logarithms of probabilities, centred over the classes (log-odds for two).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from shiftlearn.errors import ScaleWarning

__all__ = ["Source", "Sources", "fitted_members", "is_fitted", "source_list"]

Floats = NDArray[np.float64]
Transform = Callable[[Floats], ArrayLike] | str | None

_SMALLEST_PROBABILITY = 1e-6  # a source that says "impossible" is not taken at its word
_TOO_LARGE, _TOO_SMALL = 100.0, 0.01


@dataclass(frozen=True, slots=True)
class Source:
    """One source: ``model`` is None where only its scores are known, ``classes`` where it has none.

    ``stage`` marks the adapted model itself as it was before the present stage of a chain;
    ``forwards`` says that it takes its own source's scores.
    """

    name: str
    model: Any = None
    classes: NDArray[Any] | None = None
    stage: bool = False
    forwards: bool = False

    @classmethod
    def of(cls, model: Any) -> Source:
        """A source from a fitted classifier or a function."""
        classes = getattr(model, "classes_", None)
        return cls(_name(model), model, None if classes is None else np.asarray(classes))

    def read(self, X: Any, reading: str, given: Any = None) -> Floats:
        """Scores at the rows X: (n,) or (n, k). ``reading``: "margin", "log" or "logit"."""
        model = self.model
        if model is None:
            raise ValueError(
                "source_scores is needed: the model was fitted on the scores of a source that it "
                "does not hold. Pass source_scores=, one score for each row."
            )
        if self.forwards:
            return self._numbers(model.decision_function(X, source_scores=given), X)
        if reading != "margin" and hasattr(model, "predict_proba"):
            return self.logarithms(self._call("predict_proba", X), reading)
        if reading == "logit" and (hasattr(model, "decision_function") or not callable(model)):
            raise ValueError(
                f'source_transform="logit" needs probabilities, but {self.name} has no '
                "predict_proba; leave source_transform None or give a callable."
            )
        if hasattr(model, "decision_function"):
            return self._call("decision_function", X)
        if hasattr(model, "predict_proba"):
            return _without_first(2.0 * self._call("predict_proba", X) - 1.0)
        values = self._call("__call__", X)
        return self.logarithms(values, reading) if reading == "logit" else values

    def logarithms(self, q: Floats, reading: str) -> Floats:
        """Log-odds of two classes; for more log-odds of each ("logit") or log-probabilities."""
        if q.min(initial=0.0) < 0 or q.max(initial=0.0) > 1:
            raise ValueError(
                f"{self.name} must give probabilities between 0 and 1, found {q.min():g} to "
                f"{q.max():g}."
            )
        q = np.clip(q, _SMALLEST_PROBABILITY, 1.0 - _SMALLEST_PROBABILITY)
        two = q.ndim == 1 or q.shape[1] <= 2
        if two or reading == "logit":
            return _without_first(np.log(q) - np.log1p(-q))
        return np.asarray(np.log(q))

    def columns(self, values: Floats, classes: NDArray[Any], reading: str) -> Floats:
        """The scores over all ``classes``, (n, k) with k = 1 for two classes."""
        own = classes if self.classes is None else self.classes
        table = values[:, None] if values.ndim == 1 else values
        wanted = 1 if len(own) == 2 else len(own)
        if table.shape[1] != wanted:
            raise ValueError(
                f"{self.name} gave {table.shape[1]} scores a row; its {len(own)} classes need "
                f"{wanted} ({'the score of the second' if wanted == 1 else 'one a class'})."
            )
        if len(classes) == 2:
            return table
        if wanted == 1:  # two classes among several: the score of the first is the opposite
            table = np.hstack([-table, table]) * (0.5 if reading == "log" else 1.0)
        if reading == "log":
            table = table - table.mean(axis=1, keepdims=True)
        aligned = np.zeros((len(table), len(classes)))
        aligned[:, np.searchsorted(classes, own)] = table
        return aligned

    def check_given(self, values: Any, n: int) -> Floats:
        """Scores that the caller computed, as numbers."""
        return self._check(np.asarray(values), n)

    def _call(self, method: str, X: Any) -> Floats:
        try:
            values = getattr(self.model, method)(X)
        except Exception as error:
            raise ValueError(
                f"{self.name} raised {type(error).__name__} when asked for scores: {error}"
            ) from error
        return self._numbers(values, X)

    def _numbers(self, values: Any, X: Any) -> Floats:
        n = _count(X)
        return self._check(np.asarray(values), n)

    def _check(self, values: NDArray[Any], n: int) -> Floats:
        if values.dtype.kind not in "biuf" and values.dtype != object:
            raise ValueError(f"{self.name} must give numbers, got dtype {values.dtype}.")
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.ndim not in (1, 2) or numbers.shape[0] != n:
            raise ValueError(
                f"{self.name} gave scores of shape {numbers.shape} for {n} rows; "
                f"({n},) or ({n}, n_classes) is needed."
            )
        finite = np.isfinite(numbers).reshape(n, -1).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"{self.name} gave NaN or infinity at {n - int(finite.sum())} of {n} rows (first: "
                f"row {int(np.argmin(finite))}); scores must be finite."
            )
        return numbers


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources of a model, over its classes.

    Attributes
    ----------
    members : tuple of Source
        None, one or several.
    classes : ndarray
        The sorted classes of the adapted model.
    reading : {"margin", "log"}
        What kind of scores the model wants.
    transform : None, "logit", "scale" or callable
        What is done to the scores of each source.
    sizes : ndarray of shape (n_members,) or None
        What "scale" divides by, found on the rows of ``fit``.
    """

    members: tuple[Source, ...]
    classes: NDArray[Any]
    reading: str
    transform: Transform = None
    sizes: Floats | None = None

    @property
    def chained(self) -> bool:
        """Whether the source is the model itself as it was before this stage."""
        return any(member.stage for member in self.members)

    @property
    def n_columns(self) -> int:
        """Scores a row: one for two classes."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def fitted_to(self, X: Any, given: Any = None) -> tuple[Sources, Floats]:
        """These sources with "scale" settled on the rows X, and the scores there."""
        if self.transform != "scale":
            return self, self.scores(X, given)
        raw = replace(self, sizes=np.ones(len(self.members))).scores(X, given)
        sizes = np.array([_size(raw[:, m]) for m in range(len(self.members))])
        return replace(self, sizes=sizes), raw / sizes[:, None]

    def scores(self, X: Any, given: Any = None) -> Floats:
        """Scores (n, n_members, n_columns) at the rows X; ``given`` replaces what models say."""
        n = _count(X)
        if not self.members:
            return np.zeros((n, 0, self.n_columns))
        if n == 0:
            return np.zeros((0, len(self.members), self.n_columns))
        tables = _given_tables(given, len(self.members), n, self.n_columns)
        parts = [
            self._one(m, X, None if tables is None else tables[m], given)
            for m in range(len(self.members))
        ]
        return np.stack(parts, axis=1)

    def _one(self, m: int, X: Any, table: Any, given: Any) -> Floats:
        member = self.members[m]
        reading = "logit" if self.transform == "logit" else self.reading
        if table is None or member.forwards:
            values = member.read(X, reading, given)
        else:
            values = member.check_given(table, _count(X))
            if reading == "logit":
                values = member.logarithms(values, reading)
        if callable(self.transform):
            values = member.check_given(self.transform(values), len(values))
        columns = member.columns(values, self.classes, self.reading)
        if self.sizes is None:
            return columns
        if columns.shape[1] > 1:
            columns = columns - columns.mean(axis=1, keepdims=True)
        return np.asarray(columns / self.sizes[m])

    def warn_scale(self, scores: Floats) -> None:
        """Warn where no score of a source is of the size of a margin."""
        for m, member in enumerate(self.members):
            sizes = np.abs(scores[:, m])
            if not sizes.size or not sizes.max() > 0:
                continue
            if sizes.max() < _TOO_SMALL or sizes.min() > _TOO_LARGE:
                warnings.warn(
                    f"The scores of {member.name} have sizes from {sizes.min():.3g} to "
                    f"{sizes.max():.3g} on the rows of fit, but the machine compares them with a "
                    'margin of 1. Use source_transform="scale", or scale the scores.',
                    ScaleWarning,
                    stacklevel=4,
                )

    def warn_unknown(self, codes: NDArray[np.intp]) -> None:
        """Warn of classes in the labelled rows that a source with classes does not know."""
        for member in self.members:
            if member.classes is None:
                continue
            present = self.classes[np.unique(codes)]
            unknown = present[~np.isin(present, member.classes)]
            if unknown.size:
                warnings.warn(
                    f"{member.name} does not know the classes {unknown.tolist()} of y; its score "
                    "for them is taken as 0.",
                    UserWarning,
                    stacklevel=4,
                )


def source_list(source: Any) -> list[Any]:
    """The models in an estimator's parameter ``source``; checked, in order."""
    if source is None:
        return []
    models = list(source) if isinstance(source, (list, tuple)) else [source]
    for model in models:
        usable = hasattr(model, "decision_function") or hasattr(model, "predict_proba")
        if isinstance(model, type) or not (usable or callable(model)):
            raise ValueError(
                "source must be a classifier with decision_function or predict_proba, a callable "
                f"that returns scores, or a list of those; got {model!r}."
            )
    return models


def is_fitted(model: Any) -> bool:
    """Whether a source can be asked for scores; functions always can."""
    if not isinstance(model, BaseEstimator):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def fitted_members(models: Sequence[Any], X_source: Any, y_source: Any, name: str) -> list[Source]:
    """Sources from models; copies of those that are not fitted are fitted on the source rows."""
    members = []
    for model in models:
        if is_fitted(model):
            members.append(Source.of(model))
            continue
        if X_source is None:
            raise ValueError(
                f"source ({type(model).__name__}) is not fitted and there are no labelled source "
                f"rows to fit it on. Give {name} a fitted source, or pass source rows with "
                "sample_domain >= 0."
            )
        members.append(Source.of(clone(model).fit(X_source, y_source)))
    return members


def _count(X: Any) -> int:
    """The number of rows of whatever a user may pass."""
    if not (hasattr(X, "shape") or hasattr(X, "__len__")):
        X = np.asarray(X)
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _name(model: Any) -> str:
    what = getattr(model, "__name__", None) or type(model).__name__
    return f"source ({what})"


def _without_first(table: Floats) -> Floats:
    """The second column of two; anything else as it is."""
    return table[:, 1] if table.ndim == 2 and table.shape[1] == 2 else table


def _size(columns: Floats) -> float:
    """Median size of centred scores, 1 where they are all zero."""
    if columns.size == 0:
        return 1.0
    size = float(np.median(np.abs(columns)))
    if size == 0.0:
        size = float(np.abs(columns).max())
    return size if size > 0 else 1.0


def _given_tables(given: Any, n_members: int, n: int, n_columns: int) -> list[Any] | None:
    """One table for each source from what was passed as ``source_scores``."""
    if given is None:
        return None
    if isinstance(given, (list, tuple)) and len(given) == n_members and np.ndim(given[0]):
        return [np.asarray(table) for table in given]
    array = np.asarray(given)
    if array.ndim == 3 and array.shape[1] == n_members:
        return [array[:, m] for m in range(n_members)]
    if n_members == 1:
        return [array]
    if array.ndim == 2 and n_columns == 1 and array.shape[1] == n_members:
        return [array[:, m] for m in range(n_members)]
    raise ValueError(
        f"source_scores of {n_members} sources must be a list of {n_members} arrays or an array of "
        f"shape ({n}, {n_members}{'' if n_columns == 1 else f', {n_columns}'}), got shape "
        f"{array.shape}."
    )
