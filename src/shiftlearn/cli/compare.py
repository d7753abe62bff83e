"""``shiftlearn compare``: methods side by side on the user's two tables, and which one to take."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from shiftlearn.cli.console import console, print_json
from shiftlearn.cli.learn import learn, pair
from shiftlearn.cli.methods import METHODS, Method, available, get_method
from shiftlearn.cli.tables import Table, read_table
from shiftlearn.cli.work import working

__all__ = ["Candidate", "compare", "recommend", "run"]

_USUAL = (
    "logistic", "svc", "daksvm", "lsdaksvm", "covariate", "standardize", "monge", "coral",
    "committee", "prototype",
)  # fmt: skip
_WITH_LABELS = ("adapt",)
_REFERENCE = "logistic"
_FEWEST = 20  # labelled rows under which real accuracies decide nothing
_LEVEL = 1.96

Interval = tuple[float, float, float]  # value, low, high


@dataclass(frozen=True)
class Candidate:
    """What was found about one method."""

    method: str
    on_source: float | None = None
    estimate: Interval | None = None
    measured: Interval | None = None
    better: Interval | None = None
    seconds: float | None = None
    failed: str | None = None


def run(
    source: str, target: str, label: str | None, methods: Sequence[str], rows: int, seed: int, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Compare and print."""
    first, second = pair(read_table(source, label, label_needed=True), read_table(target, label))
    assert second is not None
    chosen = [get_method(name) for name in methods] if methods else _usual(second)
    with working("comparing"):
        found = compare(first, second, chosen, rows, seed)
    if as_json:
        print_json(found)
    else:
        _tell(found)


def compare(
    source: Table, target: Table, methods: Sequence[Method], rows: int, seed: int
) -> dict[str, Any]:
    """Every method fitted on the same rows and measured on the same others."""
    rng = np.random.default_rng(seed)
    subsampled = {t.name: len(t) for t in (source, target) if len(t) > rows}
    source, target = _some_rows(source, rows, rng), _some_rows(target, rows, rng)
    train, held = _split(source, rng)
    few, test = _labelled_halves(target, any(m.rows == "labelled" for m in methods), rng)
    reference = get_method(_REFERENCE)
    names = {method.name: method for method in (reference, *methods)}
    # Intervals of the differences hold together, or the best of many would look too good.
    level = NormalDist().inv_cdf(1 - 0.025 / max(1, len(names) - 1))
    candidates, base = [], None
    for method in names.values():
        candidate, right = _one(method, train, held, few, target, test, base, level)
        base = right if method.name == _REFERENCE else base
        candidates.append(candidate)
    verdict = recommend(candidates, len(test))
    return {
        "rows": {"source": len(train), "held out": len(held), "target": len(target)},
        "labelled target rows": {"to learn from": _count(few), "to measure on": len(test)},
        "subsampled": subsampled,
        "methods": [asdict(candidate) for candidate in candidates],
        **verdict,
    }


def recommend(candidates: Sequence[Candidate], n_test: int) -> dict[str, str]:
    """Which method to take and why, in words; source-only unless another is credibly better."""
    worked = [c for c in candidates if c.failed is None]
    others = [c for c in worked if c.method != _REFERENCE]
    if n_test >= _FEWEST and others:
        best = max(others, key=lambda c: c.better[0] if c.better else -math.inf)
        assert best.better is not None
        value, low, high = (100 * v for v in best.better)
        span = f"all together 95 %: {low:+.1f} to {high:+.1f}"
        gain = f"{value:+.1f} points against source-only ({span})"
        if low > 0:
            return _say(best.method, f"{gain} on {n_test} labelled target rows.")
        return _say(
            _REFERENCE,
            f"no method is credibly better than source-only on {n_test} labelled target rows; the "
            f"best, {best.method}, has {gain}.",
        )
    return _without_labels(worked, others)


def _without_labels(worked: Sequence[Candidate], others: Sequence[Candidate]) -> dict[str, str]:
    """From estimates alone another method must stand clear of source-only."""
    advice = (
        f"Label {_FEWEST} target rows or more (`shiftlearn select` names them) and compare again."
    )
    base = next((c for c in worked if c.method == _REFERENCE), None)
    known = [c for c in others if c.estimate is not None]
    if base is None or base.estimate is None or not known:
        return _say(_REFERENCE, f"nothing tells the methods apart without labels. {advice}")
    best = max(known, key=lambda c: c.estimate[0] if c.estimate else -math.inf)
    assert best.estimate is not None
    if best.estimate[1] > base.estimate[2]:
        return _say(
            best.method,
            f"the estimate for {best.method} lies clear above that for source-only. {advice}",
        )
    return _say(
        _REFERENCE,
        "without labels of the target it is not credible that another method helps: the estimates "
        f"overlap. {advice}",
    )


def _say(method: str, why: str) -> dict[str, str]:
    return {"take": method, "why": why}


def _usual(target: Table) -> list[Method]:
    """Those that fit what the target has, as far as this version has them."""
    labelled = target.labels is not None and _count(target) > 0
    names = {*_USUAL, *(_WITH_LABELS if labelled else ())}
    known = {method.name for method in available()}
    return [method for method in METHODS if method.name in names & known]


