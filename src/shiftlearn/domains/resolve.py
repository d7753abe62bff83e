"""Which rows are source, which are target, and whose labels may be read.

The problem: from ``y`` and ``sample_domain`` find the partition of the rows into source domains
(labels >= 0) and target domains (< 0), and the codes of exactly those labels that the method is
allowed to see. A method that ignores target labels gets codes in which they do not occur.

Three questions, three functions: ``find_domains`` (maps between domains), ``split_domains``
(methods with both domains), ``labelled_rows`` (plain machines).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftlearn.domains.checks import check_sample_domain
from shiftlearn.domains.labels import encode_labels, label_array, minus_one_marks, unlabelled

__all__ = [
    "DEFAULT_SOURCE",
    "DEFAULT_TARGET",
    "DomainSplit",
    "Domains",
    "LabelledRows",
    "find_domains",
    "labelled_rows",
    "split_domains",
]

# Labels of rows whose domain was not given; the same numbers as skada's.
DEFAULT_SOURCE = 1
DEFAULT_TARGET = -2


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The domain of each row.

    Attributes
    ----------
    sample_domain : ndarray of int64 of shape (n,)
        ``>= 0`` source, ``< 0`` target.
    """

    sample_domain: NDArray[np.int64]

    @property
    def source(self) -> NDArray[np.bool_]:
        """Mask of the source rows."""
        return np.asarray(self.sample_domain >= 0)

    @property
    def target(self) -> NDArray[np.bool_]:
        """Mask of the target rows."""
        return np.asarray(self.sample_domain < 0)

    @property
    def has_source(self) -> bool:
        """Whether there is a source row."""
        return bool(np.any(self.sample_domain >= 0))

    @property
    def has_target(self) -> bool:
        """Whether there is a target row."""
        return bool(np.any(self.sample_domain < 0))

    @property
    def source_labels(self) -> tuple[int, ...]:
        """Labels of the source domains, ascending."""
        return tuple(int(label) for label in np.unique(self.sample_domain[self.source]))

    @property
    def target_labels(self) -> tuple[int, ...]:
        """Labels of the target domains, ascending."""
        return tuple(int(label) for label in np.unique(self.sample_domain[self.target]))

    def rows(self, label: int) -> NDArray[np.intp]:
        """Indices of the rows of one domain."""
        return np.flatnonzero(self.sample_domain == label)


