"""A spectral embedding of source and target rows that keeps the source's labels together.

With W the similarities of each row's nearest rows, D = diag(W 1):

    A = L + ρ L_t + (η / n) Q,      L = I - D^-½ W D^-½,      Q = Σ_c n_c H_c

L_t is the same of the target rows alone (0 elsewhere), H_c centres the n_c rows of source class c:
vᵀ Q v adds up (v_i - v_j)² over all pairs of source rows of equal label, without forming pairs. The
eigenvectors of the smallest eigenvalues are smooth on both graphs and nearly constant on each
class. A is sparse plus one column a class, so that an eigenvector costs products only.

A row outside is placed by the equation of its own entry of A v = λ v, in which it is a target row:
v(x) (1 + ρ - λ) = Σ_j w̃(x, j) v_j + ρ Σ_{j in target} w̃_t(x, j) v_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

__all__ = ["Graph", "Spectrum", "embed", "spectrum"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_DENSE_ROWS = 600  # matrices up to this order are decomposed whole


@dataclass(frozen=True)
class Graph:
    """The nearest rows of each row, and their similarities W (symmetric, CSR).

    ``gamma`` None stands for the cosine: rows are scaled to length one, where
    cos = 1 - ‖x - z‖² / 2, so that both similarities have the same nearest rows to find. Rows
    without any entry have no similarity to others.
    """

    search: NearestNeighbors
    gamma: float | None
    empty: NDArray[np.bool_]
    W: Any
    degrees: Floats

    @classmethod
    def of(cls, X: Any, gamma: float | None, n_neighbors: int, n_jobs: int | None = None) -> Graph:
        """Connect each row of X with its ``n_neighbors`` nearest."""
        X, empty = _placed(X, gamma)
        n = X.shape[0]
        k = min(n_neighbors, n - 1)
        search = NearestNeighbors(n_neighbors=max(1, k), n_jobs=n_jobs).fit(X)
        if k < 1:
            return cls(search, gamma, empty, sparse.csr_array((n, n)), np.zeros(n))
        distances, columns = search.kneighbors()
        weights = _weights(gamma, distances, empty[:, None] | empty[columns])
        rows = np.repeat(np.arange(n), k)
        directed = sparse.csr_array((weights.ravel(), (rows, columns.ravel())), shape=(n, n))
        W = sparse.csr_array(directed.maximum(directed.T))
        return cls(search, gamma, empty, W, np.asarray(W.sum(axis=1)).ravel())

    def smooth(self, v: Floats) -> Floats:
        """D^-½ W D^-½ v."""
        root = _inverse_root(self.degrees)
        return np.asarray(root[:, None] * (self.W @ (root[:, None] * v)))

    def extend(self, X: Any, v: Floats) -> Floats:
        """Σ_j w(x, j) v_j / √(d(x) d_j) for new rows."""
        X, empty = _placed(X, self.gamma)
        distances, columns = self.search.kneighbors(X)
        weights = _weights(self.gamma, distances, empty[:, None] | self.empty[columns])
        own = _inverse_root(weights.sum(axis=1))
        weights = own[:, None] * weights * _inverse_root(self.degrees)[columns]
        return np.asarray(np.einsum("ij,ijk->ik", weights, v[columns]))


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors (columns), the residual |A v - λ v| of each."""

    values: Floats
    vectors: Floats
    residuals: Floats


def spectrum(
    both: Graph,
    target: Graph | None,
    codes: Ints,
    *,
    target_weight: float,
    label_weight: float,
    random_state: np.random.RandomState,
) -> Spectrum:
    """The eigenvectors of the smallest eigenvalues of A, one for each class.

    ``codes`` are the class numbers of the first rows, those of the source.
    """
    n, n_all = len(codes), len(both.degrees)
    k = int(codes.max()) + 1
    indicator = np.zeros((n_all, k))
    indicator[np.arange(n), codes] = 1.0
    counts = indicator.sum(axis=0)

    def product(v: Floats) -> Floats:
        v = v.reshape(n_all, -1)
        out = v - both.smooth(v)
        if target is not None:
            out[n:] += target_weight * (v[n:] - target.smooth(v[n:]))
        pull = (indicator @ counts)[:, None] * v - indicator @ (indicator.T @ v)
        return np.asarray(out + label_weight / n * pull)

    k = min(k, n_all)
    if n_all <= max(_DENSE_ROWS, 3 * k):
        A = product(np.eye(n_all))
        values, vectors = linalg.eigh((A + A.T) / 2, subset_by_index=[0, k - 1])
    else:
        values, vectors = _smallest(product, n_all, k, random_state)
    residuals = np.linalg.norm(product(vectors) - vectors * values, axis=0)
    return Spectrum(values, vectors, residuals)


def embed(
    both: Graph, target: Graph | None, known: Spectrum, X: Any, target_weight: float
) -> Floats:
    """Unit rows of the embedding for new rows of the target domain."""
    placed = both.extend(X, known.vectors)
    if target is not None:
        n = len(both.degrees) - len(target.degrees)
        placed += target_weight * target.extend(X, known.vectors[n:])
    weight = 1 + (target_weight if target is not None else 0.0)
    return placed / np.maximum(weight - known.values, 1e-12)


def _smallest(product: Any, n: int, k: int, random_state: Any) -> tuple[Floats, Floats]:
    operator = LinearOperator((n, n), matvec=lambda v: product(v).ravel(), matmat=product)
    start = random_state.uniform(-1, 1, n)
    values, vectors = eigsh(operator, k, which="SA", v0=start, ncv=min(n, max(40, 4 * k)), tol=1e-9)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _placed(X: Any, gamma: float | None) -> tuple[Any, NDArray[np.bool_]]:
    """The rows as they are searched, and which have nothing in them."""
    if gamma is not None:
        return X, np.zeros(X.shape[0], dtype=bool)
    return normalize(X), np.asarray(abs(X).sum(axis=1)).ravel() == 0


def _weights(gamma: float | None, distances: Floats, nothing: NDArray[np.bool_]) -> Floats:
    """Similarities from distances: the cosine, not below 0, or exp(-γ r²)."""
    near = 1.0 - 0.5 * distances**2 if gamma is None else np.exp(-gamma * distances**2)
    return np.where(nothing, 0.0, near.clip(0.0, 1.0))


def _inverse_root(degrees: Floats) -> Floats:
    """1 / √d, and 0 for rows without neighbours."""
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
