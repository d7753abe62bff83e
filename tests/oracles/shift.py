"""Measures of shift computed slowly and plainly: loops over pairs of rows, SciPy's densities."""

import numpy as np
from scipy.stats import gaussian_kde


def mmd_unbiased(X, Y, k):
    """The three averages of the definition, pair by pair."""
    m, n = len(X), len(Y)
    xx = sum(k(X[i], X[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    yy = sum(k(Y[i], Y[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    xy = sum(k(X[i], Y[j]) for i in range(m) for j in range(n)) / (m * n)
    return xx + yy - 2 * xy


def auc_and_variance(source, target):
    """Mann-Whitney pair by pair, and DeLong's variance from its structural components."""
    wins = np.array([[float(t > s) + 0.5 * (t == s) for s in source] for t in target])
    of_target, of_source = wins.mean(axis=1), wins.mean(axis=0)
    variance = np.var(of_target, ddof=1) / len(target) + np.var(of_source, ddof=1) / len(source)
    return wins.mean(), variance


def jensen_shannon_one_column(x, y, points=20_000):
    """Riemann sum over SciPy's kernel densities on a fine grid of the padded range."""
    pooled = np.concatenate([x, y])
    margin = 0.9 * pooled.std(ddof=1)
    grid = np.linspace(pooled.min() - margin, pooled.max() + margin, points)
    p, q = (gaussian_kde(rows, "scott")(grid) for rows in (x, y))
    for density in (p, q):
        density[[0, -1]] /= 2
    return _divergence(p / p.sum(), q / q.sum())


def jensen_shannon_of_normals(mean, std, points=200_001):
    """Of N(0, 1) and N(mean, std²), by quadrature."""
    grid = np.linspace(-12 - 12 * std, 12 + mean + 12 * std, points)
    p = np.exp(-0.5 * grid**2)
    q = np.exp(-0.5 * ((grid - mean) / std) ** 2)
    return _divergence(p / p.sum(), q / q.sum())


def jensen_shannon_leave_one_out(X, Y):
    """Row by row, with a density that leaves the row itself out."""

    def density(at, rows):
        n, p = len(rows), rows.shape[1]
        h = full[id(rows)].std(axis=0, ddof=1) * len(full[id(rows)]) ** (-1 / (p + 4))
        kernels = [np.exp(-0.5 * np.sum(((at - row) / h) ** 2)) for row in rows]
        return sum(kernels) / (n * np.prod(h))

    full = {}

    def part(own, other):
        values = []
        for i in range(len(own)):
            rest = np.delete(own, i, axis=0)
            full.update({id(rest): own, id(other): other})
            p, q = density(own[i], rest), density(own[i], other)
            values.append(np.log2(p / ((p + q) / 2)))
        return np.mean(values)

    return (part(X, Y) + part(Y, X)) / 2


def pareto_shape(weights):
    """Zhang and Stephens' estimate for the tail of the weights, then ten rows' worth of 1/2."""
    ordered = sorted(weights)
    size = int(min(0.2 * len(ordered), 3 * len(ordered) ** 0.5))
    tail = [w - ordered[-size - 1] for w in ordered[-size:]]
    quarter = tail[int(size / 4 + 0.5) - 1]
    m = 30 + int(size**0.5)
    candidates = [
        1 / tail[-1] + (1 - (m / (j - 0.5)) ** 0.5) / (3 * quarter) for j in range(1, m + 1)
    ]

    def shape(b):
        return sum(np.log(1 - b * z) for z in tail) / size

    def profile(b):
        return size * (np.log(-b / shape(b)) - shape(b) - 1)

    chances = [1 / sum(np.exp(profile(c) - profile(b)) for c in candidates) for b in candidates]
    k = shape(sum(chance * b for chance, b in zip(chances, candidates, strict=True)))
    return (size * k + 10 * 0.5) / (size + 10)


def _divergence(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.nansum(p * np.log2(2 * p / (p + q)))
        right = np.nansum(q * np.log2(2 * q / (p + q)))
    return (left + right) / 2
