"""Maps between domains, from textbook formulas on whole arrays."""

import numpy as np
from scipy.linalg import sqrtm


def shrunk(X, shrinkage):
    S = np.cov(X.T, bias=True).reshape(X.shape[1], X.shape[1])
    return S + shrinkage * np.trace(S) / len(S) * np.eye(len(S))


def monge(source, target, shrinkage=0.0):
    """The source rows moved by the optimal map between the two Gaussians."""
    S, T = shrunk(source, shrinkage), shrunk(target, shrinkage)
    root = np.real(sqrtm(S))
    inverse = np.linalg.inv(root)
    A = inverse @ np.real(sqrtm(root @ T @ root)) @ inverse
    return target.mean(axis=0) + (source - source.mean(axis=0)) @ A.T


def coral(source, target, shrinkage=0.0):
    """The source rows whitened and coloured."""
    S, T = shrunk(source, shrinkage), shrunk(target, shrinkage)
    A = np.real(sqrtm(T)) @ np.linalg.inv(np.real(sqrtm(S)))
    return target.mean(axis=0) + (source - source.mean(axis=0)) @ A.T


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)
