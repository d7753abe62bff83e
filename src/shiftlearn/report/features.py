"""Where the shift is: every column by itself, ranked, with the number of tests accounted for.

Columns of numbers and dates: the Kolmogorov-Smirnov test; categories: the chi-squared test. The
p-values of all columns together are adjusted by Benjamini and Hochberg's rule, so that among the
columns called moved one in twenty is expected to be a false alarm. The size of a movement is
the Jensen-Shannon divergence of the two histograms, in bits, the gaps a bin of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.report.rows import Side
from shiftlearn.tabular.columns import columns_of, kind_of, to_dates

__all__ = ["adjusted", "feature_facts"]

Floats = NDArray[np.float64]
_BINS, _MOST_CATEGORIES, _DENSE_COLUMNS = 32, 12, 200
_LEVEL = 0.05


def feature_facts(source: Side, target: Side) -> list[dict[str, Any]]:
    """One entry a column, the most moved first."""
    if hasattr(source.rows, "tocsr"):
        found = _sparse(source.rows, target.rows)
    else:
        pairs = zip(columns_of(source.rows), columns_of(target.rows), strict=True)
        found = [_column(str(name), a, b) for (name, a), (_, b) in pairs]
    values = adjusted(np.array([entry["p_value"] for entry in found]))
    for entry, value in zip(found, values.tolist(), strict=True):
        entry["p_adjusted"], entry["moved"] = value, bool(value < _LEVEL)
    return sorted(found, key=lambda e: (not e["moved"], -e["divergence"], e["name"]))


def adjusted(p: Floats) -> Floats:
    """Benjamini and Hochberg's adjusted p-values."""
    n = len(p)
    order = np.argsort(p)[::-1]
    steps = np.minimum.accumulate(p[order] * n / np.arange(n, 0, -1))
    found = np.empty(n)
    found[order] = np.minimum(steps, 1.0)
    return found


def _column(name: str, a: NDArray[Any], b: NDArray[Any]) -> dict[str, Any]:
    kinds = {kind_of(a), kind_of(b)}
    if kinds == {"dates"}:
        return _numbers(name, "dates", *(_as_years(to_dates(v, name)) for v in (a, b)))
    if kinds == {"numbers"}:
        return _numbers(name, "numbers", a, b)
    return _categories(name, "text" if "text" in kinds else "categories", a, b)


def _numbers(name: str, kind: str, a: Floats, b: Floats) -> dict[str, Any]:
    from scipy.stats import ks_2samp

    present = [v[np.isfinite(v)] for v in (a, b)]
    gaps = [1 - len(p) / len(v) for p, v in zip(present, (a, b), strict=True)]
    counts, edges = _histogram(*present)
    p_value = 1.0
    if min(len(p) for p in present) > 0:
        p_value = float(ks_2samp(*present, method="asymp").pvalue)
    gap_p = _chi_squared(np.array([[len(p), len(v) - len(p)] for p, v in zip(present, (a, b))]))
    # Two questions about one column: the smaller p-value counts twice.
    together = min(1.0, 2 * min(p_value, gap_p)) if max(gaps) > 0 else p_value
    shares = [
        np.append(c / max(1, len(v)), g) for c, v, g in zip(counts, (a, b), gaps, strict=True)
    ]
    return {
        "name": name, "kind": kind, "p_value": together, "divergence": _divergence(*shares),
        "source": _moments(present[0], gaps[0]), "target": _moments(present[1], gaps[1]),
        "bins": [float(e) for e in edges],
        "shares": {"source": shares[0][:-1].tolist(), "target": shares[1][:-1].tolist()},
    }  # fmt: skip


