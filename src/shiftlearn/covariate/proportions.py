"""Proportions of a mixture whose parts are known.

    max_θ  mean_j log Σ_l A_jl θ_l    over the simplex.

The EM step θ_l ← θ_l c_l with c_l = mean_j A_jl / (Aθ)_j never lowers the likelihood; the
objective is concave, so its maximum is at most max_l c_l - 1 higher.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate

__all__ = ["mixture_proportions"]

Floats = NDArray[np.float64]

_FLOOR = 1e-300


def mixture_proportions(
    A: Floats, tol: float, max_iter: int, start: Floats | None = None
) -> tuple[Floats, Certificate]:
    """θ, and the proof (of minus the mean log-likelihood).

    Examples
    --------
    >>> import numpy as np
    >>> theta, proof = mixture_proportions(np.eye(2)[[0, 0, 1]], 1e-9, 1000)
    >>> theta.round(3), proof.converged
    (array([0.667, 0.333]), True)
    """
    n, parts = A.shape
    theta = np.full(parts, 1.0 / parts) if start is None else start
    gap, steps = np.inf, 0
    for steps in range(1, max_iter + 1):  # noqa: B007
        c = (1.0 / np.maximum(A @ theta, _FLOOR)) @ A / n
        gap = float(c.max()) - 1.0
        if gap <= tol:
            break
        theta = theta * c
        theta = theta / theta.sum()
    gap = max(gap, 0.0)
    value = -float(np.log(np.maximum(A @ theta, _FLOOR)).mean())
    return theta, Certificate(value, gap, gap, gap <= tol, steps)
