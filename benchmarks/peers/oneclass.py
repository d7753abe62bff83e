"""UOCT-SVM: 1,000 target and 5,000 source rows, against one plain one-class fit on all of them.

    python benchmarks/peers/oneclass.py [--repeats 3] [--memory]

Figures asked for: q rounds in at most 1.5 q times one fit of our own `OneClassSVM` (nu 0.1) on the
6,000 rows, the bound scores timed apart; those not slower than scikit-learn's `NearestNeighbors`;
with ``--memory``, 30,000 rows within ``memory_limit`` of 512 MiB, as growth of a process's peak.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from harness import Process, Race, describe_machine, processors, record
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import OneClassSVM as SklearnOneClassSVM

from shiftlearn import OneClassSVM, UncertainOneClassTransferSVM
from shiftlearn.oneclass.bounds import mean_neighbour_distance

TARGET, SOURCE, D, SHARE = 1000, 5000, 60, 0.1
GAMMA = 0.5 / D


def rows(scale: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian tasks whose means differ a little."""
    rng = np.random.default_rng(0)
    X = 3 + rng.standard_normal((scale * (SOURCE + TARGET), D))
    X[scale * SOURCE :] += 0.3 * rng.standard_normal(D)
    return X, np.repeat([0, -1], [scale * SOURCE, scale * TARGET])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    print(describe_machine())
    if options.memory:
        print(memory())
        return
    races = fits(options.repeats), bounds(options.repeats)
    record(*races)


def fits(repeats: int) -> Race:
    X, domain = rows()
    given = bound_scores(X, domain)
    race = Race("oneclass-6000x60")

    def rounds(most: int) -> dict[str, float]:
        model = UncertainOneClassTransferSVM(
            nu=SHARE, nu_source=SHARE, reg="pair", gamma=GAMMA, uncertainty=given,
            max_rounds=most, round_tol=1e-12 if most > 1 else 0.1, offset="observed",
        )  # fmt: skip
        model.fit(X, sample_domain=domain)
        return {"rounds": model.n_rounds_, "gap": model.certificate_.gap}

    def plain(machine: type) -> None:
        machine(nu=SHARE, gamma=GAMMA).fit(X)

    race.add("OneClassSVM, all rows", lambda: plain(OneClassSVM))
    race.add("scikit-learn OneClassSVM", lambda: plain(SklearnOneClassSVM))
    race.add("one round (TLOC-SVM)", lambda: rounds(1))
    race.add("two rounds", lambda: rounds(2))
    race.run(repeats)
    print(race.table(reference="scikit-learn OneClassSVM"))
    for name in ("one round (TLOC-SVM)", "two rounds"):
        q, unit = race.figures[name]["rounds"], "OneClassSVM, all rows"
        print(f"{name}: {1 / race.ratio(name, unit) / q:.2f} plain fits a round")
    return race


def bound_scores(X: np.ndarray, domain: np.ndarray) -> np.ndarray:
    """δ as "knn" finds them: the mean distance to a tenth as many rows as the target has."""
    out = np.empty(len(X))
    for label in (0, -1):
        out[domain == label] = mean_neighbour_distance(X[domain == label], TARGET // 10)
    return out


def bounds(repeats: int) -> Race:
    X, domain = rows()
    race = Race("oneclass-bounds-6000x60")

    def neighbours() -> None:
        for label in (0, -1):
            own = X[domain == label]
            found = NearestNeighbors(n_neighbors=TARGET // 10 + 1, n_jobs=processors()).fit(own)
            found.kneighbors()[0].mean(axis=1)

    race.add("bound scores", lambda: bound_scores(X, domain))
    race.add("scikit-learn NearestNeighbors", neighbours)
    race.run(repeats)
    print(race.table(reference="scikit-learn NearestNeighbors"))
    return race


def memory() -> str:
    """How far the peak of memory grows while 30,000 rows are fitted."""
    setup = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n" + (
        "from oneclass import *\nX, domain = rows(5)\n"
        "UncertainOneClassTransferSVM(nu=0.5).fit(X[:200] + 0.0)\n"
    )
    statement = (
        "model = UncertainOneClassTransferSVM(nu=SHARE, nu_source=SHARE, gamma=GAMMA, max_rounds=2,"
        " round_tol=0.0, memory_limit=2**29).fit(X, sample_domain=domain)\n"
        "figures = {'rounds': model.n_rounds_, 'support': len(model.support_)}"
    )
    process = Process(setup, statement, {"PYTHONWARNINGS": "ignore"})
    try:
        answer = process.turn()
    finally:
        process.close()
    return (
        f"30,000 rows, {answer['figures']}: {answer['seconds']:.1f} s, peak grown by "
        f"{answer['grown_mib']:.0f} MiB with memory_limit = 512 MiB"
    )


if __name__ == "__main__":
    sys.exit(main())
