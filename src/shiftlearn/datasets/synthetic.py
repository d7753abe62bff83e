"""Generated data with a known shift: the recipes of the experiments, draw for draw.

Every generator takes ``random_state`` and draws from ``numpy.random.default_rng(random_state)`` in
the order that its docstring gives, so that a seed names one data set for good. ``domain`` is 0 for
the source and -1 for the target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftlearn.datasets.base import Dataset

__all__ = [
    "make_covariate_shift",
    "make_gaussian_shift",
    "make_mixture_shift",
    "make_programs",
    "make_rotated_moons",
]

Array = NDArray[np.float64]
_TWO = {0: "source", -1: "target"}


def make_mixture_shift(random_state: int = 0) -> Dataset:
    """Positives from three Gaussians that move, negatives uniform around them (two dimensions).

    Each domain: 100 positives, a third of N(m_k, 0.21² I) each in expectation, then 500 negatives
    uniform on [-1, 1]² at a distance above 0.11 from every positive of the domain (drawn 500 at a
    time, the first 500 that qualify). ``ids`` is "labelled" for the source's rows and for 3
    positive and 17 negative target rows, drawn last, else "".

    Parameters
    ----------
    random_state : int
        Seed.

    Returns
    -------
    Dataset
        1,200 rows, source first, positives (1) before negatives (-1).

    Examples
    --------
    >>> from shiftlearn.datasets import make_mixture_shift
    >>> d = make_mixture_shift(0)
    >>> d.data.shape, int((d.ids == "labelled").sum())
    ((1200, 2), 620)
    """
    rng = np.random.default_rng(random_state)
    means = (
        np.array([[-0.4, 0.5], [0.5, 0.7], [-0.1, -0.6]]),
        np.array([[-0.4, 0.3], [0.5, 0.3], [0.0, -0.65]]),
    )
    data = np.concatenate([_mixture(rng, centres) for centres in means])
    few = [rng.choice(100, 3, replace=False), 100 + rng.choice(500, 17, replace=False)]
    ids = np.full(1200, "", dtype="<U8")
    ids[:600] = "labelled"
    ids[600 + np.concatenate(few)] = "labelled"
    return _two_domains(data, np.tile(np.repeat([1, -1], [100, 500]), 2), 600, "Mixture", ids=ids)


def _mixture(rng: np.random.Generator, means: Array) -> Array:
    component = rng.integers(0, 3, 100)
    positive = means[component] + 0.21 * rng.standard_normal((100, 2))
    kept: list[Array] = []
    while sum(map(len, kept)) < 500:
        batch = rng.uniform(-1, 1, (500, 2))
        nearest = np.linalg.norm(batch[:, None] - positive[None], axis=2).min(1)
        kept.append(batch[nearest > 0.11])
    return np.concatenate([positive, np.concatenate(kept)[:500]])


def make_programs(n_programs: int = 2, *, n: int = 1000, random_state: int = 0) -> Dataset:
    """Programs of one channel: rare positives in clusters whose means drift between programs.

    Draws: 3 positive and 8 negative means 0.8 N(0, I) in 20 dimensions, common to the channel; for
    each program the drift 0.5 N(0, I) of all means, then ``n`` uniforms (positive below 0.05), a
    cluster for each row, uniform within its class, and N(0, I).

    Parameters
    ----------
    n_programs : int
        Programs of the channel; each is a domain.
    n : int
        Rows a program.
    random_state : int
        Seed of the channel.

    Returns
    -------
    Dataset
        ``domain`` is the program's number; choose the target with ``sample_domain``.

    Examples
    --------
    >>> from shiftlearn.datasets import make_programs
    >>> make_programs(2, random_state=0).data.shape
    (2000, 20)
    """
    rng = np.random.default_rng(random_state)
    means = 0.8 * rng.standard_normal((11, 20))
    parts = [_program(rng, means, n) for _ in range(n_programs)]
    return Dataset(
        np.concatenate([rows for rows, _ in parts]),
        np.concatenate([labels for _, labels in parts]),
        ("-1", "1"),
        "Generated programs of one channel with drifting cluster means.",
        domain=np.repeat(np.arange(n_programs), n),
        domain_names={i: f"program {i}" for i in range(n_programs)},
    )


def _program(rng: np.random.Generator, means: Array, n: int) -> tuple[Array, NDArray[np.int64]]:
    moved = means + 0.5 * rng.standard_normal(means.shape)
    positive = rng.random(n) < 0.05
    cluster = np.where(positive, rng.integers(0, 3, n), 3 + rng.integers(0, 8, n))
    return moved[cluster] + rng.standard_normal((n, 20)), np.where(positive, 1, -1)


def make_rotated_moons(
    angle: float = 30.0,
    *,
    n_per_moon: int = 300,
    noise: float = 0.1,
    centre: str = "centroid",
    random_state: int = 0,
) -> Dataset:
    """Two moons, and the same points rotated counter-clockwise about the origin.

    Moon 1: (cos t, sin t); moon -1: (1 - cos t, 1/2 - sin t), t uniform on (0, π). The pattern is
    centred by subtracting (1/2, 1/4), then Gaussian noise is added. Draws: the angles t of both
    moons, then the noise.

    Parameters
    ----------
    angle : float
        Rotation in degrees.
    n_per_moon : int
        Rows a moon and domain.
    noise : float
        Standard deviation of the noise.
    centre : {"centroid", "origin"}
        "origin" leaves the pattern where it is, so that the rotation also moves its mean.
    random_state : int
        Seed.

    Returns
    -------
    Dataset
        Source rows first; row i of the target is row i of the source, rotated.

    Examples
    --------
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> d = make_rotated_moons(60, n_per_moon=50, random_state=0)
    >>> d.data.shape, d.domain_names
    ((200, 2), {0: 'source', -1: 'target'})
    """
    if centre not in ("centroid", "origin"):
        raise ValueError(f'centre must be "centroid" or "origin", got {centre!r}.')
    rng = np.random.default_rng(random_state)
    t = rng.uniform(0, np.pi, 2 * n_per_moon)
    upper, lower = t[:n_per_moon], t[n_per_moon:]
    moons = np.concatenate(
        [
            np.column_stack([np.cos(upper), np.sin(upper)]),
            np.column_stack([1 - np.cos(lower), 0.5 - np.sin(lower)]),
        ]
    )
    if centre == "centroid":
        moons -= [0.5, 0.25]
    source = moons + noise * rng.standard_normal(moons.shape)
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    target = source @ np.array([[c, s], [-s, c]])
    labels = np.repeat([1, -1], n_per_moon)
    return _two_domains(
        np.concatenate([source, target]), np.tile(labels, 2), len(source), "Rotated moons"
    )


def make_gaussian_shift(*, n_per_class: int = 150, random_state: int = 0) -> Dataset:
    """Two Gaussian classes apart along both axes at the source, along the first at the target.

    Source (-0.1345 + 3y + 4.5742^½ ε₁, 2.9497 + 3y + 5.0050^½ ε₂), target
    (0.1419 + 2y + 0.8217^½ ε₃, 2.9497 + 0.9409^½ ε₄), y = ±1: the second axis separates the classes
    only where the labels are. Draws: (ε₁, ε₂) row by row, then (ε₃, ε₄).

    Parameters
    ----------
    n_per_class : int
        Rows a class and domain.
    random_state : int
        Seed.

    Returns
    -------
    Dataset
        Source rows first, class 1 before class -1.

    Examples
    --------
    >>> from shiftlearn.datasets import make_gaussian_shift
    >>> make_gaussian_shift(random_state=0).data.shape
    (600, 2)
    """
    rng = np.random.default_rng(random_state)
    y = np.repeat([1, -1], n_per_class)
    side = y[:, None].astype(np.float64)
    size = (len(y), 2)
    source = np.array([-0.1345, 2.9497]) + side * [3.0, 3.0]
    source += np.sqrt([13.5742 - 9.0, 14.0050 - 9.0]) * rng.standard_normal(size)
    target = np.array([0.1419, 2.9497]) + side * [2.0, 0.0]
    target += np.sqrt([4.8217 - 4.0, 0.9409]) * rng.standard_normal(size)
    return _two_domains(np.concatenate([source, target]), np.tile(y, 2), len(y), "Gaussian shift")


def make_covariate_shift(
    delta: float = 0.8, *, n_source: int = 200, n_target: int = 512, random_state: int = 0
) -> Dataset:
    """Inputs that move while p(y given x) stays: three dimensions, a curved rule.

    Source x ~ N(0, I); target x₁ ~ N(δ, 0.6²), x₂ and x₃ ~ N(0, 1); in both
    p(y=1|x) = σ(3 (x₂ cos 1.2x₁ + 0.8 x₃ sin 1.2x₁)). Draws: source rows, target rows, then one
    uniform a row for the labels.

    Parameters
    ----------
    delta : float
        Mean of the target's first column.
    n_source, n_target : int
        Rows.
    random_state : int
        Seed.

    Returns
    -------
    Dataset
        Labels 1 and -1, source rows first.

    Examples
    --------
    >>> from shiftlearn.datasets import make_covariate_shift
    >>> make_covariate_shift(1.5, random_state=0).data.shape
    (712, 3)
    """
    rng = np.random.default_rng(random_state)
    source = rng.standard_normal((n_source, 3))
    target = rng.standard_normal((n_target, 3)) * [0.6, 1.0, 1.0] + [delta, 0.0, 0.0]
    x = np.concatenate([source, target])
    score = 3 * (x[:, 1] * np.cos(1.2 * x[:, 0]) + 0.8 * x[:, 2] * np.sin(1.2 * x[:, 0]))
    positive = rng.random(len(x)) < 1 / (1 + np.exp(-score))
    return _two_domains(x, np.where(positive, 1, -1), n_source, "Covariate shift")


def _two_domains(
    data: Array,
    target: NDArray[np.int64],
    n_source: int,
    what: str,
    ids: NDArray[np.str_] | None = None,
) -> Dataset:
    return Dataset(
        data,
        target,
        ("-1", "1"),
        f"{what}, generated.",
        domain=np.repeat([0, -1], [n_source, len(data) - n_source]),
        domain_names=_TWO,
        ids=ids,
    )
