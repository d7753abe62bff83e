"""Small pictures as SVG text: they take their colours from the page, in light and in dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

__all__ = ["feature_picture", "interval_picture", "weight_picture"]

_WIDTH, _HEIGHT = 260, 72


def feature_picture(feature: dict[str, Any], names: Sequence[str]) -> str:
    """Overlaid distributions of one column in both domains."""
    if "shares" not in feature:
        return ""
    a, b = feature["shares"]["source"], feature["shares"]["target"]
    label = f"Distribution of {feature['name']} in {names[0]} and {names[1]}"
    if "categories" in feature:
        return _pairs(a, b, feature["categories"], label)
    ends = [_number(feature["bins"][0]), _number(feature["bins"][-1])]
    return _steps([a, b], ends, label)


def weight_picture(weights: dict[str, Any]) -> str:
    """Histogram of the logarithms of the weights."""
    counts, edges = weights["histogram"]["counts"], weights["histogram"]["log10_edges"]
    total = max(1, sum(counts))
    ends = [f"{10 ** edges[0]:.2g} ×", f"{10 ** edges[-1]:.2g} × the mean weight"]
    return _steps([[c / total for c in counts]], ends, "Distribution of the weights")


def interval_picture(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Shares between 0 and 1 with their intervals, one below the other."""
    height = 26 * len(rows) + 20
    parts = []
    for i, (name, value, low, high) in enumerate(rows):
        y = 26 * i + 14
        parts.append(
            f'<text x="0" y="{y + 4}" class="tick">{escape(name)}</text>'
            f'<line x1="{_at(low)}" x2="{_at(high)}" y1="{y}" y2="{y}" class="span"/>'
            f'<circle cx="{_at(value)}" cy="{y}" r="4.5" class="dot{i % 2}"/>'
            f'<text x="{_at(1) + 10}" y="{y + 4}" class="tick">{100 * value:.1f} %</text>'
        )
    foot = height - 4
    ticks = "".join(
        f'<text x="{_at(v)}" y="{foot}" class="tick" text-anchor="middle">{100 * v:.0f}</text>'
        for v in (0.0, 0.5, 1.0)
    )
    spoken = "; ".join(f"{n}: {100 * v:.1f} percent" for n, v, _, _ in rows)
    return _svg(520, height, spoken, "".join(parts) + ticks)


def _at(share: float) -> float:
    return round(170 + 280 * share, 1)


def _steps(series: Sequence[Sequence[float]], ends: Sequence[str], label: str) -> str:
    top = max(max(values) for values in series) or 1.0
    parts = []
    for k, values in enumerate(series):
        width = _WIDTH / len(values)
        path = f"M0,{_HEIGHT}"
        for i, value in enumerate(values):
            y = _HEIGHT - (_HEIGHT - 4) * value / top
            path += f" L{i * width:.1f},{y:.1f} L{(i + 1) * width:.1f},{y:.1f}"
        parts.append(f'<path d="{path} L{_WIDTH},{_HEIGHT} Z" class="area{k}"/>')
    foot = _HEIGHT + 13
    parts.append(
        f'<text x="0" y="{foot}" class="tick">{escape(ends[0])}</text>'
        f'<text x="{_WIDTH}" y="{foot}" class="tick" text-anchor="end">{escape(ends[1])}</text>'
    )
    return _svg(_WIDTH, _HEIGHT + 17, label, "".join(parts))


def _pairs(a: Sequence[float], b: Sequence[float], names: Sequence[str], label: str) -> str:
    """Two bars for each category."""
    top = max([*a, *b, 1e-9])
    parts = []
    for i, (p, q, name) in enumerate(zip(a, b, names, strict=True)):
        y = 15 * i
        parts.append(
            f'<text x="92" y="{y + 11}" class="tick" text-anchor="end">{escape(name[:14])}</text>'
            f'<rect x="98" y="{y + 1}" width="{130 * p / top:.1f}" height="6" class="area0"/>'
            f'<rect x="98" y="{y + 7}" width="{130 * q / top:.1f}" height="6" class="area1"/>'
        )
    return _svg(_WIDTH, 15 * len(names) + 4, label, "".join(parts))


def _svg(width: int, height: int, label: str, inside: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label, quote=True)}">{inside}</svg>'
    )


def _number(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.4g}"
