"""Time of penalised logistic regression against scikit-learn's solvers at the same tolerance.

    python benchmarks/peers/logistic.py [case ...]

Every solver stops at the same rule (largest gradient entry over the number of rows <= 1e-6, C=1);
the runs are interleaved and the median of three is printed, with each solver's objective relative
to the smallest.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from shiftlearn.solvers.logistic import solve_logistic

TOL = 1e-6
MOST = 300  # L-BFGS needs thousands of iterations on badly scaled columns; it is cut off


def dense(n, d, k, mixed=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    if mixed:  # correlated columns of different sizes, as tables have them
        X = X @ rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-1, 1, size=d) / np.sqrt(d)
    scores = X @ rng.normal(size=(d, k)) / X.std() / np.sqrt(d) * 1.5
    return X, np.argmax(scores + rng.gumbel(size=(n, k)), axis=1)


def text(n, d, per_row):
    rng = np.random.default_rng(0)
    columns = np.minimum((rng.pareto(0.7, size=(n, per_row)) * 20).astype(np.int64), d - 1)
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csr_matrix((np.ones(n * per_row), (rows, columns.ravel())), shape=(n, d))
    X.data = 1 + np.log(X.data)
    X = sparse.csr_matrix(sparse.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    scores = X @ rng.normal(size=d) * 8
    return X, (scores + rng.logistic(size=n) > 0).astype(int)


def uniform_text(n, d, per_row):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, d, size=(n, per_row))
    rows = np.repeat(np.arange(n), per_row)
    values = rng.normal(size=n * per_row)
    X = sparse.csr_matrix((values, (rows, columns.ravel())), shape=(n, d))
    scores = X @ rng.normal(size=d) / np.sqrt(per_row) * 2
    return X, (scores + rng.logistic(size=n) > 0).astype(int)


CASES = {
    "n=1e4 d=50 K=2": lambda: dense(10_000, 50, 2),
    "n=1e5 d=50 K=2": lambda: dense(100_000, 50, 2),
    "n=1e5 d=50 K=2 mixed": lambda: dense(100_000, 50, 2, mixed=True),
    "n=1e5 d=50 K=10": lambda: dense(100_000, 50, 10),
    "n=1e5 d=50 K=10 mixed": lambda: dense(100_000, 50, 10, mixed=True),
    "sparse 20000x40000 normal": lambda: uniform_text(20_000, 40_000, 100),
    "sparse 20000x40000 text": lambda: text(20_000, 40_000, 100),
}


def ours(X, y):
    fit = solve_logistic(X, y, tol=TOL, n_jobs=None)
    return fit.coef, fit.intercept, fit.certificate.n_iter


def ours_one(X, y):
    fit = solve_logistic(X, y, tol=TOL, n_jobs=1)
    return fit.coef, fit.intercept, fit.certificate.n_iter


def peer(solver):
    def run(X, y):
        model = LogisticRegression(C=1.0, tol=TOL, solver=solver, max_iter=MOST).fit(X, y)
        return model.coef_, model.intercept_, int(np.max(model.n_iter_))

    return run


def objective(X, y, coef, intercept):
    scores = X @ coef.T + intercept
    if len(coef) == 1:
        scores = np.hstack([np.zeros((len(y), 1)), scores])
    top = scores.max(axis=1)
    total = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top
    return np.sum(total - scores[np.arange(len(y)), y]) + 0.5 * np.sum(coef**2)


def main(names):
    for name, make in CASES.items():
        if names and not any(wanted in name for wanted in names):
            continue
        X, y = make()
        solvers = {"ours": ours, "ours n_jobs=1": ours_one, "lbfgs": peer("lbfgs")}
        if not sparse.issparse(X):
            solvers["newton-cholesky"] = peer("newton-cholesky")
        else:
            solvers["newton-cg"] = peer("newton-cg")
        times = {solver: [] for solver in solvers}
        answers = {}
        for _ in range(3):
            for solver, run in solvers.items():
                start = time.perf_counter()
                answers[solver] = run(X, y)
                times[solver].append(time.perf_counter() - start)
        values = {s: objective(X, y, a[0], a[1]) for s, a in answers.items()}
        best = min(values.values())
        print(name)
        for solver in solvers:
            seconds = np.median(times[solver])
            ratio = seconds / np.median(times["ours"])
            excess = values[solver] / best - 1
            print(
                f"  {solver:16s} {seconds * 1e3:9.1f} ms   x{ratio:6.2f}"
                f"   {answers[solver][2]:4d} iterations   objective +{excess:.1e}"
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
