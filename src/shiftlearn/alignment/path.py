"""Many settings of an aligned machine at little more than the price of one for each kernel.

What a fit costs is mostly the kernel matrix, the moments and the eigenvectors of the scatter term.
They depend on the kernel, the form and the rows, not on (λ, μ, C): settings that differ in those
alone share them. Settings that differ in the costs alone share the whitened rows (or the Gram
matrix) as well, and each cost starts from the answer of the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from shiftlearn.alignment.machine import AlignedMachine, Answer, Prepared
from shiftlearn.alignment.strength import Strength
from shiftlearn.certificates import warn_unless_converged
from shiftlearn.domains import warn_no_target
from shiftlearn.machines.base import check_predict_rows
from shiftlearn.machines.expansion import Expansion

__all__ = ["AlignmentPath", "alignment_path"]

Floats = NDArray[np.float64]
Settings = dict[str, Any]

_METRIC = ("balance", "alignment")  # what a frame serves without being built again
_COSTS = ("C", "bias")  # what a whitened space serves


@dataclass(frozen=True)
class AlignmentPath(Sequence[AlignedMachine]):
    """Fitted machines, one a setting, in the order of the grid.

    Attributes
    ----------
    models : tuple
        The fitted machines.
    settings : tuple of dict
        The setting of each.
    n_frames : int
        How often moments and eigenvectors were computed.
    n_metrics : int
        How often rows were whitened.
    """

    models: tuple[AlignedMachine, ...]
    settings: tuple[Settings, ...]
    n_frames: int
    n_metrics: int

    @overload
    def __getitem__(self, place: int) -> AlignedMachine: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[AlignedMachine]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.models[place]

    def __len__(self) -> int:
        return len(self.models)

    def decision_functions(self, X: Any) -> list[Floats]:
        """The scores of every machine; kernel values are computed once for each kernel.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows, as in ``decision_function``.

        Returns
        -------
        list of ndarray
            In the order of the grid.
        """
        first = self.models[0]
        narrow = len(first.support_) if first.kernel == "precomputed" else None
        rows = check_predict_rows(first, X, narrow)
        found: dict[int, Floats] = {}
        for places in _together(self.models):
            for place, values in zip(places, self._values(places, rows), strict=True):
                found[place] = self.models[place]._class_scores(values)
        return [found[place] for place in range(len(self.models))]

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted labels of every machine.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_models, n_samples)
            Labels.
        """
        scores = self.decision_functions(X)
        return np.stack([m._labels(s) for m, s in zip(self.models, scores, strict=True)])

    def _values(self, places: list[int], rows: Any) -> list[Floats]:
        models = [self.models[place] for place in places]
        n_jobs = models[0].n_jobs
        if len(models) == 1:
            return [models[0]._scores.values(rows, n_jobs)]
        widths = [model._scores.coef.shape[1] for model in models]
        both = replace(
            models[0]._scores,
            coef=np.hstack([model._scores.coef for model in models]),
            intercept=np.concatenate([model._scores.intercept for model in models]),
        )
        return np.split(both.values(rows, n_jobs), np.cumsum(widths)[:-1], axis=1)


def alignment_path(
    X: Any,
    y: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    *,
    estimator: AlignedMachine | None = None,
    sample_domain: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[int, int], object] | None = None,
) -> AlignmentPath:
    """Fit an aligned machine at every setting of a grid, sharing all that settings share.

    Each machine solves its own problem, as stated in :class:`DAKSVC` or :class:`LSDAKSVC`, to its
    own tolerance; with one frame for each kernel and form, one whitening for each (λ, μ), and
    costs in ascending order from the answer before.

    Parameters
    ----------
    X, y, sample_domain, sample_weight
        As in :meth:`DAKSVC.fit`.
    grid : dict of str to sequence, or list of such dicts
        Parameters and their values, as in scikit-learn's ``ParameterGrid``.
    estimator : DAKSVC, LSDAKSVC or LMProjSVC, optional
        Where all other parameters come from; ``DAKSVC()`` where it is not given.
    callback : callable, optional
        Called with (settings done, settings in all).

    Returns
    -------
    AlignmentPath
        The fitted machines.

    Examples
    --------
    >>> from shiftlearn import DAKSVC, alignment_path
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> moons = make_rotated_moons(30, n_per_moon=50, random_state=0)
    >>> grid = {"alignment": [1.0, 10.0], "C": [1.0, 10.0, 100.0], "balance": [0.0, 0.5, 1.0]}
    >>> path = alignment_path(moons.data, moons.target, grid, sample_domain=moons.domain,
    ...                       estimator=DAKSVC(form="rkhs", sigma="median"))
    >>> len(path), path.n_frames, path.n_metrics
    (18, 1, 6)
    """
    if estimator is None:
        from shiftlearn.alignment.daksvc import DAKSVC

        estimator = DAKSVC()
    if not isinstance(estimator, AlignedMachine):
        raise TypeError(f"estimator must be DAKSVC, LSDAKSVC or LMProjSVC, got {estimator!r}.")
    settings = [dict(one) for one in ParameterGrid(grid)]
    if not settings:
        raise ValueError("grid is empty; at least one setting is needed.")
    work = _Work(estimator, settings, (X, y, sample_domain, sample_weight), callback)
    return work.run()