@dataclass(frozen=True, slots=True, eq=False)
class DomainSplit:
    """Domains of the rows and the labels that the method may see.

    Attributes
    ----------
    domains : Domains
    codes : ndarray of int64 of shape (n,)
        Index into ``classes``; -1 for rows without a label and for labels that were not read.
    classes : ndarray of shape (k,)
        Sorted, in the dtype of the labels.
    """

    domains: Domains
    codes: NDArray[np.int64]
    classes: NDArray[Any]

    @property
    def labelled_source(self) -> NDArray[np.bool_]:
        """Mask of the source rows with a label; the other source rows only describe the domain."""
        return np.asarray(self.domains.source & (self.codes >= 0))

    @property
    def labelled_target(self) -> NDArray[np.bool_]:
        """Mask of the target rows whose label may be used."""
        return np.asarray(self.domains.target & (self.codes >= 0))


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """The rows that a plain machine is fitted on.

    Attributes
    ----------
    rows : ndarray of intp
        Their indices, ascending.
    codes : ndarray of int64, one a row of ``rows``
    classes : ndarray of shape (k,)
    complete : bool
        Whether these are all rows that were given.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    complete: bool

    def take(self, array: Any) -> Any:
        """Rows of ``array``; the array itself, not a copy, where all rows are meant."""
        return array if self.complete else array[self.rows]


def find_domains(y: Any, sample_domain: Any, n_rows: int) -> Domains:
    """Say for each row which domain it comes from.

    ``sample_domain`` decides where it is given; ``y`` is then not looked at. Without it the rows
    marked as unlabelled in ``y`` are the target and all others the source.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or None
    sample_domain : array-like of int of shape (n_rows,), int or None
    n_rows : int

    Returns
    -------
    Domains

    Examples
    --------
    >>> find_domains(["a", "b", None], None, 3).target
    array([False, False,  True])
    """
    if sample_domain is not None:
        return Domains(check_sample_domain(sample_domain, n_rows))
    if y is None:
        return Domains(np.full(n_rows, DEFAULT_SOURCE))
    labels = label_array(y, n_rows)
    marks = unlabelled(labels) | minus_one_marks(labels)
    return Domains(np.where(marks, DEFAULT_TARGET, DEFAULT_SOURCE))


def split_domains(
    y: Any,
    sample_domain: Any,
    n_rows: int,
    *,
    target_labels: Literal["ignore", "use"] = "ignore",
    plain_rows: Literal["source", "target"] = "source",
) -> DomainSplit:
    """Split the rows of ``fit`` into domains and encode the labels that may be read.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    sample_domain : array-like of int of shape (n_rows,), int or None
    n_rows : int
    target_labels : {"ignore", "use"}
        "ignore": the label of a target row is never read, whatever it is. "use": target rows
        that have a label keep it.
    plain_rows : {"source", "target"}
        What the rows of ``fit(X, y)`` without ``sample_domain`` are. "source": rows with a label
        are source, marked rows are target. "target": all are target rows (methods that adapt a
        given source to labelled target rows), and -1 is an ordinary label.

    Returns
    -------
    DomainSplit

    Raises
    ------
    ValueError
        For a missing or badly shaped argument, labels of mixed types, no labelled source row
        (``target_labels="ignore"``), or target labels that were all replaced by -1
        (``target_labels="use"``).

    Examples
    --------
    >>> split = split_domains(["b", "a", "a"], [0, 0, -1], 3)
    >>> split.codes, split.classes
    (array([ 1,  0, -1]), array(['a', 'b'], dtype='<U1'))
    """
    labels = label_array(y, n_rows)
    if sample_domain is None and plain_rows == "target":
        sample_domain = DEFAULT_TARGET
    domains = find_domains(labels, sample_domain, n_rows)
    readable = domains.source if target_labels == "ignore" else np.ones(n_rows, dtype=bool)
    if sample_domain is None:  # there the target rows are the marked ones
        readable = domains.source
    if target_labels == "use":
        _check_not_masked(labels, domains)
    readable = _with_label(labels, readable)
    if target_labels == "ignore" and not readable.any():
        raise ValueError(_no_source(domains))
    return DomainSplit(domains, *encode_labels(labels, readable))


def _with_label(labels: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``rows`` without the unlabelled ones; labels of other rows are not touched."""
    answer = rows.copy()
    answer[rows] = ~unlabelled(labels[rows])
    return answer


def _no_source(domains: Domains) -> str:
    if domains.has_source:
        return "y has no label on any source row; at least one labelled source row is needed."
    return (
        "sample_domain has no source row (>= 0), only target rows "
        f"{list(domains.target_labels)}; at least one labelled source row is needed."
    )


def _check_not_masked(labels: NDArray[Any], domains: Domains) -> None:
    """Refuse target labels that skada's pipeline has replaced by -1."""
    if labels.dtype.kind not in "if" or not (domains.has_source and domains.has_target):
        return
    if np.all(labels[domains.target] == -1) and not np.any(labels[domains.source] == -1):
        raise ValueError(
            "Every target label is -1 and no source label is: skada's pipelines hide target labels "
            "like this. This method uses target labels: build the pipeline with "
            "make_da_pipeline(..., mask_target_labels=False), or use "
            "sklearn.pipeline.make_pipeline with metadata routing. Rows that truly have "
            "no label are marked by NaN or None."
        )


def labelled_rows(y: Any, sample_domain: Any, n_rows: int) -> LabelledRows:
    """Rows that a plain machine uses: labelled source rows, or all labelled rows without domains.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    sample_domain : array-like of int of shape (n_rows,), int or None
    n_rows : int

    Returns
    -------
    LabelledRows

    Examples
    --------
    >>> labelled_rows([1, -1, 1], [0, 0, -1], 3).rows
    array([0, 1])
    """
    labels = label_array(y, n_rows)
    domains = Domains(check_sample_domain(0 if sample_domain is None else sample_domain, n_rows))
    used = _with_label(labels, domains.source)
    if not used.any():
        raise ValueError(_no_source(domains))
    codes, classes = encode_labels(labels, used)
    return LabelledRows(np.flatnonzero(used), codes[used], classes, bool(used.all()))
