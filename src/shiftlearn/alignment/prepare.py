"""From what the user passed to ``fit`` to labelled rows, and to the frame they live in."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.base import BaseEstimator

from shiftlearn.alignment.frames import (
    CoefficientChart,
    ExplicitFrame,
    Frame,
    LinearChart,
    RkhsChart,
)
from shiftlearn.alignment.lowrank import low_rank_frame
from shiftlearn.alignment.metric import Spectrum
from shiftlearn.alignment.terms import Contrasts, DomainMoments, contrasts
from shiftlearn.domains import split_domains
from shiftlearn.errors import NoOverlapWarning
from shiftlearn.features import pivoted_cholesky, resolve_features
from shiftlearn.kernels import Kernel, resolve_kernel
from shiftlearn.machines.base import (
    Rows,
    check_number,
    check_rows,
    check_weights,
    class_factors,
    warn_scales,
)
from shiftlearn.machines.spaces import check_gram
from shiftlearn.resources import memory_budget

__all__ = ["AlignedRows", "Plan", "aligned_kernel", "aligned_rows", "build_frame"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_WIDEST = 5000  # columns up to which explicit second moments are decomposed whole
_EXACT_ROWS = 6000  # rows up to which K is decomposed whole: the time grows with their cube
_COPIES = 5  # square matrices held at once by an exact kernel frame
_RANK = 512  # eigenpairs kept where the decomposition would be too large
_TRACE = 1e-12  # of the kernel matrix, left out by its factor
_NOT_POSITIVE = 1e-6
_SAMPLE = 1000
_NO_OVERLAP = 1e-6


@dataclass(frozen=True)
class AlignedRows:
    """All rows, and those of them that have a label and a cost.

    Attributes
    ----------
    X : ndarray or CSR
        All rows.
    domain : ndarray of int64
        Domain of each row.
    labelled : ndarray of int
        Rows of the loss.
    codes, classes, weights
        Class number, classes, and sample_weight · class_weight of the labelled rows.
    from_target : ndarray of bool
        Which labelled rows are of the target.
    statistics : ndarray or None
        Weights of all rows in the moments.
    """

    X: Rows
    domain: NDArray[np.int64]
    labelled: Ints
    codes: Ints
    classes: NDArray[Any]
    weights: Floats
    from_target: NDArray[np.bool_]
    statistics: Floats | None

    @property
    def has_target(self) -> bool:
        """Whether there is a target row."""
        return bool((self.domain < 0).any())

    def costs(self, C: float | None, C_target: float | None) -> Floats:
        """The cost of each labelled row, C by now a number."""
        assert C is not None
        return np.where(self.from_target, C if C_target is None else C_target, C) * self.weights


def aligned_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    sample_domain: ArrayLike | None,
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Any, float] | str | None,
    use_target: bool,
    weighted_statistics: bool,
) -> AlignedRows:
    """Check everything that was passed to ``fit``."""
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    X = check_rows(estimator, X)
    weights = check_weights(sample_weight, X.shape[0])
    found = split_domains(
        y, sample_domain, X.shape[0], target_labels="use" if use_target else "ignore"
    )
    domain = found.domains.sample_domain
    if not found.labelled_source.any():
        raise ValueError("y has no label on any source row; at least one is needed.")
    labelled = np.flatnonzero((found.codes >= 0) & (weights > 0))
    present, codes = np.unique(found.codes[labelled], return_inverse=True)
    classes = found.classes[present]
    _check_classes(classes, name)
    if getattr(estimator, "kernel", None) == "precomputed" and estimator.features is None:
        check_gram(X)
    own = weights[labelled]
    if class_weight is not None:
        own = own * class_factors(class_weight, classes, codes, own)[codes]
    return AlignedRows(
        X, domain, labelled, codes, classes, own, domain[labelled] < 0,
        weights if weighted_statistics else None,
    )  # fmt: skip


def _check_classes(classes: NDArray[Any], name: str) -> None:
    if len(classes) < 2:
        found = f"class {classes[0]!r}" if len(classes) else "no class"
        raise ValueError(
            f"{name} can't train when only one class is present: y holds {found} on the labelled "
            "rows with a positive weight; at least 2 classes are needed."
        )


def aligned_kernel(estimator: Any, rows: AlignedRows) -> tuple[Kernel, float | None]:
    """The kernel with numbers for its parameters, and σ where a rule gave it.

    ``gamma`` overrides; else the Gaussian kernel is exp(-‖x - x'‖² / (2 (σ / ratio)²)).
    """
    e = estimator
    ratio = check_number("bandwidth_ratio", e.bandwidth_ratio)
    if e.gamma is not None or e.kernel != "rbf":
        gamma = "scale" if e.gamma is None else e.gamma
        return resolve_kernel(e.kernel, gamma, e.degree, e.coef0, rows.X), None
    sigma = _sigma(e.sigma, rows)
    return resolve_kernel("rbf", ratio**2 / (2.0 * sigma**2), e.degree, e.coef0, rows.X), sigma


def _sigma(sigma: Any, rows: AlignedRows) -> float:
    if not isinstance(sigma, str):
        return check_number("sigma", sigma)
    if sigma == "paper":
        found = math.sqrt(float(np.mean(_norms(rows.X[rows.domain >= 0]))))
    elif sigma == "median":
        found = _median_distance(rows)
    else:
        raise ValueError(f'sigma must be "paper", "median" or a positive number, got {sigma!r}.')
    if not (math.isfinite(found) and found > 0):
        raise ValueError(
            f'sigma="{sigma}" is {found:g} on these rows: they all lie in one point. Give sigma '
            "or gamma as a number."
        )
    return found


def _norms(X: Rows) -> Floats:
    if sparse.issparse(X):
        return np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
    return np.asarray(np.linalg.norm(X.astype(np.float64, copy=False), axis=1))


def _median_distance(rows: AlignedRows) -> float:
    """Median distance between rows of both domains, at most 1000 of them, evenly spaced."""
    X = rows.X
    sample = X[:: -(-X.shape[0] // _SAMPLE)]
    dense = sample.toarray() if sparse.issparse(sample) else np.asarray(sample)
    from scipy.spatial.distance import pdist

    if len(dense) < 2:
        return 0.0
    return float(np.median(pdist(dense.astype(np.float64))))


@dataclass(frozen=True)
class Plan:
    """What a frame is built for: the form of the features and how the terms are taken."""

    form: str
    scatter: bool
    sources: str = "separate"
    centered: bool = False
    rank: int | None = None
    features: Any = None
    memory_limit: int | float | str = "auto"
    n_jobs: int | None = None


def build_frame(rows: AlignedRows, kernel: Kernel, plan: Plan) -> tuple[Frame, Any]:
    """The frame of the rows, and the fitted feature map (None without ``features``)."""
    features = resolve_features(plan.features, rows.X)
    linear = Kernel("linear")
    if features is not None:
        Z, kernel = features.transform(rows.X), linear
    else:
        Z = rows.X
        if kernel.name != "precomputed":
            warn_scales(Z)
            _warn_no_overlap(kernel, rows, plan.n_jobs)
    target = rows.has_target
    form = plan.form if target else "rkhs"
    if kernel.name == "linear" and _narrow(Z, rows, plan):
        return _explicit(Z, rows, form, plan, features), features
    differences = _contrasts(rows, plan) if target else None
    n_rows = Z.shape[0]
    exact = n_rows <= _EXACT_ROWS and _COPIES * 8 * n_rows**2 <= memory_budget(plan.memory_limit)
    if plan.scatter and target and exact and plan.rank is None:
        return _factored(Z, rows, kernel, form, plan, differences, features), features
    rank = (plan.rank or _RANK) if plan.scatter and target else 0
    frame = low_rank_frame(
        kernel, Z, rows.labelled, differences,
        form=form, rank=rank, scale=_column_scale(rows), n_jobs=plan.n_jobs, features=features,
    )  # fmt: skip
    return frame, features


def _column_scale(rows: AlignedRows) -> Floats | None:
    """√w: a row of weight w among the columns of the empirical map stands for w equal columns."""
    return None if rows.statistics is None else np.sqrt(rows.statistics)


def _narrow(Z: Any, rows: AlignedRows, plan: Plan) -> bool:
    """Whether second moments of the columns are cheaper than a matrix of the rows."""
    n, d = Z.shape
    whitened = 8 * len(rows.labelled) * d
    dense = not sparse.issparse(Z)
    return d <= min(n, _WIDEST) and (dense or whitened <= memory_budget(plan.memory_limit) // 2)


def _contrasts(rows: AlignedRows, plan: Plan) -> Contrasts:
    return contrasts(rows.domain, rows.statistics, sources=plan.sources, centered=plan.centered)


def _explicit(Z: Any, rows: AlignedRows, form: str, plan: Plan, features: Any) -> ExplicitFrame:
    """Raw columns or a feature map: the moments of the columns decide everything."""
    chart = LinearChart(features)
    own = Z[rows.labelled]
    if not rows.has_target:
        return ExplicitFrame(own, Spectrum.plain(Z.shape[1]), chart)
    moments = DomainMoments.of(Z, rows.domain, rows.statistics, n_jobs=plan.n_jobs)
    terms = moments.terms(sources=plan.sources, centered=plan.centered)
    root = None
    if form == "coef":
        root = symmetric_root(terms.second_moment)
        terms = terms.mapped(root)
    return ExplicitFrame(own, Spectrum.of(terms, scatter=plan.scatter), chart, root)


def symmetric_root(S: Floats) -> Floats:
    """S^½ of a positive semidefinite matrix."""
    values, vectors = linalg.eigh(S, driver="evd", check_finite=False)
    return np.asarray((vectors * np.sqrt(values.clip(0))) @ vectors.T)


def _factored(
    X: Any,
    rows: AlignedRows,
    kernel: Kernel,
    form: str,
    plan: Plan,
    differences: Contrasts | None,
    features: Any,
) -> ExplicitFrame:
    """Coordinates from a factor K = RRᵀ of the kernel matrix, of its numerical rank."""
    n, scale = X.shape[0], _column_scale(rows)
    K: Any = kernel.operator(X, plan.n_jobs).block(np.arange(n), None, np.float64)
    positive = kernel.positive and K.diagonal().min() >= 0
    low = pivoted_cholesky(K, tol=_TRACE, memory_limit=64 * K.nbytes) if positive else None
    positive = low is not None and low.residual <= _NOT_POSITIVE
    chart: Any
    if form == "rkhs":
        if low is None or not positive:
            raise ValueError(
                f"kernel={kernel.name!r} is not positive semidefinite on these rows, so that it "
                'has no feature space; use form="coef", which takes any symmetric kernel.'
            )
        Z = low.factor
        chart = RkhsChart(kernel, X, Z, rows.labelled, differences, features)
    elif low is not None and positive and 2 * low.factor.shape[1] <= n:
        columns = low.factor if scale is None else scale[:, None] * low.factor
        basis, triangle = linalg.qr(columns, mode="economic", check_finite=False)
        Z = low.factor @ triangle.T
        chart = CoefficientChart(kernel, X, basis, scale, features)
    else:
        Z = K if scale is None else K * scale
        chart = CoefficientChart(kernel, X, None, scale, features)
    moments = DomainMoments.of(Z, rows.domain, rows.statistics, n_jobs=plan.n_jobs)
    terms = moments.terms(sources=plan.sources, centered=plan.centered)
    return ExplicitFrame(Z[rows.labelled], Spectrum.of(terms), chart)


def _warn_no_overlap(kernel: Kernel, rows: AlignedRows, n_jobs: int | None) -> None:
    """Warn where no source row is near a target row in the eyes of the kernel."""
    source, target = np.flatnonzero(rows.domain >= 0), np.flatnonzero(rows.domain < 0)
    if kernel.name not in ("rbf", "laplacian") or not len(target):
        return
    left = rows.X[target]
    for start in range(0, len(source), _SAMPLE):
        part = source[start : start + _SAMPLE]
        if kernel.block(rows.X[part], left, np.float32, n_jobs).max() >= _NO_OVERLAP:
            return
    warnings.warn(
        "The domains do not overlap: no kernel value between a source row and a target row "
        f"reaches {_NO_OVERLAP:g}, so the labels say nothing about the target. Scale the columns, "
        "widen the kernel (sigma, gamma), or remove what identifies the domain.",
        NoOverlapWarning,
        stacklevel=4,
    )
