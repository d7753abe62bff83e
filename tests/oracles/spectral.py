"""The spectral embedding by loops over rows and pairs, and one dense decomposition."""

import numpy as np


def similarities(X, kind, gamma):
    n = len(X)
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if kind == "cosine":
                norms = np.linalg.norm(X[i]) * np.linalg.norm(X[j])
                S[i, j] = max(0.0, X[i] @ X[j] / norms) if norms else 0.0
            else:
                S[i, j] = np.exp(-gamma * ((X[i] - X[j]) ** 2).sum())
    return S


def nearest_graph(X, kind, gamma, k):
    S, n = similarities(X, kind, gamma), len(X)
    W = np.zeros((n, n))
    for i in range(n):
        others = [j for j in np.argsort(-S[i], kind="stable") if j != i][:k]
        for j in others:
            W[i, j] = W[j, i] = S[i, j]
    return W


def laplacian(W):
    d = W.sum(axis=1)
    root = np.array([1 / np.sqrt(x) if x > 0 else 0.0 for x in d])
    return np.eye(len(W)) - root[:, None] * W * root


def cost_matrix(X, codes, kind, gamma, k, rho, eta):
    """A, with the must-links pair by pair; the first rows are the source."""
    n = len(codes)
    A = laplacian(nearest_graph(X, kind, gamma, k))
    A[n:, n:] += rho * laplacian(nearest_graph(X[n:], kind, gamma, k))
    for i in range(n):
        for j in range(i):
            if codes[i] == codes[j]:
                link = np.zeros(len(X))
                link[i], link[j] = 1.0, -1.0
                A += eta / n * np.outer(link, link)
    return A


def embedding(X, codes, **options):
    values, vectors = np.linalg.eigh(cost_matrix(X, codes, **options))
    k = codes.max() + 1
    rows = vectors[:, :k]
    return values[:k], rows / np.linalg.norm(rows, axis=1, keepdims=True)
