"""Run by test_cluster.py in a process of its own: a fit on a local cluster, a worker killed."""

import os
import signal
import sys
import threading
import time

import numpy as np


def rows(seed, n=4000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.int64)


def collections(da, dask, parts):
    pieces = [dask.delayed(rows, pure=True)(seed) for seed in range(parts)]
    X = da.concatenate([da.from_delayed(p[0], (4000, 6), np.float64) for p in pieces])
    y = da.concatenate([da.from_delayed(p[1], (4000,), np.int64) for p in pieces])
    return X, y


def kill_one(cluster):
    time.sleep(1.0)
    worker = next(iter(cluster.workers.values()))
    os.kill(worker.process.pid, signal.SIGKILL)
    print("killed", flush=True)


def main():
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    from shiftlearn import Blocks, LinearSVC, RandomFourier

    model = LinearSVC(features=RandomFourier(32, gamma=0.1, random_state=0), tol=1e-2)

    def make():
        for seed in range(6):
            yield *rows(seed), None

    expected = model.fit(Blocks(make)).coef_.copy()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as c,
        Client(c),
    ):
        X, y = collections(da, dask, 6)
        if "kill" in sys.argv:
            threading.Thread(target=kill_one, args=(c,), daemon=True).start()
        found = model.fit(X, y).coef_
        print("difference", np.abs(found - expected).max(), flush=True)
        labels = model.predict(X)
        assert hasattr(labels, "__dask_graph__")
        print("mean", float(labels.mean().compute()), flush=True)


if __name__ == "__main__":
    main()
