"""EM and confusion-matrix estimates of class proportions, as the papers write them."""

import numpy as np


def em(p, priors, steps=20_000):
    """Saerens, Latinne and Decaestecker, iterate by iterate."""
    q = np.array(priors)
    for _ in range(steps):
        posterior = p * q / priors
        posterior /= posterior.sum(axis=1, keepdims=True)
        q = posterior.mean(axis=0)
    return q


def black_box(predicted_source, codes, predicted, k):
    """Lipton, Wang and Smola: w = C⁻¹ μ."""
    C, mu = np.zeros((k, k)), np.zeros(k)
    for a, b in zip(predicted_source, codes):
        C[a, b] += 1 / len(codes)
    for a in predicted:
        mu[a] += 1 / len(predicted)
    w = np.linalg.solve(C, mu)
    return w * np.bincount(codes, minlength=k) / len(codes)
