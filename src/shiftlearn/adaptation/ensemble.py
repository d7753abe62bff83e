"""The average of two scores: the source's and those of a machine on the target rows alone.

f(x) = (C' f'(x) + C f_new(x)) / (C' + C)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from shiftlearn.adaptation.base import FromSource
from shiftlearn.adaptation.rows import AdaptationRows
from shiftlearn.adaptation.sources import Source, Sources, is_fitted, source_list
from shiftlearn.adaptation.svc import AdaptSVC
from shiftlearn.certificates import Event
from shiftlearn.errors import NoSourceWarning
from shiftlearn.machines.base import check_number
from shiftlearn.machines.svc import SVC

__all__ = ["ScoreEnsemble"]

Floats = NDArray[np.float64]


class ScoreEnsemble(FromSource):
    """Average of the source's scores and of a support vector machine on the target rows.

    The machine f_new minimises ½‖w‖² + C Σ_i ω_i max(0, 1 - y_i f(x_i)) over the labelled target
    rows, for each class against the rest, and

        f(x) = (C_source f'(x) + C f_new(x)) / (C_source + C).

    The baseline "Ensemble" of Adapt-SVM's paper. Without a source it is f_new.

    Parameters
    ----------
    source : classifier, callable or list of those, default=None
        As in :class:`AdaptSVC`; several are averaged.
    C : float, default=1.0
        Cost of a violated margin on target rows, and the weight of their machine.
    C_source : float, default=1.0
        Weight of the source.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel of f_new.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    features : transformer or None, default=None
        A feature map, fitted on the labelled rows.
    fit_intercept : bool, default=False
        Whether f_new has an unpenalised intercept.
    source_transform : {None, "logit", "scale"} or callable, default=None
        As in :class:`AdaptSVC`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the costs.
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels of the rows and of the sources together.
    machine_ : AdaptSVC
        f_new, on class numbers.
    certificate_ : Certificate
        That of f_new.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import ScoreEnsemble
    >>> X = np.array([[-1.0], [1.0]])
    >>> model = ScoreEnsemble(lambda X: X[:, 0] - 0.5, kernel="linear").fit(X, [0, 1])
    >>> model.decision_function(np.array([[0.5], [2.0]]))
    array([0.25, 1.75])
    """

    def __init__(
        self,
        source: Any = None,
        *,
        C: float = 1.0,
        C_source: float = 1.0,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        features: Any = None,
        fit_intercept: bool = False,
        source_transform: Callable[..., ArrayLike] | str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        memory_limit: int | float | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool | None] | None = None,
    ) -> None:
        self.source = source
        self.C = C
        self.C_source = C_source
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.features = features
        self.fit_intercept = fit_intercept
        self.source_transform = source_transform
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        for name in ("C", "C_source", "tol", "max_iter"):
            check_number(name, getattr(self, name))

    def _narrow(self) -> int | None:
        return self.machine_._narrow()

    def _default_source(self) -> SVC:
        return SVC(multi_class="ovr", **self._shared_parameters())

    def _shared_parameters(self) -> dict[str, Any]:
        names = ("kernel", "gamma", "degree", "coef0", "features", "tol", "max_iter")
        more = ("memory_limit", "n_jobs", "verbose", "callback")
        return {name: getattr(self, name) for name in (*names, *more)}

    def _members(self, rows: AdaptationRows, given: Any) -> list[Source]:
        missing = [model for model in source_list(self.source) if not is_fitted(model)]
        if missing and rows.source_X is None:
            warnings.warn(
                f"source ({type(missing[0]).__name__}) is not fitted and there are no labelled "
                "source rows to fit it on, so the machine on the target rows was used alone.",
                NoSourceWarning,
                stacklevel=4,
            )
            return []
        return super()._members(rows, given)

    def _learn(
        self, rows: AdaptationRows, codes: NDArray[np.intp], sources: Sources, scores: Floats
    ) -> None:
        weight = self.class_weight
        if isinstance(weight, dict):
            weight = {c: weight.get(k, 1.0) for c, k in enumerate(sources.classes.tolist())}
        machine = AdaptSVC(
            C=self.C, fit_intercept=self.fit_intercept, class_weight=weight,
            **self._shared_parameters(),
        )  # fmt: skip
        numbers = np.arange(len(sources.classes))
        machine.partial_fit(rows.X, codes, numbers, sample_weight=rows.weights)
        self.machine_ = machine
        self.certificate_ = machine.certificate_
        self.n_iter_ = machine.n_iter_

    def _scores(self, rows: Any, X: Any, given: Any) -> Floats:
        check_is_fitted(self, "machine_")
        new = self.machine_._scores(rows, rows, None)
        if not self.sources_.members:
            return new
        source = self.sources_.scores(X, given).mean(axis=1)
        return np.asarray((self.C_source * source + self.C * new) / (self.C_source + self.C))
