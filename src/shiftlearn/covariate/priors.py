"""Class proportions of the target from predictions on both domains.

Where only p(y) moved, p_T(x) = Σ_k q_k p_S(x | k), so with the source's proportions π:

    EM     q maximises Σ_j log Σ_k q_k p_S(k | x_j) / π_k      (Saerens et al. 2002)
    BBSE   C w = μ,  C_ab = P_S(predicted a, class b),  μ_a = P_T(predicted a),  q_k = w_k π_k
                                                               (Lipton, Wang and Smola 2018)

EM needs calibrated probabilities; they are calibrated on rows that the classifier did not see by
softmax(θ log p + b), θ near 1 (bias-corrected temperature scaling, Alexandari et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from shiftlearn.covariate.proportions import mixture_proportions
from shiftlearn.solvers.logistic import solve_logistic

__all__ = ["Calibration", "black_box_priors", "em_priors", "shares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_LEAST = 1e-12
_EM_TOL, _EM_STEPS = 1e-6, 5000


def shares(codes: Ints, k: int) -> Floats:
    """Proportions of the classes 0..k-1."""
    return np.asarray(np.bincount(codes, minlength=k) / len(codes))


def em_priors(p: Floats, priors: Floats) -> Floats:
    """Proportions q that make the predicted probabilities most likely."""
    return mixture_proportions(p / priors, _EM_TOL, _EM_STEPS, priors)[0]


def black_box_priors(predicted_source: Ints, codes: Ints, predicted: Ints, k: int) -> Floats:
    """Proportions q from how often each class is predicted; none negative."""
    confusion = np.zeros((k, k))
    np.add.at(confusion, (predicted_source, codes), 1.0 / len(codes))
    ratio, _ = nnls(confusion, shares(predicted, k))
    q = ratio * shares(codes, k)
    return np.asarray(q / q.sum()) if q.sum() > 0 else shares(codes, k)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Probabilities p ↦ softmax(temperature · log p + bias)."""

    temperature: float
    bias: Floats

    @classmethod
    def fit(cls, p: Floats, codes: Ints, tol: float = 1e-6) -> Calibration:
        """Maximise the likelihood of the classes, with a prior N(1, 1) on the temperature."""
        k, logs = p.shape[1], np.log(np.maximum(p, _LEAST))
        shared = (logs[:, 1] - logs[:, 0])[:, None] if k == 2 else logs[:, None, :]
        found = solve_logistic(
            np.zeros((len(p), 1)),
            codes,
            n_classes=k,
            shared=shared,
            shared_penalty=1.0,
            shared_center=1.0,
            tol=tol,
            n_jobs=1,
        )
        bias = np.array([0.0, float(found.intercept[0])]) if k == 2 else found.intercept
        return cls(float(found.shared[0]), bias)

    def apply(self, p: Floats) -> Floats:
        """The calibrated probabilities."""
        return softmax(self.temperature * np.log(np.maximum(p, _LEAST)) + self.bias)


def softmax(scores: Floats) -> Floats:
    """e^s over its sum, row by row."""
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
