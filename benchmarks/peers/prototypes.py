"""Prototype machines: the batched path against straight loops, and predicting against its product.

    python benchmarks/peers/prototypes.py [scene ...] [--repeats 3]

Scenes: machines, shift, fit, default, predict, large. Every contender has one thread and its CPU
seconds are counted, so that a busy machine does not disturb the ratios (of medians, contenders in
turn); "large" uses all threads and the clock. The loops are those of tests/oracles/prototypes.py;
where a loop would take very long, a part of it is timed and the line says which.
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import sklearn
from sklearn.svm import SVC

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from oracles import prototypes as oracle  # noqa: E402
from shiftlearn import PrototypeSVC, _core  # noqa: E402
from shiftlearn.prototypes.models import TrainingSet, exemplar_models, train  # noqa: E402
from shiftlearn.prototypes.rules import Rules  # noqa: E402
from shiftlearn.prototypes.shifting import Draws, shift  # noqa: E402
from shiftlearn.prototypes.table import Columns  # noqa: E402
from shiftlearn.resources import serial_blas  # noqa: E402

Work = Callable[[], object]
clock = time.process_time


def rows(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes in three overlapping blobs each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    centres = 1.6 * rng.normal(size=(3 * n_classes, d)) / np.sqrt(d / 8)
    return centres[y + n_classes * rng.integers(0, 3, n)] + rng.normal(size=(n, d)), y


def published(name: str) -> tuple[np.ndarray, np.ndarray]:
    """segment or vehicle; blobs of the same size where the data are not there."""
    from shiftlearn import datasets

    try:
        found = getattr(datasets, f"load_{name}")()
    except FileNotFoundError:
        print(f"  ({name} is not there: blobs of its size)")
        return rows(*{"segment": (2310, 19, 7), "vehicle": (846, 18, 4)}[name])
    return np.asarray(found.data), np.unique(found.target, return_inverse=True)[1]


def prepared(X: np.ndarray, y: np.ndarray) -> TrainingSet:
    """Three quarters of the rows, scaled, as a fit sees them."""
    inside = np.flatnonzero(np.arange(len(y)) % 4 > 0)
    table = Columns.of(X, "range").apply(X[inside])
    codes = y[inside].astype(np.int32)
    return TrainingSet(table, codes, np.ones(len(inside)), int(y.max()) + 1)


def medians(contenders: dict[str, Work], repeats: int) -> dict[str, float]:
    """Median seconds, all contenders in turn in every round; a first round does not count."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, work in contenders.items():
            started = clock()
            work()
            if turn or repeats == 0:
                times[name].append(clock() - started)
    return {name: median(t) for name, t in times.items()}


def machines(repeats: int) -> None:
    """Initial machines of segment: one batch against a loop over SVC."""
    data = prepared(*published("segment"))
    first = exemplar_models(data, np.arange(data.n_rows), 7, 1)
    every, Z, few = np.ones(len(first), dtype=bool), data.table.matrix, 150

    def loop() -> None:
        for i in range(few):
            mine = first.rows[first.indptr[i] : first.indptr[i + 1]]
            signs = np.where(data.codes[mine] == first.codes[i], 1, -1)
            SVC(kernel="linear", C=100.0).fit(Z[mine], signs)

    def ours(n_jobs: int, tol: float) -> Work:
        return lambda: train(
            data, first, every, 100.0, Rules(), tol=tol, max_iter=10**6, n_jobs=n_jobs
        )

    found = medians({"loop": loop, "tol 1e-3": ours(1, 1e-3), "tol 1e-6": ours(1, 1e-6)}, repeats)
    base = found.pop("loop") / few
    print(
        f"  loop over SVC (tol 1e-3)        {base * 1e6:9.1f} us a machine ({few} of {len(first)})"
    )
    for name, seconds in found.items():
        each = seconds / len(first)
        print(f"  ours with sigmoids, {name}: {each * 1e6:.2f} us, {base / each:.0f} x")


def shifting(repeats: int) -> None:
    """One shift of segment: the double loop against the compiled pass."""
    data = prepared(*published("segment"))
    first = exemplar_models(data, np.arange(data.n_rows), 7, 1)
    every = np.ones(len(first), dtype=bool)
    ensemble = train(data, first, every, 100.0, Rules(), tol=1e-6, max_iter=10**6, n_jobs=1)
    models = as_dictionaries(ensemble, data.codes)
    started = clock()
    expected = oracle.shift(data.table.matrix, data.codes, models, 0.005, 1, 0)
    slow = clock() - started
    work = {"ours": lambda: shift(data, ensemble, Draws(0.005, 1), 0, Rules(), 1)}
    fast = medians(work, repeats)["ours"]
    print(f"  double loop {slow:.2f} s, ours {fast * 1e3:.1f} ms: {slow / fast:.0f} x")
    ours = shift(data, ensemble, Draws(0.005, 1), 0, Rules(), 1).ensemble
    assert ours.exemplars.tolist() == [m["exemplar"] for m in expected]


