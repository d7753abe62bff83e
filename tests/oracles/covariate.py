"""The joint objective written out row by row, its dual Newton system, and plain optimisers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def log1pexp(t):
    return np.logaddexp(0.0, t)


def objective(W, b, v, v0, X, y, source, odds, C, C_shift, omega=None, domain=None):
    """J by a Python loop. W is K x d (one row for two classes); y counts for source rows only."""
    n = len(X)
    omega = np.ones(n) if omega is None else omega
    domain = np.ones(n) if domain is None else domain
    total = np.sum(W**2) / (2 * C) + np.sum(v**2) / (2 * C_shift)
    for i, x in enumerate(X):
        t = v @ x + v0
        if not source[i]:
            total += domain[i] * log1pexp(t)
            continue
        u = W @ x + b
        if len(u) == 1:
            label = log1pexp(-u[0] if y[i] == 1 else u[0])
        else:
            label = np.log(np.sum(np.exp(u - u.max()))) + u.max() - u[y[i]]
        total += omega[i] * odds * np.exp(-t) * label + domain[i] * log1pexp(-t)
    return total


class Joint:
    """Two classes, all parameters in one vector (w, w0, v, v0): J, gradient and Hessian of 4.1."""

    def __init__(self, L, y, T, C, C_shift, odds=None, omega=None):
        self.L = np.hstack([L, np.ones((len(L), 1))])
        self.T = np.hstack([T, np.ones((len(T), 1))])
        self.y = np.asarray(y, dtype=float)
        self.odds = len(L) / len(T) if odds is None else odds
        self.omega = np.ones(len(L)) if omega is None else omega
        d = L.shape[1]
        self.ridge = np.r_[np.full(d, 1 / C), 0.0, np.full(d, 1 / C_shift), 0.0]

    def coefficients(self, parameters):
        half = len(parameters) // 2
        u, t = self.L @ parameters[:half], self.L @ parameters[half:]
        tau = self.T @ parameters[half:]
        p, q, qt = (1 / (1 + np.exp(-s)) for s in (u, t, tau))
        r = self.omega * self.odds * np.exp(-t)
        loss = self.y * log1pexp(-u) + (1 - self.y) * log1pexp(u)
        return r * (self.y - p), r * loss, r * p * (1 - p), q, qt

    def value(self, parameters):
        half = len(parameters) // 2
        t, tau = self.L @ parameters[half:], self.T @ parameters[half:]
        _, b, _, _, _ = self.coefficients(parameters)
        return (
            b.sum()
            + log1pexp(-t).sum()
            + log1pexp(tau).sum()
            + 0.5 * np.sum(self.ridge * parameters**2)
        )

    def gradient(self, parameters):
        a, b, _, q, qt = self.coefficients(parameters)
        down = np.r_[self.L.T @ a, self.L.T @ (b + 1 - q) - self.T.T @ qt]
        return self.ridge * parameters - down

    def hessian(self, parameters):
        a, b, c, q, qt = self.coefficients(parameters)
        L, T = self.L, self.T
        cross = L.T @ (a[:, None] * L)
        domain = L.T @ ((b + q * (1 - q))[:, None] * L) + T.T @ ((qt * (1 - qt))[:, None] * T)
        return np.block([[L.T @ (c[:, None] * L), cross], [cross, domain]]) + np.diag(self.ridge)

    def minimise(self, start, method):
        """From ``start`` by one of scipy's methods, polished by plain Newton steps."""
        with np.errstate(over="ignore", invalid="ignore"):
            options = {"BFGS": {"gtol": 1e-9}, "L-BFGS-B": {"ftol": 1e-16, "gtol": 1e-9}}
            hessian = self.hessian if method.startswith("trust") else None
            found = minimize(
                self.value, start, jac=self.gradient, hess=hessian, method=method,
                options={"maxiter": 5000, **options.get(method, {})},
            )  # fmt: skip
        return found.x


def dual_newton(K_source, K, y, odds, C, C_shift, alpha):
    """One step of the dual system (A K + S') Δ = e - S' α of the kernel form, no intercepts."""
    m, n = len(K_source), len(K)
    u, t = K_source @ alpha[:m], K @ alpha[m:]
    p, q = 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(-t))
    r = odds * np.exp(-t[:m])
    loss = y * log1pexp(-u) + (1 - y) * log1pexp(u)
    a, b, c = r * (y - p), r * loss, r * p * (1 - p)
    A = np.zeros((m + n, m + n))
    A[:m, :m] = np.diag(c)
    A[:m, m : 2 * m] = A[m : 2 * m, :m] = np.diag(a)
    A[m:, m:] = np.diag(q * (1 - q))
    A[m : 2 * m, m : 2 * m] += np.diag(b)
    e = np.concatenate([a, b + 1 - q[:m], -q[m:]])
    both = np.zeros((m + n, m + n))
    both[:m, :m], both[m:, m:] = K_source, K
    S = np.concatenate([np.full(m, 1 / C), np.full(n, 1 / C_shift)])
    return np.linalg.solve(A @ both + np.diag(S), e - S * alpha), e, S, both
