from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def isa() -> str: ...

class DensePanels32:
    n: int
    d: int
    def take(self, rows: Any, threads: int) -> DensePanels32: ...

def pack32(*args: Any) -> Any: ...
def pack64(*args: Any) -> Any: ...
def kernel_block(
    kind: int, gamma: float, coef0: float, degree: int, a: Any, b: Any, out: Any, threads: int
) -> None: ...
def kernel_apply(
    kind: int,
    gamma: float,
    coef0: float,
    degree: int,
    a: Any,
    coef: Any,
    b: Any,
    out: Any,
    threads: int,
) -> None: ...
def solve_working_set(
    matrix: Any, u: Any, g: Any, lower: Any, upper: Any, starts: Any, tol: float, max_steps: int
) -> tuple[int, float, bool]: ...
def solve_batch(
    x: Any,
    columns: Any,
    pointers: Any,
    n_columns: int,
    kernel: int,
    gamma: float,
    degree: float,
    coef0: float,
    starts: Any,
    rows: Any,
    signs: Any,
    upper: Any,
    linear: Any,
    first: Any,
    tol: float,
    max_iter: int,
    intercept: bool,
    alpha: Any,
    figures: Any,
    n_iter: Any,
    coef: Any,
    n_threads: int,
) -> None: ...
def fit_platt(
    starts: Any,
    scores: Any,
    positive: Any,
    weights: Any,
    tol: float,
    max_iter: int,
    answer: Any,
    n_iter: Any,
    n_threads: int,
) -> None: ...
def prototype_vote(
    values: Any,
    columns: Any,
    pointers: Any,
    n_columns: int,
    coef: Any,
    figures: Any,
    order: Any,
    starts: Any,
    every: bool,
    sums: Any,
    largest: Any,
    fires: Any,
    n_threads: int,
) -> None: ...
def prototype_shift(
    values: Any,
    columns: Any,
    pointers: Any,
    n_columns: int,
    coef: Any,
    figures: Any,
    order: Any,
    starts: Any,
    exemplar: Any,
    codes: Any,
    own: bool,
    rate: float,
    key: int,
    from_row: int,
    to_row: int,
    claims: Any,
    counts: Any,
    n_threads: int,
) -> NDArray[np.int64]: ...
def prototype_pairs(
    values: Any,
    columns: Any,
    pointers: Any,
    n_columns: int,
    coef: Any,
    bias: Any,
    starts: Any,
    rows: Any,
    out: Any,
    n_threads: int,
) -> None: ...
def prototype_negatives(
    values: Any,
    columns: Any,
    pointers: Any,
    n_columns: int,
    codes: Any,
    exemplars: Any,
    k: int,
    answer: Any,
    n_threads: int,
) -> None: ...

class Rows:
    @overload
    def __init__(self, matrix: NDArray[Any], /) -> None: ...
    @overload
    def __init__(
        self, values: NDArray[Any], indices: NDArray[Any], starts: NDArray[Any], columns: int, /
    ) -> None: ...
    @property
    def entries(self) -> float: ...
    def norms(self, out: Floats, low: int, high: int, /) -> None: ...
    def products(self, w: Floats, out: Floats, low: int, high: int, threads: int, /) -> None: ...
    def combine(self, c: Floats, out: Floats, low: int, high: int, threads: int, /) -> None: ...
    def gram(
        self,
        rows: NDArray[np.int64],
        t: Floats,
        out: Floats,
        low: int,
        high: int,
        threads: int,
        /,
    ) -> None: ...
    def row_gram(
        self, rows: NDArray[np.int64], out: Floats, low: int, high: int, threads: int, /
    ) -> None: ...

class Descent:
    def __init__(
        self,
        rows: Rows,
        signs: Floats,
        linear: Floats,
        upper: Floats,
        diagonal: Floats | None,
        norms: Floats,
        alpha: Floats,
        w: Floats,
        /,
    ) -> None: ...
    def restart(
        self, tol: float, penalty: float, beta: float, total: float, grouped: bool, seed: int, /
    ) -> None: ...
    def run(self, work: float, /) -> bool: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def beta(self) -> float: ...
    @property
    def violation(self) -> float: ...

def linear_certify(
    u: Floats,
    signs: Floats,
    linear: Floats,
    upper: Floats,
    diagonal: Floats | None,
    alpha: Floats,
    total: float,
    grouped: bool,
    gradient: Floats,
) -> tuple[float, float, float, float, float, float]: ...
def linear_multiplier(
    u: Floats, signs: Floats, linear: Floats, upper: Floats, diagonal: Floats, total: float, /
) -> float: ...
def linear_best_alpha(
    z: Floats,
    dz: Floats,
    t: float,
    center: Floats,
    delta: float,
    diagonal: Floats | None,
    upper: Floats,
    out: Floats,
    threads: int,
) -> float: ...
def linear_restore_sum(
    alpha: Floats, slopes: Floats, signs: Floats, upper: Floats, total: float, /
) -> None: ...
