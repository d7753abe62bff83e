"""One and two Dask workers of one thread each against the same fit from blocks in this process.

    python benchmarks/peers/cluster.py [--rows 400000]

Rows are made where they are needed, in chunks of 50,000, so that nothing but sums travels.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from harness import describe_machine

COLUMNS, FEATURES, ROWS = 50, 512, 50_000
# Dask tells its workers to hand every freed piece of memory back to the system at once; temporary
# arrays then cost page faults. Workers that keep 512 MiB run as fast as this process.
KEPT = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 512 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
}


def rows(number: int) -> tuple[np.ndarray, np.ndarray]:
    """One chunk."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    return X, (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.5).astype(np.int64)


def collections(chunks: int) -> tuple[Any, Any]:
    """The same rows as Dask arrays."""
    import dask
    import dask.array as da

    pieces = [dask.delayed(rows)(number) for number in range(chunks)]
    X = [da.from_delayed(p[0], (ROWS, COLUMNS), np.float32) for p in pieces]
    y = [da.from_delayed(p[1], (ROWS,), np.int64) for p in pieces]
    return da.concatenate(X), da.concatenate(y)


def on_cluster(model: Any, workers: int, chunks: int) -> float:
    """Seconds of a fit on a cluster that is there already."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(KEPT),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(lambda: __import__("shiftlearn").LSSVC)
        X, y = collections(chunks)
        model.fit(X[: 2 * ROWS], y[: 2 * ROWS])
        began = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - began


def main() -> None:
    """Print both ratios."""
    from shiftlearn import LSSVC, Blocks, RandomFourier

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    chunks = -(-parser.parse_args().rows // ROWS)
    print(describe_machine())
    model = LSSVC(features=RandomFourier(FEATURES, gamma=0.02, random_state=0), n_jobs=1)
    began = time.perf_counter()
    model.fit(Blocks(lambda: ((*rows(i), None) for i in range(chunks))))
    here = time.perf_counter() - began
    one, two = (on_cluster(model, n, chunks) for n in (1, 2))
    print(
        f"{chunks * ROWS} rows, {COLUMNS} columns, {FEATURES} features: blocks in this process "
        f"(one thread) {here:.1f} s, one worker {one:.1f} s ({one / here:.2f} x), two workers "
        f"{two:.1f} s ({one / two:.2f} x as fast as one)"
    )


if __name__ == "__main__":
    main()