def as_dictionaries(ensemble: object, codes: np.ndarray) -> list[dict[str, object]]:
    """The oracle's form of an ensemble."""
    found = []
    for i, mine in enumerate(np.split(ensemble.rows, ensemble.indptr[1:-1])):
        label = int(ensemble.codes[i])
        P = {int(j) for j in mine if codes[j] == label}
        found.append(
            {"exemplar": int(ensemble.exemplars[i]), "label": label, "P": P,
             "N": {*mine.tolist()} - P, "w": ensemble.coef[i], "b": ensemble.figures[0, i]}
        )  # fmt: skip
    return found


def whole_fit(repeats: int) -> None:
    """Whole fits with reading="spec": the straight loop against ours."""
    for name, shifts in (("vehicle", 10), ("segment", 1)):
        X, y = published(name)
        model = PrototypeSVC(shifts, reading="spec", random_state=0, n_jobs=1)
        fast = medians({"ours": lambda m=model, X=X, y=y: m.fit(X, y)}, repeats)["ours"]
        Z = Columns.of(X, "range").apply(X).matrix
        started = clock()
        oracle.fit(Z, y, model.validation_indices_, shifts=shifts, seed=0)
        slow = clock() - started
        ratio = f"loop {slow:.1f} s, ours {fast:.3f} s: {slow / fast:.0f} x"
        print(f"  {name}, {len(y)} rows, {shifts} shifts: {ratio}")


def default(repeats: int) -> None:
    """The default (which tries costs and rates) against reading="spec"."""
    for name in ("vehicle", "segment"):
        X, y = published(name)
        work = {
            reading: lambda r=reading, X=X, y=y: PrototypeSVC(
                reading=r, random_state=0, n_jobs=1
            ).fit(X, y)
            for reading in ("spec", "default")
        }
        found = medians(work, repeats)
        print(f"  {name}: spec {found['spec']:.3f} s, default {found['default']:.3f} s: "
              f"{found['default'] / found['spec']:.1f} x")  # fmt: skip


def predicting(repeats: int) -> None:
    """Predicting against the matrix product that it needs, the same number of threads."""
    for d in (2, 4, 9, 18, 50, 500, 2000):
        n = 20_000 if d <= 50 else 6000 if d <= 500 else 2000
        X, y = rows(1400, d, 4)
        model = PrototypeSVC(reading="spec", random_state=0).fit(X, y)
        new, W = np.tile(X, (-(-n // len(X)), 1))[:n], np.ascontiguousarray(model.coef_.T)
        model.set_params(n_jobs=1)
        with serial_blas():
            found = medians(
                {"product": lambda A=new, W=W: A @ W, "ours": lambda m=model, A=new: m.predict(A)},
                repeats,
            )
        product, ours = found["product"], found["ours"]
        print(f"  d = {d}, {W.shape[1]} models, {n} rows: product {product * 1e3:.0f} ms, "
              f"predict {ours * 1e3:.0f} ms: {ours / product:.2f} x")  # fmt: skip


def large(repeats: int) -> None:
    """30,000 rows, 50 columns, a tenth of the labels wrong: time and peak memory in a process."""
    command = [sys.executable, __file__, "--one-large-fit"]
    print("  " + subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def one_large_fit() -> None:
    X, y = rows(30_000, 50, 5)
    wrong = np.random.default_rng(1).random(len(y)) < 0.1
    y = np.where(wrong, (y + 1) % 5, y)
    started = time.perf_counter()
    model = PrototypeSVC(reading="spec", random_state=0).fit(X, y)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n = 30,000, d = 50: {seconds:.0f} s, peak memory {peak:.2f} GiB, models "
          f"{model.n_models_per_iteration_.tolist()}, "
          f"{np.mean([len(s) for s in model.negative_sets_]):.0f} negatives a model")  # fmt: skip


SCENES = {
    "machines": machines, "shift": shifting, "fit": whole_fit, "default": default,
    "predict": predicting, "large": large,
}  # fmt: skip


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[*SCENES, []])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one-large-fit", action="store_true")
    arguments = parser.parse_args()
    if arguments.one_large_fit:
        return one_large_fit()
    print(f"{processor()}, {_core.isa()}, NumPy {np.__version__}, sklearn {sklearn.__version__}")
    for name in arguments.scenes or SCENES:
        print(f"\n{name}: {SCENES[name].__doc__}")
        SCENES[name](arguments.repeats)


if __name__ == "__main__":
    main()
