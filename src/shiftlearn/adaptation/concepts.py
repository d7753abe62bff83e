"""Many concepts at once: one adaptation for each column of a table of labels.

Concept c has labels y_ic = ±1 on the rows where it is known, source scores f'_ic, and

    min_{Δβ_c}  ½‖Δβ_c‖² + C Σ_i max(0, 1 - y_ic (f'_ic + ⟨Δβ_c, φ(x_i)⟩)).

Concepts on the same rows share one Gram matrix; concepts on rows of their own build theirs inside
the compiled batch solver. Nothing else is shared: each answer has its own proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from shiftlearn.certificates import Certificate, warn_unless_converged
from shiftlearn.kernels import Kernel, resolve_kernel
from shiftlearn.machines.base import check_number
from shiftlearn.machines.spaces import check_gram
from shiftlearn.solvers.batch import BatchProblem, BatchSolution, solve_batch, solve_shared

__all__ = ["AdaptedConcepts", "adapt_many"]

Floats = NDArray[np.float64]

_BATCH_KERNELS = ("linear", "rbf", "poly", "sigmoid")
_MOSTLY = 0.5  # concepts that know more than this share of the rows share one matrix
_BLOCK_ENTRIES = 1 << 24


@dataclass(frozen=True)
class AdaptedConcepts:
    """What :func:`adapt_many` learned.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Rows of X that some concept uses, ascending.
    dual_coef_ : ndarray or CSC of shape (n_support, n_concepts)
        y a; sparse where concepts have rows of their own.
    intercept_ : ndarray of shape (n_concepts,)
        b, 0 without an intercept.
    certificates_ : tuple of Certificate
        One for each concept.
    certificate_ : Certificate
        All together: objectives and gaps add up.
    """

    support_: NDArray[np.intp]
    dual_coef_: Any
    intercept_: Floats
    certificate_: Certificate
    certificates_: tuple[Certificate, ...]
    _kernel: Kernel
    _rows: Any

    def decision_function(self, X: Any, source_scores: ArrayLike | None = None) -> Floats:
        """Scores f' + Δf of all concepts.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows; with kernel="precomputed" the kernel between them and the rows of the fit.
        source_scores : array-like of shape (n_samples, n_concepts), optional
            f' at these rows; without it the change alone is returned.

        Returns
        -------
        ndarray of shape (n_samples, n_concepts)
            Positive values mean that the concept is there.
        """
        rows = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
        n, m = rows.shape[0], len(self.intercept_)
        out: Floats = np.tile(self.intercept_, (n, 1))
        step = max(1, _BLOCK_ENTRIES // max(1, len(self.support_)))
        for start in range(0, n, step):
            part = rows[start : start + step]
            out[start : start + step] += (self.dual_coef_.T @ self._values(part).T).T
        if source_scores is None:
            return out
        return out + _table("source_scores", source_scores, (n, m))

    def _values(self, rows: Any) -> NDArray[Any]:
        if self._kernel.name == "precomputed":
            return np.asarray(rows[:, self.support_])
        return self._kernel.block(rows, self._rows, np.float64)


def adapt_many(
    X: Any,
    Y: ArrayLike,
    *,
    source_scores: ArrayLike | None = None,
    C: float = 1.0,
    kernel: str | Callable[..., ArrayLike] = "rbf",
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    fit_intercept: bool = False,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    n_jobs: int | None = None,
) -> AdaptedConcepts:
    """Adapt one classifier for each concept (column of ``Y``), all in one batch.

    Each is the two-class problem of :class:`AdaptSVC`.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        Rows of all concepts, or their kernel matrix with kernel="precomputed".
    Y : array-like of shape (n_samples, n_concepts)
        Whether a row belongs to a concept: 1 or True, 0 or -1 or False; NaN where that is not
        known, so that every concept may have labelled rows of its own.
    source_scores : array-like of shape (n_samples, n_concepts), optional
        f'; without it plain machines are fitted. Entries where Y is NaN are not read.
    C : float, default=1.0
        Cost of a violated margin.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel of the changes.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width: "scale" is 1 / (n_features · X.var()) over all rows.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    fit_intercept : bool, default=False
        Whether every change has an unpenalised intercept.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int, default=1_000_000
        Most steps of the solver for each concept.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.

    Returns
    -------
    AdaptedConcepts
        The adapted classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import adapt_many
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> Y = np.array([[1, 0], [0, 1], [1, np.nan]])
    >>> concepts = adapt_many(X, Y, source_scores=np.zeros((3, 2)), kernel="linear", C=10.0)
    >>> concepts.decision_function(X, np.zeros((3, 2))).round(2)
    array([[ 2., -1.],
           [-1.,  1.],
           [ 1.,  0.]])
    """
    C = check_number("C", C)
    check_number("tol", tol)
    kinds = False if kernel == "precomputed" else "csr"
    rows = check_array(X, accept_sparse=kinds, dtype=(np.float64, np.float32), order="C")
    signs, known = _signs(Y, rows.shape[0])
    margins = np.zeros(signs.shape)
    if source_scores is not None:
        scores = np.where(known, _table("source_scores", source_scores, signs.shape, known), 0.0)
        margins = signs * scores
    resolved = resolve_kernel(kernel, gamma, degree, coef0, rows)
    if resolved.name == "precomputed":
        check_gram(rows)
    options = {"fit_intercept": fit_intercept, "tol": tol, "max_iter": max_iter, "n_jobs": n_jobs}
    shared = known.mean() > _MOSTLY
    solve = _on_shared_rows if shared else _on_own_rows
    answer = solve(rows, resolved, signs, known, C, margins - 1.0, options)
    answer_coef = _coefficients(answer, known, shared)
    support = np.flatnonzero(np.asarray(abs(answer_coef).sum(axis=1)).ravel())
    certificate = answer.certificate
    warn_unless_converged(certificate, "adapt_many", tol)
    return AdaptedConcepts(
        support, answer_coef[support], answer.intercept, certificate,
        tuple(answer.certificate_of(c) for c in range(len(answer))), resolved,
        None if resolved.name == "precomputed" else rows[support],
    )  # fmt: skip


def _on_shared_rows(
    rows: Any, kernel: Kernel, signs: Floats, known: NDArray[np.bool_], C: float, linear: Floats,
    options: dict[str, Any],
) -> BatchSolution:  # fmt: skip
    """One Gram matrix for all; a row stays out of a concept by a cost of 0."""
    return solve_shared(
        _gram(rows, kernel, options), signs, upper=C * known, linear=linear,
        convex=kernel.positive, **options,
    )  # fmt: skip


def _on_own_rows(
    rows: Any, kernel: Kernel, signs: Floats, known: NDArray[np.bool_], C: float, linear: Floats,
    options: dict[str, Any],
) -> BatchSolution:  # fmt: skip
    """Each concept on the rows it knows."""
    concept, row = np.nonzero(known.T)
    starts = np.concatenate([[0], np.cumsum(known.sum(axis=0))])
    problem = BatchProblem.from_arrays(
        starts, row, signs[row, concept], C, linear[row, concept]
    )  # fmt: skip
    if kernel.name in _BATCH_KERNELS and kernel.compiled:
        return solve_batch(
            rows, problem, kernel=kernel.name, gamma=kernel.gamma, degree=kernel.degree,
            coef0=kernel.coef0, **options,
        )  # fmt: skip
    return solve_batch(_gram(rows, kernel, options), problem, kernel="precomputed", **options)


def _gram(rows: Any, kernel: Kernel, options: dict[str, Any]) -> NDArray[Any]:
    operator = kernel.operator(rows, options["n_jobs"])
    return np.asarray(operator.block(np.arange(rows.shape[0]), None, np.float64))


def _coefficients(answer: BatchSolution, known: NDArray[np.bool_], shared: bool) -> Any:
    """y a with one column a concept."""
    if shared:
        return answer.columns(answer.dual_coef)
    _, row = np.nonzero(known.T)
    shape = known.shape
    table = sparse.csc_array((answer.dual_coef, row, answer.indptr), shape=shape)
    table.eliminate_zeros()
    return table.tocsr()


def _signs(Y: ArrayLike, n: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Labels as ±1 (+1 where unknown), and where they are known."""
    table = np.asarray(Y)
    if table.ndim != 2 or table.shape[0] != n or table.dtype.kind not in "biuf":
        raise ValueError(
            f"Y must be a table of numbers with one row for each of the {n} rows of X and one "
            f"column a concept, got {table.dtype} of shape {table.shape}."
        )
    known = np.isfinite(table) if table.dtype.kind == "f" else np.ones(table.shape, dtype=bool)
    values = np.unique(table[known])
    if not np.isin(values, (-1, 0, 1)).all():
        strange = values[~np.isin(values, (-1, 0, 1))]
        raise ValueError(
            f"Y must hold 1 for rows of a concept, 0 or -1 for others and NaN where it is not "
            f"known; found {strange[:3].tolist()}."
        )
    empty = np.flatnonzero(~known.any(axis=0))
    if empty.size:
        raise ValueError(f"Y has no label at all for the concepts {empty[:5].tolist()}.")
    return np.where(known & (table <= 0), -1.0, 1.0), known


def _table(
    name: str, values: ArrayLike, shape: tuple[int, ...], read: NDArray[np.bool_] | None = None
) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.shape != shape:
        raise ValueError(
            f"{name} must have shape {shape} (rows, concepts), got {table.shape}."
        )  # fmt: skip
    used = table if read is None else table[read]
    if not np.isfinite(used).all():
        raise ValueError(f"{name} contains NaN or infinity; scores must be finite.")
    return table
