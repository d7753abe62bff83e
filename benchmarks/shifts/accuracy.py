"""How well is the accuracy on the target estimated? Every estimator, every task.

    python benchmarks/shifts/accuracy.py run --role judging
    NML_DISABLE_USAGE_LOGGING=1 <environment with NannyML> benchmarks/shifts/accuracy.py cbpe
    python benchmarks/shifts/accuracy.py table --role judging

A classifier is trained on 60 % of the source rows; the estimators get the other 40 % with labels
and the target rows without. "50 labels": three random samples a task. `cbpe` needs NannyML only;
`run` leaves the probabilities that it reads.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
RESULTS = Path(__file__).resolve().parents[1] / "results"
LABELS, DRAWS = 50, 3


def folder() -> Path:
    """Where predictions and figures of finished tasks are kept."""
    kept = Path(os.environ.get("SHIFTLEARN_RESULTS", RESULTS / "kept")) / "accuracy"
    kept.mkdir(parents=True, exist_ok=True)
    return kept


def classifiers() -> dict[str, Any]:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    return {
        "logistic": LogisticRegression(max_iter=1000),
        "trees": ExtraTreesClassifier(100, random_state=0, n_jobs=1),
    }


def divided(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """60 % of the source rows to train on, 40 % for the estimators."""
    from sklearn.model_selection import train_test_split

    by_class = y if np.bincount(y).min() >= 2 else None
    return train_test_split(np.arange(len(y)), test_size=0.4, random_state=0, stratify=by_class)


def one(task: Any, name: str, model: Any) -> dict[str, Any]:
    from shiftlearn import AccuracyEstimator

    shift = task.load()
    train, held = divided(shift.ys)
    model.fit(shift.Xs[train], shift.ys[train])
    held = held[np.isin(shift.ys[held], model.classes_)]
    estimator = AccuracyEstimator().fit(model, shift.Xs[held], shift.ys[held])
    look = estimator._look(shift.Xs[held], shift.Xt)  # once for all draws of labels
    found = estimator._answer(look, None)
    details = estimator.details_
    truth = float(model.score(shift.Xt, shift.yt))
    few = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([draw, zlib.crc32(task.name.encode())])
        rows = rng.permutation(len(shift.yt))[: min(LABELS, len(shift.yt) // 2)]
        codes = np.full(len(shift.yt), -1)
        codes[rows] = np.searchsorted(model.classes_, shift.yt[rows])
        few.append([float(v) for v in estimator._answer(look, codes)])
    np.savez_compressed(
        folder() / f"{task.role}-{zlib.crc32(task.name.encode()):08x}-{name}.npz",
        held=model.predict_proba(shift.Xs[held]), truth=shift.ys[held],
        target=model.predict_proba(shift.Xt), classes=model.classes_,
    )  # fmt: skip
    return {
        "task": task.name, "data": task.data, "kind": task.kind, "classifier": name,
        "truth": truth, "auto": list(map(float, found)), "few": few, **details,
    }  # fmt: skip


def run(role: str) -> None:
    from shifts.task import tasks

    path = folder() / f"{role}.jsonl"
    done = {(r["task"], r["classifier"]) for r in records(path)}
    with path.open("a") as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in tasks(role):
            for name, model in classifiers().items():
                if (task.name, name) not in done:
                    out.write(json.dumps(one(task, name, model)) + "\n")
                    out.flush()


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def cbpe(role: str) -> None:
    """NannyML's estimate from the predictions that `run` left; one chunk is the whole target."""
    import pandas as pd
    from nannyml import CBPE

    answers = folder() / f"cbpe-{role}.json"
    out = json.loads(answers.read_text()) if answers.exists() else {}
    for path in sorted(folder().glob(f"{role}-*.npz")):
        if path.stem in out:
            continue
        kept = np.load(path)
        k = kept["held"].shape[1]
        columns = {i: f"p{i}" for i in range(k)}

        def frame(p: np.ndarray, y: np.ndarray | None, columns: Any = columns) -> Any:
            table = pd.DataFrame(p, columns=list(columns.values()))
            if len(columns) == 2:
                table = table[["p1"]]
            table["predicted"] = p.argmax(axis=1)
            if y is not None:
                table["truth"] = y
            return table

        truth = np.searchsorted(kept["classes"], kept["truth"])
        estimator = CBPE(
            metrics=["accuracy"], y_pred="predicted", y_true="truth",
            y_pred_proba="p1" if k == 2 else columns,
            problem_type="classification_binary" if k == 2 else "classification_multiclass",
            chunk_number=1,
        )  # fmt: skip
        try:
            estimator.fit(frame(kept["held"], truth))
            result = estimator.estimate(frame(kept["target"], None))
            table = result.filter(period="analysis").to_df()
            out[path.stem] = float(table[("accuracy", "value")].iloc[0])
            answers.write_text(json.dumps(out))
        except Exception as error:
            print(f"failed: {path.stem}: {type(error).__name__}: {error}", file=sys.stderr)


