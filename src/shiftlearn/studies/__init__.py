"""The papers' experiments as code: one registry, one command each.

A new study is one module here, named in ``_MODULES``, with one function under the decorator
`study`; running, keeping, tables and pictures come with it.
"""

from __future__ import annotations

import importlib

from shiftlearn.studies import base
from shiftlearn.studies.base import Cell, Reference, Study, reference_row, study
from shiftlearn.studies.environment import environment
from shiftlearn.studies.results import Results, Row, Table
from shiftlearn.studies.run import StudyError, run_study
from shiftlearn.studies.store import Record, Store, results_folder

__all__ = [
    "Cell",
    "Record",
    "Reference",
    "Results",
    "Row",
    "Store",
    "Study",
    "StudyError",
    "Table",
    "environment",
    "get_study",
    "reference_row",
    "results_folder",
    "run_study",
    "studies",
    "study",
]

_MODULES = (
    "adapt_synthetic",
    "covariate_landmine",
    "covariate_synthetic",
    "covariate_text",
    "daksvm_faces",
    "daksvm_sensitivity",
    "daksvm_text",
    "daksvm_toys",
    "ground_floor",
    "one_class",
    "one_class_offsets",
    "prototypes",
    "adapt_retrieval",
)


def studies() -> dict[str, Study]:
    """Every study, by name.

    Examples
    --------
    >>> from shiftlearn.studies import studies
    >>> "ground-floor" in studies()
    True
    """
    for module in _MODULES:
        importlib.import_module(f"shiftlearn.studies.{module}")
    return base.registered()


def get_study(name: str) -> Study:
    """The study called ``name``; the error for an unknown name lists the known ones."""
    studies()
    return base.get_study(name)
