"""What works without target labels, in fits of scikit-learn's logistic regression of the same size.

python benchmarks/peers/trust.py
"""

from __future__ import annotations

import warnings

import numpy as np
from harness import Race, record
from sklearn.linear_model import LogisticRegression

from shiftlearn import AccuracyEstimator, ShiftCommittee, stack_domains

N, D = 10_000, 100


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two classes, correlated columns of one scale; the target is scaled and moved."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((D, D)) / np.sqrt(D)
    rule = rng.standard_normal(D)
    Xs, Xt = (rng.standard_normal((N, D)) @ mix + 0.5 * rng.standard_normal((N, D)) for _ in "st")
    ys, yt = ((X @ rule + 1.5 * rng.standard_normal(N) > 0).astype(int) for X in (Xs, Xt))
    gain = np.exp(0.3 * rng.standard_normal(D))
    return Xs, ys, Xt * gain + 0.3 * rng.standard_normal(D), yt


def main() -> None:
    warnings.simplefilter("ignore")
    Xs, ys, Xt, yt = rows()
    X, y, domain = stack_domains(Xs, ys, Xt)
    both, labels = np.vstack([Xs, Xt]), np.concatenate([ys, yt])
    model = LogisticRegression(max_iter=1000).fit(Xs[::2], ys[::2])
    race = Race(f"trust-{N}x{D}")
    race.add("one lbfgs fit", lambda: LogisticRegression(max_iter=1000, tol=1e-4).fit(both, labels))
    race.add(
        "ShiftCommittee", lambda: ShiftCommittee(random_state=0).fit(X, y, sample_domain=domain)
    )
    race.add("AccuracyEstimator", lambda: AccuracyEstimator().fit(model, Xs, ys).estimate(Xt))
    race.run(repeats=3)
    print(race.table(reference="one lbfgs fit"))
    record(race)


if __name__ == "__main__":
    main()
