"""Tables of numbers and categories: glass, vehicle, segment, iris, mushroom."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.datasets.base import Dataset, check_count, class_names
from shiftlearn.datasets.catalogue import FILES
from shiftlearn.datasets.folder import locate

__all__ = ["load_glass", "load_iris", "load_mushroom", "load_segment", "load_vehicle"]

_MUSHROOM_COLUMNS = [
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "stalk-surface-above-ring",
    "stalk-surface-below-ring",
    "stalk-color-above-ring",
    "stalk-color-below-ring",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
]


def load_glass() -> Dataset:
    """Glass Identification (UCI): 214 rows, 9 chemical measurements, 6 types of glass.

    Returns
    -------
    Dataset
        ``target`` holds the types 1, 2, 3, 5, 6, 7; the running number is left out.

    Examples
    --------
    >>> from shiftlearn.datasets import load_glass
    >>> load_glass().data.shape  # doctest: +SKIP
    (214, 9)
    """
    rows = _rows("glass/glass.data", 214)
    return _table(
        [row[1:-1] for row in rows],
        np.array([int(row[-1]) for row in rows]),
        "Glass Identification, UCI Machine Learning Repository (CC BY 4.0).",
        ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"],
    )


def load_iris() -> Dataset:
    """Iris as UCI publishes it: 150 rows, 4 measurements, 3 species.

    Two rows differ from Fisher's paper and from scikit-learn's ``load_iris`` (rows 35 and 38,
    counted from 1).

    Examples
    --------
    >>> from shiftlearn.datasets import load_iris
    >>> load_iris().target_names  # doctest: +SKIP
    ('Iris-setosa', 'Iris-versicolor', 'Iris-virginica')
    """
    rows = _rows("iris/iris.data", 150)
    return _table(
        [row[:-1] for row in rows],
        np.array([row[-1] for row in rows]),
        "Iris, UCI Machine Learning Repository (CC BY 4.0).",
        ["sepal-length", "sepal-width", "petal-length", "petal-width"],
    )


def load_vehicle() -> Dataset:
    """Statlog Vehicle Silhouettes (UCI): 846 rows, 18 shape measures, 4 vehicles.

    Rows come in the order of the nine files; ``ids`` says which file.

    Examples
    --------
    >>> from shiftlearn.datasets import load_vehicle
    >>> load_vehicle().target_names  # doctest: +SKIP
    ('bus', 'opel', 'saab', 'van')
    """
    rows, part = [], []
    for letter in "abcdefghi":
        text = locate(FILES[f"vehicle/xa{letter}.dat"]).read_text()
        found = [line.split() for line in text.splitlines() if line.strip()]
        rows += found
        part += [f"xa{letter}"] * len(found)
    check_count("vehicle", len(rows), 846)
    return _table(
        [row[:-1] for row in rows],
        np.array([row[-1] for row in rows]),
        "Statlog (Vehicle Silhouettes), UCI Machine Learning Repository (CC BY 4.0).",
        ids=np.array(part),
    )


def load_segment() -> Dataset:
    """Image Segmentation (UCI): 2,310 rows, 19 measures of 3 x 3 pixels, 7 surfaces of 330 rows.

    The publisher's training file (210 rows) comes first, then the test file; ``ids`` says which.
    REGION-PIXEL-COUNT is constant.

    Examples
    --------
    >>> from shiftlearn.datasets import load_segment
    >>> load_segment().data.shape  # doctest: +SKIP
    (2310, 19)
    """
    rows, part, names = [], [], [""]
    for name in ("data", "test"):
        text = locate(FILES[f"segment/segmentation.{name}"]).read_text()
        # Comments and the column names precede the data; only data lines hold numbers.
        lines = [line.strip() for line in text.splitlines() if line.count(",") >= 18]
        names = next((_column_names(line) for line in lines if "REGION" in line), names)
        found = [line.split(",") for line in lines if "REGION" not in line]
        rows += found
        part += [name] * len(found)
    check_count("segment", len(rows), 2310)
    return _table(
        [row[1:] for row in rows],
        np.array([row[0] for row in rows]),
        "Image Segmentation, UCI Machine Learning Repository (CC BY 4.0).",
        names,
        ids=np.array(part),
    )


def load_mushroom(*, one_hot: bool = False) -> Dataset:
    """Mushroom (UCI): 8,124 rows, 22 categorical columns, edible ``e`` or poisonous ``p``.

    The domains are the two stalk shapes (0 enlarging, 1 tapering), which share the classes but not
    the other columns' distributions.

    Parameters
    ----------
    one_hot : bool
        Give 0/1 columns, one a category, without ``stalk-shape`` (it defines the domains), instead
        of the letters of the 22 columns. ``?`` (stalk-root) is a category of its own.

    Examples
    --------
    >>> from shiftlearn.datasets import load_mushroom
    >>> load_mushroom(one_hot=True).domain_names  # doctest: +SKIP
    {0: 'enlarging', 1: 'tapering'}
    """
    rows = np.array(_rows("mushroom/agaricus-lepiota.data", 8124))
    names, letters = list(_MUSHROOM_COLUMNS), rows[:, 1:]
    shape = names.index("stalk-shape")
    domain = (letters[:, shape] == "t").astype(np.int64)
    data: NDArray[Any] = letters
    if one_hot:
        data, names = _one_hot(np.delete(letters, shape, 1), names[:shape] + names[shape + 1 :])
    return Dataset(
        data,
        rows[:, 0],
        ("e", "p"),
        "Mushroom, UCI Machine Learning Repository (CC BY 4.0).",
        domain=domain,
        domain_names={0: "enlarging", 1: "tapering"},
        feature_names=tuple(names),
    )


def _rows(path: str, count: int) -> list[list[str]]:
    with locate(FILES[path]).open(newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    check_count(path, len(rows), count)
    return rows


def _table(
    rows: list[list[str]],
    target: NDArray[Any],
    description: str,
    names: Iterable[str] = (),
    ids: NDArray[Any] | None = None,
) -> Dataset:
    data = np.array(rows, dtype=np.float64)
    return Dataset(
        data, target, class_names(target), description, feature_names=tuple(names), ids=ids
    )


def _column_names(line: str) -> list[str]:
    return [name for name in line.split(",") if name.lower() != "class"]


def _one_hot(letters: NDArray[Any], names: list[str]) -> tuple[NDArray[np.float64], list[str]]:
    """0/1 columns, one for each category that occurs."""
    columns, titles = [], []
    for column, name in zip(letters.T, names, strict=True):
        for category in np.unique(column):
            columns.append(column == category)
            titles.append(f"{name}={category}")
    return np.stack(columns, axis=1).astype(np.float64), titles