def _categories(name: str, kind: str, a: NDArray[Any], b: NDArray[Any]) -> dict[str, Any]:
    texts = [[("(missing)" if _gap(v) else str(v)) for v in values.tolist()] for values in (a, b)]
    names, codes = np.unique(texts[0] + texts[1], return_inverse=True)
    split = len(texts[0])
    table = np.array(
        [np.bincount(part, minlength=len(names)) for part in (codes[:split], codes[split:])]
    )
    order = np.argsort(-table.sum(axis=0), kind="stable")
    table, names = table[:, order], names[order]
    if len(names) > _MOST_CATEGORIES:
        rest = table[:, _MOST_CATEGORIES - 1 :].sum(axis=1, keepdims=True)
        table = np.hstack([table[:, : _MOST_CATEGORIES - 1], rest])
        names = np.append(
            names[: _MOST_CATEGORIES - 1], f"{len(order) - _MOST_CATEGORIES + 1} more"
        )
    shares = table / table.sum(axis=1, keepdims=True)
    gaps = [float(np.mean([_gap(v) for v in values.tolist()])) for values in (a, b)]
    return {
        "name": name, "kind": kind, "p_value": _chi_squared(table),
        "divergence": _divergence(*shares),
        "source": {"missing": gaps[0]}, "target": {"missing": gaps[1]},
        "categories": [str(v)[:40] for v in names],
        "shares": {"source": shares[0].tolist(), "target": shares[1].tolist()},
    }  # fmt: skip


def _sparse(A: Any, B: Any) -> list[dict[str, Any]]:
    """Columns of sparse matrices: normal tests of all means, pictures of the most moved."""
    from scipy.stats import norm

    parts = []
    for M in (A, B):
        mean = np.asarray(M.mean(axis=0)).ravel()
        square = np.asarray(M.multiply(M).mean(axis=0)).ravel()
        parts.append((mean, np.maximum(square - mean**2, 0.0) / M.shape[0]))
    error = np.sqrt(parts[0][1] + parts[1][1])
    z = np.abs(parts[0][0] - parts[1][0]) / np.where(error > 0, error, np.inf)
    p = 2 * norm.sf(z)
    found = []
    for j in np.argsort(-z)[:_DENSE_COLUMNS]:
        a, b = (np.asarray(M[:, [j]].todense()).ravel().astype(float) for M in (A, B))
        found.append({**_numbers(f"column {j}", "numbers", a, b), "p_value": float(p[j])})
    # Columns beyond the pictures count among the tests.
    shown = {int(entry["name"].split()[1]) for entry in found}
    rest = [j for j in range(A.shape[1]) if j not in shown]
    return found + [
        {"name": f"column {j}", "kind": "numbers", "p_value": float(p[j]), "divergence": 0.0,
         "source": {"mean": float(parts[0][0][j])}, "target": {"mean": float(parts[1][0][j])}}
        for j in rest
    ]  # fmt: skip


def _histogram(a: Floats, b: Floats) -> tuple[list[Floats], Floats]:
    """Counts on common bins between the 0.5 % and the 99.5 % quantile; the ends take the rest."""
    both = np.concatenate([a, b])
    if both.size == 0:
        return [np.zeros(1), np.zeros(1)], np.array([0.0, 1.0])
    low, high = np.quantile(both, [0.005, 0.995])
    if not high > low:
        low, high = both.min(), both.max()
    if not high > low:
        low, high = low - 0.5, high + 0.5
    distinct = np.unique(both[:2000])
    edges = np.linspace(low, high, _BINS + 1)
    if len(distinct) <= _BINS and np.isin(both, distinct).all():
        middle = (distinct[1:] + distinct[:-1]) / 2  # few values: a bin for each
        edges = np.concatenate([[distinct[0] - 0.5], middle, [distinct[-1] + 0.5]])
    counts = [np.histogram(np.clip(v, edges[0], edges[-1]), edges)[0].astype(float) for v in (a, b)]
    return counts, edges


def _divergence(p: Floats, q: Floats) -> float:
    """Jensen-Shannon divergence of two discrete distributions, in bits."""
    from scipy.special import rel_entr

    m = (p + q) / 2
    value = (rel_entr(p, m).sum() + rel_entr(q, m).sum()) / (2 * np.log(2))
    return float(min(max(value, 0.0), 1.0))


def _chi_squared(table: NDArray[Any]) -> float:
    from scipy.stats import chi2_contingency

    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(table, correction=False).pvalue)


def _moments(values: Floats, gaps: float) -> dict[str, float | None]:
    if not len(values):
        return {"mean": None, "median": None, "std": None, "missing": float(gaps)}
    return {
        "mean": float(values.mean()), "median": float(np.median(values)),
        "std": float(values.std()), "missing": float(gaps),
    }  # fmt: skip


def _as_years(moments: NDArray[np.datetime64]) -> Floats:
    days = (moments - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "D")
    return np.where(np.isnat(moments), np.nan, 1970 + days / 365.2425)


def _gap(value: Any) -> bool:
    return value is None or value != value
