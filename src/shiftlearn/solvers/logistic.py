"""Penalised logistic regression of arrays, by Newton's method.

    min_{W,b,θ}  Σ_i ω_i ℓ(y_i, Wᵀx_i + b + o_i + Σ_m θ_m f_im)
                 + (λ/2) ‖W‖² + Σ_m (B_m/2) (θ_m - θ⁰_m)²

with the multinomial logistic loss ℓ of `shiftlearn.solvers.losses` and an unpenalised b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.certificates import Certificate, Event
from shiftlearn.solvers.losses import Layout, Logistic
from shiftlearn.solvers.newton import Problem, solve
from shiftlearn.statistics import RowBlocks, map_reduce, row_blocks

__all__ = ["LogisticSolution", "logistic_problem", "solve_logistic"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticSolution:
    """The fitted scores: ``coef`` (K×D), ``intercept`` (K), ``shared`` (θ, M), the certificate.

    K is 1 for two classes. Of several intercepts the mean is zero. ``parameters`` starts another
    solve of a problem of the same shape.
    """

    coef: Floats
    intercept: Floats
    shared: Floats
    parameters: Floats
    certificate: Certificate


def solve_logistic(
    X: Any,
    y: ArrayLike,
    *,
    n_classes: int | None = None,
    penalty: float = 1.0,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    shared: ArrayLike | None = None,
    shared_penalty: ArrayLike = 1.0,
    shared_center: ArrayLike = 0.0,
    fit_intercept: bool = True,
    hessian: str = "auto",
    rows: int | None = None,
    memory_limit: int | float | str = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Floats | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Event], bool | None] | None = None,
) -> LogisticSolution:
    """Minimise the objective of this module.

    Parameters
    ----------
    X : array, CSR matrix or anything that `row_blocks` walks, n×D
    y : array of int
        Classes 0..n_classes-1; ``n_classes`` is by default the largest plus one.
    penalty : float
        λ >= 0.
    sample_weight, offset, shared : arrays, optional
        ω (n), o (n×K) and f (n×M×K; n×M for two classes).
    shared_penalty, shared_center : float or array of shape (M,)
        B and θ⁰.
    hessian : {"auto", "exact", "products"}
        How the Newton equation is solved; "auto" takes what costs less.
    tol, max_iter, start, n_jobs, callback
        As in `shiftlearn.solvers.newton.solve`.

    Returns
    -------
    LogisticSolution

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.solvers.logistic import solve_logistic
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = solve_logistic(X, [0, 1, 0, 1], tol=1e-10)
    >>> fit.coef.round(4), fit.intercept.round(4), fit.certificate.gap < 1e-12
    (array([[0.4529]]), array([-0.6793]), True)
    """
    problem, layout = logistic_problem(
        X,
        y,
        n_classes=n_classes,
        penalty=penalty,
        sample_weight=sample_weight,
        offset=offset,
        shared=shared,
        shared_penalty=shared_penalty,
        shared_center=shared_center,
        fit_intercept=fit_intercept,
        hessian=hessian,
        rows=rows,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
    )
    solution = solve(
        problem, tol=tol, max_iter=max_iter, start=start, n_jobs=n_jobs, callback=callback
    )
    W, bias, theta = layout.parts(solution.parameters)
    if layout.n_scores > 1:
        bias = bias - bias.mean()
        W = W - W.mean(axis=1, keepdims=True) if penalty == 0 else W
    coef = np.ascontiguousarray(W.T)
    return LogisticSolution(coef, bias.copy(), theta, solution.parameters, solution.certificate)


def logistic_problem(
    X: Any,
    y: ArrayLike,
    *,
    n_classes: int | None = None,
    penalty: float = 1.0,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    shared: ArrayLike | None = None,
    shared_penalty: ArrayLike = 1.0,
    shared_center: ArrayLike = 0.0,
    fit_intercept: bool = True,
    hessian: str = "auto",
    rows: int | None = None,
    memory_limit: int | float | str = "auto",
    n_jobs: int | None = None,
) -> tuple[Problem, Layout]:
    """The problem that `solve_logistic` solves, checked, and the layout of its parameters."""
    if not (penalty >= 0 and math.isfinite(penalty)):
        raise ValueError(f"penalty must be finite and not negative, got {penalty!r}.")
    if hessian not in ("auto", "exact", "products"):
        raise ValueError(f'hessian must be "auto", "exact" or "products", got {hessian!r}.')
    codes, n_scores = _classes(y, n_classes)
    weights = _weights(sample_weight, len(codes))
    offsets = _per_score("offset", offset, (len(codes), n_scores))
    columns = _shared_columns(shared, len(codes), n_scores)
    n_shared = 0 if columns is None else columns.shape[1]
    blocks = row_blocks(X, codes, weights, offsets, columns, rows=rows, memory_limit=memory_limit)
    survey = _survey(blocks, n_jobs)
    if survey.n_rows != len(codes):
        raise ValueError(f"y has {len(codes)} entries, X has {survey.n_rows} rows.")
    layout = Layout(survey.n_columns, n_scores, fit_intercept, n_shared)
    exact = hessian == "exact" or (hessian == "auto" and _exact_is_cheaper(layout, survey))
    gram = None if exact or survey.sparse else _gram(blocks, layout, survey.weight, n_jobs)
    ridge = np.zeros(layout.size)
    ridge[: layout.n_columns * n_scores] = penalty
    center = np.zeros(layout.size)
    if n_shared:
        ridge[-n_shared:] = _shared_numbers("shared_penalty", shared_penalty, n_shared)
        center[-n_shared:] = _shared_numbers("shared_center", shared_center, n_shared)
    problem = Problem(
        Logistic(layout, exact, gram),
        blocks,
        ridge,
        center=center,
        weight=survey.weight,
        flat=_flat(layout, penalty) if exact or penalty > 0 else None,
        drift=math.sqrt(survey.largest_square + fit_intercept) * (1 if n_scores == 1 else 2**0.5),
    )
    return problem, layout


@dataclass(frozen=True, slots=True)
class _Survey:
    """What one pass over the rows tells before the work starts."""

    n_rows: int
    n_columns: int
    entries: int
    weight: float
    largest_square: float
    sparse: bool


def _survey(blocks: RowBlocks, n_jobs: int | None) -> _Survey:
    def look(block: Any) -> _Survey:
        X, _, weights, _, shared = block
        if len(X.shape) != 2:
            raise ValueError(f"X must be a matrix, got shape {X.shape}.")
        sparse = hasattr(X, "indptr")
        data = X.data if sparse else X
        if data.dtype.kind not in "fiub":
            raise TypeError(f"X must hold numbers, got dtype {data.dtype}.")
        squares = (
            X.power(2, dtype=np.float64).sum(axis=1)
            if sparse
            else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        )
        squares = np.asarray(squares).ravel()
        if shared is not None:
            squares = squares + np.einsum("imk,imk->i", shared, shared)
        weight = float(len(squares) if weights is None else weights.sum())
        largest = float(squares.max(initial=0.0))
        if not math.isfinite(largest) and not np.all(np.isfinite(data)):
            raise ValueError("X contains NaN or infinity; remove or impute those rows.")
        entries = int(data.size)
        return _Survey(X.shape[0], X.shape[1], entries, weight, largest, sparse)

    return map_reduce(look, blocks, _join, n_jobs)


def _join(a: _Survey, b: _Survey) -> _Survey:
    if a.n_columns != b.n_columns:
        raise ValueError(f"X has blocks of {a.n_columns} and of {b.n_columns} columns.")
    return _Survey(
        a.n_rows + b.n_rows,
        a.n_columns,
        a.entries + b.entries,
        a.weight + b.weight,
        max(a.largest_square, b.largest_square),
        a.sparse,
    )


def _exact_is_cheaper(layout: Layout, survey: _Survey) -> bool:
    """Compare one Hessian with the products of a truncated solve, in multiply-adds.

    A matrix product does some ten times more of them a second than products with thin matrices,
    and twenty times more than sparse ones; a truncated solve takes about twelve products.
    """
    p = layout.size
    matrix = survey.n_rows * p**2 / 2 + p**3 / 3
    slowness = 20 if survey.sparse else 10
    products = 12 * 2 * survey.entries * layout.n_scores * slowness
    return p <= 64 or (p <= 4096 and matrix <= products)


def _gram(
    blocks: RowBlocks, layout: Layout, weight: float, n_jobs: int | None
) -> tuple[Floats, Floats] | None:
    """Eigenvalues and vectors of Σ ω (x, 1)(x, 1)ᵀ / Σ ω, None where that is too large."""
    if layout.n_rows > 1024:
        return None

    def part(block: Any) -> Floats:
        X, _, weights, _, _ = block
        rows = np.ones((X.shape[0], layout.n_rows))
        rows[:, : layout.n_columns] = X
        if weights is not None:
            rows *= np.sqrt(weights)[:, None]
        return np.asarray(rows.T @ rows)

    total: Floats = map_reduce(part, blocks, np.add, n_jobs)
    values, vectors = np.linalg.eigh(total / max(weight, 1e-300))
    return np.maximum(values, 0.0), vectors


def _flat(layout: Layout, penalty: float) -> Floats | None:
    """Directions that move all scores alike: b, and W too where it is not penalised."""
    if layout.n_scores == 1:
        return None
    first = layout.n_columns if penalty > 0 else 0
    moved = range(first, layout.n_rows)
    flat = np.zeros((layout.size, len(moved)))
    for column, row in enumerate(moved):
        flat[row * layout.n_scores : (row + 1) * layout.n_scores, column] = layout.n_scores**-0.5
    return flat


def _classes(y: ArrayLike, n_classes: int | None) -> tuple[NDArray[np.intp], int]:
    codes = np.asarray(y)
    if codes.ndim != 1 or codes.size == 0 or codes.dtype.kind not in "iub":
        raise ValueError("y must be a vector of whole numbers 0, 1, ..., one for each row.")
    n = int(codes.max()) + 1 if n_classes is None else n_classes
    if n < 2 or codes.min() < 0 or codes.max() >= n:
        raise ValueError(
            f"y must lie in 0..n_classes-1 with at least two classes; found {codes.min()} to "
            f"{codes.max()} with n_classes={n_classes}."
        )
    return codes.astype(np.intp, copy=False), 1 if n == 2 else n


def _weights(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; y has {n} entries.")
    if not np.all(np.isfinite(weights)) or weights.min() < 0 or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero throughout.")
    return weights


def _per_score(name: str, values: ArrayLike | None, shape: tuple[int, ...]) -> Floats | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.size != math.prod(shape) or array.shape[0] != shape[0]:
        raise ValueError(f"{name} has shape {array.shape}; needed is {shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} contains NaN or infinity.")
    return array.reshape(shape)


def _shared_columns(shared: ArrayLike | None, n: int, n_scores: int) -> Floats | None:
    if shared is None:
        return None
    array = np.asarray(shared, dtype=np.float64)
    m = array.shape[1] if array.ndim > 1 else 1
    return _per_score("shared", array, (n, m, n_scores))


def _shared_numbers(name: str, values: ArrayLike, m: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (m,)):
        raise ValueError(f"{name} has shape {array.shape}; needed is one number or {m}.")
    return array
