"""The tasks. Each data set serves one role only: no rule is judged on data it was chosen on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from shiftlearn import datasets
from shifts import made, natural
from shifts.task import Shift, add

Table = Callable[[], tuple[np.ndarray, np.ndarray]]


def _published(name: str) -> Table:
    def table() -> tuple[np.ndarray, np.ndarray]:
        data = natural.load(name)
        return np.asarray(data.data, dtype=float), data.target

    return table


def _bundled(load: Callable[..., Any]) -> Table:
    return lambda: load(return_X_y=True)


def _made(data: str, role: str, kind: str, table: Table, *parts: Any) -> None:
    divide = parts[0] if parts else made.halves
    move = parts[1] if len(parts) > 1 else None
    add(f"{data}: {kind}", data, role, kind, lambda rng: made.made(*table(), rng, divide, move))


def _natural(data: str, role: str, what: str, build: Callable[..., Shift]) -> None:
    add(f"{data}: {what}", data, role, "natural", lambda rng: build())


def _control(data: str, role: str, build: Callable[..., Shift]) -> None:
    add(
        f"{data}: control", data, role, "control",
        lambda rng: natural.without_shift(build(rng), rng),
    )  # fmt: skip


# --- for choosing ---------------------------------------------------------------------------------

for _pair in ("org_vs_people", "org_vs_place", "people_vs_place"):
    for _version in (1, 2):
        _natural(
            "reuters", "choosing", f"{_pair.replace('_', ' ')}, {_version}",
            lambda pair=_pair, version=_version: natural.reuters(pair, version),
        )  # fmt: skip
_control("reuters", "choosing", lambda rng: natural.reuters("org_vs_people", 1))

for _one, _other in ((0, 1), (1, 2), (2, 0)):
    _natural(
        "spam", "choosing", f"inbox {_one} to {_other}",
        lambda one=_one, other=_other: natural.spam(one, other),
    )  # fmt: skip

_natural("mushroom", "choosing", "enlarging to tapering", lambda: natural.mushroom(0))
_natural("mushroom", "choosing", "tapering to enlarging", lambda: natural.mushroom(1))

_natural("ldpa", "choosing", "day 1 to 2", lambda: natural.between("load_ldpa", [0], [1]))
_natural("ldpa", "choosing", "day 3 to 1", lambda: natural.between("load_ldpa", [2], [0]))

_natural("heart", "choosing", "women to men", lambda: natural.heart(1, 0.0))
_natural("heart", "choosing", "younger to older", lambda: natural.heart(0, 0.1))

for _angle in (10, 25):
    add(
        f"yale faces: rotated {_angle}°", "yale faces", "choosing", "rotation",
        lambda rng, angle=_angle: natural.faces("load_yale_faces", angle, rng),
    )  # fmt: skip

_vehicle = _published("load_vehicle")
_made("vehicle", "choosing", "scale", _vehicle, made.halves, made.scale)
_made("vehicle", "choosing", "rotation", _vehicle, made.halves, made.rotation)
_made("vehicle", "choosing", "missing", _vehicle, made.halves, made.missing)
_made("vehicle", "choosing", "proportions", _vehicle, made.proportions)
_made("vehicle", "choosing", "control", _vehicle, made.halves)

_cancer = _bundled(load_breast_cancer)
_made("breast cancer", "choosing", "covariate", _cancer, made.covariate)
_made("breast cancer", "choosing", "noise", _cancer, made.halves, made.noise)
_made("breast cancer", "choosing", "scale and proportions", _cancer, made.proportions, made.scale)
_made("breast cancer", "choosing", "control", _cancer, made.halves)

_wine = _bundled(load_wine)
_made("wine", "choosing", "scale", _wine, made.halves, made.scale)
_made("wine", "choosing", "noise and proportions", _wine, made.proportions, made.noise)

for _angle in (30, 60):
    _natural(
        "moons", "choosing", f"rotated {_angle}°",
        lambda angle=_angle: natural.generated("make_rotated_moons", angle=angle),
    )  # fmt: skip
_natural("gaussians", "choosing", "moved", lambda: natural.generated("make_gaussian_shift"))
_natural("curved rule", "choosing", "moved", lambda: natural.generated("make_covariate_shift"))

# --- for judging ----------------------------------------------------------------------------------

for _task, _what in datasets.NEWSGROUPS_TASKS.items():
    _tops = " and ".join(dict.fromkeys(groups[0].split(".")[0] for groups in _what[:2]))
    _natural(
        "newsgroups", "judging", _tops, lambda task=_task: natural.newsgroups(task)
    )  # fmt: skip
_COMPUTERS = (
    "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware", "comp.windows.x",
)  # fmt: skip
add(
    "newsgroups: computers, earlier to later", "newsgroups", "judging", "natural",
    lambda rng: natural.newsgroups_over_time(_COMPUTERS, 1200, rng),
)  # fmt: skip
_control("newsgroups", "judging", lambda rng: natural.newsgroups(6))

for _one, _other in ((0, 4), (2, 1), (4, 3)):
    _natural(
        "isolet", "judging", f"speakers {_one + 1} to {_other + 1}",
        lambda one=_one, other=_other: natural.between("load_isolet", [one], [other]),
    )  # fmt: skip
_control("isolet", "judging", lambda rng: natural.between("load_isolet", [1], [2]))

_FOLIATED, _BARE = range(15), range(15, 29)
_natural(
    "landmine", "judging", "foliated to bare",
    lambda: natural.between("load_landmine", _FOLIATED, _BARE),
)  # fmt: skip
_natural(
    "landmine", "judging", "bare to foliated",
    lambda: natural.between("load_landmine", _BARE, _FOLIATED),
)  # fmt: skip

_segment = _published("load_segment")
_natural("segment", "judging", "left to right", lambda: natural.segment(0))
_natural("segment", "judging", "bottom to top", lambda: natural.segment(1, reverse=True))
_made("segment", "judging", "scale", _segment, made.halves, made.scale)
_made("segment", "judging", "noise and proportions", _segment, made.proportions, made.noise)
_made("segment", "judging", "control", _segment, made.halves)

# Columns of a9a: age 0-4, sex 71 (women) and 72 (men), race 66-70.
_SEX, _AGE = (71, 72), (0, 1, 2, 3, 4)
_natural("adult", "judging", "men to women", lambda: natural.adult((72,), (71,), _SEX))
_natural("adult", "judging", "women to men", lambda: natural.adult((71,), (72,), _SEX))
_natural("adult", "judging", "younger to older", lambda: natural.adult((0, 1), (3, 4), _AGE))
_control("adult", "judging", lambda rng: natural.adult((72,), (71,), _SEX))

_digits = _bundled(load_digits)
add(
    "digits: rotated 30°", "digits", "judging", "rotation",
    lambda rng: natural.rotated(*_digits(), 30, rng),
)  # fmt: skip
_made("digits", "judging", "noise", _digits, made.halves, made.noise)
_made("digits", "judging", "missing", _digits, made.halves, made.missing)
_made("digits", "judging", "proportions", _digits, made.proportions)
_made("digits", "judging", "scale and proportions", _digits, made.proportions, made.scale)
_made("digits", "judging", "control", _digits, made.halves)

for _angle in (10, 20):
    add(
        f"orl faces: rotated {_angle}°", "orl faces", "judging", "rotation",
        lambda rng, angle=_angle: natural.faces("load_orl_faces", angle, rng),
    )  # fmt: skip

_natural("diabetes", "judging", "one sex to the other", natural.diabetes_by_sex)
_made("diabetes", "judging", "scale", natural.diabetes, made.halves, made.scale)
_made("diabetes", "judging", "covariate", natural.diabetes, made.covariate)
_made("diabetes", "judging", "control", natural.diabetes, made.halves)

_natural("programs", "judging", "next program", natural.programs)
_natural("mixture", "judging", "moved", lambda: natural.generated("make_mixture_shift"))
