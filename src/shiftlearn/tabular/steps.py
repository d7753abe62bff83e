"""The steps of the table pipeline: each turns columns of one kind into numbers or plain text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from shiftlearn.tabular.columns import column_kinds, column_names, columns_of, to_dates

__all__ = ["ColumnsOf", "DateParts", "TextTerms", "ToCategories", "ToNumbers"]

Floats = NDArray[np.float64]
MISSING = "(missing)"


class ColumnsOf:
    """The columns of one kind, for a ``ColumnTransformer``."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, X: Any) -> list[Any]:
        """Names (positions in arrays) of the columns of this kind."""
        return [name for name, kind in column_kinds(X).items() if kind == self.kind]

    def __repr__(self) -> str:
        return f"ColumnsOf({self.kind!r})"


class _Step(TransformerMixin, BaseEstimator):
    """What the steps share: they remember the names of their columns."""

    def fit(self, X: Any, y: Any = None) -> _Step:
        """Remember the columns."""
        self.names_ = [str(name) for name in column_names(X)]
        self.n_features_in_ = len(self.names_)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "names_")


class ToNumbers(OneToOneFeatureMixin, _Step):
    """Numbers and truth values as float64; gaps and infinities become NaN."""

    def transform(self, X: Any) -> Floats:
        """The columns as one matrix."""
        check_is_fitted(self)
        table = np.column_stack([_numbers(values, name) for name, values in columns_of(X)])
        return np.where(np.isinf(table), np.nan, table)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns."""
        return np.array(self.names_, dtype=object)


class ToCategories(OneToOneFeatureMixin, _Step):
    """Anything as text; gaps become a category of their own."""

    def transform(self, X: Any) -> NDArray[np.object_]:
        """The columns as text."""
        check_is_fitted(self)
        return np.column_stack([_texts(values, MISSING) for _, values in columns_of(X)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns."""
        return np.array(self.names_, dtype=object)


class DateParts(_Step):
    """Dates as numbers: years since 2000, the season as sine and cosine, weekday, hour."""

    parts = ("year", "season sin", "season cos", "weekday", "hour")

    def transform(self, X: Any) -> Floats:
        """Five columns for each date."""
        check_is_fitted(self)
        return np.hstack([_date_parts(to_dates(values, name)) for name, values in columns_of(X)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column and of the part."""
        return np.array([f"{name} {part}" for name in self.names_ for part in self.parts], object)


class TextTerms(_Step):
    """Text as tf-idf weights of its words, condensed by a truncated singular decomposition.

    Parameters
    ----------
    components : int or None
        Dimensions for each column; None keeps the sparse weights.
    """

    def __init__(self, components: int | None = 200) -> None:
        self.components = components

    def fit(self, X: Any, y: Any = None) -> TextTerms:
        """Learn the words of each column."""
        super().fit(X)
        self.vectorizers_, self.condensers_ = [], []
        for name, values in columns_of(X):
            vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=1, max_features=50_000)
            try:
                weights = vectorizer.fit_transform(_texts(values, ""))
            except ValueError as error:
                raise ValueError(f"column {name!r} has no words to learn from.") from error
            self.vectorizers_.append(vectorizer)
            if self.components is not None:
                size = max(1, min(self.components, min(weights.shape) - 1))
                self.condensers_.append(TruncatedSVD(size, random_state=0).fit(weights))
        return self

    def transform(self, X: Any) -> Any:
        """Weights of the words, or their condensed form."""
        import scipy.sparse

        check_is_fitted(self)
        parts = [
            vectorizer.transform(_texts(values, ""))
            for vectorizer, (_, values) in zip(self.vectorizers_, columns_of(X), strict=True)
        ]
        if self.components is None:
            return scipy.sparse.hstack(parts, format="csr")
        dense = [c.transform(part) for c, part in zip(self.condensers_, parts, strict=True)]
        return np.hstack(dense)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column with the word or the number of the component."""
        found = []
        for j, name in enumerate(self.names_):
            if self.components is None:
                ends = self.vectorizers_[j].get_feature_names_out().tolist()
            else:
                ends = [str(i) for i in range(self.condensers_[j].n_components)]
            found += [f"{name} {end}" for end in ends]
        return np.array(found, dtype=object)


def _numbers(values: NDArray[Any], name: Any) -> Floats:
    if values.dtype.kind == "f":
        return values
    if values.dtype.kind == "M":
        raise ValueError(f"column {name!r} held numbers when the model was made, now dates.")
    found = np.full(len(values), np.nan)
    for i, value in enumerate(values.tolist()):
        if value is None:
            continue
        try:
            found[i] = float(value)
        except ValueError:
            raise ValueError(
                f"column {name!r} holds {value!r} in row {i}; it held numbers when the model was "
                "made, so a number or a gap is needed."
            ) from None
    return found


def _texts(values: NDArray[Any], missing: str) -> NDArray[np.object_]:
    found = np.empty(len(values), dtype=object)
    if values.dtype.kind == "f":
        gaps = np.isnan(values)
        found[:] = [missing if gap else f"{v:.15g}" for v, gap in zip(values.tolist(), gaps)]
    elif values.dtype.kind == "M":
        found[:] = [missing if np.isnat(v) else str(v) for v in values]
    else:
        found[:] = [missing if v is None else v.strip() for v in values.tolist()]
    return found


def _date_parts(moments: NDArray[np.datetime64]) -> Floats:
    gaps = np.isnat(moments)
    safe = np.where(gaps, np.datetime64("2000-01-01", "us"), moments)
    years = safe.astype("datetime64[Y]")
    start = years.astype("datetime64[us]")
    length = ((years + 1).astype("datetime64[us]") - start) / np.timedelta64(1, "us")
    share = ((safe - start) / np.timedelta64(1, "us")) / length
    days = safe.astype("datetime64[D]")
    hours = (safe - days.astype("datetime64[us]")) / np.timedelta64(1, "h")
    weekday = (days.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
    angle = 2 * np.pi * share
    year = years.astype(np.int64) - 30 + share
    table = np.column_stack([year, np.sin(angle), np.cos(angle), weekday, hours])
    table[gaps] = np.nan
    return np.asarray(table, dtype=np.float64)
