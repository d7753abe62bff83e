"""Study ``ground-floor``: what a shift costs a support vector machine that knows nothing of it."""

from __future__ import annotations

import numpy as np

from shiftlearn.studies.base import reference_row, study

__all__ = ["ground_floor"]

_ANGLES = tuple(range(10, 61, 5))
_DISTANCE = "distance"
_SOURCE = "SVC of the source"
_TARGET = "SVC of the target"


@study(
    "ground-floor",
    title="Two moons that rotate: a plain SVC",
    grid={"machine": (_SOURCE, _TARGET, _DISTANCE), "ratio": (1, 2), "angle": _ANGLES},
    columns="angle",
    figures={"accuracy": "accuracy on the target (%)", "divergence": "D_JS (bits)"},
    seeds=10,
    quick={"angle": (10, 30, 60)},
    quick_seeds=2,
    applies=lambda settings: settings["machine"] != _DISTANCE or settings["ratio"] == 1,
    reference_name="reference",
    references=(
        *reference_row(
            "accuracy",
            "angle",
            _ANGLES,
            (99.8, 99.1, 96.6, 92.1, 83.8, 74.0, 63.1, 52.4, 44.0, 38.2, 33.9),
            machine=_SOURCE,
            ratio=1,
        ),
        *reference_row(
            "accuracy",
            "angle",
            _ANGLES,
            (99.9, 99.7, 99.2, 98.1, 96.2, 93.1, 88.5, 81.6, 73.4, 63.0, 53.3),
            machine=_SOURCE,
            ratio=2,
        ),
        *reference_row(
            "divergence",
            "angle",
            _ANGLES,
            (0.029, 0.059, 0.094, 0.129, 0.163, 0.195, 0.225, 0.253, 0.279, 0.304, 0.327),
            machine=_DISTANCE,
        ),
    ),
)
def ground_floor(machine: str, ratio: int, angle: int, seed: int) -> dict[str, float]:
    """Source: two moons, 300 rows each, noise 0.1; target: the same rows, rotated about the centre.

    An RBF machine (C = 1, bandwidth σ/ratio with σ² the mean norm of the source rows) is fitted on
    the source, or, as the ceiling, on a fresh target sample, and scored on the target. D_JS is the
    Jensen-Shannon divergence of the two sets of rows. The paper prints no numbers for this
    experiment, only curves, and leaves open the angles, the noise and the costs; the reference is
    an independent run of the same protocol, whose cost for the plain machine is not stated either.
    """
    from shiftlearn import SVC
    from shiftlearn.datasets import make_rotated_moons
    from shiftlearn.shift import jensen_shannon

    moons = make_rotated_moons(angle, random_state=seed)
    Xs, ys, Xt, yt = moons.split()
    if machine == _DISTANCE:
        return {"divergence": float(jensen_shannon(Xs, Xt))}
    gamma = ratio**2 / (2 * float(np.mean(np.linalg.norm(Xs, axis=1))))
    if machine == _SOURCE:
        return {"accuracy": 100 * SVC(C=1.0, gamma=gamma).fit(Xs, ys).score(Xt, yt)}
    fresh = make_rotated_moons(angle, random_state=seed + 1_000_000)
    _, _, X, y = fresh.split()
    return {"accuracy": 100 * SVC(C=1.0, gamma=gamma).fit(X, y).score(Xt, yt)}
