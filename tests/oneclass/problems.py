"""Small one-class problems for the tests, and the oracle's form of them."""

import warnings

import numpy as np

from oracles.oneclass import PlainKernel, PlainTasks
from shiftlearn import UncertainOneClassTransferSVM

TIGHT = {"tol": 1e-9, "round_tol": 0.0, "delta_scale": 1.0}
KERNELS = {
    "linear": PlainKernel("linear"),
    "rbf": PlainKernel("rbf", gamma=0.3),
    "laplacian": PlainKernel("laplacian", gamma=0.2),
    "poly": PlainKernel("poly", gamma=0.2, degree=2, coef0=1.0),
}


def rows(sizes=(14, 11, 8), d=3, seed=0):
    """Rows away from the origin, each task about a centre of its own; sources, then the target."""
    rng = np.random.default_rng(seed)
    parts = [2.0 + 0.5 * rng.normal(size=d) + rng.normal(size=(n, d)) for n in sizes]
    domain = np.repeat([*range(len(sizes) - 1), -1], sizes)
    return np.vstack(parts), domain


def plain(X, domain, costs, penalties, bounds, kernel):
    """The oracle's form; costs and penalties for each task."""
    of_row = np.where(domain < 0, len(costs) - 1, domain)
    per_row = np.asarray(costs, dtype=float)[of_row]
    return PlainTasks(X, of_row, per_row, np.asarray(penalties, float), bounds, kernel)


def parameters(kernel):
    """The estimator's parameters of a plain kernel."""
    return {
        "kernel": kernel.name, "gamma": kernel.gamma, "degree": kernel.degree,
        "coef0": kernel.coef0,
    }  # fmt: skip


def fit(X, domain, weights=None, **options):
    """An estimator solved tightly, whatever it has to say about unfinished rounds."""
    model = UncertainOneClassTransferSVM(**{**TIGHT, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, sample_domain=domain, sample_weight=weights)