def _one(
    method: Method,
    train: Table,
    held: Table,
    few: Table,
    target: Table,
    test: Table,
    base: Any,
    level: float,
) -> tuple[Candidate, Any]:
    """Fit and measure one method; a failure is a line of the table, not the end."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = learn(method, {}, train, few).model
            estimate = _estimated(model, held, target)
            on_source = _right(model, held).mean()
            right = _right(model, test) if len(test) else None
    except (ValueError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        return Candidate(method.name, failed=str(error).splitlines()[0][:200]), None
    seconds = time.perf_counter() - start
    measured = None if right is None else _wilson(right)
    paired = right is not None and base is not None and method.name != _REFERENCE
    better = (
        _mean_interval(right.astype(float) - base, level) if paired and right is not None else None
    )
    return (
        Candidate(method.name, float(on_source), estimate, measured, better, round(seconds, 2)),
        right,
    )


def _estimated(model: Any, held: Table, target: Table) -> Interval | None:
    """The accuracy on the target as estimated without its labels."""
    import shiftlearn

    ready, last = model[:-1], model[-1]
    try:
        estimator = shiftlearn.AccuracyEstimator()
        estimator.fit(last, ready.transform(held.rows), held.labels)
        value, low, high = estimator.estimate(ready.transform(target.rows))
    except (ValueError, TypeError, AttributeError):
        return None  # a machine with labels alone has nothing to estimate from
    return float(value), float(low), float(high)


def _right(model: Any, table: Table) -> NDArray[np.bool_]:
    assert table.labels is not None
    return np.asarray(model.predict(table.rows) == np.array(table.labels.tolist()))


def _wilson(right: NDArray[np.bool_]) -> Interval:
    n, share = len(right), float(right.mean())
    centre = (share + _LEVEL**2 / (2 * n)) / (1 + _LEVEL**2 / n)
    root = math.sqrt(share * (1 - share) / n + _LEVEL**2 / (4 * n * n))
    reach = _LEVEL * root / (1 + _LEVEL**2 / n)
    return share, max(0.0, centre - reach), min(1.0, centre + reach)


def _mean_interval(values: NDArray[np.float64], level: float) -> Interval:
    mean = float(values.mean())
    reach = level * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 1.0
    return mean, mean - reach, mean + reach


def _some_rows(table: Table, most: int, rng: np.random.Generator) -> Table:
    if len(table) <= most:
        return table
    return table.take(np.sort(rng.choice(len(table), most, replace=False)))


def _split(source: Table, rng: np.random.Generator) -> tuple[Table, Table]:
    """Seven tenths to learn from, three to measure on, class by class."""
    assert source.labels is not None
    known = np.array([label is not None for label in source.labels.tolist()])
    names, codes = np.unique([str(v) for v in source.labels.tolist()], return_inverse=True)
    held: list[int] = []
    for k in range(len(names)):
        places = rng.permutation(np.flatnonzero((codes == k) & known))
        held += places[: int(0.3 * len(places))].tolist()
    rest = np.setdiff1d(np.flatnonzero(known), held)
    if not held:
        raise ValueError(
            f"{source.name} has too few rows of each class to compare; 4 a class are needed."
        )
    return source.take(rest), source.take(np.sort(np.array(held, dtype=np.intp)))


def _labelled_halves(target: Table, share: bool, rng: np.random.Generator) -> tuple[Table, Table]:
    """The target with the labels to learn from, and the labelled rows to measure on."""
    empty = target.take(np.arange(0))
    if target.labels is None:
        return target, empty
    known = rng.permutation(np.flatnonzero([v is not None for v in target.labels.tolist()]))
    learnt = known[: len(known) // 2] if share else known[:0]
    labels = np.full(len(target), None, dtype=object)
    labels[learnt] = [target.labels.tolist()[i] for i in learnt]
    test = target.take(np.sort(known[len(learnt) :]))
    return Table(target.name, target.rows, labels), test


def _count(table: Table) -> int:
    return 0 if table.labels is None else sum(v is not None for v in table.labels.tolist())


def _tell(found: dict[str, Any]) -> None:
    page = console()
    labelled = found["labelled target rows"]
    page.print(
        Text(
            f"{found['rows']['source']} source rows to learn from, {found['rows']['held out']} "
            f"held out; {found['rows']['target']} target rows, {labelled['to learn from']} labels "
            f"to learn from, {labelled['to measure on']} to measure on",
            style="dim",
        )
    )
    for name, count in found["subsampled"].items():
        page.print(Text(f"{name}: drawn from {count} rows (--rows)", style="dim"))
    table = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    headings = ("method", "source", "estimated", "measured", "gain", "s")
    for heading in headings:
        left = heading == "method"
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for line in found["methods"]:
        table.add_row(*_line(line), style="bold" if line["method"] == found["take"] else "")
    page.print(table)
    page.print(
        Text(
            "Accuracy in percent: on held-out source rows; on the target estimated without labels, "
            "measured with them; the gain over source-only (*) with its interval.",
            style="dim",
        )
    )
    for line in found["methods"]:
        if line["failed"]:
            page.print(Text(f"{line['method']}: {line['failed']}", style="dim"))
    page.print(Text.assemble(("Take ", "bold"), (found["take"], "bold cyan")))
    page.print(Text(found["why"]))


def _line(line: dict[str, Any]) -> tuple[str, ...]:
    name = f"{line['method']} *" if line["method"] == _REFERENCE else line["method"]
    if line["failed"]:
        return (name, "failed", "", "", "", "")
    source = "–" if line["on_source"] is None else f"{100 * line['on_source']:.1f}"
    spans = [_span(line["estimate"]), _span(line["measured"]), _span(line["better"], sign="+")]
    return (name, source, *spans, f"{line['seconds']:.1f}")


def _span(interval: Interval | None, sign: str = "") -> str:
    if interval is None:
        return "–"
    value, low, high = (100 * number for number in interval)
    between = " " if sign else "–"
    return f"{value:{sign}.1f} ({low:{sign}.0f}{between}{high:{sign}.0f})"
