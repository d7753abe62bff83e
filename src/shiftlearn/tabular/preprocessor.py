"""The pipeline that makes a table of mixed columns ready for a classifier."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftlearn.tabular.steps import ColumnsOf, DateParts, TextTerms, ToCategories, ToNumbers

__all__ = ["tabular_preprocessor"]


def tabular_preprocessor(
    *,
    max_categories: int = 30,
    text_components: int | None = 200,
    indicate_missing: bool = True,
) -> Any:
    """Return an unfitted pipeline for tables with numbers, categories, text, dates and gaps.

    A scikit-learn ``ColumnTransformer`` whose columns are found when it is fitted:

    - numbers: gaps filled with the median, a column that says where there was one, standardised;
    - categories: one column for each value, rare and unknown values together, gaps a value;
    - dates: year, season, weekday and hour, filled and standardised;
    - text: tf-idf weights of words, condensed to ``text_components`` dimensions.

    It is fitted on the rows that it is given and nothing else: in a pipeline in front of a method
    that uses unlabelled target rows these are the rows of both domains, their labels never. It
    takes pandas and polars dataframes and arrays, and can be saved with :func:`shiftlearn.save`.

    Parameters
    ----------
    max_categories : int, default=30
        Most columns made of one column of categories; the rarest values share the last.
    text_components : int or None, default=200
        Dimensions for each column of text; None keeps the sparse weights of the words.
    indicate_missing : bool, default=True
        Whether gaps in columns of numbers get a column of their own.

    Returns
    -------
    ColumnTransformer
        With steps ``numbers``, ``categories``, ``dates`` and ``text``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import tabular_preprocessor
    >>> X = np.array([[1.0, "red"], [3.0, "blue"], [None, "red"]], dtype=object)
    >>> tabular_preprocessor().fit_transform(X).shape  # the number, its gap, two colours
    (3, 4)
    """
    return ColumnTransformer(
        [
            ("numbers", _numbers(ToNumbers(), indicate_missing), ColumnsOf("numbers")),
            ("categories", _categories(max_categories), ColumnsOf("categories")),
            ("dates", _numbers(DateParts(), False), ColumnsOf("dates")),
            ("text", TextTerms(text_components), ColumnsOf("text")),
        ],
        sparse_threshold=0.0 if text_components is not None else 1.0,
        verbose_feature_names_out=False,
    )


def _numbers(first: Any, indicate: bool) -> Pipeline:
    fill = SimpleImputer(strategy="median", add_indicator=indicate, keep_empty_features=True)
    return Pipeline([("read", first), ("fill", fill), ("scale", StandardScaler())])


def _categories(most: int) -> Pipeline:
    columns = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=most, sparse_output=False
    )
    return Pipeline([("read", ToCategories()), ("columns", columns)])
