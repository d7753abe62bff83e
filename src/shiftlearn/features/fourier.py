"""Random Fourier features of translation-invariant kernels.

    z(x) = sqrt(2/D) [cos(Ωᵀx), sin(Ωᵀx)],    E z(x)ᵀz(x') = E cos(ωᵀ(x - x')) = k(x, x')

for frequencies ω from the kernel's spectral density (A. Rahimi, B. Recht, NIPS 2007): normal for
"rbf", Cauchy in each coordinate for "laplacian". Cosines and sines in pairs make z(x)ᵀz(x) = 1.
Where D is odd, the last feature is a cosine alone, of a frequency with a uniform phase.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shiftlearn.features.nystroem import _as_weights
from shiftlearn.kernels import resolve_kernel

__all__ = ["RandomFourier"]

Array = NDArray[Any]


class RandomFourier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features z(x) with z(x)ᵀz(x') ≈ k(x, x'), drawn without looking at the data.

    z(x) = sqrt(2/D) [cos(Ωᵀx), sin(Ωᵀx)]; the error falls like 1/sqrt(D) only, so `Nystroem` is
    the better choice unless rows must be mapped before any is seen.

    Parameters
    ----------
    n_components : int, default=100
        D; a cosine and a sine of each frequency.
    kernel : {"rbf", "laplacian"}, default="rbf"
    gamma : float, "scale" or "auto"
        As in `SVC`; only "scale" uses the rows of ``fit``.
    random_state : int, RandomState or None

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, (n_components + 1) // 2)
        Ω.
    phase_ : float
        Of the last frequency; 0 where n_components is even.
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(5, 2))
    >>> Z = RandomFourier(20000, gamma=0.5, random_state=0).fit_transform(X)
    >>> K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    >>> bool(np.abs(Z @ Z.T - K).max() < 0.03)
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RandomFourier:
        """Draw the frequencies for as many columns as X has."""
        X = self._rows(X, reset=True)
        self._check_parameters()
        kernel = resolve_kernel(self.kernel, self.gamma, X=X)
        random = check_random_state(self.random_state)
        shape = (X.shape[1], (int(self.n_components) + 1) // 2)
        if kernel.name == "rbf":
            frequencies = np.sqrt(2.0 * kernel.gamma) * random.normal(size=shape)
        else:
            frequencies = kernel.gamma * random.standard_cauchy(size=shape)
        self.kernel_ = kernel
        self.frequencies_ = frequencies.astype(X.dtype)
        odd = self.n_components % 2
        self.phase_ = float(random.uniform(0.0, 2.0 * np.pi)) if odd else 0.0
        self._n_features_out = int(self.n_components)
        return self

    def transform(self, X: Any) -> Array:
        """The features of the rows of X, in float32 for float32 rows."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        phase = self._phase(X)
        n, cosines = self._n_features_out, phase.shape[1]
        out = np.empty((len(phase), n), dtype=X.dtype)
        np.cos(phase, out=out[:, :cosines])
        np.sin(phase[:, : n - cosines], out=out[:, cosines:])
        out *= (2.0 / n) ** 0.5
        return out

    def pullback(self, X: Any, W: ArrayLike) -> NDArray[np.float64]:
        """Σ_k W[i, k] ∇z_k(x_i) for each row: the transposed Jacobian applied to the rows of W.

        Parameters
        ----------
        X : array of shape (n, n_features)
        W : array of shape (n, n_features_out), or (n_features_out,) for all rows alike
        """
        check_is_fitted(self)
        phase = self._phase(self._rows(X, reset=False)).astype(np.float64, copy=False)
        n, cosines = self._n_features_out, phase.shape[1]
        W = _as_weights(W, len(phase), n)
        turned = -W[:, :cosines] * np.sin(phase)
        turned[:, : n - cosines] += W[:, cosines:] * np.cos(phase[:, : n - cosines])
        return np.asarray(turned @ self.frequencies_.T.astype(np.float64) * (2.0 / n) ** 0.5)

    def jacobian(self, X: Any) -> NDArray[np.float64]:
        """∇z_k(x_i), an array of shape (n, n_features_out, n_features)."""
        check_is_fitted(self)
        return np.stack([self.pullback(X, row) for row in np.eye(self._n_features_out)], axis=1)

    def _phase(self, X: Any) -> Array:
        phase = np.asarray(X @ self.frequencies_.astype(X.dtype, copy=False))
        phase[:, -1] += self.phase_
        return phase

    def _rows(self, X: Any, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        return validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=reset)

    def _check_parameters(self) -> None:
        n = self.n_components
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"n_components must be a positive whole number, got {n!r}.")
        if not (isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian")):
            raise ValueError(
                f'kernel must be "rbf" or "laplacian", got {self.kernel!r}; Nystroem takes others.'
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
