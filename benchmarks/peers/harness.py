"""What every comparison with other libraries shares: the machine, the race, the unit, the record.

A figure is a ratio measured in one run: contenders take turns (A B C, A B C, ...), so that a busy
moment of the machine meets all of them, and the median of the turns counts. The unit is the
*kernel pass*, the time of one full n x n float32 RBF matrix by tiled sgemm and exp on all
processors, each tile overwritten by the next. It is computed here with NumPy alone, independently
of the library, so that it cannot move with it.

    from harness import Race, kernel_pass, record

    race = Race("svc-20000x20")
    race.add("shiftlearn", lambda: SVC().fit(X, y))
    race.add("scikit-learn", lambda: SklearnSVC().fit(X, y))
    race.add("kernel pass", lambda: kernel_pass(X, gamma))
    race.run(repeats=3)
    print(race.table(reference="scikit-learn", unit="kernel pass"))
    record(race)

Contenders that must not share a process (a patched scikit-learn, another number of BLAS threads)
join by ``race.add_process(name, setup, statement, environment)``.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

RESULTS = Path(__file__).resolve().parents[1] / "results"
LIBRARIES = (
    "shiftlearn",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
)
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "SHIFTLEARN_NUM_THREADS",
    "SHIFTLEARN_ISA",
)


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


# --- the unit -----------------------------------------------------------------------------------


def augmented(X: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return L, R in float32 with L @ R.T = -gamma * squared distances: exp is all that is left."""
    X = np.asarray(X, dtype=np.float64)
    X = X - X.mean(axis=0)
    norms, ones = np.einsum("ij,ij->i", X, X)[:, None], np.ones((len(X), 1))
    left = np.hstack([2 * gamma * X, -gamma * norms, ones])
    right = np.hstack([X, ones, -gamma * norms])
    return left.astype(np.float32), right.astype(np.float32)


def rbf_tile(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write exp(left @ right.T) into ``out``."""
    np.matmul(left, right.T, out=out)
    return np.exp(out, out=out)


def kernel_pass(
    X: np.ndarray, gamma: float, *, threads: int | None = None, tile: tuple[int, int] = (256, 512)
) -> None:
    """Compute every entry of the RBF matrix of X once, tile by tile, and keep none.

    Each of ``threads`` threads takes a share of the rows and calls a BLAS held to one thread.
    """
    threads = threads or processors()
    left, right = augmented(X, gamma)
    height, width = tile

    def share(first: int) -> None:
        buffer = np.empty((height, width), dtype=np.float32)
        for i in range(first * height, len(left), threads * height):
            rows = left[i : i + height]
            for j in range(0, len(right), width):
                columns = right[j : j + width]
                rbf_tile(rows, columns, buffer[: len(rows), : len(columns)])

    with (
        ThreadpoolController().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads) as pool,
    ):
        list(pool.map(share, range(threads)))


# --- contenders in processes of their own ---------------------------------------------------------

_WORKER = """
import json, resource, sys, time
task = json.loads(sys.stdin.readline())
space = {}
exec(task["setup"], space)
statement = compile(task["statement"], "statement", "exec")
for line in sys.stdin:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    exec(statement, space)
    seconds = time.perf_counter() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    answer = {"seconds": seconds, "grown_mib": grown / 1024, "figures": space.get("figures", {})}
    print("\\n@" + json.dumps(answer), flush=True)
"""


class Process:
    """A statement timed in a Python of its own; a dict ``figures`` that it sets comes back."""

    def __init__(
        self, setup: str, statement: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self._say(json.dumps({"setup": setup, "statement": statement}))

    def turn(self) -> dict[str, Any]:
        """Run the statement once: seconds, growth of the peak of memory in MiB, figures."""
        self._say("go")
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.startswith("@"):
                answer: dict[str, Any] = json.loads(line[1:])
                return answer
        raise RuntimeError(f"the contender's process ended with {self._child.wait()}")

    def close(self) -> None:
        """End the process."""
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()

    def _say(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()


# --- the race -------------------------------------------------------------------------------------


@dataclass
class Race:
    """Contenders that take turns, the seconds of each turn, and what they reported."""

    name: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    _turns: dict[str, Callable[[], dict[str, Any]]] = field(default_factory=dict)
    _processes: list[Process] = field(default_factory=list)

    def add(self, name: str, run: Callable[[], Any]) -> None:
        """Enter a function; a dict that it returns is kept as its figures (objective, gap, ...)."""

        def turn() -> dict[str, Any]:
            began = time.perf_counter()
            answer = run()
            seconds = time.perf_counter() - began
            return {"seconds": seconds, "figures": answer if isinstance(answer, dict) else {}}

        self._turns[name] = turn

    def add_process(
        self, name: str, setup: str, statement: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Enter a statement that runs in a process of its own, prepared by ``setup`` untimed."""
        process = Process(setup, statement, environment)
        self._processes.append(process)
        self._turns[name] = process.turn

    def run(self, repeats: int = 3, warm: int = 1) -> None:
        """Let all take ``warm`` turns that do not count, then ``repeats`` that do."""
        try:
            for round_ in range(warm + repeats):
                for name, turn in self._turns.items():
                    answer = turn()
                    self.figures.setdefault(name, {}).update(answer["figures"])
                    if round_ >= warm:
                        self.seconds.setdefault(name, []).append(answer["seconds"])
        finally:
            for process in self._processes:
                process.close()

    def median(self, name: str) -> float:
        """Return the median seconds of a contender."""
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, reference: str) -> float:
        """Return how many times faster ``name`` is: median of reference / name over rounds."""
        pairs = zip(self.seconds[reference], self.seconds[name], strict=True)
        return statistics.median(theirs / own for theirs, own in pairs)

    def table(self, reference: str, unit: str | None = None) -> str:
        """Return seconds (median, least, most), times faster than the reference, and units."""
        head = f"{self.name:<32}{'median s':>10}{'least':>9}{'most':>9}{'x ' + reference:>18}"
        lines = [head + (f"{'in ' + unit:>18}" if unit else "")]
        for name, turns in self.seconds.items():
            line = f"{name:<32}{self.median(name):>10.4f}{min(turns):>9.4f}{max(turns):>9.4f}"
            line += f"{self.ratio(name, reference):>18.2f}"
            lines.append(line + (f"{self.ratio(unit, name):>18.2f}" if unit else ""))
        return "\n".join(lines)


# --- the machine and the record -----------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Return processor, BLAS, versions and thread settings."""
    from shiftlearn import _core

    return {
        "processor": _processor_name(),
        "processors": processors(),
        "instruction set": _core.isa(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blas": [
            {
                key: pool.get(key)
                for key in ("internal_api", "version", "architecture", "num_threads")
            }
            for pool in ThreadpoolController().info()
        ],
        "versions": _versions(),
        "variables": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
    }


def _processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def describe_machine() -> str:
    """Return the machine as lines of text; every script prints them first."""
    return "\n".join(f"{key}: {value}" for key, value in machine().items())


def record(*races: Race, folder: Path = RESULTS) -> list[Path]:
    """Write each race with its machine as ``results/<name>.json``; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for race in races:
        content = {
            "name": race.name,
            "machine": machine(),
            "seconds": {k: [round(s, 5) for s in turns] for k, turns in race.seconds.items()},
            "figures": race.figures,
        }
        path = folder / f"{race.name}.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf8")
        paths.append(path)
    return paths
