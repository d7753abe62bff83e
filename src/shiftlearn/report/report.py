"""``shift_report``: two samples in, a dictionary of measured facts out, and pages if asked for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from shiftlearn.report.advice import advice
from shiftlearn.report.features import feature_facts
from shiftlearn.report.measures import (
    class_facts,
    model_facts,
    shift_facts,
    support_facts,
    weight_facts,
)
from shiftlearn.report.rows import Side, both_sides, ready

__all__ = ["shift_report", "summarize"]


def shift_report(
    X_source: Any,
    X_target: Any,
    y_source: Any = None,
    y_target: Any = None,
    *,
    model: Any = None,
    path: str | Path | None = None,
    names: tuple[str, str] = ("source", "target"),
    max_rows: int = 100_000,
    test_rows: int = 2_000,
    n_permutations: int = 200,
    random_state: int = 0,
) -> dict[str, Any]:
    """Report whether, where and how two data sets differ, and what that means for a model.

    Measured are: whether there is a shift (kernel two-sample test with its permutation p-value,
    area under the curve of a domain classifier with its interval, Jensen-Shannon divergence);
    where (each column, with adjusted p-values); what the data can tell about the kind of
    the shift; what it means for a model (weights and their effective sample size, rows outside
    the source's support, accuracy measured or estimated); what to do.

    Parameters
    ----------
    X_source, X_target : dataframes, arrays or sparse matrices
        The rows; pandas and polars frames are matched by column name and may hold categories,
        text, dates and gaps. :class:`Blocks` and Dask collections are walked once each, and
        ``max_rows`` rows of each are drawn; labels come with the blocks.
    y_source, y_target : array-like, optional
        Labels as far as there are any; None or NaN elsewhere.
    model : classifier, optional
        A fitted classifier that takes the rows as they are passed here; without one a logistic
        regression is fitted on a part of the source rows.
    path : str or Path, optional
        Also write the report there: ``.html``, ``.md`` or ``.json``.
    names : pair of str, default=("source", "target")
        What the page calls the two.
    max_rows : int, default=100_000
        Most rows of each for the columns' tests; more are drawn at random, which is recorded.
    test_rows : int, default=2_000
        Most rows of each for the tests of all columns together.
    n_permutations : int, default=200
        Reassignments of the kernel test.
    random_state : int, default=0
        Seed of all draws.

    Returns
    -------
    dict
        The facts; plain numbers, text, lists and dictionaries.

    See Also
    --------
    shiftlearn.metrics : the measures by themselves.

    Examples
    --------
    >>> from shiftlearn import shift_report
    >>> from shiftlearn.datasets import make_rotated_moons
    >>> Xs, ys, Xt, _ = make_rotated_moons(60, n_per_moon=60, random_state=0).split()
    >>> report = shift_report(Xs, Xt, ys, test_rows=120, n_permutations=50)
    >>> report["shift"]["moved"], report["features"][0]["moved"]
    (True, True)
    """
    from shiftlearn.report.write import check_path, write_report

    if path is not None:
        check_path(path)
    facts = summarize(
        X_source, X_target, y_source, y_target, model=model, names=names, max_rows=max_rows,
        test_rows=test_rows, n_permutations=n_permutations, random_state=random_state,
    )  # fmt: skip
    if path is not None:
        write_report(facts, path)
    return facts


def summarize(
    X_source: Any,
    X_target: Any,
    y_source: Any,
    y_target: Any,
    *,
    model: Any,
    names: tuple[str, str],
    max_rows: int,
    test_rows: int,
    n_permutations: int,
    random_state: int,
) -> dict[str, Any]:
    """The facts of :func:`shift_report`."""
    for name, value in (("max_rows", max_rows), ("test_rows", test_rows)):
        if not (isinstance(value, int | np.integer) and value >= 20):
            raise ValueError(f"{name} must be an integer >= 20, got {value!r}.")
    start = time.perf_counter()
    rng = np.random.RandomState(random_state)
    whole = both_sides(X_source, y_source, X_target, y_target, int(max_rows))
    wide = [side.drawn(max_rows, rng) for side in whole]
    narrow = [_with_labels(side, test_rows, rng) for side in wide]
    source, target = narrow
    Zs, Zt, _ = ready(source, target)
    seed = int(random_state)
    facts: dict[str, Any] = {
        "data": _data(whole, wide, narrow, names, Zs),
        "shift": shift_facts(Zs, Zt, seed, n_permutations),
        "features": feature_facts(wide[0], wide[1]),
        "weights": weight_facts(Zs, Zt),
        "support": support_facts(Zs, Zt),
        "classes": class_facts(source, target, Zs, Zt, seed),
        "model": model_facts(model, source, target, Zs, Zt, seed),
    }
    facts["advice"] = advice(facts)
    facts["settings"] = _settings(max_rows, test_rows, n_permutations, seed, start)
    return facts


def _with_labels(side: Side, most: int, rng: np.random.RandomState) -> Side:
    """At most so many rows; where few have a label, those are among them."""
    if len(side) <= most or side.labels is None:
        return side.drawn(most, rng)
    known = np.array([v is not None and v == v for v in side.labels.tolist()])
    if known.mean() > 0.5:
        return side.drawn(most, rng)
    # The unlabelled rows stay a random sample: the labelled ones only replace part of the draw.
    from shiftlearn.report.rows import take

    places = np.flatnonzero(known)[: most // 4]
    rest = np.flatnonzero(~known)
    drawn = rng.choice(rest, min(len(rest), most - len(places)), replace=False)
    chosen = np.sort(np.concatenate([places, drawn]))
    return Side(take(side.rows, chosen), side.labels[chosen], side.n_all)


def _data(
    whole: tuple[Side, Side], wide: list[Side], narrow: list[Side], names: tuple[str, str], Z: Any
) -> dict[str, Any]:
    source, target = whole
    drawn = {}
    for name, sides in (("columns", wide), ("all columns together", narrow)):
        if any(len(side) < side.n_all for side in sides):
            drawn[name] = {k: len(side) for k, side in zip(("source", "target"), sides)}
    return {
        "names": list(names),
        "source_rows": source.n_all,
        "target_rows": target.n_all,
        "columns": int(source.rows.shape[1]),
        "columns_after_encoding": int(Z.shape[1]),
        "source_labels": len(source.labelled()) if source.labels is not None else 0,
        "target_labels": len(target.labelled()) if target.labels is not None else 0,
        "subsampled": drawn,
    }


def _settings(
    max_rows: int, test_rows: int, n_permutations: int, seed: int, start: float
) -> dict[str, Any]:
    import sklearn

    import shiftlearn

    return {
        "shiftlearn": shiftlearn.__version__, "scikit-learn": sklearn.__version__,
        "numpy": np.__version__, "max_rows": int(max_rows), "test_rows": int(test_rows),
        "n_permutations": int(n_permutations), "random_state": seed,
        "seconds": round(time.perf_counter() - start, 2),
    }  # fmt: skip
