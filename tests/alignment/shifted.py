"""Small data with a shift of mean and scatter, source rows first."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

GAMMA = 0.3


def shifted(n=30, m=22, seed=0, columns=3, classes=2):
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n, columns))
    target = rng.normal(size=(m, columns)) * np.linspace(0.7, 1.5, columns) + 0.4
    X = np.vstack([source, target])
    score = X[:, 0] + 0.5 * rng.normal(size=n + m)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return X, y, np.repeat([0, -1], [n, m])


def gram(X, kernel):
    return rbf_kernel(X, gamma=GAMMA) if kernel == "rbf" else X @ X.T
