"""Least squares domain adaptation kernel classification: one linear system for all classes.

    min_{W, b}  ½ tr WᵀMW + ½ Σ_i c_i ‖y_i - Wᵀz_i - b‖²,
    M = I + μ [ (1 - λ) Σ_r π_r d_r d_rᵀ + λ Σ_r π_r |Δ_r| ]

with y_i one-hot, or ±1 for two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from shiftlearn.alignment.frames import AlignedSpace
from shiftlearn.alignment.machine import (
    AlignedMachine,
    Answer,
    Prepared,
    proved,
)
from shiftlearn.alignment.streamed_fit import streamed_sums
from shiftlearn.alignment.streaming import Stream, block_labels, metric_of, solve_squares
from shiftlearn.alignment.strength import Strength
from shiftlearn.certificates import Event, warn_unless_converged
from shiftlearn.domains import warn_no_target
from shiftlearn.features import resolve_features
from shiftlearn.machines.base import all_or_nothing, check_rows, class_factors
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.parameters import check_weights
from shiftlearn.solvers.least_squares import solve_dual, solve_primal
from shiftlearn.statistics import Stream as RowStream
from shiftlearn.statistics import row_blocks

__all__ = ["LSDAKSVC"]

Floats = NDArray[np.float64]


def _has_features(estimator: LSDAKSVC) -> bool:
    if estimator.features is None:
        raise AttributeError(
            "partial_fit adds up moments of explicit features and needs features=Nystroem(...) or "
            "another map; kernels need all rows at once."
        )
    return True


class LSDAKSVC(AlignedMachine):
    """Least squares domain adaptation kernel classifier.

    With the features, terms and costs of `DAKSVC` it minimises

        ½ tr Wᵀ{I + μ [(1-λ) d dᵀ + λ abs(Δ)]}W + ½ Σ_i c_i ‖y_i - f(x_i)‖²,   f(x) = Wᵀz(x) + b,

    where y_i is the one-hot code of the label (the scores of all classes then sum to one
    everywhere); two classes are coded by one number, -1 and +1. One factorisation serves all
    classes, however many they are.

    Parameters
    ----------
    C : float or "auto", default="auto"
        C', the cost of the squared errors; "auto" as in `DAKSVC`.
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
        C: float | str = "auto",
        *,
        balance: float = 0.5,
        alignment: float | str = "auto",
        form: str = "rkhs",
        kernel: str | Callable[..., ArrayLike] = "rbf",
        sigma: str | float = "median",
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

    @available_if(_has_features)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add the rows of one more block and solve for all rows so far; needs ``features``.

        The answer is that of ``fit`` on all rows together with the map that was fitted on the
        first block, whatever the blocks. Memory does not grow with the number of rows. Until rows
        of both domains have come it is the plain machine; before labelled rows of two classes have
        come it is not fitted. After ``fit`` it begins anew.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows of the block.
        y : array-like of shape (n_samples,), optional
            Their labels; not needed where all rows are of the target.
        classes : array-like, optional
            All labels that may occur; needed in the first call unless its rows hold all of them.
        sample_domain : array-like of int of shape (n_samples,), optional
            As in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            As in ``fit``.

        Returns
        -------
        self
            The estimator.
        """
        with all_or_nothing(self):
            strength = self._strength()
            if isinstance(self.class_weight, str):
                raise ValueError(
                    f"class_weight={self.class_weight!r} needs all rows at once; give a dict."
                )
            self._stream = self._seen(X, y, classes, sample_domain, sample_weight)
            if self._stream.solvable:
                self._adopt_stream(strength)
        if self._stream.solvable:
            warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def _fit_stream(self, stream: RowStream) -> None:
        """Fit from blocks: two passes, the moments of all that is needed in the second."""
        strength = self._strength()
        _, self._stream = streamed_sums(self, stream)
        self._adopt_stream(strength)
        if not self._stream.moments.has_target:
            warn_no_target(type(self).__name__)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)

    def _seen(self, X: Any, y: Any, classes: Any, sample_domain: Any, sample_weight: Any) -> Stream:
        """The stream with the rows of one more block."""
        before: Stream | None = vars(self).get("_stream")
        X = check_rows(self, X, reset=before is None)
        weights = check_weights(sample_weight, X.shape[0])
        block = block_labels(
            y, classes, None if before is None else before.classes, sample_domain, X.shape[0],
            use_target=self.C_target is not None,
        )  # fmt: skip
        if before is None:
            stream = Stream.empty(resolve_features(self.features, X), block.classes)
        else:
            stream = before.copy()
        own = weights * (block.codes >= 0)
        if self.class_weight is not None:
            codes = np.arange(len(block.classes))
            own = own * class_factors(self.class_weight, block.classes, codes, own)[block.codes]
        for rows, domain, w, codes, c in row_blocks(X, block.domain, weights, block.codes, own):
            Z = stream.features.transform(rows)
            stream.moments.update(Z, domain, w if self.weighted_statistics else None)
            for sums, side in ((stream.source, domain >= 0), (stream.target, domain < 0)):
                labelled = np.flatnonzero((c > 0) & side)
                if len(labelled):
                    sums.update(Z[labelled], codes[labelled], c[labelled])
        return stream

    def _adopt_stream(self, strength: Strength) -> None:
        """Solve for the rows so far and set the fitted attributes."""
        stream, covariance = self._stream, self._stream.covariance
        metric = metric_of(
            stream.moments, len(covariance), form=self.form, scatter=strength.scatter,
            sources=self.sources, centered=self.centered,
        )  # fmt: skip
        seen = covariance if metric.root is None else metric.root.T @ covariance @ metric.root
        both = stream.moments.has_source and stream.moments.has_target
        mu = strength.resolved_alignment(float(np.linalg.norm(seen)) if both else None)
        whitening = metric.spectrum.whitening(strength.balance, mu)
        T = metric.matrix(whitening)
        C = strength.resolved_cost(float((T * (covariance @ T)).sum()))
        answer = solve_squares(
            stream.costed(C, strength.C_target), stream.source.n_outputs, T, self.tol
        )
        turned = whitening.pull(answer.turned)
        self._forget_rows()
        self.classes_, self.features_ = stream.classes, stream.features
        self.C_, self.alignment_ = C, mu
        self.intercept_ = answer.intercept
        self.certificate_, self.certificates_ = answer.certificate, (answer.certificate,)
        self.n_iter_ = answer.certificate.n_iter
        self.mmd2_ = metric.spectrum.mmd2
        self.scatter_trace_ = metric.spectrum.scatter_trace
        self.mean_term_ = ((metric.spectrum.differences.T @ turned) ** 2).sum(axis=0)
        self.scatter_term_ = np.asarray(metric.spectrum.values @ turned**2)
        self._scores = LinearScores(answer.weights.T, answer.intercept, stream.features)

    def _forget_rows(self) -> None:
        """A stream has no rows: attributes of a former ``fit`` that list them are gone."""
        for name in ("dual_coef_", "labelled_", "support_", "kernel_", "sigma_"):
            self.__dict__.pop(name, None)

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