NAMES = (
    "validation", "importance", "calibrated", "difference", "agreement", "thresholded",
    "transport", "transport-thresholded",
)  # fmt: skip


def table(role: str, write: bool) -> str:
    found = records(folder() / f"{role}.jsonl")
    path = folder() / f"cbpe-{role}.json"
    by_peer = json.loads(path.read_text()) if path.exists() else {}
    truth = np.array([r["truth"] for r in found])
    control = np.array([r["kind"] == "control" for r in found])
    columns = {name: np.array([r[name] for r in found]) for name in NAMES}
    keys = [f"{role}-{zlib.crc32(r['task'].encode()):08x}-{r['classifier']}" for r in found]
    if by_peer:
        columns["NannyML CBPE"] = np.array([by_peer.get(key, np.nan) for key in keys])
    columns["**auto**"] = np.array([r["auto"][0] for r in found])
    lines = ["| estimator | mean error | median | on the shifts | on the controls | bias |",
             "|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for name, values in columns.items():
        error = 100 * (values - truth)
        good = np.isfinite(error)
        size = np.abs(error)
        lines.append(
            f"| {name} | {size[good].mean():.1f} | {np.median(size[good]):.1f} | "
            f"{size[good & ~control].mean():.1f} | {size[good & control].mean():.1f} | "
            f"{error[good].mean():+.1f} |"
        )
    page = "\n".join([*lines, "", intervals(found, truth, control), "", by_data(found, columns)])
    if write:
        (RESULTS / f"accuracy-{role}.md").write_text(page + "\n")
        (RESULTS / f"accuracy-{role}.json").write_text(json.dumps(found, indent=1) + "\n")
    return page


def intervals(found: list[dict[str, Any]], truth: np.ndarray, control: np.ndarray) -> str:
    where = "on the shifts | on the controls"
    lines = [f"| interval, nominal 90 % | covers | {where} | median width | {where} |"]
    lines.append("|---" + "|---:" * 6 + "|")
    for name, pick in (("no labels", None), (f"{LABELS} random labels", DRAWS)):
        ends = [[r["auto"]] if pick is None else r["few"] for r in found]
        inside = np.array([np.mean([a <= t <= b for _, a, b in e]) for e, t in zip(ends, truth)])
        width = np.array([100 * np.mean([b - a for _, a, b in e]) for e in ends])
        lines.append(
            f"| {name} | {100 * inside.mean():.0f} % | {100 * inside[~control].mean():.0f} % | "
            f"{100 * inside[control].mean():.0f} % | {np.median(width):.1f} | "
            f"{np.median(width[~control]):.1f} | {np.median(width[control]):.1f} |"
        )
    return "\n".join(lines)


def by_data(found: list[dict[str, Any]], columns: dict[str, np.ndarray]) -> str:
    truth = np.array([r["truth"] for r in found])
    sets = np.array([r["data"] for r in found])
    shown = [n for n in columns if n not in ("calibrated", "transport-thresholded")]
    lines = ["| data set | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|"]
    for data in dict.fromkeys(sets):
        own = sets == data
        errors = [np.abs(columns[n] - truth)[own] for n in shown]
        cells = [f"{100 * e.mean():.1f}" if np.isfinite(e).all() else "–" for e in errors]
        lines.append(f"| {data} | " + " | ".join(cells) + " |")
    return "\n".join(["Mean error by data set:", "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(prog="accuracy", description=__doc__)
    parser.add_argument("what", choices=("run", "cbpe", "table"))
    parser.add_argument("--role", choices=("choosing", "judging"), default="judging")
    parser.add_argument("--write", action="store_true", help="keep the table in results")
    args = parser.parse_args()
    if args.what == "run":
        run(args.role)
    elif args.what == "cbpe":
        cbpe(args.role)
    else:
        print(table(args.role, args.write))


if __name__ == "__main__":
    main()
