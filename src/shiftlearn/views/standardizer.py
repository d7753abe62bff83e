"""Every domain standardised by itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shiftlearn.statistics import MomentValues
from shiftlearn.views.base import Affine, DomainView, pooled

__all__ = ["DomainStandardizer"]


class DomainStandardizer(DomainView):
    """Columns of mean 0 and variance 1 in each domain by itself.

        T_d(x) = (x - m_d) / s_d,

    with the mean m_d and the standard deviation s_d of each column on the rows of domain d
    (constant columns are only centred). Right where sensors or sites differ in offset and gain;
    wrong where the class proportions differ, because these move the mean too.

    Parameters
    ----------
    features : transformer or None, default=None
        A map in front, fitted on the rows of all domains. None takes dense rows as they are and
        sparse ones through ``TruncatedSVD(200)``.

    Attributes
    ----------
    domains_ : tuple of int
        The domains seen.
    features_ : transformer or None
        The fitted map in front.

    See Also
    --------
    MongeMapper, CoralMapper : views that move the sources onto the target.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import DomainStandardizer
    >>> X = np.array([[0.0], [2.0], [10.0], [30.0]])
    >>> DomainStandardizer().fit_transform(X, sample_domain=[0, 0, -1, -1]).ravel()
    array([-1.,  1., -1.,  1.])
    """

    _diagonal: ClassVar[bool] = True
    _without_target: ClassVar[str] = "each source domain by itself, and all together for new rows"

    def __init__(self, *, features: Any = None) -> None:
        self.features = features

    def _maps(self, moments: dict[int, MomentValues]) -> dict[int | None, Affine]:
        together = pooled(moments, target=True) or pooled(moments, target=None)
        assert together is not None
        maps: dict[int | None, Affine] = {k: _standardizing(m) for k, m in moments.items()}
        return {**maps, None: _standardizing(together)}


def _standardizing(moments: MomentValues) -> Affine:
    # A column is constant where its spread is rounding error of its mean.
    deviation = np.sqrt(moments.covariance)
    constant = deviation <= 8 * np.finfo(np.float64).eps * np.abs(moments.mean)
    factors = 1.0 / np.where(constant, 1.0, deviation)
    return moments.mean, factors, np.zeros_like(moments.mean)
