"""Generated classes in scattered regions, and one-class tasks with a source task beside them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftlearn.datasets.base import Dataset

__all__ = [
    "OneClassTask",
    "make_digit_pair",
    "make_gaussian_tasks",
    "make_isolated",
    "make_spirals",
    "make_striated",
]

Array = NDArray[np.float64]


class OneClassTask(Dataset):
    """Training rows of a one-class problem, and rows to test on.

    ``data`` holds the training rows (source, then target; ``target`` is 1 throughout); ``test`` and
    ``test_target`` the rows to judge: 1 inside the target class, -1 outside.
    """

    test: Array
    test_target: NDArray[np.int64]

    def __init__(
        self, source: Array, train: Array, inside: Array, outside: Array, description: str
    ) -> None:
        rows = np.concatenate([source, train])
        super().__init__(
            rows,
            np.ones(len(rows), dtype=np.int64),
            ("1",),
            description,
            domain=np.repeat([0, -1], [len(source), len(train)]),
            domain_names={0: "source", -1: "target"},
        )
        test_target = np.repeat([1, -1], [len(inside), len(outside)])
        object.__setattr__(self, "test", np.concatenate([inside, outside]))
        object.__setattr__(self, "test_target", test_target)


def make_isolated(random_state: int = 0) -> Dataset:
    """Three isolated clusters (class 1, 300 rows) in a uniform background (class 0, 500 rows).

    Clusters N(μ, 0.8² I) at (-2.5, -2.5), (2.5, -1.5), (-0.5, 2.5), 100 rows each; background
    uniform on [-5, 5]², no point within 2.4 of a μ. Draws: the clusters in this order, then the
    background, 500 at a time. ``ids`` gives the cluster (-1 background).

    Examples
    --------
    >>> from shiftlearn.datasets import make_isolated
    >>> make_isolated(0).data.shape
    (800, 2)
    """
    rng = np.random.default_rng(random_state)
    means = np.array([[-2.5, -2.5], [2.5, -1.5], [-0.5, 2.5]])
    clusters = [mean + 0.8 * rng.standard_normal((100, 2)) for mean in means]
    kept: list[Array] = []
    while sum(map(len, kept)) < 500:
        batch = rng.uniform(-5, 5, (500, 2))
        kept.append(batch[np.linalg.norm(batch[:, None] - means, axis=2).min(1) > 2.4])
    data = np.concatenate([np.concatenate(kept)[:500], *clusters])
    ids = np.repeat([-1, 0, 1, 2], [500, 100, 100, 100])
    return _plain(data, np.repeat([0, 1], [500, 300]), "Isolated clusters", ids)


def make_striated(random_state: int = 0) -> Dataset:
    """Eight parallel stripes of alternating class, 100 rows each, rotated by 45 degrees.

    Stripe i has its centre at 10 (i - 3.5) along the short axis (standard deviation 1.5; 20 along
    the other). ``ids`` gives the stripe.

    Examples
    --------
    >>> from shiftlearn.datasets import make_striated
    >>> make_striated(0).target[[0, 150, 250]].tolist()
    [0, 1, 0]
    """
    rng = np.random.default_rng(random_state)
    stripe = np.repeat(np.arange(8), 100)
    flat = rng.standard_normal((800, 2)) * [1.5, 20.0]
    flat[:, 0] += 10 * (stripe - 3.5)
    half = np.sqrt(0.5)
    return _plain(flat @ np.array([[half, half], [-half, half]]), stripe % 2, "Stripes", stripe)


def make_spirals() -> Dataset:
    """Two intertwined spirals, 97 points each, in alternating order (Lang and Witbrock).

    For i = 0..96: a = iπ/16, r = 6.5 (104 - i)/104; (r sin a, r cos a) is class 1, its negative
    class 0.

    Examples
    --------
    >>> from shiftlearn.datasets import make_spirals
    >>> make_spirals().data[:2].round(6).tolist()
    [[0.0, 6.5], [-0.0, -6.5]]
    """
    i = np.arange(97)
    a, r = i * np.pi / 16, 6.5 * (104 - i) / 104
    arm = np.column_stack([r * np.sin(a), r * np.cos(a)])
    data = np.stack([arm, -arm], axis=1).reshape(-1, 2)
    return _plain(data, np.tile([1, 0], 97), "Two spirals", np.repeat(i, 2))


def make_digit_pair(
    target: int = 3,
    source: int = 8,
    *,
    fraction: float = 0.1,
    noise: float = 0.0,
    random_state: int = 0,
) -> OneClassTask:
    """One-class task on scikit-learn's 8 x 8 digits: few examples of one digit, many of another.

    Draws: a permutation of the target digit's rows (the first max(2, round(fraction · n)) train,
    the others test), a permutation of the other digits' rows (as many as test rows are outside),
    one noise level a column, uniform on [0, 2 std], a permutation of the training rows (the first
    ``noise`` share is disturbed), and the disturbance.

    Parameters
    ----------
    target, source : int
        The digits.
    fraction : float
        Share of the target digit's rows that train.
    noise : float
        Share of the training rows that are disturbed.
    random_state : int
        Seed.

    Examples
    --------
    >>> from shiftlearn.datasets import make_digit_pair
    >>> make_digit_pair(3, 8, fraction=0.03, random_state=0).test.shape[1]
    64
    """
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(random_state)
    digits = load_digits()
    X, y = digits.data / 16.0, digits.target
    own = rng.permutation(np.flatnonzero(y == target))
    few = max(2, round(fraction * len(own)))
    others = rng.permutation(np.flatnonzero(y != target))[: len(own) - few]
    related = np.flatnonzero(y == source)
    level = rng.uniform(0, 2 * X.std(0))
    rows = np.concatenate([X[related], X[own[:few]]])
    disturbed = rng.permutation(len(rows))[: round(noise * len(rows))]
    rows[disturbed] += level * rng.standard_normal((len(disturbed), X.shape[1]))
    return OneClassTask(
        rows[: len(related)],
        rows[len(related) :],
        X[own[few:]],
        X[others],
        f"Digit {target} with digit {source} as the related task.",
    )


def make_gaussian_tasks(
    n_features: int = 8, n_target: int = 20, *, random_state: int = 0
) -> OneClassTask:
    """One-class task in d dimensions: 200 source rows, few target rows with a moved mean.

    Source N(3·1, I), target N(3·1 + m, I) with m = 0.3 N(0, I); tested on 300 target rows and 300
    of N(3·1 + m, 9 I). Draws in the order m, source, target, inside, outside.

    Examples
    --------
    >>> from shiftlearn.datasets import make_gaussian_tasks
    >>> make_gaussian_tasks(2, 20, random_state=0).data.shape
    (220, 2)
    """
    rng = np.random.default_rng(random_state)
    centre = 3 + 0.3 * rng.standard_normal(n_features)
    return OneClassTask(
        3 + rng.standard_normal((200, n_features)),
        centre + rng.standard_normal((n_target, n_features)),
        centre + rng.standard_normal((300, n_features)),
        centre + 3 * rng.standard_normal((300, n_features)),
        f"Gaussian tasks in {n_features} dimensions.",
    )


def _plain(data: Array, target: NDArray[np.int64], what: str, ids: NDArray[np.int64]) -> Dataset:
    return Dataset(data, target.astype(np.int64), ("0", "1"), f"{what}, generated.", ids=ids)
