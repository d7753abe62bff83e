"""Prototype SVM as a straight loop over the specification: every pair visited by Python.

Rows are already scaled, ``y`` holds class numbers. A model is a dictionary: ``exemplar``,
``label``, ``P`` and ``N`` (sets of rows), ``w``, ``b``, ``A``, ``B``, ``cap``. Each little machine
is solved by scikit-learn's SVC (LIBSVM); its intercept follows the rule of the specification.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

_MASK = (1 << 64) - 1


def squared_distance(a, b):
    total = 0.0
    for u, v in zip(a.tolist(), b.tolist()):
        total += (u - v) * (u - v)
    return total


def product(a, b):
    total = 0.0
    for u, v in zip(a.tolist(), b.tolist()):
        total += u * v
    return total


def choose_negatives(Z, y, i, k):
    """Algorithm 2: the nearest rows of other classes on the side where the nearest one lies."""
    found = [(squared_distance(Z[i], Z[j]), j) for j in range(len(y)) if y[j] != y[i]]
    found = sorted(pair for pair in found if pair[0] > 0)
    kept = []
    for _, j in found:
        if product(Z[found[0][1]] - Z[i], Z[j] - Z[i]) > 0:
            kept.append(j)
        if len(kept) == k:
            break
    return kept


def costs(model, C, weights):
    return {j: C * weights[j] for j in model["P"] | model["N"]}


def exemplar_svm(Z, model, C):
    """(w, b) of one model; ``C`` maps each row to its cost."""
    P, N = sorted(model["P"]), sorted(model["N"])
    if not N:
        return np.zeros(Z.shape[1]), -1.0
    rows = P + N
    t = np.array([1.0] * len(P) + [-1.0] * len(N))
    cost = np.array([C[j] for j in rows])
    machine = SVC(kernel="linear", C=1.0, tol=1e-7, max_iter=50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(Z[rows], t, sample_weight=cost)
    alpha = np.zeros(len(rows))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    w, b = polished(Z[rows], t, cost, alpha)
    if w is None:
        w, b = by_clarabel(Z[rows], t, cost)
    return w, b


def polished(X, t, cost, alpha):
    """Exact (w, b) from what LIBSVM says is at 0, at C and free; None where that is not optimal."""
    slack = 1e-7 * cost
    free = (alpha > slack) & (alpha < cost - slack)
    fixed = np.where(alpha >= cost - slack, cost, 0.0) * ~free
    w = (t * fixed) @ X
    if free.any():
        k = int(free.sum())
        system = np.block(
            [[X[free] @ X[free].T, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]]
        )
        right = np.append(t[free] - X[free] @ w, -(t @ fixed))
        solution = np.linalg.lstsq(system, right, rcond=1e-13)[0]
        w, b = w + solution[:-1] @ X[free], float(solution[-1])
    else:
        b = intercept(t, fixed, cost, t - X @ w)
    margin = t * (X @ w + b)
    good = np.where(
        free, np.abs(margin - 1) < 1e-8, np.where(fixed > 0, margin < 1 + 1e-8, margin > 1 - 1e-8)
    )
    return (w, b) if good.all() else (None, None)


def by_clarabel(X, t, cost):
    """(w, b) by an interior point method on the dual."""
    from oracles.batch import by_interior_point

    alpha, _ = by_interior_point(X @ X.T, t, -np.ones(len(t)), cost, True)
    w, slack = (t * alpha) @ X, 1e-6 * cost
    free = (alpha > slack) & (alpha < cost - slack)
    alpha = np.where(free, alpha, np.where(alpha > cost / 2, cost, 0.0))
    return w, intercept(t, alpha, cost, t - X @ w)


def intercept(t, alpha, cost, g):
    """Mean of g over the free rows, else the middle of the optimal interval."""
    slack = 1e-9 * cost
    free = (alpha > slack) & (alpha < cost - slack)
    if free.any():
        return float(g[free].mean())
    up = np.where(t > 0, alpha < cost - slack, alpha > slack)
    down = np.where(t < 0, alpha < cost - slack, alpha > slack)
    return float((g[up].max() + g[down].min()) / 2)


def platt(scores, positive, weights):
    """Newton with backtracking (Lin, Lin, Weng 2007); A > 0 becomes a constant."""
    plus, minus = weights[positive].sum(), weights[~positive].sum()
    tau = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))
    A, B = 0.0, math.log((minus + 1) / (plus + 1))
    centre = float(weights @ scores / weights.sum())
    size = float(np.abs(scores - centre).max())
    if np.ptp(scores) <= 1e-9:  # all scores are one: nothing to learn from them
        size = math.inf
    scores = (scores - centre) / size

    def value(A, B):
        z = A * scores + B
        return float(weights @ (np.logaddexp(0, z) - (1 - tau) * z))

    for _ in range(200):
        p = 1 / (1 + np.exp(A * scores + B))
        d, h = weights * (tau - p), weights * p * (1 - p)
        gradient = np.array([d @ scores, d.sum()])
        if np.abs(gradient).max() < 1e-11:
            break
        H = np.array([[h @ scores**2 + 1e-12, h @ scores], [h @ scores, h.sum() + 1e-12]])
        step, length = -np.linalg.solve(H, gradient), 1.0
        while length > 1e-10 and value(A + length * step[0], B + length * step[1]) > value(A, B) + (
            1e-4 * length * float(gradient @ step) + 1e-15
        ):
            length /= 2
        if length <= 1e-10:
            break
        A, B = A + length * step[0], B + length * step[1]
    A, B = A / size, B - A * centre / size
    if A > 0:
        mean = float(weights @ tau / weights.sum())
        A, B = 0.0, math.log((1 - mean) / mean)
    return A, B


def train(Z, model, C, weights):
    """Machine and sigmoid of one model, in place."""
    model["w"], model["b"] = exemplar_svm(Z, model, costs(model, C, weights))
    rows = sorted(model["P"]) + sorted(model["N"])
    scores = Z[rows] @ model["w"] + model["b"]
    positive = np.arange(len(rows)) < len(model["P"])
    model["cap"] = float(scores.max())
    model["A"], model["B"] = platt(scores, positive, weights[rows])


def score(model, z):
    return float(model["w"] @ z + model["b"])


def probability(model, f):
    if not model["N"]:
        return 0.0
    z = model["A"] * min(f, model["cap"]) + model["B"]
    return 1 / (1 + math.exp(z)) if z < 700 else 0.0


def class_sums(models, z, n_classes):
    """(S, largest score of each class, whether some model fires)."""
    sums, best, fired = [0.0] * n_classes, [-math.inf] * n_classes, False
    for model in models:
        f, c = score(model, z), model["label"]
        best[c] = max(best[c], f)
        if f > 0:
            fired = True
            sums[c] += probability(model, f)
    return sums, best, fired


def predict(models, z, n_classes):
    sums, best, fired = class_sums(models, z, n_classes)
    values = sums if fired else best
    return values.index(max(values))


def predict_proba(models, z, n_classes):
    sums, best, fired = class_sums(models, z, n_classes)
    if fired:
        return np.array(sums) / sum(sums)
    e = np.exp(np.array(best) - max(best))
    return e / e.sum()


def _mix(x):
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def draw(seed, turn, exemplar, row):
    """A uniform number for one pair of one shift, the same whoever asks."""
    key = _mix((seed + turn) & _MASK)
    return (_mix(_mix(key ^ exemplar) ^ row) >> 11) * 2.0**-53


def shift(Z, y, models, rate, seed, turn, *, own=False, drop="unclaimed", keep=True):
    """Algorithm 3: (models that stay, with new sets)."""
    n, M = len(y), len(models)
    fires = [[score(m, Z[j]) > 0 for j in range(n)] for m in models]
    new_N = [set() for _ in models]
    for i, m in enumerate(models):
        for j in range(n):
            wrong = fires[i][j] and y[j] != m["label"] and j not in m["N"]
            if wrong and draw(seed, turn, m["exemplar"], j) < rate:
                new_N[i].add(j)
    claimed = [set() for _ in models]
    for j in range(n):
        best = None
        for i, m in enumerate(models):
            if fires[i][j] and m["label"] == y[j] and (own or m["exemplar"] != j):
                d = squared_distance(Z[m["exemplar"]], Z[j])
                if best is None or d < best[0]:
                    best = (d, i)
        if best is not None:
            claimed[best[1]].add(j)
    same = [sum(fires[i][j] and y[j] == m["label"] for j in range(n)) for i, m in enumerate(models)]
    if drop == "unclaimed":
        stays = [bool(claimed[i]) for i in range(M)]
    else:
        stays = [any(fires[i]) for i in range(M)]
    if keep:
        for c in {m["label"] for m in models}:
            mine = [i for i in range(M) if models[i]["label"] == c]
            if not any(stays[i] for i in mine):
                stays[max(mine, key=lambda i: (same[i], -i))] = True
    return [
        dict(m, P=m["P"] | claimed[i], N=m["N"] | new_N[i])
        for i, m in enumerate(models)
        if stays[i]
    ]


def fit(Z, y, validation, *, C=100.0, k=7, rate=0.005, shifts=10, seed=0, weights=None, **rules):
    """Algorithm 1 with the rows ``validation`` held out; (models, accuracies, sizes, best)."""
    n, n_classes = len(y), int(y.max()) + 1
    weights = np.ones(n) if weights is None else weights
    later = rules.pop("later", True)
    inside = np.setdiff1d(np.arange(n), validation)
    D, labels, omega = Z[inside], y[inside], weights[inside]
    models = [
        {
            "exemplar": i,
            "label": int(labels[i]),
            "P": {i},
            "N": set(choose_negatives(D, labels, i, k)),
        }
        for i in range(len(inside))
    ]
    kept, best, accuracies, sizes = [], -1.0, [], []
    for j in range(shifts + 1):
        for m in models:
            train(D, m, C, omega)
        right = [predict(models, Z[v], n_classes) == y[v] for v in validation]
        a = float(np.average(right, weights=weights[validation])) if len(validation) else 0.0
        accuracies.append(a)
        sizes.append(len(models))
        if a > best or (later and a >= best):
            best, kept, at = a, [dict(m, P=set(m["P"]), N=set(m["N"])) for m in models], j
        if j < shifts:
            models = shift(D, labels, models, rate, seed, j, **rules)
    for m in kept:
        m["exemplar"] = int(inside[m["exemplar"]])
        m["P"], m["N"] = ({int(inside[r]) for r in m[s]} for s in "PN")
    return kept, accuracies, sizes, at
