"""Kernels entry by entry, in Python floats: nothing shared with the library."""

import math

import numpy as np


def value(name, x, z, gamma, degree, coef0):
    """k(x, z)."""
    inner = math.fsum(a * b for a, b in zip(x, z, strict=True))
    if name == "linear":
        return inner
    if name == "rbf":
        return math.exp(-gamma * math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True)))
    if name == "laplacian":
        return math.exp(-gamma * math.fsum(abs(a - b) for a, b in zip(x, z, strict=True)))
    if name == "poly":
        return (gamma * inner + coef0) ** degree
    return math.tanh(gamma * inner + coef0)


def matrix(name, A, B, gamma=0.7, degree=3, coef0=0.4):
    """All of them."""
    rows = [[value(name, a, b, gamma, degree, coef0) for b in B.tolist()] for a in A.tolist()]
    return np.array(rows).reshape(len(A), len(B))
