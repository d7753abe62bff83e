"""A small covariate shift whose labels are not linear, and a fit of it."""

import numpy as np

from shiftlearn import CovariateShiftLogisticRegression, stack_domains


def shifted(m=60, n=40, d=3, classes=2, seed=0, delta=0.7):
    rng = np.random.default_rng(seed)
    L, T = rng.normal(size=(m, d)), rng.normal(size=(n, d)) + delta
    scores = L @ rng.normal(size=(d, classes)) + np.abs(L[:, :1]) * rng.normal(size=classes)
    y = np.argmax(scores + 0.5 * rng.gumbel(size=(m, classes)), axis=1)
    return L, y, T


def fitted(L, y, T, **options):
    X, labels, domain = stack_domains(L, y, T)
    return CovariateShiftLogisticRegression(**options).fit(X, labels, sample_domain=domain)
