"""Finished cells on disk: one small JSON file each, written in one step, found again by content.

A cell's file is named by a hash of the study's name and version, the library's version, the
settings and the seed. Whatever changes one of these asks for new work; everything else is resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shiftlearn
from shiftlearn.datasets import cache_folder, write_atomically
from shiftlearn.studies.base import Cell, Study

__all__ = ["Record", "Store", "results_folder"]


@dataclass(frozen=True, slots=True)
class Record:
    """A finished cell: its figures and the seconds it took."""

    settings: Mapping[str, Any]
    seed: int
    figures: Mapping[str, float]
    seconds: float


def results_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """``folder``, else ``SHIFTLEARN_RESULTS``, else a place in the user's cache."""
    named = folder if folder is not None else os.environ.get("SHIFTLEARN_RESULTS") or None
    return Path(named).expanduser().absolute() if named else cache_folder() / "results"


@dataclass(frozen=True)
class Store:
    """The finished cells of one study in one folder."""

    study: str
    version: int
    folder: Path

    @classmethod
    def of(cls, study: Study, folder: str | os.PathLike[str] | None = None) -> Store:
        """The store of a study in a results folder."""
        return cls(study.name, study.version, results_folder(folder) / study.name)

    def path(self, cell: Cell) -> Path:
        """The file of a cell, whether it is there or not."""
        key = {
            "study": self.study,
            "version": [self.version, shiftlearn.__version__],
            "settings": dict(cell.settings),
            "seed": cell.seed,
        }
        content = json.dumps(key, sort_keys=True, default=_plain)
        return self.folder / "cells" / f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.json"

    def load(self, cell: Cell) -> Record | None:
        """The record of a finished cell; None where there is none or its file is damaged."""
        try:
            content = json.loads(self.path(cell).read_text(encoding="utf-8"))
            return Record(cell.settings, cell.seed, content["figures"], content["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, record: Record) -> None:
        """Keep a finished cell."""
        content = {
            "settings": dict(record.settings),
            "seed": record.seed,
            "figures": dict(record.figures),
            "seconds": record.seconds,
        }
        text = json.dumps(content, default=_plain, indent=1)
        cell = Cell(record.settings, record.seed)
        write_atomically(self.path(cell), lambda path: path.write_text(text, encoding="utf-8"))


def _plain(value: Any) -> Any:
    """NumPy scalars as Python numbers; anything else that JSON does not know is refused."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"Settings and figures must be plain values, got {type(value)}.")
