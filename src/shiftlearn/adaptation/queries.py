"""Which rows to label next.

A rule gives every row of the pool a score from the model's own scores, and the rows with the
largest are asked for. With margins m_c(x) (the score of class c less the best other; ±f for two
classes) and the hinge loss L(u) = max(0, 1 - u), the published rules of Adapt-SVM (J. Yang, R. Yan,
A. G. Hauptmann, 2007) are

    prior        Σ_c P(c) L(m_c(x)),     the expected loss of the present model
    best-worst   -max_c m_c(x),          the smallest loss over all labels, ordered below its end

Both look at rows one by one. "diverse" spreads its rows over at most 20 clusters of the pool, each
with its share of the weight, where rows weigh more the less certain the model is of them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, check_random_state

from shiftlearn.adaptation.sources import Source, is_fitted, source_list

__all__ = ["QueryInfo", "select_queries"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_STRATEGIES = ("diverse", "prior", "best-worst", "random")
_CLUSTERED_ROWS = 20_000  # centres move little when more rows than this are sampled
_CLUSTERED_COLUMNS = 100
_ROUNDS = 10
_CLUSTERS = 20


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """How rows were chosen.

    Attributes
    ----------
    strategy : str
        The rule.
    scores : ndarray of shape (n_pool,), or None
        What the rule gave each row of the pool; for "diverse" the weight of its uncertainty.
    class_prior : float, ndarray or None
        The prior used by "prior": P(second class), or one number a class or a row.
    prior_from : str or None
        Where it came from.
    """

    strategy: str
    scores: Floats | None = None
    class_prior: Any = None
    prior_from: str | None = None


def select_queries(
    model: Any,
    X_pool: Any,
    n_queries: int,
    strategy: str = "diverse",
    class_prior: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    return_info: bool = False,
) -> Any:
    """Choose the rows of a pool that are worth labelling.

    The published rules score with the source; passing the model adapted so far instead, batch by
    batch, is the iterative variant (``exclude`` keeps labelled rows out).

    Parameters
    ----------
    model : classifier or callable
        A fitted classifier of any library, or a function that returns scores.
    X_pool : array-like, CSR or data frame of shape (n_pool, n_features)
        Rows without labels, in the form that the model takes.
    n_queries : int
        How many; all that are left, where the pool is smaller.
    strategy : {"diverse", "prior", "best-worst", "random"}, default="diverse"
        "diverse" spreads the rows over the pool and prefers uncertain ones. "prior" and
        "best-worst" are the published rules; "prior" finds rare positives. "random" is the
        baseline.
    class_prior : float or array-like, optional
        For "prior": P(second class), or one probability a class; or, with shape (n_pool,), the
        probability of the second class at each row. By default the first of: what the model knows
        of its source's classes (``class_prior_``, ``class_count_``, ``source_class_count_``); the
        labelled target rows of an adapted model, (n + 1) / (N + n_classes); the shares of the
        classes predicted in the pool; equal shares, with a warning.
    exclude : array-like of int, optional
        Rows of ``X_pool`` that are labelled already.
    random_state : int, RandomState or None, default=None
        Draws for "random" and "diverse" (None is a fixed draw for "diverse"); for the other rules
        it breaks ties, which otherwise fall to the smaller index.
    return_info : bool, default=False
        Also return a :class:`QueryInfo`.

    Returns
    -------
    ndarray of int of shape (n_queries,)
        Rows of ``X_pool``, the most wanted first.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import select_queries
    >>> pool = np.array([[-2.0], [0.1], [3.0], [-0.3]])
    >>> select_queries(lambda X: X[:, 0], pool, 2, strategy="best-worst")
    array([1, 3])
    """
    if strategy not in _STRATEGIES:
        raise ValueError(f"strategy must be one of {list(_STRATEGIES)}, got {strategy!r}.")
    n = X_pool.shape[0] if hasattr(X_pool, "shape") else len(X_pool)
    wanted = _count(n_queries)
    left = _left(exclude, n)
    info = QueryInfo(strategy)
    if strategy == "random" or not left.size or not wanted:
        chosen = check_random_state(random_state).permutation(left)
    else:
        margins = _margins(model, X_pool, n)
        if strategy == "diverse":
            weights = _uncertainty(margins)
            info = QueryInfo(strategy, weights)
            chosen = _diverse(X_pool, weights, left, wanted, random_state)
        else:
            info = _scored(strategy, model, margins, class_prior)
            chosen = _largest(info.scores, left, wanted, random_state)
    chosen = chosen[:wanted]
    return (chosen, info) if return_info else chosen


def _margins(model: Any, X: Any, n: int) -> Floats:
    """Score of each class less the best other, (n, n_classes)."""
    models = source_list(model)
    if len(models) != 1 or not is_fitted(models[0]):
        raise ValueError(f"model must be one fitted classifier or function, got {model!r}.")
    source = Source.of(models[0])
    scores = source.read(X, "margin")
    if scores.ndim == 1 or scores.shape[1] == 1:
        f = scores.reshape(n)
        return np.stack([-f, f], axis=1)
    top = np.partition(scores, -2, axis=1)[:, -2:]
    best_other = np.where(scores == top[:, 1:], top[:, :1], top[:, 1:])
    return np.asarray(scores - best_other)


def _scored(strategy: str, model: Any, margins: Floats, class_prior: Any) -> QueryInfo:
    if strategy == "best-worst":
        return QueryInfo(strategy, -margins.max(axis=1))
    prior, origin = _class_prior(model, margins, class_prior)
    scores = (prior * np.maximum(0.0, 1.0 - margins)).sum(axis=1)
    shown = prior[..., 1] if margins.shape[1] == 2 else prior
    return QueryInfo(strategy, scores, float(shown) if np.ndim(shown) == 0 else shown, origin)


def _class_prior(model: Any, margins: Floats, given: Any) -> tuple[Floats, str]:
    """Probability of each class, (n_classes,) or (n, n_classes), and where it came from."""
    n, k = margins.shape
    if given is not None:
        return _given_prior(given, n, k), "class_prior"
    for name in ("class_prior_", "class_count_", "source_class_count_"):
        known = getattr(model, name, None)
        if known is not None and np.shape(known) == (k,) and np.sum(known) > 0:
            return np.asarray(known, dtype=np.float64) / np.sum(known), name
    counts = getattr(model, "target_class_count_", None)
    if counts is not None and np.shape(counts) == (k,) and np.count_nonzero(counts) > 1:
        return (np.asarray(counts) + 1.0) / (np.sum(counts) + k), "labelled target rows"
    predicted = np.bincount(margins.argmax(axis=1), minlength=k) / n
    if np.count_nonzero(predicted) > 1:
        return predicted, "predictions in the pool"
    warnings.warn(
        "Nothing is known of the class proportions (the model predicts one class throughout the "
        "pool), so equal ones are assumed. Pass class_prior.",
        UserWarning,
        stacklevel=4,
    )
    return np.full(k, 1.0 / k), "equal shares"


def _given_prior(given: Any, n: int, k: int) -> Floats:
    prior = np.asarray(given, dtype=np.float64)
    if not np.isfinite(prior).all() or prior.min(initial=0.0) < 0 or prior.max(initial=0.0) > 1:
        raise ValueError(f"class_prior must hold probabilities between 0 and 1, got {given!r}.")
    if prior.shape == (k,) and np.isclose(prior.sum(), 1.0):
        return prior
    if k == 2 and prior.shape in ((), (n,)):
        return np.stack([1.0 - prior, prior], axis=-1)
    raise ValueError(
        f"class_prior must be {'P(second class), one such number a row, or ' if k == 2 else ''}"
        f"{k} probabilities with sum 1, got shape {prior.shape}."
    )


def _uncertainty(margins: Floats) -> Floats:
    """1 where the model cannot tell, falling to 0 with the distance from its boundary."""
    size = np.abs(margins.max(axis=1))
    unit = float(np.median(size))
    return np.asarray(1.0 / (1.0 + size / unit)) if unit > 0 else np.ones(len(size))


def _diverse(X: Any, weights: Floats, left: Ints, wanted: int, random_state: Any) -> Ints:
    """Rows drawn evenly along clusters laid end to end, each row as long as its weight.

    Every cluster gets its share of the weight, rounded. Centres themselves, one a row, were worse:
    they overstate the sparse regions of the pool.
    """
    if wanted >= left.size:
        return left[np.argsort(-weights[left], kind="stable")]
    rng = check_random_state(0 if random_state is None else random_state)
    Z, own = _coordinates(X, left, rng), weights[left]
    cluster = _clusters(Z, own, min(wanted, _CLUSTERS), rng)
    order = rng.permutation(left.size)
    order = order[np.argsort(cluster[order], kind="stable")]
    ends = np.cumsum(own[order])
    places = (rng.random_sample() + np.arange(wanted)) / wanted * ends[-1]
    found = order[np.minimum(np.searchsorted(ends, places), left.size - 1)]
    chosen = np.unique(found)  # a row longer than a step is found twice
    if len(chosen) < wanted:
        others = np.setdiff1d(order, chosen)
        more = others[np.argsort(-own[others], kind="stable")][: wanted - len(chosen)]
        chosen = np.concatenate([chosen, more])
    return np.asarray(left[chosen[np.argsort(-own[chosen], kind="stable")]])


def _clusters(Z: Floats, weights: Floats, k: int, rng: Any) -> Ints:
    """The cluster of each row, by a weighted k-means on at most so many rows."""
    from sklearn.cluster import KMeans

    some: Any = slice(None)
    if len(Z) > _CLUSTERED_ROWS:
        some = rng.permutation(len(Z))[:_CLUSTERED_ROWS]
    found = KMeans(k, n_init=1, max_iter=_ROUNDS, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than centres: centres coincide
        found.fit(Z[some], sample_weight=weights[some])
    return np.asarray(found.predict(Z), dtype=np.intp)


def _coordinates(X: Any, left: Ints, rng: Any) -> Floats:
    """The rows as dense numbers; wide ones through a random projection, which keeps distances."""
    rows = check_array(X, accept_sparse="csr", dtype=np.float64)[left]
    if rows.shape[1] > _CLUSTERED_COLUMNS:
        shape = (rows.shape[1], _CLUSTERED_COLUMNS)
        rows = rows @ (rng.standard_normal(shape) / np.sqrt(_CLUSTERED_COLUMNS))
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _largest(scores: Floats | None, left: Ints, wanted: int, random_state: Any) -> Ints:
    """The rows of the largest scores in order; ties by index, or by a draw."""
    assert scores is not None
    values = -scores[left]
    if wanted < left.size:  # ties at the end are all kept until they are ordered
        end = np.partition(values, wanted - 1)[wanted - 1] if wanted else -np.inf
        inside = values <= end
        left, values = left[inside], values[inside]
    ties = np.arange(left.size)
    if random_state is not None:
        ties = check_random_state(random_state).permutation(left.size)
    return left[np.lexsort((ties, values))]


def _left(exclude: ArrayLike | None, n: int) -> Ints:
    """Rows of the pool that may be asked for."""
    if exclude is None:
        return np.arange(n)
    gone = np.atleast_1d(np.asarray(exclude))
    if gone.size == 0:
        return np.arange(n)
    if gone.dtype.kind not in "iu" or gone.min() < 0 or gone.max() >= n:
        raise ValueError(
            f"exclude must hold row numbers of X_pool between 0 and {n - 1}, got {exclude!r}."
        )
    return np.setdiff1d(np.arange(n), gone)


def _count(n_queries: Any) -> int:
    if isinstance(n_queries, bool) or not isinstance(n_queries, (int, np.integer)) or n_queries < 0:
        raise ValueError(f"n_queries must be a whole number >= 0, got {n_queries!r}.")
    return int(n_queries)
