"""The facts of a report as one HTML page, as Markdown, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["check_path", "to_html", "to_json", "to_markdown", "write_report"]

_SHOWN = 40  # columns with a picture; the others are in the table
_LISTED = 500


def write_report(facts: dict[str, Any], path: str | Path) -> Path:
    """Write a report; the suffix (.html, .md, .json) chooses the form. Whole or not at all."""
    from shiftlearn.datasets.folder import write_atomically

    text = check_path(path)(facts)
    place = Path(path).absolute()
    write_atomically(place, lambda part: part.write_text(text, encoding="utf-8"))
    return place


def check_path(path: str | Path) -> Callable[[dict[str, Any]], str]:
    """The writer for a path; raises before any work where there is none."""
    forms = {".html": to_html, ".htm": to_html, ".md": to_markdown, ".json": to_json}
    suffix = Path(path).suffix.lower()
    if suffix not in forms:
        raise ValueError(f"path must end in .html, .md or .json, got {str(path)!r}.")
    return forms[suffix]


def to_json(facts: dict[str, Any]) -> str:
    """The facts themselves."""
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False)


def to_html(facts: dict[str, Any]) -> str:
    """One page that needs nothing else: no network, no fonts, no scripts of others."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    from shiftlearn.report import pictures

    space = Environment(
        loader=PackageLoader("shiftlearn.report", "pages"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    space.filters |= {"p": _p, "share": _share, "number": _number, "count": _count}
    features = facts["features"]
    names = facts["data"]["names"]
    shown = [(f, Markup(pictures.feature_picture(f, names))) for f in features[:_SHOWN]]
    return space.get_template("report.html").render(
        **facts,
        facts_json=Markup(to_json(facts).replace("<", "\\u003c")),
        shown=shown,
        others=features[_SHOWN:_LISTED],
        left_out=max(0, len(features) - _LISTED),
        n_moved=sum(f["moved"] for f in features),
        weight_picture=Markup(pictures.weight_picture(facts["weights"])),
        accuracy_picture=Markup(_accuracies(facts["model"])),
    )


def to_markdown(facts: dict[str, Any]) -> str:
    """The same in Markdown."""
    data, shift = facts["data"], facts["shift"]
    moved = [f for f in facts["features"] if f["moved"]]
    auc, model = shift["domain_auc"], facts["model"]
    lines = [
        f"# Shift report: {data['names'][0]} → {data['names'][1]}", "",
        f"{_count(data['source_rows'])} and {_count(data['target_rows'])} rows, "
        f"{data['columns']} columns.", "",
        "## Is there a shift?", "", shift["verdict"], "",
        "| measure | value |", "|---|---|",
        f"| MMD test | p = {_p(shift['mmd']['p_value'])} |",
        f"| domain AUC | {auc['auc']:.3f} ({auc['low']:.3f} to {auc['high']:.3f}) |",
        f"| Jensen-Shannon | {shift['jensen_shannon_bits']:.3f} bits |", "",
        "## Where?", "",
        f"{len(moved)} of {len(facts['features'])} columns moved (false alarms held to one in "
        "twenty of those named).", "",
        "| column | kind | divergence, bits | adjusted p |", "|---|---|---|---|",
        *(
            f"| {_cell(f['name'])} | {f['kind']} | {f['divergence']:.3f} | {_p(f['p_adjusted'])} |"
            for f in moved[:_SHOWN]
        ), "",
        "## Which kind?", "", facts["classes"]["words"], "",
        "## What does it mean for a model?", "",
    ]  # fmt: skip
    lines += [f"- {line}" for line in _model_lines(facts)]
    lines += ["", "## What to do", ""]
    for i, step in enumerate(facts["advice"], 1):
        use = f" (`{step['use']}`)" if step["use"] else ""
        lines.append(f"{i}. **{step['step']}**{use}: {step['why']}")
    settings = ", ".join(f"{k} {v}" for k, v in facts["settings"].items())
    drawn = "; ".join(f"{k}: {v}" for k, v in data["subsampled"].items()) or "all rows used"
    lines += ["", "## Settings", "", f"{settings}; drawn rows: {drawn}.", ""]
    if "source_accuracy" in model:
        lines.insert(4, f"Model: {model['model']}.\n")
    return "\n".join(lines)


def _model_lines(facts: dict[str, Any]) -> list[str]:
    model, weights, support = facts["model"], facts["weights"], facts["support"]
    lines = []
    if "source_accuracy" in model:
        lines.append(f"right on {_share(model['source_accuracy'])} of the source rows held out")
    for name, words in (("target_measured", "measured"), ("target_estimated", "estimated")):
        found = model.get(name)
        if found:
            span = f"{_share(found['low'])} to {_share(found['high'])}"
            lines.append(f"on the target {words}: {_share(found['accuracy'])} ({span})")
    lines.append(
        f"weighted like the target, {weights['rows']} source rows are worth "
        f"{weights['effective_sample_size']:.0f}; {weights['verdict']}"
    )
    lines.append(
        f"{_share(support['share'])} of the target rows lie outside the source's support "
        f"({_share(support['expected_share'])} would be expected)"
    )
    return lines


def _accuracies(model: dict[str, Any]) -> str:
    from shiftlearn.report.pictures import interval_picture

    if "source_accuracy" not in model:
        return ""
    home = model["source_accuracy"]
    rows = [("source, held out", home, home, home)]
    for name, words in (("target_measured", "measured"), ("target_estimated", "estimated")):
        found = model.get(name)
        if found:
            rows.append((f"target, {words}", found["accuracy"], found["low"], found["high"]))
    return interval_picture(rows)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _count(value: int) -> str:
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
