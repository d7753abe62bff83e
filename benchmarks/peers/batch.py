"""Many small hinge problems: the batch solver against a Python loop over scikit-learn's SVC.

    python benchmarks/peers/batch.py [--repeats 3]

Contenders are interleaved; the table shows medians in microseconds a problem, and how many times
faster than the loop. "Gram only" is what NumPy needs to gather the rows and to multiply them,
without solving anything: a bound for whoever computes Gram matrices outside.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import sklearn
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from shiftlearn import _core
from shiftlearn.solvers.batch import BatchProblem, solve_batch, solve_shared

Contender = tuple[Callable[[], object], int]


def exemplars() -> dict[str, Contender]:
    """2,000 exemplar problems: one positive, seven negatives, 50 columns, linear, C = 100."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 50))
    rows = np.stack([rng.choice(2000, 8, replace=False) for _ in range(2000)])
    signs = np.array([1.0] + [-1.0] * 7)
    problem = BatchProblem.from_arrays(
        np.arange(2001) * 8, rows.ravel(), np.tile(signs, 2000), 100.0
    )

    def ours(n_jobs: int, tol: float = 1e-3) -> Callable[[], object]:
        return lambda: solve_batch(X, problem, tol=tol, return_coef=True, n_jobs=n_jobs)

    def loop() -> None:
        for r in rows[:200]:
            SVC(kernel="linear", C=100.0).fit(X[r], signs)

    def gram_only() -> object:
        block = X[rows]
        return block @ block.transpose(0, 2, 1)

    return {
        "scikit-learn loop": (loop, 200),
        "one thread": (ours(1), 2000),
        "two threads": (ours(2), 2000),
        "one thread, tol 1e-8": (ours(1, 1e-8), 2000),
        "two threads, tol 1e-8": (ours(2, 1e-8), 2000),
        "NumPy, Gram only": (gram_only, 2000),
    }


def _scores(rng: np.random.Generator, X: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of m concepts (one positive in sixteen, at least ten) and a source's scores."""
    truth = X @ rng.normal(size=(X.shape[1], m)) / np.sqrt(X.shape[1])
    cut = np.sort(truth, axis=0)[-max(10, len(X) // 16)]
    signs = np.where(truth >= cut, 1.0, -1.0)
    return signs, 0.5 * (truth - cut) + 0.5 * rng.normal(size=truth.shape)


def adaptations() -> dict[str, Contender]:
    """360 adaptations of 164 rows x 273 columns each (RBF, C = 3, source scores given)."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 273)).astype(np.float32)
    rows = np.stack([rng.choice(6000, 164, replace=False) for _ in range(360)])
    drawn = [_scores(rng, X[r], 1) for r in rows]
    signs = np.concatenate([s[:, 0] for s, _ in drawn])
    scores = np.concatenate([f[:, 0] for _, f in drawn])
    starts = np.arange(361) * 164
    problem = BatchProblem.from_arrays(starts, rows.ravel(), signs, 3.0, signs * scores - 1)
    plain = BatchProblem.from_arrays(starts, rows.ravel(), signs, 3.0)

    def ours(task: BatchProblem, intercept: bool, n_jobs: int) -> Callable[[], object]:
        return lambda: solve_batch(
            X, task, kernel="rbf", gamma=1 / 273, fit_intercept=intercept, n_jobs=n_jobs
        )

    def loop() -> None:
        for r, s in zip(rows[:40], signs.reshape(360, 164)):
            SVC(gamma=1 / 273, C=3.0).fit(X[r], s)

    return {
        "scikit-learn loop (SVC)": (loop, 40),
        "one thread": (ours(problem, False, 1), 360),
        "two threads": (ours(problem, False, 2), 360),
        "one thread, as SVC": (ours(plain, True, 1), 360),
        "two threads, as SVC": (ours(plain, True, 2), 360),
    }


def shared_rows() -> dict[str, Contender]:
    """360 concepts on the same 164 rows x 273 columns (RBF, C = 3): the Gram matrix once."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(164, 273))
    signs, scores = _scores(rng, X, 360)
    linear = signs * scores - 1

    def ours(intercept: bool, n_jobs: int) -> Callable[[], object]:
        p = -1.0 if intercept else linear
        return lambda: solve_shared(
            rbf_kernel(X, gamma=1 / 273), signs, upper=3.0, linear=p,
            fit_intercept=intercept, n_jobs=n_jobs,
        )  # fmt: skip

    def loop() -> None:
        for s in signs.T[:40]:
            SVC(gamma=1 / 273, C=3.0).fit(X, s)

    return {
        "scikit-learn loop (SVC)": (loop, 40),
        "one thread": (ours(False, 1), 360),
        "two threads": (ours(False, 2), 360),
        "one thread, as SVC": (ours(True, 1), 360),
        "two threads, as SVC": (ours(True, 2), 360),
    }


def measure(contenders: dict[str, Contender], repeats: int) -> dict[str, float]:
    """Median microseconds a problem, all contenders in turn in every round."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats + 1):  # the first round warms caches up and does not count
        for name, (work, count) in contenders.items():
            before = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - before) / count * 1e6)
    return {name: median(t[1:]) for name, t in times.items()}


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(f"{processor()}, {_core.isa()}, NumPy {np.__version__}, sklearn {sklearn.__version__}")
    for scene in (exemplars, adaptations, shared_rows):
        result = measure(scene(), repeats)
        loop = next(iter(result.values()))
        print(f"\n{scene.__doc__}")
        for name, microseconds in result.items():
            print(f"  {name:26s} {microseconds:10.2f} us a problem {loop / microseconds:8.1f} x")


if __name__ == "__main__":
    main()
