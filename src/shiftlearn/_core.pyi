from typing import Any

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
