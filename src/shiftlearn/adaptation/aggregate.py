"""The weighted union: one support vector machine on the source rows and the few target rows.

    min_{w, b}  ½‖w‖² + C' Σ_{source} ω_i hinge_i + C Σ_{target} ω_i hinge_i

It needs the source rows and costs what their number costs: what Adapt-SVM is compared with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shiftlearn.certificates import Event
from shiftlearn.domains import split_domains, warn_no_target
from shiftlearn.errors import NoSourceWarning
from shiftlearn.machines.base import check_number, check_weights
from shiftlearn.machines.svc import SVC

__all__ = ["AggregateSVC"]


class AggregateSVC(SVC):
    """Support vector machine on the weighted union of source rows and labelled target rows.

    Minimises, for each class against the rest, with labels y_i = ±1 and
    ω_i = sample_weight_i · class_weight(y_i),

        ½‖w‖² + C_source Σ_{i in source} ω_i max(0, 1 - y_i f(x_i))
              + C Σ_{i in target} ω_i max(0, 1 - y_i f(x_i)),     f(x) = ⟨w, φ(x)⟩ [+ b].

    The baseline "Aggr" of Adapt-SVM's paper. A plain ``fit(X, y)`` treats all rows alike, at
    cost C.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin on target rows.
    C_source : float, default=1.0
        The same on source rows.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width: "scale" is 1 / (n_features · X.var()) over the rows of both domains.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    fit_intercept : bool, default=False
        Whether b is there; the paper's machines have none.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs.
    features : transformer or None, default=None
        A feature map, fitted on the rows of both domains.
    multi_class : {"ovr", "ovo"}, default="ovr"
        One problem for each class against the rest, or for each pair of classes.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int, default=10_000_000
        Most steps of the solver for each problem.
    memory_limit : int or "auto", default="auto"
        Bytes for kernel blocks.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    verbose : int, default=0
        1 logs the progress.
    callback : callable or None, default=None
        Called with an :class:`~shiftlearn.certificates.Event`; returning True stops.

    See Also
    --------
    SVC : the same machine on one domain, with the fitted attributes listed there.
    AdaptSVC : needs the source's scores only.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import AggregateSVC
    >>> X = np.array([[-1.0], [1.0], [0.2], [2.0]])
    >>> y = np.array([0, 1, 0, 1])
    >>> model = AggregateSVC(C=10.0, kernel="linear", fit_intercept=True)
    >>> model.fit(X, y, sample_domain=[0, 0, -1, -1]).predict([[0.3]])
    array([0])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_source: float = 1.0,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        features: Any = None,
        multi_class: str = "ovr",
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        super().__init__(
            C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0,
            fit_intercept=fit_intercept, class_weight=class_weight, features=features,
            multi_class=multi_class, tol=tol, max_iter=max_iter, memory_limit=memory_limit,
            n_jobs=n_jobs, verbose=verbose, callback=callback,
        )  # fmt: skip
        self.C_source = C_source

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AggregateSVC:
        """Fit the machine on all labelled rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of both domains.
        y : array-like of shape (n_samples,)
            Labels of any type; rows marked by None or NaN are left out.
        sample_domain : array-like of int of shape (n_samples,), optional
            >= 0 for source rows, < 0 for target rows; without it all rows are treated alike.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs.

        Returns
        -------
        AggregateSVC
            The fitted estimator.
        """
        C, C_source = check_number("C", self.C), check_number("C_source", self.C_source)
        if sample_domain is None or y is None:
            super().fit(X, y, sample_weight=sample_weight)
            return self
        n = np.shape(y)[0]
        split = split_domains(y, sample_domain, n, target_labels="use")
        if not split.labelled_target.any():
            warn_no_target(type(self).__name__)
        if not split.labelled_source.any():
            warnings.warn(
                "AggregateSVC was given no labelled source rows (sample_domain >= 0), so it fitted "
                "the plain machine on the target rows.",
                NoSourceWarning,
                stacklevel=2,
            )
        share = np.where(split.domains.source, C_source / C, 1.0)
        weights = share * check_weights(sample_weight, n) * (split.codes >= 0)
        labels = split.classes[np.maximum(split.codes, 0)]
        super().fit(X, labels, sample_weight=weights)
        return self
