"""Least squares domain adaptation kernel classification: one linear system for all classes.

    min_{W, b}  ½ tr WᵀMW + ½ Σ_i c_i ‖y_i - Wᵀz_i - b‖²,
    M = I + μ [ (1 - λ) Σ_r π_r d_r d_rᵀ + λ Σ_r π_r |Δ_r| ]

with y_i one-hot, or ±1 for two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.alignment.frames import AlignedSpace
from shiftlearn.alignment.machine import (
    AlignedMachine,
    Answer,
    Prepared,
    Strength,
    proved,
)
from shiftlearn.certificates import Event
from shiftlearn.solvers.least_squares import solve_dual, solve_primal

__all__ = ["LSDAKSVC"]

Floats = NDArray[np.float64]


class LSDAKSVC(AlignedMachine):
    """Least squares domain adaptation kernel classifier.

    With the features, terms and costs of `DAKSVC` it minimises

        ½ tr Wᵀ{I + μ [(1-λ) d dᵀ + λ |Δ|]}W + ½ Σ_i c_i ‖y_i - f(x_i)‖²,   f(x) = Wᵀz(x) + b,

    where y_i is the one-hot code of the label (the scores of all classes then sum to one
    everywhere); two classes are coded by one number, -1 and +1. One factorisation serves all
    classes, however many they are.

    Parameters
    ----------
    C : float, default=1.0
        C', the cost of the squared errors.
    balance, alignment, form, kernel, sigma, bandwidth_ratio, gamma, degree, coef0
        As in `DAKSVC`.
    centered, C_target, sources, features, rank, class_weight, weighted_statistics
        As in `DAKSVC`.
    tol : float, default=1e-6
        Largest residual of the linear system for which the answer counts as converged.
    memory_limit, n_jobs, verbose, callback
        As in `DAKSVC`.

    Attributes
    ----------
    classes_, labelled_, support_, beta_, coef_, C_, alignment_, lam0_, C_paper_, kernel_, sigma_
        As in `DAKSVC`.
    dual_coef_ : ndarray of shape (n_outputs, n_labelled)
        A, one row for two classes, else one for each class.
    intercept_ : ndarray of shape (n_outputs,)
        b.
    certificate_ : Certificate
        ``objective`` is the value above; ``gap`` is computed from the residual.
    mmd2_, scatter_trace_, mean_term_, scatter_term_
        As in `DAKSVC`, the last two with one entry for each output.

    Examples
    --------
    >>> from shiftlearn import LSDAKSVC
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> moons = make_rotated_moons(30, n_per_moon=50, random_state=0)
    >>> model = LSDAKSVC(C=1.0, alignment=1e3, form="coef", sigma="paper")
    >>> model = model.fit(moons.data, moons.target, sample_domain=moons.domain)
    >>> model.certificate_.converged
    True
    """

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        balance: float = 0.5,
        alignment: float | str = 1e3,
        form: str = "coef",
        kernel: str | Callable[..., ArrayLike] = "rbf",
        sigma: str | float = "paper",
        bandwidth_ratio: float = 1.0,
        gamma: str | float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        centered: bool = False,
        C_target: float | None = None,
        sources: str = "separate",
        features: Any = None,
        rank: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        weighted_statistics: bool = False,
        tol: float = 1e-6,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.C = C
        self.balance = balance
        self.alignment = alignment
        self.form = form
        self.kernel = kernel
        self.sigma = sigma
        self.bandwidth_ratio = bandwidth_ratio
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.centered = centered
        self.C_target = C_target
        self.sources = sources
        self.features = features
        self.rank = rank
        self.class_weight = class_weight
        self.weighted_statistics = weighted_statistics
        self.tol = tol
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _solve(
        self,
        prepared: Prepared,
        strength: Strength,
        aligned: AlignedSpace,
        start: Answer | None = None,
    ) -> Answer:
        """One system: in whitened coordinates where they are fewer than the rows."""
        rows = prepared.rows
        costs = rows.costs(strength.C, strength.C_target)
        Y = np.where(rows.codes == 1, 1.0, -1.0)[:, None]
        if len(rows.classes) > 2:
            Y = np.eye(len(rows.classes))[rows.codes]
        Z = aligned.whitened
        if Z is not None:
            answer = solve_primal(Z, Y, costs, tol=self.tol)
        else:
            answer = solve_dual(
                aligned.gram, Y, costs, tol=self.tol, memory_limit=self.memory_limit
            )
        hidden = np.array([aligned.slack(answer.dual).sum()])
        proof = proved([answer.certificate], hidden)
        return Answer(answer.dual, answer.intercept, proof)
