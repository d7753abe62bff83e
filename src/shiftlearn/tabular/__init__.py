"""Tables of mixed columns (numbers, categories, text, dates, gaps) made ready for a classifier."""

from __future__ import annotations

from shiftlearn.tabular.columns import KINDS, column_kinds
from shiftlearn.tabular.preprocessor import tabular_preprocessor

__all__ = ["KINDS", "column_kinds", "tabular_preprocessor"]
