"""Kernel matrices as operators: parts, products and restrictions of one and the same matrix."""

import numpy as np
import pytest
from scipy import sparse

from oracles.kernels import matrix
from shiftlearn.kernels import Kernel, MatrixOperator, resolve_kernel
from shiftlearn.solvers.operators import LowRankSum, TaskScaled, complete

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)) + 3.0
K = matrix("rbf", X, X, gamma=0.2)
FACTOR = RNG.normal(size=(40, 2))
TASKS, TABLE = RNG.integers(0, 3, 40), np.array([[1.0, 0.5, 0.2], [0.5, 2.0, 0.1], [0.2, 0.1, 3.0]])


class OnlyBlocks:
    """The least that a formulation may hand over."""

    shape = (40, 40)

    def diagonal(self):
        return K.diagonal()

    def block(self, rows, columns=None, dtype=np.float32):
        part = K[rows] if columns is None else K[np.ix_(rows, columns)]
        return part.astype(dtype)


rbf = Kernel("rbf", gamma=0.2)
OPERATORS = {
    "kernel": (rbf.operator(X), K),
    "sparse": (rbf.operator(sparse.csr_array(X)), K),
    "callable": (resolve_kernel(lambda A, B: np.asarray(A) @ np.asarray(B).T).operator(X), X @ X.T),
    "matrix": (MatrixOperator(K), K),
    "only blocks": (complete(OnlyBlocks()), K),
    "low rank": (LowRankSum(rbf.operator(X), FACTOR), K + FACTOR @ FACTOR.T),
    "tasks": (TaskScaled(rbf.operator(X), TASKS, TABLE), K * TABLE[np.ix_(TASKS, TASKS)]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_parts_of_one_matrix(name, restricted, dtype):
    operator, truth = OPERATORS[name]
    if restricted:
        kept = np.array([3, 4, 11, 39, 20, 0])
        operator, truth = operator.restrict(kept), truth[np.ix_(kept, kept)]
    n = truth.shape[0]
    rows, columns = np.array([1, 5, 2]), np.array([0, 4])
    coef = np.array([0.3, -2.0, 1.1])
    limit = 1e-10 if dtype == np.float64 else 3e-5
    close = {"rtol": limit, "atol": limit * np.abs(truth).max()}
    assert operator.shape == (n, n)
    np.testing.assert_allclose(operator.diagonal(), truth.diagonal(), rtol=1e-10)
    np.testing.assert_allclose(operator.block(rows, None, dtype), truth[rows], **close)
    part = operator.block(rows, columns, dtype)
    assert part.dtype == dtype
    np.testing.assert_allclose(part, truth[np.ix_(rows, columns)], **close)
    np.testing.assert_allclose(operator.product(rows, coef, dtype), truth[:, rows] @ coef, **close)


def test_restricting_twice():
    twice = OPERATORS["kernel"][0].restrict(np.arange(5, 30)).restrict(np.array([2, 0]))
    np.testing.assert_allclose(
        twice.block(np.array([0, 1]), None, np.float64), K[np.ix_([7, 5], [7, 5])], rtol=1e-10
    )
