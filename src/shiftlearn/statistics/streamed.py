"""Estimators that take streams: one place where rows in memory and rows in blocks part ways.

``fit`` of a stream goes to ``_fit_stream`` of the estimator; methods that treat every row by itself
(``predict`` and the like) are called block by block, of Dask collections lazily.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from shiftlearn.statistics.passes import Stream, open_stream
from shiftlearn.statistics.stream import Blocks, by_blocks, is_stream

__all__ = ["StreamedMethods"]

_BY_ROW = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "score_samples",
    "transform",
    "density_ratio",
    "domain_proba",
)
# Parameters that change how an answer is found, not which one it is.
_NO_MATTER = ("callback", "verbose", "n_jobs", "memory_limit")


class StreamedMethods:
    """Mixin of the estimators that may be given :class:`~shiftlearn.Blocks` or Dask collections."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if inspect.isfunction(own.get("fit")):
            cls.fit = _fit_of_streams(own["fit"])  # type: ignore[attr-defined]
        for name in _BY_ROW:
            method = own.get(name)
            if inspect.isfunction(method):
                setattr(cls, name, _row_by_row(method))
            elif method is not None and inspect.isfunction(getattr(method, "fn", None)):
                method.fn = _row_by_row(method.fn)  # available_if

    def _fit_stream(self, stream: Stream) -> None:
        """Set the fitted attributes from passes over the stream."""
        raise TypeError(
            f"X: {type(self).__name__} cannot be fitted from blocks; it needs all rows in memory."
        )


def _fit_of_streams(fit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_stream(X):
            return fit(self, X, *args, **options)
        return _fit_stream(self, X, *args, **options)

    return wrapped


def _fit_stream(
    estimator: Any, X: Any, y: Any = None, sample_domain: Any = None, sample_weight: Any = None
) -> Any:
    stream = open_stream(X, y, sample_domain, sample_weight, _key(estimator))
    before = dict(vars(estimator))
    try:
        names = getattr(stream.source, "feature_names", None)
        estimator._fit_stream(stream)
        if names is not None:
            import numpy as np

            estimator.feature_names_in_ = np.array(names, dtype=object)
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    stream.close()
    return estimator


def _row_by_row(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_stream(X):
            return method(self, X, *args, **options)
        return by_blocks(_named(self, X, lambda rows: method(self, rows, *args, **options)), X)

    return wrapped


def _named(estimator: Any, X: Any, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``function`` of the rows of blocks that have names, in the order of the estimator's."""
    wanted = list(getattr(estimator, "feature_names_in_", ()))
    names = X.feature_names if wanted and isinstance(X, Blocks) else None
    if wanted is None or names is None:
        return function
    missing, extra = sorted(set(wanted) - set(names)), sorted(set(names) - set(wanted))
    if missing or extra:
        raise ValueError(
            f"the blocks have other columns than those of fit: missing {missing}, unexpected "
            f"{extra}."
        )
    order = [names.index(name) for name in wanted]

    def in_order(rows: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return function(rows if order == sorted(order) else rows[:, order])

    return in_order


def _key(estimator: Any) -> str:
    parameters = estimator.get_params()
    told = {k: v for k, v in sorted(parameters.items()) if k.split("__")[-1] not in _NO_MATTER}
    return f"{type(estimator).__name__} {told!r}"
