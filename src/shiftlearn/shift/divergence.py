r"""Jensen-Shannon divergence of two samples: how far apart the domains are, between 0 and 1.

The problem: estimate, with Q' = (P + Q) / 2,

    D(P, Q) = ½ KL(P ‖ Q') + ½ KL(Q ‖ Q')    in bits, so that 0 <= D <= 1,

from x_1..x_m of P and y_1..y_n of Q. Three forms: on a grid (one or two columns) and leave-one-out
over the rows (more), both with Gaussian product-kernel densities of bandwidths
h_j = std_j n^(-1/(p+4)) in each sample; and by a classifier of the domains σ, 1 - E H2(σ),
H2 the binary entropy.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftlearn.resources import memory_budget
from shiftlearn.shift.classifier import domain_scores
from shiftlearn.shift.rows import check_pair, draw_rows, is_sparse, to_dense

__all__ = ["feature_jensen_shannon", "jensen_shannon"]

Floats = NDArray[np.float64]

_KDE_COLUMNS = 10  # above, "auto" takes the classifier: kernel densities fail in many dimensions
_COARSEST = 50
_FINEST = {1: 2048, 2: 256}


def jensen_shannon(
    X: Any,
    Y: Any,
    *,
    method: Literal["auto", "kde", "classifier"] = "auto",
    classifier: Any = None,
    cv: int = 5,
    max_rows: int | None = 5_000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float:
    r"""Jensen-Shannon divergence between the distributions of two samples, in bits.

    .. math:: D = \tfrac12 \int p \log_2 \frac{2p}{p+q} + \tfrac12 \int q \log_2 \frac{2q}{p+q}

    With ``method="kde"`` the densities are Gaussian product-kernel estimates with bandwidths
    :math:`h_j = \mathrm{std}_j\, n^{-1/(p+4)}` per sample. One or two columns: both densities
    on a common grid over the range of all rows, 0.9 standard deviations wider on each side, and
    renormalised there. More columns:

    .. math:: \hat D = \frac1{2m} \sum_i \log_2 \frac{\hat p(x_i)}{\hat q'(x_i)}
        + \frac1{2n} \sum_j \log_2 \frac{\hat q(y_j)}{\hat q'(y_j)}, \qquad q' = (p + q)/2,

    where a row does not count in the density at itself, clipped to [0, 1]. With
    ``method="classifier"`` it is :math:`1 - E\, H_2(\hat\sigma(x))`, :math:`\hat\sigma` the
    out-of-fold probability of the domain with both domains of equal weight.

    Parameters
    ----------
    X, Y : array-like or CSR of shape (m, p), (n, p)
        Frames are matched by column name.
    method : {"auto", "kde", "classifier"}
        "auto": densities up to 10 dense columns, else the classifier.
    classifier : estimator with ``predict_proba``, optional
        See :func:`domain_auc`. Its probabilities are corrected for the sizes of the samples.
    cv : int
        Folds of the classifier form.
    max_rows : int or None
        At most so many rows of each sample, drawn at random, in the forms with cost m · n or a
        classifier; the grid takes all.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads of the default classifier.

    Returns
    -------
    float
        0 for equal distributions, 1 for disjoint ones.

    See Also
    --------
    feature_jensen_shannon : the same for each column by itself.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(500, 1)), rng.normal(2.0, size=(500, 1))
    >>> jensen_shannon(X, X), 0.4 < jensen_shannon(X, Y) < 0.6
    (0.0, True)
    """
    from sklearn.utils import check_random_state

    if method not in ("auto", "kde", "classifier"):
        raise ValueError(f'method must be "auto", "kde" or "classifier", got {method!r}.')
    X, Y = check_pair(X, Y)
    if method == "auto":
        small = not is_sparse(X) and X.shape[1] <= _KDE_COLUMNS
        method = "kde" if small else "classifier"
    rng = check_random_state(random_state)
    if method == "classifier":
        return _by_classifier(X, Y, classifier, cv, max_rows, rng, n_jobs)
    if X.shape[1] > 2:
        X, Y = draw_rows(X, max_rows, rng), draw_rows(Y, max_rows, rng)
    return _by_densities(to_dense(X).astype(np.float64), to_dense(Y).astype(np.float64))


def feature_jensen_shannon(X: Any, Y: Any) -> Floats:
    r"""Jensen-Shannon divergence of each column by itself, in bits.

    .. math:: D_j = D(P_j, Q_j), \qquad P_j, Q_j \text{ the distributions of column } j,

    on the grid of :func:`jensen_shannon` for one column.

    Parameters
    ----------
    X, Y : array-like or CSR of shape (m, p), (n, p)
        Frames are matched by column name.

    Returns
    -------
    ndarray of shape (p,)

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(500, 2)), rng.normal([0.0, 3.0], size=(500, 2))
    >>> feature_jensen_shannon(X, Y).round(1)
    array([0. , 0.7])
    """
    X, Y = check_pair(X, Y)
    if is_sparse(X):
        X, Y = X.tocsc(), Y.tocsc()
    return np.array([_by_densities(_column(X, j), _column(Y, j)) for j in range(X.shape[1])])


def _column(X: Any, j: int) -> Floats:
    return to_dense(X[:, [j]]).astype(np.float64)


def _by_classifier(
    X: Any, Y: Any, classifier: Any, cv: int, max_rows: int | None, rng: Any, n_jobs: int | None
) -> float:
    from scipy.special import entr

    probability, is_target, _ = domain_scores(
        X,
        Y,
        classifier,
        cv=cv,
        max_rows=max_rows,
        random_state=rng,
        n_jobs=n_jobs,
        probabilities=True,
    )
    share = is_target.mean()
    target, source = probability / share, (1 - probability) / (1 - share)
    balanced = target / (target + source)
    entropy = (entr(balanced) + entr(1 - balanced)) / np.log(2)
    mean = (entropy[is_target].mean() + entropy[~is_target].mean()) / 2
    return float(np.clip(1 - mean, 0, 1))


def _by_densities(X: Floats, Y: Floats) -> float:
    moving = np.any(np.concatenate([X, Y]) != X[0], axis=0)  # constant columns say nothing
    if not moving.any():
        return 0.0
    X, Y = X[:, moving], Y[:, moving]
    return _on_grid(X, Y) if X.shape[1] <= 2 else _leave_one_out(X, Y)


def _on_grid(X: Floats, Y: Floats) -> float:
    """Both densities on one grid over one or two columns."""
    low, high = _padded_range(np.concatenate([X, Y]))
    smallest = (high - low) / (_FINEST[X.shape[1]] - 1)
    bandwidths = [np.maximum(_bandwidth(rows), smallest) for rows in (X, Y)]
    axes = [
        np.linspace(
            low[j], high[j], _grid_size(X.shape[1], (high - low)[j], np.min(bandwidths, axis=0)[j])
        )
        for j in range(X.shape[1])
    ]
    p, q = (_grid_density(rows, h, axes) for rows, h in zip((X, Y), bandwidths))
    return _divergence(p, q)


def _padded_range(pooled: Floats) -> tuple[Floats, Floats]:
    margin = 0.9 * pooled.std(axis=0, ddof=1)
    return pooled.min(axis=0) - margin, pooled.max(axis=0) + margin


def _bandwidth(rows: Floats) -> Floats:
    n, p = rows.shape
    return np.asarray(rows.std(axis=0, ddof=1) * n ** (-1 / (p + 4)))


def _grid_size(p: int, length: float, bandwidth: float) -> int:
    """Points so that two fit into the narrowest kernel's standard deviation, within bounds."""
    return int(np.clip(np.ceil(2 * length / bandwidth), _COARSEST, _FINEST[p]))


