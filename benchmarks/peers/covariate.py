"""Time of the joint covariate-shift fit beside what it cannot do without and beside its peers.

    python benchmarks/peers/covariate.py [dense | sparse | kernel | full] ... [--quick]

dense   m = n = 10,000, 50 columns: joint fit, the two-stage fits (ours and scikit-learn's) at the
        same tolerance, and the BLAS products that the joint fit asked for, counted while it ran.
sparse  2 x 20,000 rows, 40,000 terms, 100 non-zeros a row: joint fit, and scikit-learn's
        LogisticRegression (lbfgs, same tolerance) on the source rows alone.
kernel  m = n = 2,000, RBF of numerical rank (1e-12) below 400: joint fit, one Cholesky factor of
        order 4,000, one kernel matrix.
full    the same with a kernel of full rank: joint fit, and its products, counted.

A count replays every product of the same shape on arrays of the same size, nothing else.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from harness import Race, describe_machine, record
from scipy import sparse
from scipy.linalg import cho_factor
from sklearn.linear_model import LogisticRegression

from shiftlearn import CovariateShiftLogisticRegression, LogisticRatio
from shiftlearn.covariate import joint_loss
from shiftlearn.kernels import Kernel
from shiftlearn.solvers import losses
from shiftlearn.solvers.logistic import solve_logistic

TOL = 1e-6


def rows(n, d, seed=0):
    """Normal rows, the target's first columns moved; labels that no line separates."""
    rng = np.random.default_rng(seed)
    L, T = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    T[:, : max(1, d // 10)] += 0.5
    score = 2 * L @ rng.normal(size=d) / np.sqrt(d) + np.abs(L[:, 0])
    return L, (score + rng.logistic(size=n) > 0).astype(np.int64), T


def texts(n, d, per_row, seed=0):
    """Unit rows of Zipf-like terms; the target's common terms are other ones."""
    rng = np.random.default_rng(seed)
    parts = []
    for shift in (0, 3):
        ranks = (rng.pareto(0.7, size=(n, per_row)) * 20).astype(np.int64) + shift
        columns = np.minimum(ranks, d - 1).ravel()
        places = np.repeat(np.arange(n), per_row)
        X = sparse.csr_matrix((np.ones(n * per_row), (places, columns)), shape=(n, d))
        X.data = 1 + np.log(X.data)
        parts.append(sparse.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    L, T = map(sparse.csr_matrix, parts)
    y = (3 * (L @ rng.normal(size=d)) + rng.logistic(size=n) > 0).astype(np.int64)
    return L, y, T


def stacked(L, y, T):
    stack = sparse.vstack if sparse.issparse(L) else np.vstack
    X = stack([L, T])
    domain = np.r_[np.zeros(len(y), dtype=int), np.full(T.shape[0], -1)]
    return X.tocsr() if sparse.issparse(X) else X, np.r_[y, np.zeros(T.shape[0], dtype=int)], domain


def joint(L, y, T, **options):
    X, labels, domain = stacked(L, y, T)

    def run():
        model = CovariateShiftLogisticRegression(tol=TOL, **options)
        model.fit(X, labels, sample_domain=domain)
        assert model.certificate_.converged
        return {"objective": model.objective_, "steps": model.n_iter_}

    return run


def two_stage(L, y, T):
    def run():
        weights = LogisticRatio(tol=TOL).fit(L, T).weights_
        solve_logistic(L, y, sample_weight=weights, tol=TOL)

    return run


def two_stage_sklearn(L, y, T):
    X, selector = np.vstack([L, T]), np.r_[np.ones(len(L)), np.zeros(len(T))]

    def run():
        domain = LogisticRegression(tol=TOL, solver="newton-cholesky").fit(X, selector)
        weights = np.exp(-domain.decision_function(L)) * len(L) / len(T)
        LogisticRegression(tol=TOL, solver="newton-cholesky").fit(L, y, weights)

    return run


class Count:
    """Counts the rows that products were asked for while it is entered, by their kind.

    "square" is XᵀX, "thin" a product with one or two vectors.
    """

    def __init__(self):
        self.products = []

    def __enter__(self):
        self._kept = joint_loss.JointLoss.partial, losses.Logistic.partial
        joint_loss.JointLoss.partial = self._joint(self._kept[0])
        losses.Logistic.partial = self._plain(self._kept[1])
        self._called = (joint_loss._Curvature.__call__, losses._Curvature.__call__)
        joint_loss._Curvature.__call__ = self._joint_product(self._called[0])
        losses._Curvature.__call__ = self._plain_product(self._called[1])
        return self

    def __exit__(self, *_):
        joint_loss.JointLoss.partial, losses.Logistic.partial = self._kept
        joint_loss._Curvature.__call__, losses._Curvature.__call__ = self._called

    def _thin(self, n, vectors):
        self.products += [("thin", n, vectors)] * 2

    def _joint(self, original):
        def partial(loss, block, parameters, order=2):
            source = int(np.count_nonzero(block[4]))
            target = len(block[4]) - source
            self._thin(source, 2)
            self._thin(target, 1)
            if order == 2 and loss.exact:
                self.products += [("square", source)] * 3 + [("square", target)]
            return original(loss, block, parameters, order)

        return partial

    def _plain(self, original):
        def partial(loss, block, parameters, order=2):
            self._thin(len(block[1]), 1)
            if order == 2 and loss.exact:
                self.products.append(("square", len(block[1])))
            return original(loss, block, parameters, order)

        return partial

    def _joint_product(self, original):
        def product(curvature, direction):
            for half in curvature.halves:
                self._thin(half.X.shape[0], 2 if isinstance(half, joint_loss._Source) else 1)
            return original(curvature, direction)

        return product

    def _plain_product(self, original):
        def product(curvature, direction):
            self._thin(curvature.X.shape[0], 1)
            return original(curvature, direction)

        return product


def replay(products, width):
    """The counted products alone, on arrays that lie ready: the work that cannot be saved."""
    most = max(product[1] for product in products)
    A = np.random.default_rng(0).normal(size=(most, width))
    vectors = np.ones((2, most))
    W = np.ones((2, width))

    def run():
        for at, (kind, n, *k) in enumerate(products):
            part = A[:n]
            if kind == "square":
                part.T @ part
            elif at % 2 == 0:
                W[: k[0]] @ part.T
            else:
                vectors[: k[0], :n] @ part
        return {"products": len(products)}

    return run


def dense(quick):
    L, y, T = rows(2_000 if quick else 10_000, 50)
    race = Race("covariate-dense-10000x50")
    fit = joint(L, y, T)
    with Count() as count:
        fit()
    race.add("joint", fit)
    race.add("two-stage", two_stage(L, y, T))
    race.add("two-stage, scikit-learn", two_stage_sklearn(L, y, T))
    race.add("its products", replay(count.products, 51))
    return race


def sparse_texts(quick):
    L, y, T = texts(2_000 if quick else 20_000, 40_000, 100)
    race = Race("covariate-sparse-20000x40000")
    race.add("joint", joint(L, y, T))
    race.add(
        "scikit-learn, source only",
        lambda: LogisticRegression(tol=TOL, solver="lbfgs", max_iter=1000).fit(L, y) and None,
    )
    return race


def kernel_low(quick):
    n, gamma = (500 if quick else 2_000), 0.005
    L, y, T = rows(n, 5)
    X = np.vstack([L, T])
    matrix = Kernel("rbf", gamma=gamma).block(X, X, np.float64)
    values = np.linalg.eigvalsh(matrix) if quick else None
    shifted = matrix + np.eye(2 * n)
    race = Race("covariate-kernel-2000")
    race.add("joint", joint(L, y, T, kernel="rbf", gamma=gamma))
    race.add("Cholesky of all rows", lambda: cho_factor(shifted) and None)
    race.add(
        "kernel matrix", lambda: Kernel("rbf", gamma=gamma).block(X, X, np.float64).size and None
    )
    if values is not None:
        race.figures["kernel matrix"] = {"rank": int(np.sum(values > 1e-12 * values[-1]))}
    return race


def kernel_full(quick):
    n, gamma = (300 if quick else 2_000), 5.0
    L, y, T = rows(n, 5)
    race = Race("covariate-kernel-full-2000")
    fit = joint(L, y, T, kernel="rbf", gamma=gamma)
    with Count() as count:
        fit()
    X = np.vstack([L, T])
    kernel = Kernel("rbf", gamma=gamma)
    products = replay(count.products, 2 * n)

    def needed():
        K = kernel.block(X, X, np.float64)
        cho_factor(K, lower=True, check_finite=False)
        return products()

    race.add("joint", fit)
    race.add("kernel matrix, Cholesky, its products", needed)
    return race


CASES = {"dense": dense, "sparse": sparse_texts, "kernel": kernel_low, "full": kernel_full}


def main(arguments):
    quick = "--quick" in arguments
    names = [name for name in arguments if name in CASES] or list(CASES)
    print(describe_machine())
    for name in names:
        race = CASES[name](quick)
        race.run(repeats=3 if name != "full" else 2)
        print(race.table(reference="joint"))
        for contender, figures in race.figures.items():
            if figures:
                print(f"  {contender}: {figures}")
        if not quick:
            record(race)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
