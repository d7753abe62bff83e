"""Models in files: written by ``save``, read by ``load``, which runs nothing that a file brings."""

from __future__ import annotations

from shiftlearn.files.archive import describe, load, save

__all__ = ["describe", "load", "save"]
