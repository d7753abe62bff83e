"""How well a classifier can tell the domains apart.

The problem: the area under the ROC curve P(s(y) > s(x)) + ½ P(s(y) = s(x)) for x from the source,
y from the target and a score s learnt to separate them: 1/2 where nothing moved (that this
classifier can see), 1 where the domains do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.resources import n_threads
from shiftlearn.shift.rows import check_pair, draw_rows, is_sparse, stack_pair

__all__ = ["DomainAUC", "domain_auc", "domain_classifier", "domain_scores"]


@dataclass(frozen=True, slots=True)
class DomainAUC:
    """Outcome of :func:`domain_auc`.

    Attributes
    ----------
    auc : float
        Mean of the folds' areas.
    low, high : float
        Ends of the confidence interval.
    level : float
        Its confidence.
    fold_aucs : tuple of float
    """

    auc: float
    low: float
    high: float
    level: float
    fold_aucs: tuple[float, ...]


def domain_auc(
    X: Any,
    Y: Any,
    classifier: Any = None,
    *,
    cv: int = 5,
    level: float = 0.95,
    max_rows: int | None = 20_000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> DomainAUC:
    r"""Cross-validated area under the ROC curve of a classifier of X against Y.

    .. math:: \mathrm{AUC} = \frac1V \sum_{v=1}^V \frac1{m_v n_v} \sum_{i,j}
        \Big[1\{s_v(y_j) > s_v(x_i)\} + \tfrac12 1\{s_v(y_j) = s_v(x_i)\}\Big],

    the sums over the held-out rows of fold v, the score :math:`s_v` learnt on the other folds.

    Parameters
    ----------
    X, Y : array-like or CSR of shape (m, p), (n, p)
        Source and target rows; frames are matched by column name.
    classifier : estimator, optional
        Anything with ``predict_proba`` or ``decision_function``; cloned. None: the mean of the
        probabilities of a logistic regression on standardised columns and of extremely random
        trees (a linear score alone is blind to domains that were standardised each by itself); for
        sparse rows the logistic regression alone.
    cv : int
        Number of folds V, stratified and shuffled.
    level : float
        Confidence of the interval: normal, with the variance of DeLong et al. (1988) in each fold,
        the folds taken as independent (LeDell et al., 2015). Where no pair is in the wrong
        order, the exact binomial bound for min(m, n) trials takes its place.
    max_rows : int or None
        At most so many rows of each sample are used, drawn at random.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads of the default classifier's trees.

    Returns
    -------
    DomainAUC

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44 (1988). E. LeDell,
    M. Petersen and M. van der Laan, Electronic Journal of Statistics 9 (2015).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 3)), rng.normal([1.0, 0, 0], size=(150, 3))
    >>> result = domain_auc(X, Y, random_state=0)
    >>> 0.6 < result.low < result.auc < result.high < 0.9
    True
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level!r}.")
    scores, is_target, fold = domain_scores(
        X, Y, classifier, cv=cv, max_rows=max_rows, random_state=random_state, n_jobs=n_jobs
    )
    parts = [
        _auc_and_variance(scores[(fold == v) & ~is_target], scores[(fold == v) & is_target])
        for v in range(cv)
    ]
    aucs = np.array([auc for auc, _ in parts])
    error = float(np.sqrt(sum(variance for _, variance in parts))) / cv
    auc = float(aucs.mean())
    fewest = int(min(is_target.sum(), (~is_target).sum()))
    low, high = _interval(auc, error, level, fewest)
    return DomainAUC(auc, low, high, level, tuple(aucs.tolist()))


def domain_scores(
    X: Any,
    Y: Any,
    classifier: Any = None,
    *,
    cv: int = 5,
    max_rows: int | None = 20_000,
    random_state: Any = None,
    n_jobs: int | None = None,
    probabilities: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.intp]]:
    """Out-of-fold scores of a domain classifier, which rows are from Y, and each row's fold.

    ``probabilities`` asks for P(row is from Y) and refuses classifiers without it.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold
    from sklearn.utils import check_random_state

    X, Y = check_pair(X, Y)
    rng = check_random_state(random_state)
    X, Y = draw_rows(X, max_rows, rng), draw_rows(Y, max_rows, rng)
    _check_folds(cv, X.shape[0], Y.shape[0])
    pooled = stack_pair(X, Y)
    is_target = np.arange(pooled.shape[0]) >= X.shape[0]
    if classifier is None:
        classifier = domain_classifier(is_sparse(pooled), rng, n_jobs)
    score = _score_method(classifier, probabilities)
    scores, fold = np.empty(len(is_target)), np.empty(len(is_target), dtype=np.intp)
    folds = StratifiedKFold(cv, shuffle=True, random_state=rng.randint(2**31 - 1))
    for v, (train, test) in enumerate(folds.split(is_target, is_target)):
        model = clone(classifier).fit(pooled[train], is_target[train])
        values = np.asarray(getattr(model, score)(pooled[test]), dtype=np.float64)
        scores[test] = values[:, 1] if values.ndim == 2 else values
        fold[test] = v
    return scores, is_target, fold


def domain_classifier(sparse: bool, random_state: Any = None, n_jobs: int | None = None) -> Any:
    """Return the default classifier, which sees moved means and moved shapes."""
    from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    linear = make_pipeline(StandardScaler(with_mean=not sparse), LogisticRegression(max_iter=1000))
    if sparse:
        return linear
    seed = random_state.randint(2**31 - 1) if hasattr(random_state, "randint") else random_state
    trees = ExtraTreesClassifier(
        100, min_samples_leaf=5, random_state=seed, n_jobs=n_threads(n_jobs)
    )
    return VotingClassifier([("linear", linear), ("trees", trees)], voting="soft")


def _check_folds(cv: int, m: int, n: int) -> None:
    if not (isinstance(cv, int | np.integer) and cv >= 2):
        raise ValueError(f"cv must be an integer >= 2, got {cv!r}.")
    if min(m, n) < 2 * cv:
        raise ValueError(
            f"cv={cv} needs at least {2 * cv} rows in each sample, got {m} in X and {n} in Y."
        )


def _score_method(classifier: Any, probabilities: bool) -> str:
    if hasattr(classifier, "predict_proba"):
        return "predict_proba"
    if hasattr(classifier, "decision_function") and not probabilities:
        return "decision_function"
    needed = "predict_proba" if probabilities else "predict_proba or decision_function"
    raise TypeError(f"classifier must have {needed}, which {type(classifier).__name__} has not.")


def _auc_and_variance(
    source: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[float, float]:
    """AUC and DeLong's variance from midranks, in n log n."""
    from scipy.stats import rankdata

    m, n = len(source), len(target)
    ranks = rankdata(np.concatenate([source, target]))
    of_target = (ranks[m:] - rankdata(target)) / m  # P(source score below this one)
    of_source = 1 - (ranks[:m] - rankdata(source)) / n
    variance = of_target.var(ddof=1) / n + of_source.var(ddof=1) / m
    return float(of_target.mean()), float(variance)


def _interval(auc: float, error: float, level: float, fewest: int) -> tuple[float, float]:
    from scipy.stats import norm

    reach = norm.ppf((1 + level) / 2) * error
    exact = ((1 - level) / 2) ** (1 / fewest)  # all of `fewest` trials went one way
    low = min(auc - reach, exact) if auc == 1 else auc - reach
    high = max(auc + reach, 1 - exact) if auc == 0 else auc + reach
    return float(max(low, 0.0)), float(min(high, 1.0))
