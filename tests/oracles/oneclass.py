"""UOCT-SVM solved slowly and plainly: loops over pairs of rows, and cvxpy for each round.

Nothing here is shared with the library. The dual is solved on the dense matrix, the primal in the
coordinates of a factor of the kernel matrix; both must give the same objective.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

PRECISE = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


@dataclass(frozen=True)
class PlainKernel:
    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def value(self, z, x):
        if self.name == "linear":
            return z @ x
        if self.name == "rbf":
            return np.exp(-self.gamma * np.sum((z - x) ** 2))
        if self.name == "laplacian":
            return np.exp(-self.gamma * np.sum(np.abs(z - x)))
        if self.name == "poly":
            return (self.gamma * (z @ x) + self.coef0) ** self.degree
        return np.tanh(self.gamma * (z @ x) + self.coef0)

    def gradient(self, z, x):
        k = self.value(z, x)
        if self.name == "linear":
            return z
        if self.name == "rbf":
            return 2 * self.gamma * (z - x) * k
        if self.name == "laplacian":
            return self.gamma * np.sign(z - x) * k
        if self.name == "poly":
            inner = self.gamma * (z @ x) + self.coef0
            return self.degree * self.gamma * inner ** (self.degree - 1) * z
        return self.gamma * (1 - k**2) * z

    def matrix(self, A, B):
        return np.array([[self.value(a, b) for b in B] for a in A]).reshape(len(A), len(B))


@dataclass(frozen=True)
class PlainTasks:
    """Rows of all tasks one after the other; ``of_row`` the task of each; μ per task."""

    X: np.ndarray
    of_row: np.ndarray
    costs: np.ndarray  # one a row
    penalties: np.ndarray
    bounds: np.ndarray
    kernel: PlainKernel

    @property
    def count(self):
        return len(self.penalties)

    def factor(self, t, h):
        if self.count == 1:
            return 1.0
        return 0.5 * (1 + (t == h) / self.penalties[t])


@dataclass(frozen=True)
class Round:
    objective: float
    alpha: np.ndarray
    places: np.ndarray  # corrected rows
    scores: np.ndarray  # of the corrected rows
    intervals: np.ndarray
    offsets: np.ndarray


def score(tasks, alpha, places, task, x):
    """⟨w_task, φ(x)⟩."""
    return sum(
        a * tasks.factor(task, h) * tasks.kernel.value(z, x)
        for a, h, z in zip(alpha, tasks.of_row, places)
    )


def direction(tasks, alpha, places, task, x):
    """The gradient of the score at x."""
    return sum(
        a * tasks.factor(task, h) * tasks.kernel.gradient(z, x)
        for a, h, z in zip(alpha, tasks.of_row, places)
    )


def big_matrix(tasks, places):
    K = tasks.kernel.matrix(places, places)
    factors = np.array([[tasks.factor(t, h) for h in tasks.of_row] for t in tasks.of_row])
    return K * factors


def solve_dual(tasks, places):
    Q = big_matrix(tasks, places)
    root = np.linalg.cholesky(Q + 1e-13 * np.trace(Q) * np.eye(len(Q)))
    a = cp.Variable(len(Q))
    sums = [a[np.flatnonzero(tasks.of_row == t)] for t in range(tasks.count)]
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(root.T @ a)),
        [a >= 0, a <= tasks.costs, *(cp.sum(part) == 1 for part in sums)],
    )
    problem.solve(solver=cp.CLARABEL, **PRECISE)
    return np.clip(a.value, 0, tasks.costs), Q


def solve_primal(tasks, places):
    """The objective of the printed problem, in coordinates φ of a factor of the kernel matrix."""
    K = tasks.kernel.matrix(places, places)
    phi = np.linalg.cholesky(K + 1e-13 * np.trace(K) * np.eye(len(K)))
    w0, V = cp.Variable(len(K)), cp.Variable((tasks.count, len(K)))
    rho, xi = cp.Variable(tasks.count), cp.Variable(len(K))
    rows = [phi[i] @ (w0 + V[t]) >= rho[t] - xi[i] for i, t in enumerate(tasks.of_row)]
    norms = cp.sum_squares(w0) + sum(
        mu * cp.sum_squares(V[t]) for t, mu in enumerate(tasks.penalties)
    )
    if tasks.count == 1:
        norms, rows = 0.5 * cp.sum_squares(w0), [*rows, V == 0]
    problem = cp.Problem(cp.Minimize(norms - cp.sum(rho) + tasks.costs @ xi), [*rows, xi >= 0])
    problem.solve(solver=cp.CLARABEL, **PRECISE)
    return problem.value


def offset_interval(scores, costs):
    """All minimisers of -ρ + Σ c max(0, ρ - h), by trying every h."""
    values = np.array([-r + costs @ np.maximum(0, r - scores) for r in scores])
    best = scores[values <= values.min() + 1e-9 * np.abs(scores).max()]
    return best.min(), best.max()


def alternate(tasks, rounds):
    """Every round of the printed algorithm, without a stopping rule."""
    places, history = tasks.X, []
    for _ in range(rounds):
        if history:
            places = np.array([moved(tasks, history[-1], i) for i in range(len(tasks.X))])
        alpha, Q = solve_dual(tasks, places)
        scores = Q @ alpha
        ends = np.array([
            offset_interval(scores[tasks.of_row == t], tasks.costs[tasks.of_row == t])
            for t in range(tasks.count)
        ])  # fmt: skip
        history.append(
            Round(-0.5 * alpha @ Q @ alpha, alpha, places, scores, ends, ends.mean(axis=1))
        )
    return history


def moved(tasks, model, i):
    x, task = tasks.X[i], tasks.of_row[i]
    u = direction(tasks, model.alpha, model.places, task, x)
    length = np.linalg.norm(u)
    return x + tasks.bounds[i] * u / length if length > 1e-12 else x


def neighbour_bounds(X, of_row, k):
    """Mean distance to the k nearest other rows of the same task."""
    out = []
    for i, x in enumerate(X):
        others = [np.linalg.norm(x - z) for j, z in enumerate(X)
                  if j != i and of_row[j] == of_row[i]]  # fmt: skip
        near = sorted(others)[:k]
        out.append(np.mean(near) if near else 0.0)
    return np.array(out)
