"""Loaders for the published data of the experiments, and generators of data with a known shift.

Loaders read the published form from ``SHIFTLEARN_DATA`` or the user's cache, check it, and download
what a publisher still serves. Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Dataset": "base",
    "cache_folder": "folder",
    "data_folder": "folder",
    "write_atomically": "folder",
    "load_glass": "tables",
    "load_iris": "tables",
    "load_mushroom": "tables",
    "load_segment": "tables",
    "load_vehicle": "tables",
    "load_isolet": "signals",
    "load_landmine": "signals",
    "load_ldpa": "signals",
    "load_orl_faces": "images",
    "load_yale_faces": "images",
    "rotate_images": "images",
    "load_libsvm": "sparse",
    "load_newsgroups_counts": "sparse",
    "load_reuters_cross_domain": "sparse",
    "load_spam": "sparse",
    "NEWSGROUPS_TASKS": "text",
    "Article": "text",
    "article_text": "text",
    "load_newsgroups": "text",
    "load_newsgroups_task": "text",
    "load_reuters": "text",
    "tfidf": "text",
    "make_covariate_shift": "synthetic",
    "make_gaussian_shift": "synthetic",
    "make_mixture_shift": "synthetic",
    "make_programs": "synthetic",
    "make_rotated_moons": "synthetic",
    "OneClassTask": "shapes",
    "make_digit_pair": "shapes",
    "make_gaussian_tasks": "shapes",
    "make_isolated": "shapes",
    "make_spirals": "shapes",
    "make_striated": "shapes",
}

if TYPE_CHECKING:
    from shiftlearn.datasets.base import Dataset as Dataset
    from shiftlearn.datasets.folder import cache_folder as cache_folder
    from shiftlearn.datasets.folder import data_folder as data_folder
    from shiftlearn.datasets.folder import write_atomically as write_atomically
    from shiftlearn.datasets.images import load_orl_faces as load_orl_faces
    from shiftlearn.datasets.images import load_yale_faces as load_yale_faces
    from shiftlearn.datasets.images import rotate_images as rotate_images
    from shiftlearn.datasets.shapes import OneClassTask as OneClassTask
    from shiftlearn.datasets.shapes import make_digit_pair as make_digit_pair
    from shiftlearn.datasets.shapes import make_gaussian_tasks as make_gaussian_tasks
    from shiftlearn.datasets.shapes import make_isolated as make_isolated
    from shiftlearn.datasets.shapes import make_spirals as make_spirals
    from shiftlearn.datasets.shapes import make_striated as make_striated
    from shiftlearn.datasets.signals import load_isolet as load_isolet
    from shiftlearn.datasets.signals import load_landmine as load_landmine
    from shiftlearn.datasets.signals import load_ldpa as load_ldpa
    from shiftlearn.datasets.sparse import load_libsvm as load_libsvm
    from shiftlearn.datasets.sparse import load_newsgroups_counts as load_newsgroups_counts
    from shiftlearn.datasets.sparse import load_reuters_cross_domain as load_reuters_cross_domain
    from shiftlearn.datasets.sparse import load_spam as load_spam
    from shiftlearn.datasets.synthetic import make_covariate_shift as make_covariate_shift
    from shiftlearn.datasets.synthetic import make_gaussian_shift as make_gaussian_shift
    from shiftlearn.datasets.synthetic import make_mixture_shift as make_mixture_shift
    from shiftlearn.datasets.synthetic import make_programs as make_programs
    from shiftlearn.datasets.synthetic import make_rotated_moons as make_rotated_moons
    from shiftlearn.datasets.tables import load_glass as load_glass
    from shiftlearn.datasets.tables import load_iris as load_iris
    from shiftlearn.datasets.tables import load_mushroom as load_mushroom
    from shiftlearn.datasets.tables import load_segment as load_segment
    from shiftlearn.datasets.tables import load_vehicle as load_vehicle
    from shiftlearn.datasets.text import NEWSGROUPS_TASKS as NEWSGROUPS_TASKS
    from shiftlearn.datasets.text import Article as Article
    from shiftlearn.datasets.text import article_text as article_text
    from shiftlearn.datasets.text import load_newsgroups as load_newsgroups
    from shiftlearn.datasets.text import load_newsgroups_task as load_newsgroups_task
    from shiftlearn.datasets.text import load_reuters as load_reuters
    from shiftlearn.datasets.text import tfidf as tfidf

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shiftlearn.datasets' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"shiftlearn.datasets.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
