"""From two tables to a fitted pipeline: columns made ready, rows of both domains, the method."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.cli.methods import Method, build
from shiftlearn.cli.tables import Table, matched, widened

__all__ = ["Learned", "learn", "pair", "rows_for"]


@dataclass(frozen=True, slots=True)
class Learned:
    """A fitted pipeline, whose last step is the method, and what there is to say about it."""

    model: Any
    facts: dict[str, Any]


def learn(
    method: Method, settings: Mapping[str, Any], source: Table, target: Table | None
) -> Learned:
    """Fit a method on what it may see of the two tables."""
    from sklearn.pipeline import Pipeline

    estimator = build(method, settings)
    rows, y, domain = rows_for(method, source, target)
    start = time.perf_counter()
    first = preprocessor(source.sparse)
    Z = first.fit_transform(rows)
    steps = _fitted(method, estimator, Z, y, domain)
    seconds = time.perf_counter() - start
    model = Pipeline([("columns", first), *steps])
    facts = {
        "method": method.name,
        "class": type(steps[-1][1]).__name__,
        "settings": dict(settings),
        "columns": source.columns,
        "width": int(rows.shape[1]),
        "rows": {"source": int((domain >= 0).sum()), "target": int((domain < 0).sum())},
        "seconds": round(seconds, 3),
        "certificate": _proof(steps[-1][1]),
    }
    return Learned(model, facts)


def pair(source: Table, target: Table | None) -> tuple[Table, Table | None]:
    """Both tables with the same columns; labels of one sort."""
    if target is None:
        return source, None
    if source.sparse:
        if not target.sparse:
            widened(target, 0, source.name)
        width = max(source.rows.shape[1], target.rows.shape[1])
        source, target = widened(source, width, ""), widened(target, width, "")
    else:
        target = matched(target, source.columns, source.name)
    if source.labels is not None and target.labels is not None:
        _check_same_sort(source, target)
    return source, target


def rows_for(
    method: Method, source: Table, target: Table | None
) -> tuple[Any, Any, NDArray[np.int64]]:
    """Rows, labels and sample_domain of what a method may see."""
    if method.rows == "normal":
        parts = [source] if target is None else [source, target]
        return _stacked(parts), None, _domains(parts)
    source = _labelled(source)
    if method.rows == "source" or (method.rows == "unlabelled" and target is None):
        if method.rows == "unlabelled":
            raise ValueError(
                f"{method.name} learns from unlabelled rows of where the model will work; give "
                "them as TARGET, or use a method that needs SOURCE alone (svc, prototype)."
            )
        return source.rows, source.labels, _domains([source])
    if method.rows == "unlabelled":
        assert target is not None
        assert source.labels is not None
        y = np.concatenate([source.labels.astype(object), np.full(len(target), None)])
        return _stacked([source, target]), y, _domains([source, target])
    few = None if target is None or target.labels is None else _labelled(target, needed=False)
    if few is None or len(few) == 0:
        raise ValueError(
            f"{method.name} needs some labels in TARGET and there are none. `shiftlearn select` "
            "names the rows worth labelling; daksvm, committee and others need no labels there."
        )
    assert source.labels is not None and few.labels is not None
    y = np.concatenate([source.labels, few.labels])
    return _stacked([source, few]), y, _domains([source, few])


def preprocessor(sparse: bool) -> Any:
    """What makes columns ready: the table pipeline, or a scale for sparse matrices."""
    if sparse:
        from sklearn.preprocessing import MaxAbsScaler

        return MaxAbsScaler()
    from shiftlearn.tabular import tabular_preprocessor

    return tabular_preprocessor()


def _fitted(
    method: Method, estimator: Any, Z: Any, y: Any, domain: NDArray[np.int64]
) -> list[tuple[str, Any]]:
    """The fitted steps after the columns."""
    if method.inner == "view":
        view, classifier = estimator["view"], estimator["classifier"]
        mapped, home = view.fit_transform(Z, sample_domain=domain), domain >= 0
        classifier.fit(mapped[home], _plain(y[home]))
        return [("view", view), ("method", classifier)]
    if method.home == "LogisticRegression":
        return [("method", estimator.fit(Z, y))]
    if method.rows == "source" or (method.rows == "normal" and (domain >= 0).all()):
        return [("method", estimator.fit(Z, y) if y is not None else estimator.fit(Z))]
    return [("method", estimator.fit(Z, y, sample_domain=domain))]


def _stacked(parts: list[Table]) -> Any:
    if len(parts) == 1:
        return parts[0].rows
    if parts[0].sparse:
        from scipy.sparse import vstack

        return vstack([part.rows for part in parts], format="csr")
    import polars as pl

    try:
        return pl.concat([part.rows for part in parts], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        kinds = zip(parts[0].rows.schema.items(), parts[1].rows.schema.items(), strict=True)
        name = next((a[0] for a, b in kinds if a[1] != b[1]), "?")
        one, two = (part.rows.schema[name] for part in parts)
        raise ValueError(
            f"column {name!r} is {one} in {parts[0].name} and {two} in {parts[1].name}; it must be "
            "of one kind in both."
        ) from None


def _domains(parts: list[Table]) -> NDArray[np.int64]:
    numbers = np.repeat([1, -2][: len(parts)], [len(part) for part in parts])
    return np.asarray(numbers, dtype=np.int64)


def _labelled(table: Table, *, needed: bool = True) -> Table:
    """The rows that have a label."""
    if table.labels is None:
        raise ValueError(f"{table.name} needs labels; name their column by --label.")
    known = np.array([label is not None for label in table.labels.tolist()])
    if not known.any() and needed:
        raise ValueError(f"{table.name} has no row with a label.")
    if known.all():
        return table
    if needed:
        warnings.warn(
            f"{table.name}: {int((~known).sum())} rows without a label are left out.", stacklevel=2
        )
    kept = table.take(np.flatnonzero(known))
    labels = np.array(kept.labels.tolist()) if kept.labels is not None else None
    return Table(kept.name, kept.rows, labels)


def _check_same_sort(source: Table, target: Table) -> None:
    sorts = []
    for table in (source, target):
        assert table.labels is not None
        known = [label for label in table.labels.tolist() if label is not None]
        sorts.append({isinstance(label, str) for label in known})
    if sorts[0] and sorts[1] and sorts[0] != sorts[1]:
        raise ValueError(
            f"the labels of {source.name} and {target.name} are not of one sort: text in one, "
            "numbers in the other."
        )


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    return np.array(labels.tolist())


def _proof(estimator: Any) -> dict[str, Any] | None:
    """The certificate in plain numbers, where there is one."""
    proof = getattr(estimator, "certificate_", None)
    if proof is None:
        return None
    numbers = {name: getattr(proof, name) for name in ("objective", "gap", "violation")}
    plain = {k: None if math.isnan(float(v)) else float(v) for k, v in numbers.items()}
    return {**plain, "converged": bool(proof.converged), "iterations": int(proof.n_iter)}