def _grid_density(rows: Floats, h: Floats, axes: list[Floats]) -> Floats:
    """Mass of the density at the grid points by the trapezoidal rule, one in sum."""
    total = np.zeros([len(axis) for axis in axes])
    size = max(1, memory_budget("auto") // (16 * sum(total.shape)))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        factors = [
            np.exp(-0.5 * ((axis[:, None] - block[:, j]) / h[j]) ** 2)
            for j, axis in enumerate(axes)
        ]
        for factor in factors:
            factor[[0, -1]] /= 2
        total += factors[0].sum(axis=1) if len(factors) == 1 else factors[0] @ factors[1].T
    return np.asarray(total / total.sum())


def _divergence(p: Floats, q: Floats) -> float:
    from scipy.special import rel_entr

    middle = (p + q) / 2
    value = (rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / (2 * np.log(2))
    return float(np.clip(value, 0, 1))


def _leave_one_out(X: Floats, Y: Floats) -> float:
    smallest = 1e-3 * np.concatenate([X, Y]).std(axis=0, ddof=1)
    h_x, h_y = np.maximum(_bandwidth(X), smallest), np.maximum(_bandwidth(Y), smallest)
    at_x = _log2_share(_log_density(X, X, h_x, True), _log_density(X, Y, h_y, False))
    at_y = _log2_share(_log_density(Y, Y, h_y, True), _log_density(Y, X, h_x, False))
    return float(np.clip((at_x.mean() + at_y.mean()) / 2, 0, 1))


def _log2_share(log_own: Floats, log_other: Floats) -> Floats:
    """log2 of own / ((own + other) / 2)."""
    return np.asarray((log_own - np.logaddexp(log_own, log_other)) / np.log(2) + 1)


def _log_density(at: Floats, rows: Floats, h: Floats, same: bool) -> Floats:
    """Log density of ``rows`` at ``at``, less a common constant; ``same``: a row is not its own."""
    from scipy.spatial.distance import cdist
    from scipy.special import logsumexp

    n = len(rows) - same
    values = np.empty(len(at))
    size = max(1, memory_budget("auto") // (32 * len(rows)))
    for start in range(0, len(at), size):
        exponent = -0.5 * cdist(at[start : start + size] / h, rows / h, "sqeuclidean")
        if same:
            np.fill_diagonal(exponent[:, start:], -np.inf)
        values[start : start + size] = logsumexp(exponent, axis=1)
    return np.asarray(values - np.log(n) - np.log(h).sum())
