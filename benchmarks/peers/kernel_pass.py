"""The unit itself: seconds of a kernel pass, beside the library's own kernel blocks.

python benchmarks/peers/kernel_pass.py [rows]
"""

from __future__ import annotations

import sys

import numpy as np
from harness import Race, describe_machine, kernel_pass, record

from shiftlearn.kernels import resolve_kernel


def main() -> None:
    """Race the unit against the library's blocks for two widths."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(describe_machine())
    for d in (20, 200):
        X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
        kernel = resolve_kernel("rbf", 1.0 / d, 3, 0.0, X)
        race = Race(f"kernel-pass-{n}x{d}")
        race.add("kernel pass", lambda X=X, d=d: kernel_pass(X, 1.0 / d))
        race.add("kernel pass, one thread", lambda X=X, d=d: kernel_pass(X, 1.0 / d, threads=1))
        race.add("shiftlearn blocks", lambda X=X, kernel=kernel: _blocks(kernel, X))
        race.run()
        print("\n" + race.table(reference="kernel pass", unit="kernel pass"))
        record(race)


def _blocks(kernel, X: np.ndarray, rows: int = 1024) -> None:
    for i in range(0, len(X), rows):
        kernel.block(X[i : i + rows], X)


if __name__ == "__main__":
    main()
