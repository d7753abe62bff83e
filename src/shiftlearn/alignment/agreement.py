"""Whom to trust at a point: how a model's predictions agree with the clusters around it.

Among the h nearest target rows of x let V_T be those of x's cluster and V_i those for which model i
predicts what it predicts for x. With

    s_i(x) = 2 |V_i ∩ V_T| / (|V_i| + |V_T|)        (1 where both are empty)

model i has the weight s_i / Σ_l s_l at x. Where no s_i reaches δ the point is unreliable and gets
the average of the reliable points of its cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Votes", "agreement", "combine_votes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Votes:
    """Of each row: the models' agreement s, their weights, the weighted probabilities."""

    agreement: Floats
    weights: Floats
    probabilities: Floats


def agreement(neighbours: Ints, clusters: Ints, own: Ints, known: Ints, said: Ints) -> Floats:
    """s_i of one model at each row.

    Parameters
    ----------
    neighbours : ndarray of shape (r, h)
        Target rows nearest to each of r rows.
    clusters, known : ndarray of shape (m,)
        Cluster and prediction of each target row.
    own, said : ndarray of shape (r,)
        Cluster and prediction of the rows themselves.
    """
    near = clusters[neighbours] == own[:, None]
    alike = known[neighbours] == said[:, None]
    total = near.sum(axis=1) + alike.sum(axis=1)
    both = 2.0 * (near & alike).sum(axis=1)
    shares: Floats = np.divide(both, total, out=np.ones(len(own)), where=total > 0)
    return shares


def combine_votes(
    neighbours: Ints, clusters: Ints, own: Ints, known: list[Floats], said: list[Floats]
) -> Votes:
    """Weights and weighted probabilities from each model's probabilities.

    ``known`` holds each model's probabilities at the m target rows, ``said`` at the r rows.
    """
    columns = [
        agreement(neighbours, clusters, own, at_target.argmax(axis=1), here.argmax(axis=1))
        for at_target, here in zip(known, said, strict=True)
    ]
    s = np.stack(columns, axis=1)
    total = s.sum(axis=1, keepdims=True)
    weights = np.divide(s, total, out=np.full_like(s, 1 / s.shape[1]), where=total > 0)
    probabilities = np.einsum("ri,irk->rk", weights, np.stack(said))
    return Votes(s, weights, probabilities)
