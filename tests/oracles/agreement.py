"""The locally weighted ensemble row by row, with sets and loops."""

import numpy as np


def local_vote(neighbours, clusters, own, known, said, i, x):
    """s_i(x): neighbours of x's cluster against those with x's prediction by model i."""
    near = {j for j in neighbours[x] if clusters[j] == own[x]}
    alike = {j for j in neighbours[x] if known[i][j].argmax() == said[i][x].argmax()}
    if not near and not alike:
        return 1.0
    return 2 * len(near & alike) / (len(near) + len(alike))


def ensemble(X_target, clusters, probabilities, h, threshold):
    """Probabilities of the target rows themselves."""
    m, models = len(X_target), len(probabilities)
    distances = np.linalg.norm(X_target[:, None] - X_target, axis=2)
    neighbours = [[j for j in np.argsort(row, kind="stable") if j != x][:h]
                  for x, row in enumerate(distances)]  # fmt: skip
    s = np.array([
        [local_vote(neighbours, clusters, clusters, probabilities, probabilities, i, x)
         for i in range(models)] for x in range(m)
    ])  # fmt: skip
    mixed = np.array([
        sum(s[x, i] * probabilities[i][x] for i in range(models)) / s[x].sum()
        if s[x].sum() > 0 else np.mean([p[x] for p in probabilities], axis=0)
        for x in range(m)
    ])  # fmt: skip
    reliable = s.max(axis=1) >= threshold
    answer = mixed.copy()
    for x in np.flatnonzero(~reliable):
        peers = [z for z in range(m) if reliable[z] and clusters[z] == clusters[x]]
        if peers:
            answer[x] = mixed[peers].mean(axis=0)
    return s, reliable, answer
