"""The aligned machines solved slowly and plainly: the printed matrix Omega, and Clarabel.

    min_{β, b}  ½ βᵀΩβ + Σ c_i max(0, 1 - y_i (K_iβ + b))      (or squared errors)

Everything is written out on the kernel matrix of all rows, source first, in the paper's own
parameters (λ0, C); nothing is shared with the library.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse


def spectral_abs(A):
    e, U = np.linalg.eigh((A + A.T) / 2)
    return (U * np.abs(e)) @ U.T


def scatter(K, rows, centered):
    part = K[:, rows] - (K[:, rows].mean(axis=1, keepdims=True) if centered else 0.0)
    return part @ part.T / part.shape[1]


def root(K):
    e, U = np.linalg.eigh((K + K.T) / 2)
    keep = e > 1e-11 * e.max()
    return U[:, keep] * np.sqrt(e[keep])


def omega(K, domain, balance, lam0, form, centered=False, sources="separate"):
    """Ω of the printed problem; for form="rkhs" it is built on a factor of K."""
    Z = root(K) if form == "rkhs" else K
    M = lam0 * np.eye(Z.shape[1])
    source, target = domain >= 0, domain < 0
    groups = [source] if sources == "pooled" else [domain == d for d in np.unique(domain[source])]
    for group in groups:
        share = group.sum() / source.sum()
        d = Z[group].mean(axis=0) - Z[target].mean(axis=0)
        delta = scatter(Z.T, group, centered) - scatter(Z.T, target, centered)
        M += share * ((1 - balance) * np.outer(d, d) + balance * spectral_abs(delta))
    return Z, M


@dataclass
class Plain:
    objective: float
    weights: np.ndarray
    bias: float
    Z: np.ndarray

    @property
    def scores(self):
        """f - b at all rows."""
        return self.Z @ self.weights


def solve_hinge(K, domain, rows, signs, costs, **terms):
    """The primal by an interior point in (w, b, ξ)."""
    Z, M = omega(K, domain, **terms)
    X, n, D = Z[rows], len(rows), Z.shape[1]
    unit = max(np.abs(costs).max(), np.abs(np.diag(M)).max())
    P = sparse.block_diag([sparse.csc_matrix(M / unit), sparse.csc_matrix((n + 1, n + 1))])
    q = np.concatenate([np.zeros(D + 1), costs / unit])
    margin = sparse.csc_matrix(np.hstack([-signs[:, None] * X, -signs[:, None], -np.eye(n)]))
    positive = sparse.hstack([sparse.csc_matrix((n, D + 1)), -sparse.identity(n)])
    A = sparse.vstack([margin, positive]).tocsc()
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.triu(P).tocsc(), q, A, b, [clarabel.NonnegativeConeT(2 * n)], settings
    )
    x = np.array(solver.solve().x)
    w, bias = x[:D], x[D]
    slack = (1 - signs * (X @ w + bias)).clip(0)
    return Plain(0.5 * w @ M @ w + costs @ slack, w, bias, Z)


def solve_squares(K, domain, rows, Y, costs, **terms):
    """The normal equations in (W, b), solved by a dense solver."""
    Z, M = omega(K, domain, **terms)
    X = np.hstack([Z[rows], np.ones((len(rows), 1))])
    left = X.T @ (costs[:, None] * X)
    left[:-1, :-1] += M
    W = np.linalg.lstsq(left, X.T @ (costs[:, None] * Y), rcond=None)[0]
    rest = Y - X @ W
    objective = 0.5 * np.trace(W[:-1].T @ M @ W[:-1]) + 0.5 * costs @ (rest**2).sum(axis=1)
    return Plain(objective, W[:-1], W[-1], Z)
