"""Adapt-SVM: a support vector machine that starts from another classifier's scores.

J. Yang, R. Yan, A. G. Hauptmann, "Adapting SVM Classifiers to Data with Shifted Distributions",
2007. With source scores f', labels y_i = ±1 and costs c_i = C · sample_weight_i · class_weight_i:

    min_{Δβ, b}  ½‖Δβ‖² + Σ_i c_i max(0, 1 - y_i (f'(x_i) + ⟨Δβ, φ(x_i)⟩ + b))

The dual is that of a plain machine with p_i = y_i f'(x_i) - 1 (`shiftlearn.adaptation.changes`), so
that training costs what it costs on the few labelled rows, whatever the source was trained on.

``kernel_scale="mean"`` divides K by m = mean K(x, x). That is the problem with the kernel as it is
and costs C/m, its objective times m; only the latter is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from shiftlearn.adaptation.base import Adapter
from shiftlearn.adaptation.changes import (
    SourceWeights,
    change_problems,
    learned_weights,
    solve_changes,
)
from shiftlearn.adaptation.linear import LinearSource, linear_parts
from shiftlearn.adaptation.rows import AdaptationRows, class_costs
from shiftlearn.adaptation.sources import Source, Sources
from shiftlearn.adaptation.warm import Kept
from shiftlearn.certificates import Certificate, Event
from shiftlearn.kernels import Kernel
from shiftlearn.machines.base import check_number, check_predict_rows, progress, warn_scales
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.machines.formulations import combine
from shiftlearn.machines.spaces import FeatureSpace, HingeFit, KernelSpace, Options
from shiftlearn.machines.svc import SVC

__all__ = ["AdaptSVC"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_TRANSFORMS = (None, "logit", "scale")


class AdaptSVC(Adapter):
    """Support vector machine adapted from an existing classifier (Adapt-SVM).

    Given the scores f' of any classifier and a few labelled rows, minimises, for each class
    against the rest (for two classes: the second against the first), with labels y_i = ±1 and
    costs c_i = C · sample_weight_i · class_weight(y_i),

        ½‖Δβ‖² + Σ_i c_i max(0, 1 - y_i f(x_i)),     f(x) = f'(x) + ⟨Δβ, φ(x)⟩ [+ b].

    Nothing of the source but its scores is used: not its form, not its training data. Without a
    source it is :class:`~shiftlearn.SVC` without intercept.

    Parameters
    ----------
    source : classifier, callable or list of those, default=None
        What to adapt: a fitted classifier of any library with ``decision_function`` or
        ``predict_proba`` (then 2q - 1 is its score), or a function that returns scores. A
        classifier that is not fitted is cloned and fitted on the source rows of ``fit``; None
        stands for an :class:`~shiftlearn.SVC` with the same kernel and C=1 where there are source
        rows. A fitted source is never changed, and ``clone`` keeps it.
    C : float, default=1.0
        Cost of a violated margin; from 1 to 10 times what the source was trained with.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable
        The kernel of Δf.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width: "scale" is 1 / (n_features · X.var()) on the labelled rows.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    features : transformer or None, default=None
        A feature map, fitted on the labelled rows; Δf is then linear in its features.
    fit_intercept : bool, default=False
        Whether the change has an unpenalised intercept b.
    source_weights : None, array of shape (n_sources,) or "learned", default=None
        Weights θ in f' = Σ_m θ_m f'_m; None is 1/n_sources each. "learned" adds
        (source_penalty / 2)‖θ - θ0‖² to the objective, θ0 = 1/n_sources.
    source_penalty : float, default=1.0
        B above.
    source_transform : {None, "logit", "scale"} or callable, default=None
        What is done to the scores: "logit" takes log-odds of probabilities, "scale" centres the
        scores over the classes and divides them by their median size on the rows of ``fit``.
    kernel_scale : {None, "mean"}, default=None
        "mean" divides the kernel by the mean of k(x, x) over the rows of ``fit``, so that C does
        not depend on the units of X.
    unseen : {"adapt", "keep"}, default="adapt"
        With several classes: what happens to a class that only the source knows. "adapt" takes
        all rows as counterexamples, "keep" leaves its score alone.
    warm_start : bool, default=False
        Start ``fit`` from the former answer for leading rows that have not changed, and keep the
        kernel matrix within ``memory_limit`` (with a number for ``gamma``: "scale" moves with the
        rows).
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
    source_weights_ : ndarray of shape (n_sources,) or (n_classes, n_sources)
        θ; one row a class where they are learned for several classes.
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors of the change in the X of ``fit``, ascending.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        y_i a_i.
    intercept_ : ndarray of shape (n_problems,)
        The change b of the intercept.
    coef_ : ndarray of shape (n_problems, n_features)
        Δβ, for kernel="linear" and with ``features``.
    full_coef_, full_intercept_ : ndarray
        The whole linear function f, where the source is linear too (its ``coef_`` and
        ``intercept_`` reproduce its scores). Prediction then does not ask the source.
    features_ : transformer
        The fitted feature map, with ``features``.
    certificate_ : Certificate
        The proof for all problems together (objectives and gaps add up).
    certificates_ : tuple of Certificate
        One for each problem.
    n_iter_ : int
        Solver steps over all problems.

    See Also
    --------
    AdaptLogisticRegression : the same idea with the logistic loss; gives probabilities.
    adapt_many : many concepts at once.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftlearn import AdaptSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> old = LogisticRegression().fit(X, X[:, 0] > 0)
    >>> X_new = X[:20] + [1.0, 0.0]  # the boundary has moved to 1
    >>> model = AdaptSVC(old, C=10.0, kernel="linear").fit(X_new, X_new[:, 0] > 1)
    >>> bool(model.score(X + [1.0, 0.0], X[:, 0] > 0) > old.score(X + [1.0, 0.0], X[:, 0] > 0))
    True
    """

    _change: Expansion | LinearScores
    _whole: LinearScores | None

    def __init__(
        self,
        source: Any = None,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., ArrayLike] = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        features: Any = None,
        fit_intercept: bool = False,
        source_weights: ArrayLike | str | None = None,
        source_penalty: float = 1.0,
        source_transform: Callable[..., ArrayLike] | str | None = None,
        kernel_scale: str | None = None,
        unseen: str = "adapt",
        warm_start: bool = False,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.features = features
        self.fit_intercept = fit_intercept
        self.source_weights = source_weights
        self.source_penalty = source_penalty
        self.source_transform = source_transform
        self.kernel_scale = kernel_scale
        self.unseen = unseen
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def decision_bound(self, X: Any, *, source_scores: Any = None) -> Floats:
        """Proved bound on the error of every decision value, sqrt(gap · k(x, x)).

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.
        source_scores : array-like, optional
            As in :meth:`decision_function`; only learned weights depend on the scores.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            No decision value is further from that of the exact solution.
        """
        check_is_fitted(self, "sources_")
        if self.fit_intercept or self.kernel == "precomputed":
            raise ValueError(
                "the bound on decision values is known for fit_intercept=False and a kernel of "
                "rows only; certificate_.gap bounds the objective in every case."
            )
        rows = check_predict_rows(self, X)
        change = self._change
        if isinstance(change, Expansion):
            squares = change.kernel.diagonal(rows)
        else:
            Z = rows if change.features is None else change.features.transform(rows)
            squares = Kernel("linear").diagonal(Z)
        squares = squares[:, None] / self._unit
        if self.source_weights == "learned":
            scores = self.sources_.scores(X, source_scores)
            squares = squares + (scores**2).sum(axis=1) / self.source_penalty
        gaps = np.array([certificate.gap for certificate in self.certificates_])
        bound = np.sqrt(gaps * squares)
        return np.asarray(bound[:, 0]) if len(gaps) == 1 else bound

    @property
    def support_vectors_(self) -> Any:
        """The support vectors of the change, in the order of ``support_``."""
        if self._support_rows is None:
            raise AttributeError("the rows of precomputed kernels and of features are not known")
        return self._support_rows

    @property
    def coef_(self) -> Floats:
        """Δβ, the change of the weights."""
        if not isinstance(self._change, LinearScores):
            raise AttributeError("coef_ exists for kernel='linear' and with features= only")
        return self._change.coef

    @property
    def full_coef_(self) -> Floats:
        """The weights of the whole function f."""
        return self._collapsed().coef

    @property
    def full_intercept_(self) -> Floats:
        """The intercept of the whole function f."""
        return self._collapsed().intercept

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_kept": None} if "_kept" in state else state  # it can be large

    def _collapsed(self) -> LinearScores:
        if self._whole is None:
            raise AttributeError("the source is not a linear function of X, so f is not either")
        return self._whole

    def _narrow(self) -> int | None:
        return len(self.support_) if self.kernel == "precomputed" else None

    def _check_parameters(self) -> None:
        for name in ("C", "source_penalty", "tol", "max_iter"):
            check_number(name, getattr(self, name))
        if not callable(self.source_transform) and self.source_transform not in _TRANSFORMS:
            raise ValueError(
                'source_transform must be None, "logit", "scale" or a callable, got '
                f"{self.source_transform!r}."
            )
        if self.kernel_scale not in (None, "mean"):
            raise ValueError(f'kernel_scale must be None or "mean", got {self.kernel_scale!r}.')
        if self.unseen not in ("adapt", "keep"):
            raise ValueError(f'unseen must be "adapt" or "keep", got {self.unseen!r}.')

    def _default_source(self) -> SVC:
        return SVC(
            kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            features=self.features, multi_class="ovr", tol=self.tol, max_iter=self.max_iter,
            memory_limit=self.memory_limit, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _present(self) -> Source:
        """A linear function stays one vector however long the chain."""
        if self._whole is None:
            return super()._present()
        model = LinearSource(self._whole.coef, self._whole.intercept, self.classes_)
        return Source("the present model", model, self.classes_, stage=True)

    def _learn(self, rows: AdaptationRows, codes: Ints, sources: Sources, scores: Floats) -> None:
        if self.source_transform is None:
            sources.warn_scale(scores)
        report = progress(self.callback, self.verbose, type(self).__name__)
        options = Options(self.tol, int(self.max_iter), self.memory_limit, self.n_jobs, report)
        stage = self._stage(rows, codes, options)
        theta = self._weights_of(sources).divided(stage.unit)
        costs = self.C * class_costs(self.class_weight, sources.classes, codes, rows.weights)
        keep = self.unseen == "keep"
        change = change_problems(codes, scores, costs / stage.unit, theta, keep=keep)
        start = None if stage.kept is None else stage.kept.start(change.signs.shape)
        fits = solve_changes(
            stage.space, change, fit_intercept=self.fit_intercept, options=options, start=start
        )
        self._adopt(rows, stage, fits, options)
        self._theta = learned_weights(fits, scores, theta)
        alike = theta.penalty is None or len(fits) == 1
        self.source_weights_ = self._theta[0] if alike else self._theta
        self._whole = self._with_source(rows, sources, scores)

    def _weights_of(self, sources: Sources) -> SourceWeights:
        count = len(sources.members)
        center = np.full(count, 1.0 / max(1, count))
        wanted = self.source_weights
        if isinstance(wanted, str):
            if wanted != "learned":
                raise ValueError(
                    'source_weights must be None, "learned" or one number for each source, got '
                    f"{wanted!r}."
                )
            return SourceWeights(center, float(self.source_penalty))
        if wanted is None or sources.chained:
            return SourceWeights(center)
        given = np.atleast_1d(np.asarray(wanted, dtype=np.float64))
        if given.shape != (count,) or not np.isfinite(given).all():
            raise ValueError(
                f"source_weights must hold one finite number for each of the {count} sources, got "
                f"{wanted!r}."
            )
        return SourceWeights(given)

    def _stage(self, rows: AdaptationRows, codes: Ints, options: Options) -> _Stage:
        """The space of the rows, the unit of its kernel, and what a former fit left."""
        n = rows.X.shape[0]
        space: KernelSpace | FeatureSpace
        if n == 0 or self.features is not None or self.kernel == "linear":
            space = FeatureSpace.of(self.features if n else None, rows.X)
        else:
            space = KernelSpace.of(self, rows.X)
        if n == 0:
            return _Stage(space, 1.0, None)
        if self.kernel != "precomputed":
            warn_scales(rows.X)
        unit = _mean_size(space, rows.weights) if self.kernel_scale == "mean" else 1.0
        if not self.warm_start:
            return _Stage(space, unit, None)
        kept = Kept.after(vars(self).get("_kept"), space, rows.X, codes, options)
        return _Stage(kept.space, unit, kept)

    def _adopt(
        self, rows: AdaptationRows, stage: _Stage, fits: list[HingeFit], options: Options
    ) -> None:
        """Set the fitted attributes of the change."""
        dual = np.stack([fit.coef for fit in fits], axis=1)
        used = np.flatnonzero(dual.any(axis=1))
        self.support_ = rows.positions(used)
        self.dual_coef_ = dual[used].T
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.certificates_ = tuple(_in_unit(fit.certificate, stage.unit) for fit in fits)
        self.certificate_ = combine(self.certificates_)
        self.n_iter_ = max(1, self.certificate_.n_iter)
        self._unit = stage.unit
        known = self.features is None and self.kernel != "precomputed"
        self._support_rows = rows.X[used] if known else None
        space = stage.space
        if isinstance(space, FeatureSpace):
            weights = [fit.weights[: space.Z.shape[1]] for fit in fits if fit.weights is not None]
            self._change = LinearScores(np.stack(weights), self.intercept_, space.features)
        else:
            self._change = Expansion(
                space.kernel, self._support_rows, self.support_, dual[used], self.intercept_,
                n_columns=self.n_features_in_, dtype=options.dtype,
            )  # fmt: skip
        if isinstance(space, FeatureSpace) and space.features is not None:
            self.features_ = space.features
        alpha = np.stack([fit.alpha for fit in fits], axis=1)
        self._kept = None if stage.kept is None else replace(stage.kept, alpha=alpha)

    def _with_source(
        self, rows: AdaptationRows, sources: Sources, scores: Floats
    ) -> LinearScores | None:
        """The whole function as one vector a problem, where the sources are linear as well."""
        change = self._change
        if not isinstance(change, LinearScores) or change.features is not None:
            return None
        parts = linear_parts(sources, rows.X, scores)
        if parts is None:
            return None
        coef, intercept = parts  # (n_sources, n_columns, d) and (n_sources, n_columns)
        return LinearScores(
            change.coef + np.einsum("cm,mcd->cd", self._theta, coef),
            change.intercept + np.einsum("cm,mc->c", self._theta, intercept),
        )

    def _scores(self, rows: Any, X: Any, given: Any) -> Floats:
        if self._whole is not None and given is None:
            return self._whole.values(rows, self.n_jobs)
        values = self._change.values(rows, self.n_jobs)
        source = self.sources_.scores(X, given)
        return np.asarray(values + np.einsum("nmc,cm->nc", source, self._theta))


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where the change lives, what its kernel is measured in, what a former fit left."""

    space: KernelSpace | FeatureSpace
    unit: float
    kept: Kept | None


def _mean_size(space: KernelSpace | FeatureSpace, weights: Floats) -> float:
    """Weighted mean of k(x, x) over the rows; 1 where that is no unit."""
    squares = space.squares()
    unit = float(np.average(squares, weights=weights))
    return unit if unit > 0 and np.isfinite(unit) else 1.0


def _in_unit(certificate: Certificate, unit: float) -> Certificate:
    """The certificate of the problem with the kernel divided by ``unit``."""
    if unit == 1.0:
        return certificate
    return replace(
        certificate,
        objective=certificate.objective * unit,
        gap=certificate.gap * unit,
        history=tuple((step, unit * value, worst) for step, value, worst in certificate.history),
    )
