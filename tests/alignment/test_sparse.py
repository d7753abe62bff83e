"""Wide sparse rows are never filled in, in either form, exact or truncated."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from shiftlearn import DAKSVC


def documents(n=120, columns=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(2 * n, columns, density=0.002, random_state=seed, format="csr")
    y = np.arange(2 * n) % 2
    X.data[:] = 0.3
    words = sparse.csr_array(
        (np.ones(2 * n), (np.arange(2 * n), 50 * y + rng.integers(0, 50, 2 * n))),
        shape=X.shape,
    )
    return sparse.csr_array(X + words), y, np.repeat([0, -1], n)


@pytest.mark.parametrize("form", ["rkhs", "coef"])
@pytest.mark.parametrize("rank", [None, 20])
def test_wide_sparse_rows_stay_sparse(form, rank):
    X, y, domain = documents()
    model = DAKSVC(kernel="linear", form=form, rank=rank)
    tracemalloc.start()
    model.fit(X, y, sample_domain=domain)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * X.shape[0] * X.shape[1] / 4
    assert model.coef_.shape == (1, X.shape[1])
    assert model.score(X[domain < 0], y[domain < 0]) > 0.7


def test_above_so_many_rows_the_spectrum_is_truncated_and_the_gap_says_so(monkeypatch):
    X, y, domain = documents()
    monkeypatch.setattr("shiftlearn.alignment.prepare._EXACT_ROWS", 100)
    monkeypatch.setattr("shiftlearn.alignment.prepare._RANK", 10)
    cut = DAKSVC(5.0, alignment=50.0, kernel="linear", tol=1e-8).fit(X, y, sample_domain=domain)
    monkeypatch.undo()
    whole = DAKSVC(5.0, alignment=50.0, kernel="linear", tol=1e-8).fit(X, y, sample_domain=domain)
    off = cut.certificate_.objective - whole.certificate_.objective
    assert 1e-6 < abs(off) <= cut.certificate_.gap
