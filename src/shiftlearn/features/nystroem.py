"""The Nyström map: coordinates in the span of some landmarks.

    z(x) = Nᵀ k(L, x),   N = U Λ^{-1/2}   with   K(L, L) = U Λ Uᵀ,

so that z(x)ᵀz(x') is the kernel between the projections of x and x' on the span of the landmarks,
and equals k(x, x') for x, x' in that span. Eigenvalues below a relative threshold are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shiftlearn.features.pivoted import pivoted_cholesky
from shiftlearn.kernels import Kernel, resolve_kernel
from shiftlearn.resources import memory_budget
from shiftlearn.statistics import row_blocks

__all__ = ["Nystroem"]

Array = NDArray[Any]

_THRESHOLD = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features z(x) with z(x)ᵀz(x') ≈ k(x, x') from landmarks L among the rows of ``fit``.

    With K(L, L) = UΛUᵀ the features are z(x) = Λ^{-1/2} Uᵀ k(L, x): of all maps into the span of
    the landmarks the one that is exact there.

    Parameters
    ----------
    n_components : int, default=100
        Landmarks, at most the number of rows. There are fewer features where the landmarks'
        kernel matrix has a lower rank.
    kernel, gamma, degree, coef0
        The kernel, as in `SVC`; a callable too. "precomputed" has no explicit map.
    landmarks : {"uniform", "pivoted"} or array-like of shape (n_landmarks, n_features)
        Rows drawn uniformly; or drawn one after the other in proportion to what the earlier ones
        leave unexplained (randomly pivoted Cholesky: a better map for the same size, and dearer to
        fit); or given.
    threshold : float, optional
        Eigenvalues below this part of the largest are left out; by default 1e-12 for float64
        rows and 1e-6 for float32 rows.
    memory_limit : int, float or "auto"
        Bytes for kernel blocks.
    random_state : int, RandomState or None
    n_jobs : int, optional

    Attributes
    ----------
    landmarks_ : array or CSR matrix of shape (n_landmarks, n_features)
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Their row indices in ``fit``; empty where the landmarks were given.
    normalization_ : ndarray of shape (n_landmarks, n_features_out)
        N.
    kernel_ : Kernel
        The kernel with its parameters as numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> Z = Nystroem(50, gamma=0.5, random_state=0).fit_transform(X)
    >>> K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    >>> bool(np.allclose(Z @ Z.T, K, atol=1e-8))
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        landmarks: str | ArrayLike = "uniform",
        threshold: float | None = None,
        memory_limit: int | float | str = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.threshold = threshold
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose the landmarks among the rows of X and factor their kernel matrix."""
        X = self._rows(X, reset=True)
        self._check_parameters()
        kernel = resolve_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
        chosen, rows = self._choose(kernel, X)
        N = self._normalize(kernel.block(rows, rows, X.dtype, self.n_jobs))
        self.kernel_, self.landmark_indices_, self.landmarks_ = kernel, chosen, rows
        self.normalization_ = N
        return self

    def transform(self, X: Any) -> Array:
        """The features of the rows of X, in float32 for float32 rows."""
        check_is_fitted(self)
        X = self._as_landmarks(self._rows(X, reset=False))
        out = np.empty((X.shape[0], self.normalization_.shape[1]), dtype=X.dtype)
        wide = self.landmarks_.shape[0] + self.normalization_.shape[1] + X.shape[1]
        rows = max(16, memory_budget(self.memory_limit) // (32 * wide))
        for part, target in row_blocks(X, out, rows=min(rows, 8192)):
            values = self.kernel_.block(part, self.landmarks_, self.landmarks_.dtype, self.n_jobs)
            target[...] = values @ self.normalization_
        return out

    def pullback(self, X: Any, W: ArrayLike) -> NDArray[np.float64]:
        """Σ_k W[i, k] ∇z_k(x_i) for each row: the transposed Jacobian applied to the rows of W.

        Parameters
        ----------
        X : array of shape (n, n_features)
        W : array of shape (n, n_features_out), or (n_features_out,) for all rows alike
        """
        check_is_fitted(self)
        X = self._as_landmarks(self._rows(X, reset=False))
        W = _as_weights(W, X.shape[0], self.normalization_.shape[1])
        coef = W @ self.normalization_.T.astype(np.float64)
        return self.kernel_.weighted_gradient(coef, self.landmarks_, X, self.n_jobs)

    def jacobian(self, X: Any) -> NDArray[np.float64]:
        """∇z_k(x_i), an array of shape (n, n_features_out, n_features)."""
        check_is_fitted(self)
        eye = np.eye(self.normalization_.shape[1])
        return np.stack([self.pullback(X, row) for row in eye], axis=1)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        return validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=reset)

    def _as_landmarks(self, X: Any) -> Any:
        """Rows sparse where the landmarks are sparse, and dense where they are dense."""
        if sparse.issparse(self.landmarks_) == sparse.issparse(X):
            return X
        return X.toarray() if sparse.issparse(X) else sparse.csr_array(X)

    def _check_parameters(self) -> None:
        n = self.n_components
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"n_components must be a positive whole number, got {n!r}.")
        if isinstance(self.landmarks, str) and self.landmarks not in ("uniform", "pivoted"):
            raise ValueError(
                f'landmarks must be "uniform", "pivoted" or an array, got {self.landmarks!r}.'
            )
        if self.threshold is not None and not 0 <= self.threshold < 1:
            raise ValueError(f"threshold must lie in [0, 1), got {self.threshold!r}.")
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError('kernel="precomputed" has no explicit map; use another kernel.')

    def _choose(self, kernel: Kernel, X: Any) -> tuple[NDArray[np.intp], Any]:
        if not isinstance(self.landmarks, str):
            rows = validate_data(
                self, self.landmarks, accept_sparse="csr", dtype=X.dtype, reset=False
            )
            return np.empty(0, dtype=np.intp), rows
        random = check_random_state(self.random_state)
        n, size = X.shape[0], min(int(self.n_components), X.shape[0])
        if self.landmarks == "uniform":
            chosen = random.permutation(n)[:size]
            return chosen, X[chosen]
        # The factor of the candidates has to fit into the memory.
        most = max(size, memory_budget(self.memory_limit) // (16 * size))
        pool = np.arange(n) if n <= most else random.permutation(n)[:most]
        low = pivoted_cholesky(
            kernel.operator(X[pool], self.n_jobs),
            max_rank=size,
            memory_limit=16 * size * len(pool),
            random_state=random,
        )
        chosen = pool[low.pivots]
        return chosen, X[chosen]

    def _normalize(self, K: Array) -> Array:
        values, vectors = eigh(K)
        part = _THRESHOLD[K.dtype] if self.threshold is None else self.threshold
        least = max(part, float(np.finfo(K.dtype).eps)) * np.abs(values).max()
        keep = np.flatnonzero(values > least)[::-1]
        if not len(keep):
            raise ValueError(
                "the kernel matrix of the landmarks has no positive eigenvalue; use another kernel "
                "or other landmarks."
            )
        return np.ascontiguousarray(vectors[:, keep] / np.sqrt(values[keep]), dtype=K.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _as_weights(W: ArrayLike, n: int, k: int) -> NDArray[np.float64]:
    weights = np.asarray(W, dtype=np.float64)
    if weights.shape not in ((k,), (n, k)):
        raise ValueError(f"W has shape {weights.shape}; needed is {(n, k)} or {(k,)}.")
    return np.broadcast_to(weights, (n, k))
