"""Members of a committee from streams of rows: logistic regression by Newton passes.

As in memory, with two differences. Which target rows are surest is found without keeping their
probabilities: passes that count by narrowing intervals find, for each class, the probability from
which on rows take part (rows tied at that number share the places that are left). And what only
needs a picture of the rows (the two-sample test, class proportions, the truncated SVD of sparse
rows) is computed on a sample of at most 20,000 rows of each domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from shiftlearn.solvers import newton
from shiftlearn.solvers.losses import Layout, Logistic
from shiftlearn.statistics import Block, Stream
from shiftlearn.statistics.reservoir import draw_rows
from shiftlearn.statistics.survey import SAMPLE_ROWS, CodedBlock, coded, survey_stream
from shiftlearn.trust.members import Front, Member, default_classifier
from shiftlearn.views.base import DomainView
from shiftlearn.views.rows import BothRows, SourceRows

__all__ = ["StreamedMembers", "check_streamable", "open_members"]

Floats = NDArray[np.float64]
Prepare = Callable[[CodedBlock], CodedBlock | None]

_TOL = 1e-8
_LARGEST_MATRIX = 4096
_INTERVALS = 1 << 14
_TOLERANCE = 0.15


def check_streamable(estimator: Any, views: list[tuple[str, Any]]) -> LogisticRegression:
    """An unfitted logistic regression; an error names what cannot be fitted from blocks."""
    model = default_classifier() if estimator is None else clone(estimator)
    plain = type(model) is LogisticRegression and model.class_weight is None
    if not plain or getattr(model, "l1_ratio", None) or not 0 < model.C < math.inf:
        raise ValueError(
            f"estimator={estimator!r} needs all rows in memory; from blocks the members are "
            "LogisticRegression(C=..., fit_intercept=...) with its quadratic penalty and without "
            "class_weight."
        )
    for name, view in views:
        if not isinstance(view, DomainView):
            raise ValueError(
                f"the view {name!r} is a {type(view).__name__}, which needs all rows in memory; "
                "from blocks views are MongeMapper, CoralMapper and DomainStandardizer."
            )
    return model


@dataclass(frozen=True, slots=True)
class StreamedMembers:
    """Coded blocks of both domains, a sample of their rows, and the model to be fitted on them."""

    stream: Stream
    sample: BothRows
    classes: NDArray[Any]
    model: LogisticRegression
    totals: Floats  # weight of each class of the source
    target_weight: float
    n_jobs: int | None

    def fit_view(
        self, name: str, view: Any, front: Front | None, factors: Floats, rounds: int, share: float
    ) -> list[tuple[str, Member]]:
        """The member on one view and the same after self-training, as `members.fit_view`."""
        points, width, fitted = self.stream, self.sample.source.X.shape[1], None
        if view is not None:
            fitted = clone(view)
            seen = self.stream.then(_in_front(front))
            fitted._fit_stream(seen.then(_counted(factors)))
            points, width = seen.then(_through(fitted)), int(fitted.n_features_in_)
        model = self._fit(points.then(_source), width)
        members = [(name, Member(model, fitted, front))]
        if rounds and self.target_weight:
            trained = self._self_train(model, points, width, rounds, share)
            members.append((f"{name}, self-trained", Member(trained, fitted, front)))
        return members

    def _fit(self, stream: Stream, width: int, start: Any = None) -> LogisticRegression:
        k = 1 if len(self.classes) == 2 else len(self.classes)
        intercept = bool(self.model.fit_intercept)
        layout = Layout(width, k, intercept)
        ridge = np.zeros(layout.size)
        ridge[: width * k] = 1.0 / self.model.C
        flat = None
        if k > 1 and intercept:
            flat = np.zeros((layout.size, 1))
            flat[width * k :, 0] = k**-0.5
        weight = float(self.totals.sum()) + self.target_weight
        loss = Logistic(layout, layout.size <= _LARGEST_MATRIX)
        problem = newton.Problem(loss, stream.then(_as_logistic), ridge, weight=weight, flat=flat)
        first = None if start is None else _parameters(start, intercept)
        answer = newton.solve(problem, tol=_TOL, start=first, n_jobs=self.n_jobs)
        W, bias, _ = layout.parts(answer.parameters)
        return _adopted(self.model, W, bias, len(self.classes), answer.certificate.n_iter)

    def _self_train(
        self, model: Any, points: Stream, width: int, rounds: int, share: float
    ) -> LogisticRegression:
        """The rounds of `views.self_training.self_train`."""
        prior = self.totals / self.totals.sum()
        shares, counts = self._predicted(points, model)
        low, high = np.minimum(shares, prior), np.maximum(shares, prior)
        for r in range(1, rounds + 1):
            wanted = np.ceil(share * r / rounds * counts).astype(np.int64)
            limits = _limits(points, model, counts, wanted, self.n_jobs)
            step = self._fit(points.then(_surest(model, *limits)), width, start=model)
            shares, counts = self._predicted(points, step)
            if max((shares - high).clip(0).sum(), (low - shares).clip(0).sum()) > _TOLERANCE:
                break
            model = step
        return model

    def _predicted(self, points: Stream, model: Any) -> tuple[Floats, NDArray[np.int64]]:
        """Shares (by weight) and numbers of the target rows given to each class."""
        k = len(self.classes)

        def part(block: CodedBlock) -> Any:
            codes = _probabilities(model, block.X).argmax(axis=1)
            return [np.bincount(codes, block.weights, k), np.bincount(codes, minlength=k)]

        shares, counts = points.then(_target).reduce(part, _added, self.n_jobs)
        return shares / shares.sum(), counts


def open_members(estimator: Any, stream: Stream, model: LogisticRegression) -> StreamedMembers:
    """Survey the stream and draw the sample: two passes."""
    n_jobs = estimator.n_jobs
    survey = survey_stream(stream, n_jobs=n_jobs)
    if len(survey.classes) < 2:
        raise ValueError(
            f"y holds {len(survey.classes)} class on the labelled source rows; at least 2 classes "
            "are needed."
        )
    rows = stream.then(coded(survey.classes)).then(_useful)
    source, target = draw_rows(stream.then(coded(survey.classes, drop=False)), SAMPLE_ROWS, n_jobs)
    empty = source["rows"][:0]
    sample = BothRows(
        SourceRows(source["rows"], source["codes"], source["weights"], len(survey.classes)),
        empty if target["rows"] is None else target["rows"],
        target.get("weights", np.empty(0)),
        source["domains"],
        survey.classes,
    )
    weight = float(target["n_all"])
    estimator.n_features_in_ = survey.n_columns
    estimator.sampled_rows_ = {
        "source": (len(source["codes"]), int(source["n_all"])),
        "target": (len(target.get("codes", ())), int(target["n_all"])),
    }
    return StreamedMembers(rows, sample, survey.classes, model, survey.totals, weight, n_jobs)


def _limits(
    points: Stream, model: Any, counts: NDArray[np.int64], wanted: NDArray[np.int64], n_jobs: Any
) -> tuple[NDArray[np.uint64], Floats]:
    """Of each class the interval of probabilities that is cut, and the share of its rows to take.

    Positive floats are ordered as their bits. Each pass counts in 16,384 intervals of the interval
    that is left; after at most four there is a single number or nothing to divide.
    """
    first, end = (int(_bits(np.array([p]))[0]) for p in (0.5 / len(counts), 1.0 + 1e-9))
    low = np.full(len(counts), first, dtype=np.uint64)
    above = np.zeros(len(counts), dtype=np.int64)  # rows over the interval that is left
    tied = np.ones(len(counts), dtype=np.int64)
    step = -(-(end - first) // _INTERVALS)
    while True:
        inside = _histogram(points, model, low, step, n_jobs)
        for k in np.flatnonzero(counts):
            from_top = above[k] + np.cumsum(inside[k][::-1])
            place = int(np.searchsorted(from_top, wanted[k]))
            tied[k] = inside[k][_INTERVALS - 1 - place]
            above[k] = from_top[place] - tied[k]
            low[k] += np.uint64((_INTERVALS - 1 - place) * step)
        shares = np.where(counts > 0, (wanted - above) / tied, 0.0)
        if step == 1 or np.isin(shares, (0.0, 1.0)).all():
            return np.stack([low, low + np.uint64(step)]), shares
        step = -(-step // _INTERVALS)


def _histogram(
    points: Stream, model: Any, low: NDArray[np.uint64], step: int, n_jobs: Any
) -> NDArray[np.int64]:
    def part(block: CodedBlock) -> NDArray[np.int64]:
        codes, bits = _predictions(model, block.X)
        places = (bits - low[codes]) // np.uint64(step)
        keep = (bits >= low[codes]) & (places < _INTERVALS)
        flat = codes[keep] * _INTERVALS + places[keep].astype(np.int64)
        return np.bincount(flat, minlength=len(low) * _INTERVALS).reshape(len(low), _INTERVALS)

    counted: NDArray[np.int64] = points.then(_target).reduce(part, np.add, n_jobs)
    return counted


def _surest(model: Any, limits: NDArray[np.uint64], shares: Floats) -> Prepare:
    """The source rows, and the surest target rows under the class they are given."""

    def prepare(block: CodedBlock) -> CodedBlock | None:
        codes, bits = _predictions(model, block.X)
        factor = np.where(bits >= limits[1][codes], 1.0, shares[codes])
        factor = np.where(bits >= limits[0][codes], factor, 0.0)
        own = block.domains >= 0
        weights = block.weights * np.where(own, 1.0, factor)
        codes = np.where(own, block.codes, codes)
        return CodedBlock(block.X, codes, weights, block.domains, block.start).take(weights > 0)

    return prepare


def _predictions(model: Any, X: Any) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    p = _probabilities(model, X)
    return p.argmax(axis=1), _bits(p.max(axis=1))


def _bits(values: Floats) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


def _probabilities(model: Any, X: Any) -> Floats:
    return np.asarray(model.predict_proba(X), dtype=np.float64)


def _parameters(model: LogisticRegression, intercept: bool) -> Floats:
    W = model.coef_.T
    return (np.vstack([W, model.intercept_[None, :]]) if intercept else W).ravel()


def _adopted(
    model: LogisticRegression, W: Floats, bias: Floats, n_classes: int, n_iter: int
) -> LogisticRegression:
    """A fitted scikit-learn model with these weights."""
    fitted: LogisticRegression = clone(model)
    fitted.coef_, fitted.intercept_ = np.ascontiguousarray(W.T), np.array(bias)
    fitted.classes_ = np.arange(n_classes)
    fitted.n_features_in_ = W.shape[0]
    fitted.n_iter_ = np.array([n_iter], dtype=np.int32)
    return fitted


def _useful(block: CodedBlock) -> CodedBlock | None:
    """All but the source rows that have no label."""
    return block.take((block.codes >= 0) | (block.domains < 0))


def _source(block: CodedBlock) -> CodedBlock | None:
    return block.take(block.domains >= 0)


def _target(block: CodedBlock) -> CodedBlock | None:
    return block.take(block.domains < 0)


def _as_logistic(block: CodedBlock) -> Any:
    return block.X, block.codes, block.weights, None, None


def _in_front(front: Front | None) -> Prepare:
    def prepare(block: CodedBlock) -> CodedBlock:
        X = block.X if front is None else front(block.X)
        return CodedBlock(X, block.codes, block.weights, block.domains, block.start)

    return prepare


def _counted(factors: Floats) -> Callable[[CodedBlock], Block]:
    """Rows as a view takes them: a source row counts by its class, the target is one domain."""

    def prepare(block: CodedBlock) -> Block:
        own = block.domains >= 0
        counts = np.where(own, factors[np.maximum(block.codes, 0)], 1.0)
        domains = np.where(own, block.domains, -1)
        return Block(block.X, None, domains, block.weights * counts, block.start)

    return prepare


def _through(view: DomainView) -> Prepare:
    def prepare(block: CodedBlock) -> CodedBlock:
        Z = view.transform(block.X, sample_domain=np.maximum(block.domains, -1))
        return CodedBlock(Z, block.codes, block.weights, block.domains, block.start)

    return prepare


def _added(a: list[Any], b: list[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]
