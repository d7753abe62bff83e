"""The joint classifier over a grid of costs, each answer the start of the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from shiftlearn.covariate.joint import CovariateShiftLogisticRegression
from shiftlearn.machines.base import check_number

__all__ = ["covariate_shift_path"]


def covariate_shift_path(
    X: Any,
    y: Any,
    Cs: Sequence[float],
    Cs_shift: Sequence[float],
    *,
    estimator: CovariateShiftLogisticRegression | None = None,
    sample_domain: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    domain_weight: ArrayLike | None = None,
) -> list[list[CovariateShiftLogisticRegression]]:
    """Fit one :class:`CovariateShiftLogisticRegression` for each pair (C, C_shift).

    The rows are checked once and a kernel matrix is factored once. The grid is walked from the
    smallest costs to the largest, forth and back, so that every problem starts at the answer of a
    neighbour. Where J has several minima, the answer may be another one than that of a fit by
    itself.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        All rows.
    y : array-like of shape (n_samples,)
        Labels.
    Cs, Cs_shift : sequence of float
        Costs.
    estimator : CovariateShiftLogisticRegression, optional
        Where all other parameters come from; its C and C_shift are not used.
    sample_domain, sample_weight, domain_weight
        As in :meth:`CovariateShiftLogisticRegression.fit`.

    Returns
    -------
    list of list of CovariateShiftLogisticRegression
        Fitted models; entry [i][j] has C = ``Cs[i]`` and C_shift = ``Cs_shift[j]``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import covariate_shift_path
    >>> X, y = np.arange(8.0)[:, None], [0, 1, 0, 1, 1, 0, 0, 0]
    >>> domain = [0, 0, -1, 0, -1, 0, 0, -1]
    >>> grid = covariate_shift_path(X, y, [0.1, 1.0], [1.0], sample_domain=domain)
    >>> [row[0].C for row in grid]
    [0.1, 1.0]
    """
    costs = [check_number("Cs", C) for C in Cs]
    shifts = [check_number("Cs_shift", C) for C in Cs_shift]
    if not costs or not shifts:
        raise ValueError("Cs and Cs_shift must hold at least one cost each.")
    template = CovariateShiftLogisticRegression() if estimator is None else estimator
    models = [[clone(template).set_params(C=C, C_shift=v) for v in shifts] for C in costs]
    first = models[0][0]
    prepared = first._prepare(X, y, sample_domain, sample_weight, domain_weight)
    start = None
    for i, j in _boustrophedon(costs, shifts):
        model = models[i][j]
        model.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            model.feature_names_in_ = first.feature_names_in_
        answer = model._solve(prepared, start)
        model._adopt(prepared, answer)
        model._warn()
        start = answer.theta
    return models


def _boustrophedon(costs: list[float], shifts: list[float]) -> list[tuple[int, int]]:
    """All pairs of places, ascending in the costs, every second line backwards."""
    across = sorted(range(len(shifts)), key=shifts.__getitem__)
    down = sorted(range(len(costs)), key=costs.__getitem__)
    return [(i, j) for line, i in enumerate(down) for j in across[:: 1 if line % 2 == 0 else -1]]
