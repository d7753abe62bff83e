"""Sparse matrices as published: spam inboxes, cross-domain text matrices, LIBSVM files."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import numpy as np

from shiftlearn.datasets.base import Dataset, check_count
from shiftlearn.datasets.catalogue import FILES
from shiftlearn.datasets.folder import locate
from shiftlearn.datasets.matlab import read_mat

__all__ = ["load_libsvm", "load_newsgroups_counts", "load_reuters_cross_domain", "load_spam"]

_SPAM_TERMS = 206908
_LIBSVM = {
    "a9a": ("libsvm/a9a.xz", 32561, 123),
    "a9a.t": ("libsvm/a9a.t.xz", 16281, 123),
    "w8a": ("libsvm/w8a.xz", 49749, 300),
    "heart_scale": ("libsvm/heart_scale", 270, 13),
}
_CROSS_DOMAIN = {
    # task: features, rows and classes (-1 / +1) of the first version's source and target
    "org_vs_people": (1237, 1208, ("people", "orgs")),
    "org_vs_place": (1016, 1043, ("orgs", "places")),
    "people_vs_place": (1077, 1077, ("people", "places")),
}
_GROUPS = {
    "comp": (
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.sys.ibm.pc.hardware",
        "comp.sys.mac.hardware",
    ),
    "rec": ("rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"),
    "sci": ("sci.crypt", "sci.electronics", "sci.med", "sci.space"),
    "talk": (
        "talk.politics.guns",
        "talk.politics.mideast",
        "talk.politics.misc",
        "talk.religion.misc",
    ),
}
_GROUP_ROWS = {
    "comp": (970, 963, 979, 958),
    "rec": (987, 993, 991, 997),
    "sci": (989, 984, 987, 985),
    "talk": (909, 940, 774, 627),
}


def load_spam() -> Dataset:
    """ECML/PKDD 2006 challenge, task A: three inboxes of 2,500 mails, half of them spam.

    Returns
    -------
    Dataset
        ``data`` sparse term counts (7,500 x 206,908), ``target`` 1 spam, -1 not, ``domain`` the
        inbox.

    Examples
    --------
    >>> from shiftlearn.datasets import load_spam
    >>> load_spam().domain_names  # doctest: +SKIP
    {0: 'u00', 1: 'u01', 2: 'u02'}
    """
    from scipy.sparse import vstack

    files = [f"ecml2006-spam/task_a_u0{i}_eval_lab.tf.gz" for i in range(3)]
    parts = [_svmlight(locate(FILES[path]), _SPAM_TERMS) for path in files]
    for path, (rows, _) in zip(files, parts, strict=True):
        check_count(path, rows.shape[0], 2500)
    return Dataset(
        vstack([rows for rows, _ in parts], format="csr"),
        np.concatenate([labels for _, labels in parts]).astype(np.int64),
        ("-1", "1"),
        "ECML/PKDD 2006 Discovery Challenge (S. Bickel), task A, labelled evaluation inboxes; the "
        "challenge's public training mails are not among them. Challenge data for research.",
        domain=np.repeat(np.arange(3), 2500),
        domain_names={i: f"u0{i}" for i in range(3)},
    )


def load_reuters_cross_domain(task: str = "org_vs_people", version: int = 1) -> Dataset:
    """Cross-domain matrices of Reuters-21578 (Dai et al., 2007), in the form in circulation.

    Parameters
    ----------
    task : {"org_vs_people", "org_vs_place", "people_vs_place"}
        The two classes.
    version : {1, 2}
        2 exchanges source and target.

    Returns
    -------
    Dataset
        ``data`` sparse term weights, not normalised; ``target`` -1 or 1 (classes in
        ``target_names``); ``domain`` 0 source, -1 target.

    Examples
    --------
    >>> from shiftlearn.datasets import load_reuters_cross_domain
    >>> load_reuters_cross_domain("org_vs_place").target_names  # doctest: +SKIP
    ('orgs', 'places')
    """
    from scipy.sparse import vstack

    if task not in _CROSS_DOMAIN or version not in (1, 2):
        raise ValueError(
            f"task must be one of {', '.join(_CROSS_DOMAIN)} and version 1 or 2, "
            f"got {task!r} and {version!r}."
        )
    path = f"reuters21578/cross-domain/{task}_{version}.mat"
    content = read_mat(path)
    sizes = _CROSS_DOMAIN[task][:2] if version == 1 else _CROSS_DOMAIN[task][1::-1]
    source, target = content["Xs"].T, content["Xt"].T
    check_count(f"{path}, source", source.shape[0], sizes[0])
    check_count(f"{path}, target", target.shape[0], sizes[1])
    labels = [content[name].toarray().ravel() for name in ("Ys", "Yt")]
    return Dataset(
        vstack([source, target], format="csr"),
        np.concatenate(labels).astype(np.int64),
        _CROSS_DOMAIN[task][2],
        "Reuters-21578 cross-domain matrices of Dai et al. (KDD 2007); for research.",
        domain=np.repeat([0, -1], sizes),
        domain_names={0: "source", -1: "target"},
    )


def load_newsgroups_counts(top: str) -> Dataset:
    """Preprocessed 20 Newsgroups: weighted counts of 25,804 terms for one top category.

    Parameters
    ----------
    top : {"comp", "rec", "sci", "talk"}
        The top category; its four groups are the labels.

    Returns
    -------
    Dataset
        ``data`` sparse; counts times a factor for each term: normalise the rows before use. The
        group order is inferred from the sizes.

    Examples
    --------
    >>> from shiftlearn.datasets import load_newsgroups_counts
    >>> load_newsgroups_counts("sci").data.shape  # doctest: +SKIP
    (3945, 25804)
    """
    from scipy.sparse import vstack

    if top not in _GROUPS:
        raise ValueError(f"top must be one of {', '.join(_GROUPS)}, got {top!r}.")
    path = f"20newsgroups/preprocessed/{top}.mat"
    content = read_mat(path)
    parts = [content[f"X{i}"].T for i in range(1, 5)]
    for part, count in zip(parts, _GROUP_ROWS[top], strict=True):
        check_count(path, part.shape[0], count)
    return Dataset(
        vstack(parts, format="csr"),
        np.repeat(np.array(_GROUPS[top]), _GROUP_ROWS[top]),
        tuple(sorted(_GROUPS[top])),
        "20 Newsgroups (bydate), preprocessed counts in circulation with cross-domain papers.",
    )


def load_libsvm(name: str) -> Dataset:
    """Sparse files for timing, from the LIBSVM page: a9a, a9a.t, w8a, heart_scale.

    Parameters
    ----------
    name : {"a9a", "a9a.t", "w8a", "heart_scale"}
        The file.

    Returns
    -------
    Dataset
        ``data`` CSR, ``target`` -1 or 1.

    Examples
    --------
    >>> from shiftlearn.datasets import load_libsvm
    >>> load_libsvm("a9a").data.nnz  # doctest: +SKIP
    451592
    """
    if name not in _LIBSVM:
        raise ValueError(f"name must be one of {', '.join(_LIBSVM)}, got {name!r}.")
    path, rows, features = _LIBSVM[name]
    data, target = _svmlight(locate(FILES[path]), features)
    check_count(path, data.shape[0], rows)
    return Dataset(data, target.astype(np.int64), ("-1", "1"), f"{name}, LIBSVM data page.")


def _svmlight(path: Path, n_features: int) -> tuple[Any, Any]:
    """Rows and labels of an SVMlight file, plain or compressed."""
    from sklearn.datasets import load_svmlight_file

    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
    content = io.BytesIO(unpack(path.read_bytes()))
    data, target = load_svmlight_file(content, n_features=n_features, zero_based=False)
    return data, target
