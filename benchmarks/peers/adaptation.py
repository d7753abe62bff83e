"""What adapting costs: against the plain machine, the union, loops over scikit-learn, a fresh fit.

python benchmarks/peers/adaptation.py [--repeats 5] [--only small union many ...] [--record]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from harness import Race, describe_machine, record
from scipy import sparse
from sklearn.svm import SVC as SklearnSVC

from shiftlearn import SVC, AdaptSVC, AggregateSVC, LinearSVC, adapt_many, select_queries


def rows(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, and scores of a source that is right three times in four."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = X @ rng.normal(size=d) / np.sqrt(d) + 0.3 * np.sin(2 * X[:, 0])
    y = (truth + 0.4 * rng.normal(size=n) > 0).astype(int)
    return X, y, truth + 0.8 * rng.normal(size=n)


def small() -> Race:
    """Adapting beside the plain machine on the same 164 x 273 rows (RBF, C=3, scores given)."""
    race, (X, y, f) = Race("adapt-164"), rows(164, 273)
    plain, adapt = SVC(C=3.0, fit_intercept=False), AdaptSVC(C=3.0)

    def twenty(fit: Callable[[], object]) -> Callable[[], None]:
        return lambda: [fit() for _ in range(20)] and None

    race.add("SVC", twenty(lambda: plain.fit(X, y)))
    race.add("AdaptSVC", twenty(lambda: adapt.fit(X, y, source_scores=f)))
    race.add("scikit-learn SVC", twenty(lambda: SklearnSVC(C=3.0).fit(X, y)))
    return race


def union() -> Race:
    """500 labelled rows: plain, adapted, and the union with 5,000 source rows (50 columns)."""
    race, (X, y, f) = Race("adapt-union-500"), rows(500, 50)
    old, labels, _ = rows(5000, 50, seed=1)
    both, all_labels = np.vstack([old, X]), np.concatenate([labels, y])
    domain = np.repeat([1, -1], [5000, 500])
    race.add(
        "AggregateSVC", lambda: AggregateSVC(C=3.0).fit(both, all_labels, sample_domain=domain)
    )
    race.add("SVC", lambda: SVC(C=3.0, fit_intercept=False).fit(X, y))
    race.add("AdaptSVC", lambda: AdaptSVC(C=3.0).fit(X, y, source_scores=f))
    return race


def many(shared: bool = False) -> Race:
    """360 concepts with 164 rows of 273 columns, each its own rows or all on the same."""
    race = Race("adapt-360-shared" if shared else "adapt-360")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(164 if shared else 6000, 273))
    table = np.full((len(X), 360), np.nan)
    truth = X @ rng.normal(size=(273, 360)) / np.sqrt(273)
    chosen = [np.arange(164) if shared else rng.choice(6000, 164, replace=False)
              for _ in range(360)]  # fmt: skip
    for c, r in enumerate(chosen):
        table[r, c] = truth[r, c] >= np.sort(truth[r, c])[-10]
    F = 0.5 * truth - 0.5 + 0.3 * rng.normal(size=truth.shape)

    def loop() -> None:
        for c, r in enumerate(chosen[:60]):
            SklearnSVC(C=3.0).fit(X[r], table[r, c])

    def sixty() -> None:
        adapt_many(X, table[:, :60], source_scores=F[:, :60], C=3.0)

    race.add("scikit-learn, 60 fits", loop)
    race.add("adapt_many, 60 of them", sixty)
    race.add("adapt_many, all 360", lambda: adapt_many(X, table, source_scores=F, C=3.0))
    return race


def text() -> Race:
    """Sparse rows, 20,000 x 40,000 with 60 entries each, linear."""
    rng = np.random.default_rng(0)
    n, d, entries = 20_000, 40_000, 60
    columns = (d * rng.random((n, entries)) ** 2).astype(int).ravel()
    X = sparse.csr_matrix((rng.random(n * entries), columns, np.arange(n + 1) * entries), (n, d))
    X.sum_duplicates()
    X = sparse.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X
    X = X.tocsr()
    truth = X @ rng.normal(size=d)
    y = (truth + 0.3 * truth.std() * rng.normal(size=n) > 0).astype(int)
    f = truth / truth.std() + rng.normal(size=n)
    race = Race("adapt-text")
    race.add("LinearSVC", lambda: LinearSVC(C=1.0, fit_intercept=False, loss="hinge").fit(X, y))
    adapt = AdaptSVC(C=1.0, kernel="linear")
    race.add("AdaptSVC, linear", lambda: adapt.fit(X, y, source_scores=f))
    return race


def again(n: int = 5000, more: int = 50) -> Race:
    """50 new labels on 5,000 rows (50 columns, RBF): from where it was, and from scratch."""
    race, (X, y, f) = Race(f"adapt-again-{n}"), rows(n + more, 50)
    options = {"C": 3.0, "gamma": 0.02}
    warm = AdaptSVC(warm_start=True, **options)
    cold = AdaptSVC(**options)

    def back() -> None:
        warm.fit(X[:n], y[:n], source_scores=f[:n])

    def steps(model: AdaptSVC) -> dict[str, float]:
        model.fit(X, y, source_scores=f)
        return {"steps": model.n_iter_}

    back()
    race.add("from scratch", lambda: steps(cold))
    race.add("back to the old rows (not counted)", back)
    race.add("from where it was", lambda: steps(warm))
    return race


def queries() -> Race:
    """A hundred rows of a pool of 100,000 x 50, by each rule (seconds)."""
    X = np.random.default_rng(0).normal(size=(100_000, 50))
    race = Race("queries-100000x50")
    for rule in ("random", "prior", "best-worst", "diverse"):
        race.add(rule, lambda rule=rule: select_queries(lambda rows: rows[:, 0], X, 100, rule))
    return race


RACES: dict[str, tuple[Callable[[], Race], str]] = {
    "small": (small, "SVC"),
    "union": (union, "AggregateSVC"),
    "many": (many, "scikit-learn, 60 fits"),
    "shared": (lambda: many(shared=True), "scikit-learn, 60 fits"),
    "text": (text, "LinearSVC"),
    "again": (again, "from scratch"),
    "few-again": (lambda: again(500, 10), "from scratch"),
    "queries": (queries, "diverse"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(RACES), default=list(RACES))
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    print(describe_machine())
    for name in args.only:
        make, reference = RACES[name]
        race = make()
        race.run(args.repeats)
        print("\n" + race.table(reference))
        print({k: v for k, v in race.figures.items() if v} or "")
        if args.record:
            record(race)


if __name__ == "__main__":
    main()
