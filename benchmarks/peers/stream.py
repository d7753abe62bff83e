"""Fits from blocks against the bare products that they need, on the same blocks.

    python benchmarks/peers/stream.py [--rows 1000000]

Rows are made block by block and never held: x is normal, the label a noisy rule. "Products" walks
the blocks once with Z = map(X), ZᵀZ; the hinge machine's passes are counted and compared with as
many walks of Z = map(X), Zw.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import describe_machine

from shiftlearn import LSSVC, Blocks, LinearSVC, RandomFourier
from shiftlearn.statistics import map_reduce

COLUMNS, FEATURES, ROWS = 50, 512, 50_000


def maker(n: int):
    """Blocks of ``n`` rows in all, float32."""

    def make() -> Iterator[tuple[np.ndarray, np.ndarray, None]]:
        for number in range(-(-n // ROWS)):
            rng = np.random.default_rng(number)
            X = rng.standard_normal((min(ROWS, n - number * ROWS), COLUMNS), dtype=np.float32)
            yield X, X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.5, None

    return make


def products(make, features, second: bool) -> float:
    """Seconds of one walk with the products alone."""
    w = np.ones(FEATURES, dtype=np.float32)

    def part(block):
        Z = features.transform(block[0])
        return Z.T @ Z if second else Z @ w @ np.ones(len(Z), dtype=np.float32) * np.ones(1)

    began = time.perf_counter()
    for block in make():
        map_reduce(part, [block], np.add)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    print(describe_machine())
    make = maker(n)
    features = RandomFourier(FEATURES, gamma=0.02, random_state=0)
    fitted = RandomFourier(FEATURES, gamma=0.02, random_state=0).fit(next(make())[0])
    bare = products(make, fitted, True)
    thin = products(make, fitted, False)
    for name, model in (
        ("LSSVC", LSSVC(features=features)),
        ("LinearSVC", LinearSVC(features=features)),
    ):
        walks = []

        def counted(walks=walks):
            walks.append(1)
            return make()

        began = time.perf_counter()
        model.fit(Blocks(counted))
        seconds = time.perf_counter() - began
        proof = model.certificate_
        print(
            f"{name}: {seconds:.1f} s, {len(walks)} walks, gap {proof.gap:.3g} at "
            f"{proof.objective:.6g}; products ZᵀZ {bare:.1f} s a walk, map and Zw {thin:.1f} s; "
            f"{seconds / bare:.2f} x one ZᵀZ walk, {seconds / (len(walks) * thin):.2f} x its walks"
        )
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(f"peak memory {int(status.split('VmHWM:')[1].split()[0]) / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
