"""What the estimators that adapt a source share: sources, rows, chains, clones, prediction.

An adapted model is  f(x) = Σ_m θ_m f'_m(x) + Δf(x).  How Δf and θ are learned is the business of
the estimator (`_learn`, `_scores`); everything else about sources is here, once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from shiftlearn.adaptation.rows import (
    AdaptationRows,
    adaptation_rows,
    final_classes,
    take_scores,
)
from shiftlearn.adaptation.sources import Source, Sources, fitted_members, is_fitted, source_list
from shiftlearn.certificates import Certificate, warn_unless_converged
from shiftlearn.domains import DomainClassifierMixin
from shiftlearn.machines.base import Machine, all_or_nothing, check_predict_rows

__all__ = ["Adapter", "FromSource"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class FromSource(DomainClassifierMixin, Machine):
    """Base of the classifiers made from a source and labelled target rows."""

    source: Any
    source_transform: Callable[..., ArrayLike] | str | None
    tol: float
    certificate_: Certificate
    classes_: NDArray[Any]
    sources_: Sources

    _reading: ClassVar[str] = "margin"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        source_scores: Any = None,
    ) -> Self:
        """Adapt the source to the labelled target rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows. Sources receive them exactly as passed.
        y : array-like of shape (n_samples,)
            Labels of any type; rows marked by None or NaN are left out.
        sample_domain : array-like of int of shape (n_samples,), optional
            Without it all rows are target rows. With it the labelled target rows (< 0) are
            learned from; source rows (>= 0) serve to fit sources that are not fitted.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the costs; rows of weight 0 are left out.
        source_scores : array-like, optional
            The scores of the source at X, instead of asking it: (n_samples,) for two classes,
            (n_samples, n_classes) for more; of several sources a list of those.

        Returns
        -------
        Self
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._adapt(X, y, sample_domain, sample_weight, source_scores)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def decision_function(
        self,
        X: Any,
        *,
        sample_domain: ArrayLike | None = None,
        allow_source: bool = True,
        source_scores: Any = None,
    ) -> Floats:
        """Scores of the classes, f = f' + Δf; the larger, the more likely.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them; the model is that of the target.
        source_scores : array-like, optional
            The scores of the source at X, instead of asking it.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive values mean ``classes_[1]``.
        """
        check_is_fitted(self, "sources_")
        rows = check_predict_rows(self, X, self._narrow())
        values = self._scores(rows, X, source_scores)
        return np.asarray(values[:, 0]) if len(self.classes_) == 2 else values

    def predict(
        self,
        X: Any,
        *,
        sample_domain: ArrayLike | None = None,
        allow_source: bool = True,
        source_scores: Any = None,
    ) -> NDArray[Any]:
        """Predict the class of each row: the largest score.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, or kernel values with kernel="precomputed".
        sample_domain, allow_source
            Accepted for scorers that pass them.
        source_scores : array-like, optional
            The scores of the source at X, instead of asking it.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X, source_scores=source_scores)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(np.intp)])

    def set_source(self, source: Any) -> Self:
        """Put a source back into a model that was stored without it.

        Parameters
        ----------
        source : classifier, callable or list of those
            What the model was adapted from.

        Returns
        -------
        Self
            The estimator.
        """
        models = source_list(source)
        if "sources_" in vars(self):
            members = self.sources_.members
            if self.sources_.chained:  # the source is that of the first stage, further down
                _hand_down(members[0].model, source)
            elif len(models) != len(members):
                raise ValueError(
                    f"source must hold {len(members)} models, as in fit; got {len(models)}."
                )
            else:
                again = tuple(Source.of(model) for model in models)
                self.sources_ = replace(self.sources_, members=again)
        self.source = source
        return self

    def without_source(self) -> Self:
        """A copy that does not hold its source; ``set_source`` puts one back.

        Returns
        -------
        Self
            A shallow copy with everything else.
        """
        twin = copy.copy(self)
        twin.source = None
        if "sources_" in vars(self):
            bare = tuple(
                replace(m, model=_bare(m.model) if m.stage else None) for m in self.sources_.members
            )
            twin.sources_ = replace(self.sources_, members=bare)
        return twin

    def __sklearn_clone__(self) -> Self:
        """A clone that keeps a fitted source by reference; sources not fitted are cloned."""
        from sklearn.base import clone

        models = self.source if isinstance(self.source, (list, tuple)) else [self.source]
        kept = [m if m is None or isinstance(m, type) or _keeps(m) else clone(m) for m in models]
        bare = copy.copy(self)
        bare.source = None
        twin: Self = super(FromSource, bare).__sklearn_clone__()
        many = isinstance(self.source, (list, tuple))
        twin.source = type(self.source)(kept) if many else kept[0]
        return twin

    def _adapt(
        self,
        X: Any,
        y: Any,
        sample_domain: Any,
        sample_weight: Any,
        source_scores: Any,
        declared: ArrayLike | None = None,
        present: Source | None = None,
    ) -> None:
        """One stage; nothing is set before all checks have passed."""
        self._check_parameters()
        rows = adaptation_rows(self, X, y, sample_domain, sample_weight, reset=present is None)
        given = take_scores(source_scores, rows.index)
        members = [present] if present is not None else self._members(rows, given)
        classes = final_classes(
            rows.labels, [member.classes for member in members], declared,
            [member.name for member in members],
        )  # fmt: skip
        if not members and given is not None:
            members = _given_members(given, len(classes))
        codes = np.searchsorted(classes, rows.labels)
        transform = None if present is not None else self.source_transform
        sources = Sources(tuple(members), classes, self._reading, transform)
        sources.warn_unknown(codes)
        sources, scores = sources.fitted_to(rows.raw, given)
        self._learn(rows, codes, sources, scores)
        self.classes_ = classes
        self.sources_ = sources
        self.target_class_count_ = np.bincount(codes, minlength=len(classes))
        if rows.source_y is not None:
            found = (rows.source_y[:, None] == classes).sum(axis=0)
            self.source_class_count_ = found

    def _members(self, rows: AdaptationRows, given: Any) -> list[Source]:
        models = source_list(self.source)
        if not models and given is None and rows.source_X is not None:
            models = [self._default_source()]
        if getattr(self, "kernel", None) == "precomputed" and not all(map(is_fitted, models)):
            raise ValueError(
                'kernel="precomputed" holds no rows to fit a source on; pass source_scores, or a '
                "fitted source."
            )
        return fitted_members(models, rows.source_X, rows.source_y, type(self).__name__)

    def _narrow(self) -> int | None:
        """Columns that a precomputed kernel may have at prediction instead of all."""
        return None

    def _check_parameters(self) -> None:
        """Raise for parameters that do not make sense, before any work."""
        raise NotImplementedError

    def _default_source(self) -> Any:
        """What is fitted on source rows where no source was given."""
        raise NotImplementedError

    def _learn(self, rows: AdaptationRows, codes: Ints, sources: Sources, scores: Floats) -> None:
        """Learn Δf from source scores (n, n_sources, n_columns) and set the fitted attributes."""
        raise NotImplementedError

    def _scores(self, rows: Any, X: Any, given: Any) -> Floats:
        """The function f at checked rows (X as passed), one column for each score."""
        raise NotImplementedError


class Adapter(FromSource):
    """Base of those that learn a change of the source, and can be adapted again."""

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        source_scores: Any = None,
    ) -> Self:
        """Adapt the present model once more: it becomes the source of the next stage.

        The first call is ``fit``. The constructor's ``source`` is never changed.

        Parameters
        ----------
        X, y, sample_domain, sample_weight, source_scores
            As in :meth:`fit`; the rows of the new stage alone.
        classes : array-like, optional
            Labels that may occur, where the rows of the first call do not hold all of them.

        Returns
        -------
        Self
            The fitted estimator.
        """
        with all_or_nothing(self):
            present = None
            if "sources_" in vars(self):
                present = self._present()
            self._adapt(X, y, sample_domain, sample_weight, source_scores, classes, present)
        warn_unless_converged(self.certificate_, type(self).__name__, self.tol)
        return self

    def _present(self) -> Source:
        """The fitted model as a source; it shares nothing that a later stage changes."""
        return Source("the present model", copy.copy(self), self.classes_, True, True)


def _keeps(model: Any) -> bool:
    return not hasattr(model, "get_params") or is_fitted(model)


def _bare(stage: Any) -> Any:
    """An earlier stage without its source; a stage that is one linear function has none."""
    return stage.without_source() if hasattr(stage, "without_source") else stage


def _hand_down(stage: Any, source: Any) -> None:
    if hasattr(stage, "set_source"):
        stage.set_source(source)


def _given_members(given: Any, n_classes: int) -> list[Source]:
    """Nameless sources, as many as there are tables of scores."""
    if isinstance(given, (list, tuple)) and len(given) and np.ndim(given[0]) > 0:
        count = len(given)
    else:
        shape: Sequence[int] = np.shape(given)
        many = len(shape) == 3 or (len(shape) == 2 and n_classes == 2)
        count = shape[1] if many else 1
    return [Source("source_scores") for _ in range(count)]
