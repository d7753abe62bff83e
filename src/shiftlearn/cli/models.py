"""``shiftlearn fit``, ``predict``, ``select`` and ``info MODEL``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable
from rich.text import Text

from shiftlearn.cli.console import console, print_json
from shiftlearn.cli.learn import Learned, learn, pair
from shiftlearn.cli.methods import get_method
from shiftlearn.cli.settings import as_toml, parse, read_config
from shiftlearn.cli.tables import (
    Table,
    check_folder,
    check_output,
    matched,
    read_table,
    widened,
    write_table,
)
from shiftlearn.cli.work import working

__all__ = [
    "fit",
    "fitting",
    "info",
    "loaded",
    "predict",
    "predict_on_cluster",
    "predicted",
    "select",
]


def fit(given: dict[str, Any], pairs: Sequence[str], config: str | None, *, as_json: bool) -> None:
    """Fit a method, write the model and, beside it, what was used."""
    import skops.io  # noqa: F401 - better missed now than after the work

    wanted = {**read_config(config), **{k: v for k, v in given.items() if v is not None}}
    settings = {**wanted.get("set", {}), **parse(pairs)}
    for name in ("source", "output"):
        if not wanted.get(name):
            raise ValueError(f"{name.upper()} is needed, on the command line or in --config.")
    method, output = get_method(wanted.get("method", "adapt")), wanted["output"]
    check_folder(output)
    source, target = _tables(wanted, method.rows)
    with working(f"fitting {method.name}"):
        learned = learn(method, settings, source, target)
    facts = {**learned.facts, "label": wanted.get("label"), "target_score": None}
    facts["target_score"] = _score(learned, target, method.rows)
    place, beside = _write(learned, facts, wanted, settings)
    if as_json:
        print_json({**facts, "model": str(place), "settings_file": str(beside)})
    else:
        _tell_fit(facts, place, beside)


def predict(
    model: str, data: str, output: str, *, scores: bool, trusted: Sequence[str], as_json: bool
) -> None:
    """Write one predicted label a row, in the order of the rows."""
    check_output(output)
    pipeline, facts = loaded(model, trusted)
    table = fitting(read_table(data, facts.get("label")), facts)
    with working("predicting"):
        labels = pipeline.predict(table.rows)
        more = _score_columns(pipeline, table.rows) if scores else {}
    name = facts.get("label") or "label"
    write_table({name: _for_polars(labels), **more}, output)
    if as_json and output != "-":
        values, counts = np.unique(labels, return_counts=True)
        shares = {str(v): int(c) for v, c in zip(values.tolist(), counts, strict=True)}
        print_json({"rows": len(labels), "labels": shares, "output": _absolute(output)})
    elif output != "-":
        console().print(Text(f"{len(labels)} rows written to {output}"), soft_wrap=True)


def predicted(model: str, data: str, scores: bool, trusted: Sequence[str]) -> dict[str, Any]:
    """The columns that `predict` writes for one file."""
    pipeline, facts = loaded(model, trusted)
    table = fitting(read_table(data, facts.get("label")), facts)
    more = _score_columns(pipeline, table.rows) if scores else {}
    return {facts.get("label") or "label": _for_polars(pipeline.predict(table.rows)), **more}


def predict_on_cluster(
    model: str, data: str, output: str, scheduler: str, *, scores: bool, trusted: Sequence[str],
    as_json: bool,
) -> None:  # fmt: skip
    """Write one file of labels for each file of a folder."""
    from shiftlearn.cli.cluster import predict_folder

    loaded(model, trusted)  # what is wrong with the model is said before any work
    facts = predict_folder(model, data, output, scheduler, scores, trusted)
    if as_json:
        print_json(facts)
    else:
        words = f"{facts['rows']} rows in {facts['files']} files written to {output}"
        console().print(Text(words), soft_wrap=True)


def select(
    model: str, pool: str, number: int, output: str, strategy: str, seed: int,
    trusted: Sequence[str], *, as_json: bool,
) -> None:  # fmt: skip
    """Write the rows worth labelling next, most wanted first."""
    from shiftlearn import select_queries

    check_output(output)
    pipeline, facts = loaded(model, trusted)
    table = fitting(read_table(pool, facts.get("label")), facts)
    ready = pipeline[:-1].transform(table.rows)
    last = pipeline[-1]
    with working("selecting"):
        chosen = select_queries(last, ready, number, strategy=strategy, random_state=seed)
    columns: dict[str, Any] = {"row": chosen}
    if not table.sparse:
        picked = table.rows[chosen.tolist()]
        columns |= {(f"{c} (data)" if c == "row" else c): picked[c] for c in picked.columns}
    write_table(columns, output)
    if as_json and output != "-":
        print_json({"rows": chosen.tolist(), "strategy": strategy, "output": _absolute(output)})
    elif output != "-":
        message = f"{len(chosen)} of {len(table)} rows written to {output}; `row` counts from 0"
        console().print(Text(message), soft_wrap=True)


def info(model: str, *, as_json: bool) -> None:
    """What a model file says about itself; the model is not built."""
    from shiftlearn.files import describe

    if not Path(model).is_file():
        raise ValueError(f"there is no file {model}.")
    facts = describe(model)
    if as_json:
        print_json(facts)
        return
    _print_facts({k: v for k, v in facts.items() if k != "notes"} | facts["notes"])


def _tables(wanted: dict[str, Any], rows: str) -> tuple[Table, Table | None]:
    label = wanted.get("label")
    source = read_table(wanted["source"], label, label_needed=rows != "normal")
    if wanted["source"] == "-" and wanted.get("target") == "-":
        raise ValueError("SOURCE and TARGET cannot both be standard input.")
    target = read_table(wanted["target"], label) if wanted.get("target") else None
    if wanted.get("normal") is not None:
        source = _normal_rows(source, wanted["normal"])
    return pair(source, target)


def _normal_rows(source: Table, normal: str) -> Table:
    """The rows of the class that counts as normal."""
    if source.labels is None:
        raise ValueError("--normal needs --label, the column that holds the classes.")
    chosen = np.flatnonzero([str(label) == normal for label in source.labels.tolist()])
    if not chosen.size:
        raise ValueError(f"{source.name} has no row whose label is {normal!r}.")
    return source.take(chosen)


def _score(learned: Learned, target: Table | None, rows: str) -> dict[str, Any] | None:
    """Accuracy on the labelled target rows, where the method has not learnt from them."""
    if target is None or target.labels is None or rows in ("labelled", "normal"):
        return None
    known = np.flatnonzero([label is not None for label in target.labels.tolist()])
    if not known.size:
        return None
    part = target.take(known)
    assert part.labels is not None
    right = learned.model.predict(part.rows) == np.array(part.labels.tolist())
    return {"accuracy": float(np.mean(right)), "rows": int(known.size)}


def _write(
    learned: Learned, facts: dict[str, Any], wanted: dict[str, Any], settings: dict[str, Any]
) -> tuple[Path, Path]:
    from shiftlearn import save
    from shiftlearn.datasets.folder import write_atomically

    place = save(learned.model, wanted["output"], notes=facts)
    used = {k: wanted.get(k) for k in ("source", "target", "label", "normal")}
    result = {k: facts[k] for k in ("class", "rows", "seconds", "certificate", "target_score")}
    document = {
        **used, "method": facts["method"], "output": wanted["output"],
        "set": settings, "result": result,
    }  # fmt: skip
    beside = place.with_suffix(".toml")
    text = "# What `shiftlearn fit` used; --config reads it again.\n" + as_toml(document)
    write_atomically(beside, lambda part: part.write_text(text, encoding="utf-8"))
    return place, beside


def loaded(model: str, trusted: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The pipeline in a file that `fit` wrote, and its notes."""
    from shiftlearn import load
    from shiftlearn.files import describe

    if not Path(model).is_file():
        raise ValueError(f"there is no file {model}.")
    facts = describe(model)["notes"]
    if "columns" not in facts or "width" not in facts:
        raise ValueError(f"{model} was not written by `shiftlearn fit`; use it from Python.")
    return load(model, trusted=list(trusted)), facts


