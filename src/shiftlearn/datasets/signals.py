"""Measured signals with natural domains: spoken letters, body sensors, radar."""

from __future__ import annotations

import csv
import gzip
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.datasets.base import Dataset, check_count, class_names
from shiftlearn.datasets.catalogue import FILES, LDPA_WHOLE
from shiftlearn.datasets.folder import data_folder, locate
from shiftlearn.datasets.matlab import read_mat

__all__ = ["load_isolet", "load_landmine", "load_ldpa"]

_ISOLET_ROWS = (1560, 1560, 1560, 1558, 1559)
_LDPA_TENTH = "ldpa-partial/ConfLongDemo_JSI.first-tenth.csv.gz"
_LDPA_ROWS = {"first-tenth": 16486, "whole": 164860}


def load_isolet() -> Dataset:
    """ISOLET (UCI): 7,797 spoken letters, 617 acoustic features, five disjoint groups of speakers.

    Returns
    -------
    Dataset
        ``target`` holds the letters A..Z, ``domain`` the speaker group 0..4 (30 speakers each; 0 to
        3 are UCI's training file, 4 its test file).

    Examples
    --------
    >>> from shiftlearn.datasets import load_isolet
    >>> load_isolet().data.shape  # doctest: +SKIP
    (7797, 617)
    """
    files = [f"isolet/Isolet{i}.mat" for i in range(1, 5)] + ["isolet/isolet5.mat"]
    parts = [read_mat(path) for path in files]
    for path, part, count in zip(files, parts, _ISOLET_ROWS, strict=True):
        check_count(path, len(part["fea"]), count)
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    target = letters[np.concatenate([part["gnd"].ravel() for part in parts]).astype(int) - 1]
    return Dataset(
        np.concatenate([part["fea"] for part in parts]),
        target,
        class_names(target),
        "ISOLET, UCI Machine Learning Repository (CC BY 4.0), as MATLAB files of D. Cai.",
        domain=np.repeat(np.arange(5), _ISOLET_ROWS),
        domain_names={i: f"isolet{i + 1}" for i in range(5)},
    )


def load_landmine() -> Dataset:
    """Landmine detection (Duke): 29 fields, 14,820 radar signatures, 9 features, 904 mines.

    Returns
    -------
    Dataset
        ``target`` 1 for a mine, ``domain`` the field 0..28.

    Examples
    --------
    >>> from shiftlearn.datasets import load_landmine
    >>> int(load_landmine().target.sum())  # doctest: +SKIP
    904
    """
    content = read_mat("landmine/LandmineData.mat")
    fields = [np.asarray(field, dtype=np.float64) for field in content["feature"].ravel()]
    labels = [np.asarray(label, dtype=np.int64).ravel() for label in content["label"].ravel()]
    check_count("landmine/LandmineData.mat", sum(map(len, fields)), 14820)
    return Dataset(
        np.concatenate(fields),
        np.concatenate(labels),
        ("0", "1"),
        "Landmine data of Xue, Liao, Carin and Krishnapuram (JMLR 2007); public for research.",
        domain=np.repeat(np.arange(len(fields)), [len(field) for field in fields]),
        domain_names={i: f"field {i + 1}" for i in range(len(fields))},
    )


def load_ldpa() -> Dataset:
    """Localization Data for Person Activity (UCI): body tags of five persons, eleven activities.

    The publisher's whole file (``ldpa/ConfLongDemo_JSI.txt`` in the data folder; 164,860 rows,
    five persons) is preferred, then its first tenth (16,486 rows, the three sequences of person
    A); where neither is there, the whole file is downloaded.

    Returns
    -------
    Dataset
        ``data`` has eight columns: the tag as four 0/1 columns, seconds since the sequence began,
        x, y, z. ``target`` is the activity, ``domain`` the sequence (A01 .. E05), whose first
        letter is the person.

    Examples
    --------
    >>> from shiftlearn.datasets import load_ldpa
    >>> load_ldpa().domain_names  # doctest: +SKIP
    {0: 'A01', 1: 'A02', 2: 'A03'}
    """
    tenth = (data_folder() / _LDPA_TENTH).is_file()
    whole = (data_folder() / LDPA_WHOLE.path).is_file() or not tenth
    part = "whole" if whole else "first-tenth"
    # The publisher's lines: sequence, tag, time stamp, date, x, y, z, activity. The first tenth has
    # a running number in front and no date.
    columns = (0, 1, 2, 4, 5, 6, 7) if whole else (1, 2, 3, 4, 5, 6, 7)
    rows = _ldpa_rows(whole)
    check_count(f"LDPA ({part})", len(rows), _LDPA_ROWS[part])
    text = np.array(rows)[:, columns]
    target = np.char.strip(text[:, 6])
    names, domain = np.unique(text[:, 0], return_inverse=True)
    return Dataset(
        _ldpa_features(text, domain),
        target,
        class_names(target),
        "Localization Data for Person Activity, UCI Machine Learning Repository (CC BY 4.0), "
        + ("all rows." if whole else "first tenth: person A only."),
        domain=domain.astype(np.int64),
        domain_names={i: str(name) for i, name in enumerate(names)},
        feature_names=("ankle-left", "ankle-right", "belt", "chest", "seconds", "x", "y", "z"),
    )


def _ldpa_rows(whole: bool) -> list[list[str]]:
    if whole:
        content = locate(LDPA_WHOLE).read_text(encoding="ascii")
    else:
        content = gzip.decompress(locate(FILES[_LDPA_TENTH]).read_bytes()).decode("ascii")
    rows = [row for row in csv.reader(io.StringIO(content)) if row]
    return rows if whole else rows[1:]


def _ldpa_features(text: NDArray[Any], domain: NDArray[Any]) -> NDArray[np.float64]:
    tags = ("010-000-024-033", "010-000-030-096", "020-000-032-221", "020-000-033-111")
    # Ticks of 100 ns in integers: as floats they would lose the fractions of a second.
    ticks = text[:, 2].astype(np.int64)
    start = np.array([ticks[domain == d].min() for d in range(domain.max() + 1)])
    seconds = (ticks - start[domain]) / 1e7
    marks = [(text[:, 1] == tag).astype(np.float64) for tag in tags]
    return np.column_stack([*marks, seconds, text[:, 3:6].astype(np.float64)])
