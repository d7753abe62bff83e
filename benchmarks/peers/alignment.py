"""The aligned machines against the decompositions and products that they are made of.

    python benchmarks/peers/alignment.py [--repeats 3] [--only exact features path stream text]

exact     a fit with n = m = 2,000 rows, RBF, against one ``scipy.linalg.eigh`` of order 4,000: with
          a kernel matrix of full numerical rank, and with one of low rank (3 columns, median
          distance).
features  N = 100,000 rows of 500 Nystroem features (computed before): moments and whitening against
          the product ZᵀZ and one ``eigh`` of order 500; the whole fit against that and
          scikit-learn's LinearSVC on the whitened rows.
path      a grid of 100 points with 4 bandwidths against one fit.
stream    10⁶ rows of 200 features in blocks: seconds, and the peak memory of the process.
text      20 Newsgroups task 4 (SHIFTLEARN_DATA), sparse, linear, both forms: seconds, peak memory.

Contenders take turns; ratios are medians over the turns.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from harness import Race, describe_machine, record
from scipy.linalg import eigh
from sklearn.svm import LinearSVC

from shiftlearn import DAKSVC, LSDAKSVC, DomainWhitener, Nystroem, alignment_path


def domains(n: int, m: int, columns: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Two noisy classes and a target of another mean and scatter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, columns))
    y = (X[:, 0] + 0.5 * rng.normal(size=n + m) > 0).astype(int)
    X[n:] = X[n:] * np.linspace(0.8, 1.3, columns) + 0.2
    return X, y, np.repeat([0, -1], [n, m])


def fit(model: DAKSVC, X: np.ndarray, y: np.ndarray, domain: np.ndarray) -> dict[str, float]:
    """Fit; the figures are what the answer proves."""
    proof = model.fit(X, y, sample_domain=domain).certificate_
    return {"objective": proof.objective, "gap": proof.relative_gap}


def exact() -> Iterator[Race]:
    """Fits on the kernel matrix of 4,000 rows."""
    for name, columns, options in (("full", 50, {"gamma": 0.02}), ("low", 3, {"sigma": "median"})):
        X, y, domain = domains(2000, 2000, columns)
        A = np.random.default_rng(1).normal(size=(4000, 4000))
        A = A + A.T
        race = Race(f"alignment-exact-{name}-rank")
        race.add("eigh", partial(eigh, A, check_finite=False))
        for form in ("rkhs", "coef"):
            model = DAKSVC(form=form, **options)
            race.add(f"DAKSVC {form}", partial(fit, model, X, y, domain))
        yield race


def features() -> Iterator[Race]:
    """A fit in explicit features, and its parts."""
    X, y, domain = domains(50_000, 50_000, 20)
    Z = np.ascontiguousarray(Nystroem(500, gamma=0.05, random_state=0).fit(X).transform(X))
    Z = Z.astype(np.float64)
    source = domain >= 0
    whitener = DomainWhitener().fit(Z, sample_domain=domain)
    W = whitener.transform(Z[source])
    C = DAKSVC(kernel="linear").fit(Z, y, sample_domain=domain).C_

    def unit() -> None:
        eigh(Z.T @ Z)

    race = Race("alignment-features-100000x500")
    race.add("ZᵀZ and eigh", unit)
    race.add(
        "moments and whitening",
        lambda: DomainWhitener().fit(Z, sample_domain=domain).transform(Z[source]),
    )
    race.add("DAKSVC", lambda: DAKSVC(kernel="linear").fit(Z, y, sample_domain=domain))
    race.add("LSDAKSVC", lambda: LSDAKSVC(kernel="linear").fit(Z, y, sample_domain=domain))
    race.add("LinearSVC", lambda: LinearSVC(C=C, loss="hinge").fit(W, y[source]))
    yield race


def path() -> Iterator[Race]:
    """A hundred settings."""
    X, y, domain = domains(300, 300, 10)
    grid = {
        "bandwidth_ratio": [0.5, 1.0, 2.0, 4.0],
        "alignment": [1.0, 10.0, 100.0, 1000.0, 10000.0],
        "C": [0.1, 1.0, 10.0, 100.0, 1000.0],
    }
    race = Race("alignment-path-100")
    race.add("one fit", lambda: DAKSVC().fit(X, y, sample_domain=domain))
    race.add("100 settings", lambda: alignment_path(X, y, grid, sample_domain=domain))
    yield race


def stream(rows: int = 1_000_000, block: int = 20_000) -> None:
    """Peak memory after a tenth of the rows and after all."""
    model = LSDAKSVC(features=Nystroem(200, gamma=0.05, random_state=0))
    start = time.perf_counter()
    for done in range(block, rows + 1, block):
        X, y, domain = domains(block // 2, block // 2, 10, seed=done)
        model.partial_fit(X, y, [0, 1], sample_domain=domain)
        if done in (rows // 10, rows):
            print(f"stream: {done} rows, {time.perf_counter() - start:.1f} s, peak {peak():.0f} MB")


def text() -> None:
    """Task 4 without densifying."""
    from shiftlearn.datasets import load_newsgroups_task, tfidf

    data = load_newsgroups_task(4)
    X, _ = tfidf(data.data, min_df=3, stop_words="english", sublinear_tf=True)
    print(f"text: {X.shape[0]} x {X.shape[1]}, {X.nnz} entries, peak so far {peak():.0f} MB")
    for form in ("rkhs", "coef"):
        start = time.perf_counter()
        model = DAKSVC(kernel="linear", form=form, memory_limit=3 * 2**29)
        model.fit(X, data.target, sample_domain=data.domain)
        seconds = time.perf_counter() - start
        gap = model.certificate_.relative_gap
        print(f"text: {form} {seconds:.1f} s, peak {peak():.0f} MB, relative gap {gap:.3g}")


def peak() -> float:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


RACES: dict[str, Callable[[], Iterator[Race]]] = {
    "exact": exact, "features": features, "path": path,
}  # fmt: skip
PLAIN: dict[str, Callable[[], None]] = {"stream": stream, "text": text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm", type=int, default=1, help="turns that do not count")
    parser.add_argument("--only", nargs="*", choices=[*RACES, *PLAIN])
    options = parser.parse_args()
    print(describe_machine())
    chosen = options.only or [*RACES, *PLAIN]
    for name in chosen:
        if name in PLAIN:
            PLAIN[name]()
            continue
        for race in RACES[name]():
            race.run(repeats=options.repeats, warm=options.warm)
            first, *others = race.seconds
            print(race.table(reference=first))
            for other in others:
                print(f"  {other}: {race.median(other) / race.median(first):.2f} x {first}")
            record(race)


if __name__ == "__main__":
    main()
