"""The one form in which loaders and generators give their data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dataset", "check_count"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with labels and, where the data have them, domains.

    Attributes
    ----------
    data : ndarray, sparse matrix or list of str
        The rows: numbers, or raw texts.
    target : ndarray
        The labels as published, one a row.
    target_names : tuple of str
        The classes, sorted.
    description : str
        What it is, where it comes from, what to know before use.
    domain : ndarray of int or None
        Number of each row's domain (task, inbox, speaker group); for data with a fixed source and
        target the library's own convention, ``>= 0`` source and ``< 0`` target.
    domain_names : dict of int to str
        Names of the domains.
    feature_names : tuple of str
        Names of the columns where they are known.
    ids : ndarray or None
        The publisher's identifier of each row.

    Examples
    --------
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> moons = make_rotated_moons(angle=30, random_state=0)
    >>> moons.data.shape, moons.target_names
    ((1200, 2), ('-1', '1'))
    """

    data: Any
    target: NDArray[Any]
    target_names: tuple[str, ...]
    description: str
    domain: NDArray[np.int64] | None = None
    domain_names: Mapping[int, str] = field(default_factory=dict)
    feature_names: tuple[str, ...] = ()
    ids: NDArray[Any] | None = None

    def __repr__(self) -> str:
        shape = self.data.shape if hasattr(self.data, "shape") else (len(self.data),)
        domains = f", {len(self.domain_names)} domains" if self.domain_names else ""
        rows = " x ".join(str(length) for length in shape)
        return f"<Dataset {rows}, {len(self.target_names)} classes{domains}>"

    def split(self) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """Rows and labels of the source (``domain >= 0``) and of the target (``domain < 0``).

        Returns
        -------
        Xs, ys, Xt, yt
            The parts, in the order of the rows.

        Examples
        --------
        >>> from shiftlearn.datasets import make_rotated_moons
        >>> Xs, ys, Xt, yt = make_rotated_moons(30, random_state=0).split()
        >>> Xs.shape, Xt.shape
        ((600, 2), (600, 2))
        """
        source = self._domains() >= 0
        return (
            self._rows(source),
            self.target[source],
            self._rows(~source),
            self.target[~source],
        )

    def sample_domain(self, target: int | str) -> NDArray[np.int64]:
        """``sample_domain`` for one domain as the target and the others as sources.

        Parameters
        ----------
        target : int or str
            Number or name of the domain that becomes the target.

        Returns
        -------
        ndarray of int
            The domain numbers, the target's as -1 minus its number.

        Examples
        --------
        >>> import numpy as np
        >>> from shiftlearn.datasets import Dataset
        >>> inboxes = Dataset(np.eye(3), np.array([0, 1, 1]), ("0", "1"), "",
        ...                   domain=np.array([0, 1, 2]), domain_names={0: "a", 1: "b", 2: "c"})
        >>> inboxes.sample_domain("b").tolist()
        [0, -2, 2]
        """
        domain = self._domains()
        numbers = {name: number for number, name in self.domain_names.items()}
        number = numbers.get(target, -1) if isinstance(target, str) else target
        if number < 0 or not np.any(domain == number):
            known = ", ".join(f"{n} ({name})" for n, name in self.domain_names.items())
            raise ValueError(f"target={target!r} is no domain of these data; they have {known}.")
        return np.where(domain == number, -1 - number, domain)

    def _domains(self) -> NDArray[np.int64]:
        if self.domain is None:
            raise ValueError("These data have no domains; sample_domain and split need them.")
        return self.domain

    def _rows(self, chosen: NDArray[np.bool_]) -> Any:
        if isinstance(self.data, list):
            return [self.data[i] for i in np.flatnonzero(chosen)]
        return self.data[chosen]


def check_count(what: str, found: int, needed: int) -> None:
    """Raise unless a published file holds as many rows as it should."""
    if found != needed:
        raise ValueError(
            f"{what} holds {found} rows, the published file has {needed}: it is incomplete or "
            "another version. Remove it and get it again."
        )


def class_names(target: NDArray[Any]) -> tuple[str, ...]:
    """Sorted classes as text."""
    return tuple(str(label) for label in np.unique(target))
