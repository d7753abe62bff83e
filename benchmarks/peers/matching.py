"""Kernel mean matching beside cvxopt's quadratic program, skada and adapt, and its memory.

    python benchmarks/peers/matching.py 2000 [columns] [turns]     # m = n = 2,000, in turns
    python benchmarks/peers/matching.py large                      # m = n = 50,000, peak memory

All contenders get the same rows, width, B = 1,000 and the default ε, and each computes its own
kernel matrices. Printed is the objective's excess over the best certified one, relative to it;
skada's and adapt's answers are approximations (skada's may leave the bounds, adapt cuts the rows
into blocks of 1,000). cvxopt, skada and adapt are compared where they are installed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import resource
import sys
import time
from unittest.mock import MagicMock

import numpy as np
from harness import Race, record
from sklearn.metrics.pairwise import rbf_kernel

from shiftlearn import KernelMeanMatching, Nystroem

B = 1000.0


def samples(m, d, shift=0.5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(m, d)), rng.normal(shift / np.sqrt(d), 0.8, size=(m, d))


def width(m):
    return (np.sqrt(m) - 1) / np.sqrt(m)


def with_cvxopt(Xs, Xt, gamma):
    from cvxopt import matrix, solvers, sparse, spdiag

    m = len(Xs)
    K, kappa = rbf_kernel(Xs, Xs, gamma), rbf_kernel(Xs, Xt, gamma).sum(axis=1) * m / len(Xt)
    ones, eye = matrix(1.0, (1, m)), spdiag(matrix(1.0, (m, 1)))
    G = sparse([ones, -ones, eye, -eye])
    h = np.r_[m * (1 + width(m)), m * (width(m) - 1), np.full(m, B), np.zeros(m)]
    solvers.options["show_progress"] = False
    answer = solvers.qp(matrix(K), matrix(-kappa), G, matrix(h))
    return np.clip(np.array(answer["x"]).ravel(), 0, B)


def with_skada(Xs, Xt, gamma):
    from skada._reweight import KMMReweightAdapter

    return KMMReweightAdapter(gamma=gamma, B=B)._weights_optimization(Xs, Xt)


def with_adapt(Xs, Xt, gamma):
    from adapt.instance_based import KMM
    from sklearn.linear_model import LogisticRegression

    model = KMM(LogisticRegression(), Xt=Xt, kernel="rbf", gamma=gamma, B=B, verbose=0)
    return model.fit_weights(Xs, Xt)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty stand-ins for neural-network libraries that adapt imports and its KMM never calls."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "scikeras"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__spec__, module.__path__ = spec, []
        for base in ("Model", "Layer", "KerasClassifier", "KerasRegressor"):
            setattr(module, base, type(base, (), {}))
        return module

    def exec_module(self, module):
        pass


def importable_adapt():
    try:
        import tensorflow  # noqa: F401
    except ImportError:
        sys.meta_path.append(StandIns())
    import adapt.instance_based  # noqa: F401


def contenders():
    found = {}
    for name, run, module in [
        ("cvxopt", with_cvxopt, "cvxopt"),
        ("skada", with_skada, "skada"),
        ("adapt, blocks of 1000", with_adapt, "adapt"),
    ]:
        try:
            importable_adapt() if module == "adapt" else __import__(module)
        except Exception as problem:
            print(f"{name}: left out, {type(problem).__name__}: {problem}")
        else:
            found[name] = run
    return found


def compare(m, d, turns):
    Xs, Xt = samples(m, d)
    gamma = 1.0 / (d * np.r_[Xs, Xt].var())
    K, kappa = rbf_kernel(Xs, Xs, gamma), rbf_kernel(Xs, Xt, gamma).sum(axis=1)
    answers, race = {}, Race(f"matching-{m}x{d}")

    def ours():
        fitted = KernelMeanMatching(gamma=gamma, B=B).fit(Xs, Xt)
        answers["shiftlearn"] = fitted.weights_
        proof = fitted.certificate_
        return {"gap": proof.relative_gap, "violation": proof.violation, "pivots": proof.n_iter}

    race.add("shiftlearn", ours)
    for name, run in contenders().items():

        def turn(name=name, run=run):
            answers[name] = np.asarray(run(Xs, Xt, gamma))

        race.add(name, turn)
    race.run(repeats=turns)
    print(race.table(reference="shiftlearn"))
    values = {name: 0.5 * w @ K @ w - kappa @ w for name, w in answers.items()}
    best = values["shiftlearn"]
    for name, value in values.items():
        w = answers[name]
        print(f"{name:22s} excess {(value - best) / abs(best):9.2e}  sum/m {w.sum() / m:.4f}")
    record(race)


def large(m=50_000, d=10):
    Xs, Xt = samples(m, d)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    began = time.perf_counter()
    fitted = KernelMeanMatching(features=Nystroem(300, random_state=0)).fit(Xs, Xt)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"m = n = {m}: {seconds:.1f} s, peak of the process {peak:.2f} GiB ({before:.2f} before), "
        f"violation {fitted.certificate_.violation:.1e}, "
        f"relative gap {fitted.certificate_.relative_gap:.1e}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["large"]:
        large()
    else:
        numbers = [int(word) for word in sys.argv[1:]]
        compare(*(numbers + [2000, 10, 3][len(numbers) :]))
