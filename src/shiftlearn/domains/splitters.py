"""Cross-validation that keeps both domains in training and scores on one of them.

The problem: split the rows of the scored domain (the target, unless told otherwise) into folds
whose counts of each (domain, class) pair differ by at most one row, and put everything else into
every training part. Scored rows are those with a label; where the scored domain has no label at
all, they are all its rows (for scores that need no labels).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from shiftlearn.domains.checks import check_sample_domain
from shiftlearn.domains.labels import label_array, unlabelled

__all__ = ["DomainKFold", "SourceTargetSplit"]

ScoreOn = Literal["target", "source", "both"]


class _DomainSplitter(BaseCrossValidator):
    """Rows outside the scored domain are in every training part."""

    # `groups` too, so that the call that serves without routing goes on to serve with it.
    __metadata_request__split: ClassVar[dict[str, Any]] = {"sample_domain": True, "groups": True}

    score_on: ScoreOn
    random_state: Any

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, sample_domain: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield row indices for training and for scoring.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,), optional
            Used to stratify and to leave unlabelled rows out of the scoring.
        groups : array-like of int of shape (n,), optional
            ``sample_domain`` for callers without metadata routing:
            ``fit(X, y, sample_domain=d, groups=d)``.
        sample_domain : array-like of int of shape (n,), optional
            ``>= 0`` source, ``< 0`` target.

        Yields
        ------
        train, test : ndarray of intp
        """
        n_rows = _num_samples(X)
        domains = _one_of(sample_domain, groups, n_rows, type(self).__name__)
        labels = None if y is None else label_array(y, n_rows)
        scored = _scored_rows(domains, labels, self.score_on)
        strata = _strata(domains[scored], None if labels is None else labels[scored])
        every = np.arange(n_rows)
        for chosen in self._parts(strata):
            test = scored[chosen]
            yield np.delete(every, test), test

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, sample_domain: Any = None
    ) -> int:
        """Return the number of splits; the arguments are not looked at."""
        return int(self.n_splits)

    def _parts(self, strata: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        raise NotImplementedError


class DomainKFold(_DomainSplitter):
    """K folds over the rows of one domain; all other rows are in every training part.

    With scored rows S split into folds F_1, ..., F_K, the k-th training part is all rows but F_k.
    Folds are stratified by (domain, class): the counts differ by at most one from fold to fold.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    score_on : {"target", "source", "both"}
        The domain that is scored. Unlabelled rows of it stay in training, unless none has a label:
        then all are scored, which only scores without labels can use.
    shuffle : bool
        Shuffle within each (domain, class) before the folds are cut.
    random_state : int, RandomState or None
        Only used with ``shuffle=True``.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((6, 1)), [0, 1, 0, 1, 0, 1]
    >>> sample_domain = [1, 1, -2, -2, -2, -2]
    >>> for train, test in DomainKFold(2).split(X, y, sample_domain=sample_domain):
    ...     print(train, test)
    [0 1 4 5] [2 3]
    [0 1 2 3] [4 5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        score_on: ScoreOn = "target",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        if not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise ValueError(f"n_splits must be an integer >= 2, got {n_splits!r}.")
        _check_score_on(score_on)
        self.n_splits = n_splits
        self.score_on = score_on
        self.shuffle = shuffle
        self.random_state = random_state

    def _parts(self, strata: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        if len(strata) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {len(strata)} rows to score "
                f"(score_on={self.score_on!r})."
            )
        rng = check_random_state(self.random_state) if self.shuffle else None
        fold = _stratified_folds(strata, self.n_splits, rng)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold == k)


class SourceTargetSplit(_DomainSplitter):
    """Random train-test splits of one domain; all other rows are in every training part.

    Of the n scored rows, round(n * test_size) are held out, drawn in proportion from each
    (domain, class).

    Parameters
    ----------
    test_size : float in (0, 1) or int
        Share or number of the scored rows to hold out.
    n_splits : int
        Number of independent splits.
    score_on : {"target", "source", "both"}
        The domain that is scored; see :class:`DomainKFold`.
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> split = SourceTargetSplit(test_size=0.5, random_state=0)
    >>> train, test = next(split.split(np.zeros((4, 1)), sample_domain=[1, 1, -2, -2]))
    >>> train[:2], len(test)
    (array([0, 1]), 1)
    """

    def __init__(
        self,
        test_size: float = 0.3,
        *,
        n_splits: int = 1,
        score_on: ScoreOn = "target",
        random_state: Any = None,
    ) -> None:
        whole = isinstance(test_size, int | np.integer) and test_size >= 1
        share = isinstance(test_size, float | np.floating) and 0 < test_size < 1
        if not (whole or share):
            raise ValueError(
                f"test_size must be a share in (0, 1) or an integer >= 1, got {test_size!r}."
            )
        if not isinstance(n_splits, int | np.integer) or n_splits < 1:
            raise ValueError(f"n_splits must be an integer >= 1, got {n_splits!r}.")
        _check_score_on(score_on)
        self.test_size = test_size
        self.n_splits = n_splits
        self.score_on = score_on
        self.random_state = random_state

    def _parts(self, strata: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        n_test = self._n_test(len(strata))
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            yield _stratified_draw(strata, n_test, rng)

    def _n_test(self, n: int) -> int:
        if n < 2:
            raise ValueError(
                f"At least 2 rows to score are needed (score_on={self.score_on!r}), found {n}."
            )
        if self.test_size >= 1:
            if self.test_size >= n:
                raise ValueError(f"test_size={self.test_size} leaves none of the {n} rows.")
            return int(self.test_size)
        return min(n - 1, max(1, round(n * self.test_size)))


def _check_score_on(score_on: str) -> None:
    if score_on not in ("target", "source", "both"):
        raise ValueError(f'score_on must be "target", "source" or "both", got {score_on!r}.')


def _one_of(sample_domain: Any, groups: Any, n_rows: int, name: str) -> NDArray[np.int64]:
    """The domain labels, from whichever argument brought them."""
    if sample_domain is None and groups is None:
        raise ValueError(
            f"{name} needs the domain of each row: pass sample_domain (with metadata routing) or "
            "groups (without: fit(X, y, sample_domain=d, groups=d))."
        )
    if sample_domain is None:
        return check_sample_domain(groups, n_rows, "groups")
    domains = check_sample_domain(sample_domain, n_rows)
    if groups is not None and np.any(check_sample_domain(groups, n_rows, "groups") != domains):
        raise ValueError(f"{name} reads sample_domain and groups, and they differ; pass one.")
    return domains


def _scored_rows(
    domains: NDArray[np.int64], labels: NDArray[Any] | None, score_on: str
) -> NDArray[np.intp]:
    in_domain = {
        "target": domains < 0,
        "source": domains >= 0,
        "both": np.ones(len(domains), dtype=bool),
    }[score_on]
    if not in_domain.any():
        sign = "< 0" if score_on == "target" else ">= 0"
        raise ValueError(f"sample_domain has no {score_on} row ({sign}), so nothing can be scored.")
    if labels is None:
        return np.flatnonzero(in_domain)
    sides = (in_domain & (domains >= 0), in_domain & (domains < 0))
    return np.sort(
        np.concatenate([_labelled_if_any(np.flatnonzero(side), labels) for side in sides])
    )


def _labelled_if_any(rows: NDArray[np.intp], labels: NDArray[Any]) -> NDArray[np.intp]:
    known = rows[~unlabelled(labels[rows])]
    return known if len(known) else rows


def _strata(domains: NDArray[np.int64], labels: NDArray[Any] | None) -> NDArray[np.intp]:
    """Number of the (domain, class) pair of each row; classes only where labels are classes."""
    _, stratum = np.unique(domains, return_inverse=True)
    if labels is None or _continuous(labels):
        return stratum
    _, label = np.unique(labels.astype(str), return_inverse=True)
    _, pair = np.unique(np.stack([stratum, label]), axis=1, return_inverse=True)
    return np.asarray(pair).ravel()


def _continuous(labels: NDArray[Any]) -> bool:
    if labels.dtype.kind != "f":
        return False
    known = labels[~np.isnan(labels)]
    return bool(np.any(known != np.floor(known)))


def _stratified_folds(
    strata: NDArray[np.intp], n_folds: int, rng: np.random.RandomState | None
) -> NDArray[np.intp]:
    """Fold of each row: contiguous pieces of each stratum, sizes even over all folds."""
    fold = np.empty(len(strata), dtype=np.intp)
    order = np.argsort(strata, kind="stable")
    dealt = np.empty(len(strata), dtype=np.intp)
    dealt[order] = np.arange(len(strata)) % n_folds
    for stratum in range(strata.max() + 1):
        rows = np.flatnonzero(strata == stratum)
        pieces = np.sort(dealt[rows])
        fold[rows] = pieces if rng is None else rng.permutation(pieces)
    return fold


def _stratified_draw(
    strata: NDArray[np.intp], n_test: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw ``n_test`` rows spread evenly over the strata.

    Rows are shuffled, ordered by stratum, and taken at equal steps from a random start.
    """
    shuffled = rng.permutation(len(strata))
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    steps = (np.arange(n_test) + rng.uniform()) * (len(strata) / n_test)
    return np.sort(order[steps.astype(np.intp)])
