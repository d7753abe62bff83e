"""The label-free scores written as loops over rows."""

import math

import numpy as np


def plain_weighted(weights, scores):
    """(value, standard error) of the mean of w s."""
    products = [w * s for w, s in zip(weights, scores)]
    value = sum(products) / len(products)
    variance = sum((p - value) ** 2 for p in products) / (len(products) - 1)
    return value, math.sqrt(variance / len(products))


def self_normalised(weights, scores):
    """Σ w s / Σ w, and the error of a ratio of means by the delta method."""
    m = len(scores)
    mean = sum(weights) / m
    value = sum(w * s for w, s in zip(weights, scores)) / sum(weights)
    influence = [w * (s - value) / mean for w, s in zip(weights, scores)]
    return value, math.sqrt(sum(i**2 for i in influence) / (m - 1) / m)


def control_variate(weights, scores):
    """The coefficient by least squares of w s on w, then the corrected mean."""
    products = [w * s for w, s in zip(weights, scores)]
    w_mean, p_mean = np.mean(weights), np.mean(products)
    covariance = sum((w - w_mean) * (p - p_mean) for w, p in zip(weights, products))
    variance = sum((w - w_mean) ** 2 for w in weights)
    return p_mean - covariance / variance * (w_mean - 1)


def mean_entropy(p):
    total = 0.0
    for row in p:
        total -= sum(q * math.log(q) for q in row if q > 0)
    return total / len(p)


def soft_neighbourhood_density(p, temperature):
    total = 0.0
    for i in range(len(p)):
        similar = {
            j: float(p[i] @ p[j] / np.linalg.norm(p[i]) / np.linalg.norm(p[j]))
            for j in range(len(p))
            if j != i
        }
        scale = sum(math.exp(s / temperature) for s in similar.values())
        shares = [math.exp(s / temperature) / scale for s in similar.values()]
        total -= sum(q * math.log(q) for q in shares if q > 0)
    return total / len(p)