def fitting(table: Table, facts: dict[str, Any]) -> Table:
    """The rows in the form that the model wants."""
    if facts["columns"]:
        return matched(table, facts["columns"], "the model")
    return widened(table, facts["width"], "the model")


def _score_columns(pipeline: Any, rows: Any) -> dict[str, Any]:
    """Probabilities where the model has them, else scores: one column a class."""
    classes = [str(label) for label in getattr(pipeline[-1], "classes_", [])]
    if hasattr(pipeline, "predict_proba"):
        kind, values = "probability", np.asarray(pipeline.predict_proba(rows))
    else:
        kind, values = "score", np.asarray(pipeline.decision_function(rows))
    if values.ndim == 1:
        return {kind: values}
    return {f"{kind} {label}": values[:, k] for k, label in enumerate(classes)}


def _for_polars(labels: Any) -> Any:
    return labels.tolist() if labels.dtype.kind in "OU" else labels


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _tell_fit(facts: dict[str, Any], place: Path, beside: Path) -> None:
    page = console()
    rows = ", ".join(f"{count} {name} rows" for name, count in facts["rows"].items() if count)
    page.print(Text(f"{facts['method']} ({facts['class']}) fitted on {rows}", style="bold"))
    proof, score = facts["certificate"], facts["target_score"]
    if proof is not None and proof["gap"] is not None:
        state = "proved" if proof["converged"] else "not converged"
        page.print(Text(f"objective {proof['objective']:.6g}, gap {proof['gap']:.1e}, {state}"))
    if score is not None:
        share = f"{100 * score['accuracy']:.1f} %"
        page.print(Text(f"right on {share} of the {score['rows']} labelled target rows"))
    page.print(Text(f"model     {place}\nsettings  {beside}"), soft_wrap=True)


def _print_facts(facts: dict[str, Any]) -> None:
    table = RichTable(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(_text(value)))
    console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(entry)}" for name, entry in value.items()) or "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)