class _Work:
    """One run over a grid: what is shared is kept only as long as it is needed."""

    def __init__(
        self,
        template: AlignedMachine,
        settings: list[Settings],
        data: tuple[Any, Any, Any, Any],
        callback: Callable[[int, int], object] | None,
    ) -> None:
        self.template, self.settings, self.data = template, settings, data
        self.callback = callback
        # Wrong parameters anywhere in the grid are refused before any work.
        self.models = [clone(template).set_params(**one) for one in settings]
        self.strengths: list[Strength] = [model._strength() for model in self.models]
        self.alignments: dict[int, float] = {}
        self.done = self.n_frames = self.n_metrics = 0

    def run(self) -> AlignmentPath:
        """Frame by frame, metric by metric, cost by cost."""
        everything = range(len(self.settings))
        for group in _grouped(everything, lambda k: _key(self.settings[k], _METRIC + _COSTS)):
            prepared = self._prepare(group)
            for k in group:
                self.alignments[k] = self.models[k]._alignment(self.strengths[k], prepared)
            for same in _grouped(group, self._metric):
                self._solve(same, prepared)
        return AlignmentPath(
            tuple(self.models), tuple(self.settings), self.n_frames, self.n_metrics
        )

    def _prepare(self, group: list[int]) -> Prepared:
        first = self.models[group[0]]
        rows = first._rows(*self.data)
        scatter = any(self.strengths[k].scatter for k in group)
        prepared: Prepared = first._prepare(rows, scatter)
        self.n_frames += 1
        if not rows.has_target:
            warn_no_target(type(first).__name__)
        for k in group:
            model = self.models[k]
            model.n_features_in_ = first.n_features_in_
            if hasattr(first, "feature_names_in_"):
                model.feature_names_in_ = first.feature_names_in_
        return prepared

    def _metric(self, k: int) -> tuple[float, float]:
        return self.strengths[k].balance, self.alignments[k]

    def _solve(self, places: list[int], prepared: Prepared) -> None:
        aligned = prepared.frame.at(*self._metric(places[0]))
        self.n_metrics += 1
        for k in places:
            self.strengths[k] = self.models[k]._in_force(self.strengths[k], aligned, prepared.rows)
        before: tuple[Answer, Strength] | None = None
        for k in sorted(places, key=lambda k: self.strengths[k].C or 0.0):
            model, strength = self.models[k], self.strengths[k]
            start = None if before is None else _scaled(*before, strength)
            answer = model._solve(prepared, strength, aligned, start)
            model._adopt(prepared, strength, aligned, answer)
            warn_unless_converged(model.certificate_, repr(model), model.tol)
            before = answer, strength
            self.done += 1
            if self.callback is not None:
                self.callback(self.done, len(self.settings))


def _scaled(answer: Answer, old: Strength, new: Strength) -> Answer | None:
    """a · C₂ / C₁ is feasible for C₂ and near its answer; with two costs it need not be."""
    if old.C_target is not None or old.C is None or new.C is None:
        return None
    return replace(answer, coef=answer.coef * (new.C / old.C))


def _key(settings: Settings, left_out: tuple[str, ...]) -> str:
    kept = {name: value for name, value in settings.items() if name not in left_out}
    return repr(sorted(kept.items(), key=lambda item: item[0]))


def _grouped(places: Any, key: Callable[[int], Any]) -> Iterator[list[int]]:
    """Places with the same key together, groups in the order of their first member."""
    groups: dict[Any, list[int]] = {}
    for place in places:
        groups.setdefault(key(place), []).append(place)
    return iter(groups.values())


def _together(models: Sequence[AlignedMachine]) -> Iterator[list[int]]:
    """Machines whose decision functions are sums over the same kernel values."""

    def key(place: int) -> Any:
        scores = models[place]._scores
        if not isinstance(scores, Expansion):
            return place
        return repr(scores.kernel), scores.index.tobytes()

    return _grouped(range(len(models)), key)
