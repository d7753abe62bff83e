"""The plain machines against scikit-learn (and scikit-learn-intelex where it is installed).

    python benchmarks/peers/machines.py [svc predict oneclass linear small memory first]
        [--repeats 3]

Every fit is run to a true violation of 1e-3 at most; objectives are compared, so that nobody wins
by stopping early. Ours of one class is a share of the largest score: there both are raced. The
unit is the kernel pass (`harness`).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from harness import Race, describe_machine, kernel_pass, record
from scipy import sparse
from sklearn.datasets import make_classification

PASSIVE = {"OMP_WAIT_POLICY": "passive"}
SIZES = ((20_000, 20, 1.0), (20_000, 20, 10.0), (20_000, 200, 1.0), (10_000, 200, 10.0))


def classes(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, the data of every race of SVC."""
    X, y = make_classification(n, d, n_informative=max(2, d // 2), flip_y=0.02, random_state=0)
    return X, y


def dual_objective(model: object, X: np.ndarray, gamma: float) -> float:
    """Objective ½ aᵀQa - Σa of a fitted SVC of either library, in float64."""
    from shiftlearn.kernels import resolve_kernel

    support, coef = X[model.support_], np.asarray(model.dual_coef_).ravel()
    kernel = resolve_kernel("rbf", gamma, 3, 0.0, X)
    quadratic = sum(
        coef[i : i + 512] @ (kernel.block(support[i : i + 512], support, np.float64) @ coef)
        for i in range(0, len(coef), 512)
    )
    return 0.5 * float(quadratic) - float(np.abs(coef).sum())


_INTEL = """
import numpy as np
from sklearnex.svm import SVC
from sklearn.datasets import make_classification
X, y = make_classification({n}, {d}, n_informative=max(2, {d} // 2), flip_y=0.02, random_state=0)
X = X.astype(np.float32)
"""


def race_svc(repeats: int, sizes: tuple[tuple[int, int, float], ...] = SIZES) -> None:
    """``SVC.fit``, float32 and float64 input, one thread and all."""
    from sklearn.svm import SVC as Theirs

    from shiftlearn import SVC

    ratios = []
    for n, d, C in sizes:
        X, y = classes(n, d)
        gamma = 1.0 / (d * X.var())
        race = Race(f"svc-{n}x{d}-C{C:g}")

        def own(rows: np.ndarray, n_jobs: int | None) -> Callable[[], dict[str, float]]:
            def run() -> dict[str, float]:
                model = SVC(C=C, gamma=gamma, n_jobs=n_jobs).fit(rows, y)  # noqa: B023
                return {"gap": model.certificate_.gap, "violation": model.certificate_.violation}

            return run

        race.add("float32", own(X.astype(np.float32), None))
        race.add("float64", own(X, None))
        race.add("float32, one thread", own(X.astype(np.float32), 1))
        race.add("scikit-learn", lambda: Theirs(C=C, gamma=gamma, cache_size=1000).fit(X, y))  # noqa: B023
        race.add("kernel pass", lambda: kernel_pass(X, gamma))  # noqa: B023
        if importlib.util.find_spec("sklearnex"):
            race.add_process(
                "scikit-learn-intelex float32",
                _INTEL.format(n=n, d=d),
                f"SVC(C={C}, gamma={gamma}).fit(X, y)",
                PASSIVE,
            )
        race.run(repeats=repeats)
        print("\n" + race.table(reference="scikit-learn", unit="kernel pass"))
        ours = dual_objective(SVC(C=C, gamma=gamma).fit(X, y), X, gamma)
        theirs = dual_objective(Theirs(C=C, gamma=gamma, cache_size=1000).fit(X, y), X, gamma)
        relative = (ours - theirs) / abs(theirs)
        print(f"objective against scikit-learn's: {relative:+.2e} (below zero: better)")
        race.figures["float64"]["objective against scikit-learn"] = relative
        record(race)
        ratios.append(race.ratio("float32", "scikit-learn"))
    print(f"\ngeometric mean against scikit-learn: {statistics.geometric_mean(ratios):.2f} x")


def race_predict(repeats: int) -> None:
    """``predict`` of 10,000 rows against the library's own kernel blocks, results discarded."""
    from shiftlearn import SVC
    from shiftlearn.kernels import resolve_kernel

    for d in (20, 200):
        X, y = classes(20_000, d)
        X = X.astype(np.float32)
        gamma = 1.0 / (d * X.var())
        model = SVC(gamma=gamma).fit(X[:10_000], y[:10_000])
        support, new = X[model.support_], X[10_000:]
        kernel = resolve_kernel("rbf", gamma, 3, 0.0, support)

        def blocks() -> None:
            for i in range(0, len(new), 512):  # noqa: B023
                kernel.block(new[i : i + 512], support)  # noqa: B023

        race = Race(f"predict-10000x{d}")
        race.add("predict", lambda: model.predict(new))  # noqa: B023
        race.add("kernel blocks", blocks)
        race.run(repeats=max(7, repeats))
        print(f"\n{len(support)} support vectors")
        print(race.table(reference="kernel blocks"))
        record(race)


def race_oneclass(repeats: int) -> None:
    """``OneClassSVM`` with nu = 0.1 on 20,000 x 20."""
    from sklearn.svm import OneClassSVM as Theirs

    from shiftlearn import OneClassSVM

    X = np.random.default_rng(0).standard_normal((20_000, 20))
    race = Race("oneclass-20000x20")
    # Our tolerance is a share of the largest score; theirs is that violation itself.
    strict = 1e-3 / OneClassSVM(nu=0.1).fit(X).score_samples(X).max()
    race.add("shiftlearn", lambda: OneClassSVM(nu=0.1).fit(X))
    race.add("shiftlearn, their tolerance", lambda: OneClassSVM(nu=0.1, tol=strict).fit(X))
    race.add("scikit-learn", lambda: Theirs(nu=0.1).fit(X))
    race.add("kernel pass", lambda: kernel_pass(X, 1.0 / 20))
    race.run(repeats=repeats)
    print("\n" + race.table(reference="scikit-learn", unit="kernel pass"))
    gamma = 1.0 / (20 * X.var())
    theirs = dual_objective(Theirs(nu=0.1).fit(X), X, gamma)
    for tol in (1e-3, strict):
        ours = dual_objective(OneClassSVM(nu=0.1, tol=tol).fit(X), X, gamma)
        print(f"tol {tol:.1e}: objective against scikit-learn's {(ours - theirs) / theirs:+.1e}")
    record(race)


def _text(n: int = 20_000, d: int = 40_000, per_row: int = 100) -> tuple[sparse.csr_matrix, object]:
    rng = np.random.default_rng(0)
    columns = np.minimum((rng.pareto(0.7, size=(n, per_row)) * 20).astype(np.int64), d - 1)
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csr_matrix((np.ones(n * per_row), (rows, columns.ravel())), shape=(n, d))
    X = sparse.csr_matrix(sparse.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    return X, (X @ rng.normal(size=d) * 8 + rng.logistic(size=n) > 0).astype(int)


def _hinge(coef: np.ndarray, X: object, y: np.ndarray, C: float = 1.0) -> float:
    margins = 1 - np.where(y > 0, 1, -1) * (X @ coef)
    return 0.5 * float(coef @ coef) + C * float(np.maximum(0, margins).sum())


def _time_to_reach(X: object, y: np.ndarray, aim: float, most: float = 100.0) -> tuple[float, bool]:
    """Seconds in which scikit-learn's hinge machine comes to ``aim``, numbers of passes tried."""
    import warnings

    from sklearn.svm import LinearSVC as Theirs

    spent = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for passes in (5, 10, 20, 40, 80, 160, 320, 640, 1280, 5120):
            began = time.perf_counter()
            model = Theirs(loss="hinge", fit_intercept=False, tol=1e-10, max_iter=passes).fit(X, y)
            spent = time.perf_counter() - began
            if _hinge(model.coef_.ravel(), X, y) <= aim:
                return spent, True
            if spent > most / 4:
                break
    return spent, False


def race_linear(repeats: int) -> None:
    """``LinearSVC`` without intercept: sparse text, and 500,000 x 50 dense."""
    from shiftlearn import LinearSVC

    dense = make_classification(500_000, 50, n_informative=20, flip_y=0.05, random_state=0)
    for name, (X, y), slack in (("text", _text(), 1e-5), ("dense", dense, 1e-3)):
        times, theirs = [], []
        for _ in range(repeats):
            began = time.perf_counter()
            model = LinearSVC(fit_intercept=False).fit(X, y)
            times.append(time.perf_counter() - began)
            aim = _hinge(model.coef_.ravel(), X, y) * (1 + slack)
            theirs.append(_time_to_reach(X, y, aim))
        seconds = statistics.median(s for s, _ in theirs)
        reached = all(done for _, done in theirs)
        word = "reached in" if reached else "not reached in"
        print(
            f"\nlinear, {name}: {statistics.median(times):.3f} s, violation "
            f"{model.certificate_.violation:.1e}, gap {model.certificate_.gap:.3g}; our objective "
            f"x {1 + slack:g} {word} {seconds:.3f} s by scikit-learn "
            f"({seconds / statistics.median(times):.1f} x)"
        )


def race_small(repeats: int) -> None:
    """500 fits of 200 rows, and fits of 8 rows, through the estimators."""
    from sklearn.svm import SVC as Theirs

    from shiftlearn import SVC

    rng = np.random.default_rng(0)
    sets = [(rng.standard_normal((200, 10)), np.arange(200) % 2) for _ in range(500)]
    for X, y in sets:
        X[:, 0] += y
    tiny, labels = rng.standard_normal((8, 5)), np.arange(8) % 2
    for name, rows in (
        ("500 fits of 200 rows", sets),
        ("500 fits of 8 rows", [(tiny, labels)] * 500),
    ):
        race = Race(name.replace(" ", "-"))
        for label, kind in (("shiftlearn", SVC), ("scikit-learn", Theirs)):
            race.add(
                label, lambda kind=kind, rows=rows: [kind().fit(X, y) for X, y in rows] and None
            )
        race.run(repeats=max(3, repeats))
        print("\n" + race.table(reference="scikit-learn"))
        record(race)


_PEAK = """
import numpy as np
from sklearn.datasets import make_classification
from shiftlearn import SVC
X, y = make_classification(30_000, 20, n_informative=10, flip_y=0.05, random_state=0)
def peak():  # of this process since it began; getrusage may hold what the parent had
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0])
SVC().fit(X[:200], y[:200])
before = peak()
model = SVC(C=10.0, memory_limit=256 * 2**20).fit(X, y)
grown = (peak() - before) / 1024
print(f"peak grew by {grown:.0f} MiB with memory_limit=256 MiB (data {X.nbytes / 2**20:.0f} MiB), "
      f"{len(model.support_)} support vectors, violation {model.certificate_.violation:.1e}")
"""


def race_memory(repeats: int) -> None:
    """Growth of the peak of memory of one fit of 30,000 rows."""
    print("\n" + _python(_PEAK))


def race_first(repeats: int) -> None:
    """First use of ``SVC`` against importing ``sklearn.svm``; first fit against the second."""
    fit = "X = np.random.default_rng(0).random((200, 5)); y = np.arange(200) % 2; "
    timed = "t = time.perf_counter(); SVC().fit(X, y); print(time.perf_counter() - t); "
    least: dict[str, float] = {}
    for _ in range(max(5, repeats)):
        for name, code in (
            ("import sklearn.svm", "import sklearn.svm"),
            ("from shiftlearn import SVC", "from shiftlearn import SVC"),
        ):
            began = time.perf_counter()
            _python(code)
            least[name] = min(least.get(name, 9e9), time.perf_counter() - began)
    print("\n" + "\n".join(f"{name}: {seconds:.3f} s" for name, seconds in least.items()))
    code = "import time, numpy as np; from shiftlearn import SVC; " + fit + timed + timed
    first, second = _python(code).split()
    print(f"first fit of 200 rows {float(first):.4f} s, second {float(second):.4f} s")


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
    return done.stdout.strip()


RACES = {
    name.removeprefix("race_"): value
    for name, value in list(globals().items())
    if name[:5] == "race_"
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("races", nargs="*", default=list(RACES), metavar="RACE")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    unknown = set(given.races) - set(RACES)
    if unknown:
        parser.error(f"no race named {sorted(unknown)}; there are {', '.join(RACES)}")
    print(describe_machine())
    for name in given.races:
        RACES[name](given.repeats)


if __name__ == "__main__":
    main()
