"""Studies of the DAKSVM paper on made data: Gaussians, two moons, time against classes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from shiftlearn.studies.base import Reference, reference_row, study

__all__ = ["daksvm_classes", "daksvm_gaussians", "daksvm_moons"]

_LINES = {
    # machine: (balance, alignment) in units of M' = I + alignment [...]
    "SVM": (0.0, 0.0),
    "LMPROJ, μ=10": (0.0, 10.0),
    "LMPROJ, μ=1000": (0.0, 1000.0),
    "DAKSVM λ=½, μ=10": (0.5, 10.0),
    "DAKSVM λ=½, μ=1000": (0.5, 1000.0),
    "DAKSVM λ=1, μ=1000": (1.0, 1000.0),
}
_FIG1 = (92.4, 91.2, 75.2, 94.6, 96.1, 96.1)
_ANGLE1 = (44.0, 47.0, 65.0, 36.0, 5.0)
_DEFAULTS = "DAKSVC()"


@study(
    "daksvm-gaussians",
    title="Two Gaussians (Fig. 1): which direction is trusted",
    grid={"machine": (*_LINES, _DEFAULTS), "kernel": ("linear",)},
    columns="machine",
    figures={
        "accuracy": "accuracy on the target (%)",
        "angle": "angle of the normal to the discriminative axis (°)",
    },
    seeds=10,
    quick_seeds=3,
    reference_name="reference",
    references=(
        *reference_row("accuracy", "machine", _LINES, _FIG1),
        *reference_row("angle", "machine", list(_LINES)[:5], _ANGLE1),
    ),
)
def daksvm_gaussians(machine: str, kernel: str, seed: int) -> dict[str, float]:
    """Source and target as in the paper's Fig. 1: the first axis tells the classes apart in both.

    Along the second they differ on the source only. The paper prints the moments of the samples,
    not the class means, the kernel or the settings, and accuracies 93 (SVM), 94.6 (LMPROJ), 97.4
    (DAKSVM); the generator, the linear kernel and C' = 0.1 are this project's, and the reference is
    an independent run of the same protocol. LMPROJ's small gain is not reproduced: it loses.
    """
    from shiftlearn import DAKSVC
    from shiftlearn.datasets import make_gaussian_shift

    data = make_gaussian_shift(random_state=seed)
    _, _, Xt, yt = data.split()
    if machine == _DEFAULTS:
        model = DAKSVC(kernel=kernel)
    else:
        balance, alignment = _LINES[machine]
        model = DAKSVC(0.1, balance=balance, alignment=alignment, form="rkhs", kernel=kernel)
    model.fit(data.data, data.target, sample_domain=data.domain)
    normal = np.abs(model.coef_[0])
    return {
        "accuracy": 100 * model.score(Xt, yt),
        "angle": float(np.degrees(np.arctan2(normal[1], normal[0]))),
    }


_ANGLES = tuple(range(10, 61, 5))
_MOONS: dict[str, dict[str, Any]] = {
    "LMPROJ γ=2, μ=10, C=1": {
        "balance": 0.0, "form": "rkhs", "bandwidth_ratio": 2.0, "alignment": 10.0, "C": 1.0,
    },
    "rkhs λ=½": {"balance": 0.5, "form": "rkhs", "C": 10.0},
    "rkhs λ=1": {"balance": 1.0, "form": "rkhs", "C": 10.0},
    "coef λ=0": {"balance": 0.0, "form": "coef", "C": 1.0},
    "coef λ=0.1": {"balance": 0.1, "form": "coef", "C": 1.0},
    "coef λ=½": {"balance": 0.5, "form": "coef", "C": 1.0},
    "coef λ=1": {"balance": 1.0, "form": "coef", "C": 1.0},
}  # fmt: skip
_REFERENCE = {
    "LMPROJ γ=2, μ=10, C=1": (99.9, 99.7, 99.2, 98.1, 96.2, 93.1, 88.4, 81.7, 73.5, 63.8, 53.8),
    "rkhs λ=½": (99.9, 99.7, 98.8, 97.4, 94.4, 89.9, 84.7, 77.5, 70.1, 63.0, 56.2),
    "rkhs λ=1": (99.9, 99.7, 99.0, 97.7, 95.1, 91.3, 86.9, 81.6, 75.5, 69.1, 62.2),
    "coef λ=0": (98.9, 96.9, 93.0, 86.2, 77.6, 66.5, 55.4, 45.8, 38.7, 34.2, 30.4),
    "coef λ=0.1": (99.9, 99.9, 99.8, 99.5, 99.0, 98.1, 96.4, 93.0, 87.9, 80.3, 71.6),
    "coef λ=½": (99.2, 99.2, 99.2, 99.3, 99.2, 98.8, 97.6, 95.1, 91.6, 87.9, 84.2),
    "coef λ=1": (98.1, 98.1, 98.3, 98.5, 98.4, 97.9, 96.4, 93.4, 90.0, 86.8, 83.7),
}
_DISTANCE = (0.029, 0.059, 0.094, 0.129, 0.163, 0.195, 0.225, 0.253, 0.279, 0.304, 0.327)


@study(
    "daksvm-moons",
    title="Two moons that rotate (Figs 2-4): aligned machines",
    grid={"machine": ("distance", *_MOONS, _DEFAULTS), "angle": _ANGLES},
    columns="angle",
    figures={"accuracy": "accuracy on the target (%)", "divergence": "D_JS (bits)"},
    seeds=10,
    quick={"angle": (30, 50), "machine": ("rkhs λ=½", "coef λ=0.1", "coef λ=½")},
    quick_seeds=1,
    reference_name="reference",
    references=(
        *(
            reference
            for machine, values in _REFERENCE.items()
            for reference in reference_row("accuracy", "angle", _ANGLES, values, machine=machine)
        ),
        *reference_row("divergence", "angle", _ANGLES, _DISTANCE, machine="distance"),
    ),
)
def daksvm_moons(machine: str, angle: int, seed: int) -> dict[str, float]:
    """Two moons of 300 rows, and the same rows rotated about the centre of the pattern.

    One setting a line for all angles; where it is not said otherwise μ = 1000, γ = 1 and σ is the
    paper's. The settings of the reference were found on a smaller sample with target labels. The
    paper shows curves only and leaves open the angles, the noise, the centre of rotation and all
    settings: all methods fall with the angle, DAKSVM least, up to 50°; LMPROJ is said to be
    comparable there, which is not reproduced. ``DAKSVC()`` are the library's defaults.
    """
    from shiftlearn import DAKSVC
    from shiftlearn.datasets import make_rotated_moons
    from shiftlearn.shift import jensen_shannon

    moons = make_rotated_moons(angle, random_state=seed)
    Xs, _, Xt, yt = moons.split()
    if machine == "distance":
        return {"divergence": float(jensen_shannon(Xs, Xt))}
    setting = {"alignment": 1e3, "sigma": "paper", **_MOONS.get(machine, {})}
    model = DAKSVC() if machine == _DEFAULTS else DAKSVC(**setting)
    model.fit(moons.data, moons.target, sample_domain=moons.domain)
    return {"accuracy": 100 * model.score(Xt, yt)}


@study(
    "daksvm-classes",
    title="Time of a fit against the number of classes",
    grid={"machine": ("LSDAKSVC", "DAKSVC"), "classes": (2, 5, 10, 20, 40)},
    columns="classes",
    figures={"seconds": "time of one fit (s)", "ratio": "time over that with two classes"},
    seeds=3,
    quick={"classes": (2, 10)},
    quick_seeds=1,
    references=(Reference("ratio", 1.0, {"machine": "LSDAKSVC", "classes": 2}),),
    reference_name="by definition",
)
def daksvm_classes(machine: str, classes: int, seed: int) -> dict[str, float]:
    """200 source and 200 target rows in ten columns, classes of equal size around random centres.

    One factorisation serves all classes of the least squares machine; the hinge machine shares the
    metric and solves one problem a class. The paper states the cost without figures.
    """
    from shiftlearn import DAKSVC, LSDAKSVC

    kind = LSDAKSVC if machine == "LSDAKSVC" else DAKSVC
    times = [_seconds(kind(), count, seed) for count in (2, classes)]
    return {"seconds": times[1], "ratio": times[1] / times[0]}


def _seconds(model: Any, classes: int, seed: int, repeats: int = 2) -> float:
    """The shortest of a few fits."""
    rng = np.random.default_rng(seed)
    y = np.arange(200) % classes
    centres = 3 * rng.normal(size=(classes, 10))
    X = np.vstack([centres[y], centres[y]]) + rng.normal(size=(400, 10))
    labels, domain = np.concatenate([y, y]), np.repeat([0, -1], 200)
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        model.fit(X, labels, sample_domain=domain)
        best = min(best, time.perf_counter() - start)
    return float(best)
