"""What the aligned machines share: the fit in its steps, prediction, and the paper's language."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from shiftlearn.alignment.frames import AlignedSpace, Frame
from shiftlearn.alignment.prepare import (
    AlignedRows,
    Plan,
    aligned_kernel,
    aligned_rows,
    build_frame,
)
from shiftlearn.alignment.strength import Strength, check_strength
from shiftlearn.certificates import Certificate, Event, warn_unless_converged
from shiftlearn.domains import DomainClassifierMixin, warn_no_target
from shiftlearn.kernels import Kernel
from shiftlearn.machines.base import (
    Machine,
    all_or_nothing,
    check_number,
    check_predict_rows,
    progress,
)
from shiftlearn.machines.expansion import Expansion, LinearScores
from shiftlearn.machines.formulations import combine
from shiftlearn.machines.multiclass import vote_scores
from shiftlearn.machines.spaces import Options

__all__ = ["AlignedMachine", "Answer", "Prepared", "proved"]

Floats = NDArray[np.float64]

_FORMS = ("coef", "rkhs")


@dataclass(frozen=True)
class Prepared:
    """Everything about a fit that does not depend on its `Strength`."""

    rows: AlignedRows
    kernel: Kernel
    sigma: float | None
    frame: Frame
    features: Any


@dataclass(frozen=True)
class Answer:
    """Dual coefficients of the labelled rows (one column a problem), b, and the proofs."""

    coef: Floats
    intercept: Floats
    certificates: tuple[Certificate, ...]


class AlignedMachine(DomainClassifierMixin, Machine):
    """Base of `DAKSVC` and `LSDAKSVC`."""

    C: Any
    balance: float
    alignment: Any
    form: str
    kernel: Any
    C_target: float | None
    sources: str
    centered: bool
    rank: int | None
    features: Any
    class_weight: Any
    weighted_statistics: bool
    tol: float
    memory_limit: Any
    n_jobs: int | None
    verbose: int
    callback: Callable[[Event], bool | None] | None

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the machine on labelled source rows and unlabelled target rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            All rows, or the kernel matrix between all of them with kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels of any type. Those of target rows are not read unless ``C_target`` is given.
        sample_domain : array-like of int of shape (n_samples,), optional
            >= 0 source, < 0 target. Without it, rows marked in y (None, NaN) are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs; a row of weight 0 has no part in the loss. They enter the
            moments of the domains only with ``weighted_statistics``.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            strength = self._strength()
            rows = self._rows(X, y, sample_domain, sample_weight)
            prepared = self._prepare(rows, strength.scatter)
            aligned = prepared.frame.at(strength.balance, self._alignment(strength, prepared))
            strength = self._in_force(strength, aligned, rows)
            answer = self._solve(prepared, strength, aligned)
            self._adopt(prepared, strength, aligned, answer)
        if not rows.has_target:
            warn_no_target(type(self).__name__)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Scores of the classes; the larger, the more likely.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of either domain, or kernel values between them and the rows of ``fit`` (all, or
            those of ``support_``) with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them; the machine is the same in all domains.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive values mean ``classes_[1]``.
        """
        if "_scores" not in vars(self):
            check_is_fitted(self, "_scores")
        narrow = len(self.support_) if self.kernel == "precomputed" else None
        values = self._scores.values(check_predict_rows(self, X, narrow), self.n_jobs)
        return self._class_scores(values)

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the class of each row: the largest score.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, as in ``decision_function``.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return self._labels(self.decision_function(X))

    @classmethod
    def from_paper(
        cls, lam0: float, C: float, lam: float = 0.5, gamma: float = 1.0, **options: Any
    ) -> Self:
        """The machine in the paper's parameters: ridge λ0, cost C, balance λ, bandwidth σ/γ.

        Parameters
        ----------
        lam0 : float
            Ridge of the coefficients, > 0.
        C : float
            Cost beside that ridge.
        lam : float, default=0.5
            λ.
        gamma : float, default=1.0
            γ, which divides the bandwidth σ of the paper's rule.
        **options
            Further parameters of the estimator.

        Returns
        -------
        estimator
            With alignment = 1/λ0, C = C/λ0, form="coef", sigma="paper".
        """
        ridge, cost = check_number("lam0", lam0), check_number("C", C)
        settings: dict[str, Any] = {
            "C": cost / ridge, "alignment": 1.0 / ridge, "balance": lam,
            "bandwidth_ratio": gamma, "form": "coef", "sigma": "paper",
        }  # fmt: skip
        return cls(**{**settings, **options})

    @property
    def lam0_(self) -> float:
        """The paper's λ0 = 1/μ (infinite without alignment)."""
        return 1.0 / self.alignment_ if self.alignment_ > 0 else math.inf

    @property
    def C_paper_(self) -> float:
        """The paper's C = C' λ0."""
        return float(self.C_ * self.lam0_)

    @property
    def coef_(self) -> Floats:
        """The weights of the linear functions: of the columns, or of ``features``."""
        if not isinstance(self._scores, LinearScores):
            raise AttributeError("coef_ exists for kernel='linear' and with features= only")
        return self._scores.coef

    @property
    def beta_(self) -> Floats:
        """β of each problem at the rows ``support_``."""
        if not isinstance(self._scores, Expansion):
            raise AttributeError("beta_ exists for kernels other than the linear one; see coef_")
        return self._scores.coef.T

    def _class_scores(self, values: Floats) -> Floats:
        """The scores of the classes from those of the two-class problems."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.asarray(values[:, 0])
        pairs = getattr(self, "multi_class", "ovr") == "ovo"
        return vote_scores(values, n_classes) if pairs else values

    def _labels(self, scores: Floats) -> NDArray[Any]:
        """The classes of the largest scores."""
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(np.intp)])

    def _alignment(self, strength: Strength, prepared: Prepared) -> float:
        """μ as a number."""
        if strength.alignment is not None:
            return strength.alignment
        rows = prepared.rows
        return strength.resolved_alignment(
            prepared.frame.covariance_size(rows.weights) if rows.has_target else None
        )

    def _in_force(self, strength: Strength, aligned: AlignedSpace, rows: AlignedRows) -> Strength:
        """The strength with numbers in place of rules."""
        C = strength.C
        if C is None:
            C = strength.resolved_cost(aligned.variance(rows.weights))
        return replace(strength, alignment=aligned.alignment, C=C)

    def _strength(self) -> Strength:
        """The checked numbers of this estimator."""
        if self.form not in _FORMS:
            raise ValueError(f'form must be "coef" or "rkhs", got {self.form!r}.')
        if self.sources not in ("separate", "pooled"):
            raise ValueError(f'sources must be "separate" or "pooled", got {self.sources!r}.')
        if self.rank is not None:
            check_number("rank", self.rank)
        check_number("tol", self.tol)
        return check_strength(self)

    def _rows(self, X: Any, y: Any, sample_domain: Any, sample_weight: Any) -> AlignedRows:
        return aligned_rows(
            self, X, y,
            sample_domain=sample_domain, sample_weight=sample_weight,
            class_weight=self.class_weight, use_target=self.C_target is not None,
            weighted_statistics=self.weighted_statistics,
        )  # fmt: skip

    def _prepare(self, rows: AlignedRows, scatter: bool) -> Prepared:
        kernel, sigma = aligned_kernel(self, rows)
        plan = Plan(
            self.form, scatter, self.sources, self.centered, self.rank, self.features,
            self.memory_limit, self.n_jobs,
        )  # fmt: skip
        self._tell("terms", 0.0)
        frame, features = build_frame(rows, kernel, plan)
        self._tell("solve", 0.5)
        return Prepared(rows, kernel, sigma, frame, features)

    def _tell(self, phase: str, fraction: float) -> None:
        report = progress(self.callback, self.verbose, type(self).__name__)
        if report is not None:
            report(Event(phase, fraction, math.nan, math.nan))

    def _options(self) -> Options:
        report = progress(self.callback, self.verbose, type(self).__name__)
        most = int(check_number("max_iter", getattr(self, "max_iter", 1)))
        return Options(self.tol, most, self.memory_limit, self.n_jobs, report)

    def _solve(
        self,
        prepared: Prepared,
        strength: Strength,
        aligned: AlignedSpace,
        start: Answer | None = None,
    ) -> Answer:
        raise NotImplementedError

    def _adopt(
        self, prepared: Prepared, strength: Strength, aligned: AlignedSpace, answer: Answer
    ) -> None:
        """Set the fitted attributes; nothing before this line has touched the estimator."""
        rows = prepared.rows
        assert strength.C is not None and strength.alignment is not None
        self.__dict__.pop("_stream", None)
        self.classes_ = rows.classes
        self.C_, self.alignment_ = strength.C, strength.alignment
        self.kernel_, self.sigma_ = prepared.kernel, prepared.sigma
        self.intercept_ = answer.intercept
        self.labelled_ = rows.labelled
        self.dual_coef_ = answer.coef.T
        self.certificates_ = answer.certificates
        self.certificate_ = combine(answer.certificates)
        self.n_iter_ = max(1, self.certificate_.n_iter)
        self.mean_term_, self.scatter_term_ = aligned.terms(answer.coef)
        self.mmd2_ = prepared.frame.spectrum.mmd2
        self.scatter_trace_ = prepared.frame.spectrum.scatter_trace
        self._scores = aligned.scores(answer.coef, answer.intercept)
        scores = self._scores
        self.support_ = scores.index if isinstance(scores, Expansion) else rows.labelled
        if prepared.features is not None:
            self.features_ = prepared.features


def proved(certificates: Sequence[Certificate], slack: Floats) -> tuple[Certificate, ...]:
    """The certificates with what a truncated spectrum may hide added to their gaps."""
    return tuple(
        replace(proof, gap=proof.gap + float(hidden))
        for proof, hidden in zip(certificates, slack, strict=True)
    )
