"""``shiftlearn demo``: the library in half a minute, on generated data, offline.

Each system works on the data that it is for, beside what one would use without it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from shiftlearn.cli.console import bar, console, print_json
from shiftlearn.cli.work import working
from shiftlearn.datasets import (
    Dataset,
    make_covariate_shift,
    make_gaussian_shift,
    make_gaussian_tasks,
    make_isolated,
    make_rotated_moons,
    write_atomically,
)

__all__ = ["measure", "show"]

_ANGLE = 40.0
_BUDGETS = (5, 10, 20, 40)
_DRAWS = 6


def show(output: Path, picture: Path | None, *, seed: int, as_json: bool) -> None:
    """Measure, write the page, and tell."""
    from shiftlearn.report.write import check_path, write_report

    check_path(output)
    start = time.perf_counter()
    with working("showing"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moons = make_rotated_moons(_ANGLE, random_state=seed)
        model, findings, report = measure(moons, seed)
        write_report(report, output)
        if picture is not None:
            write_atomically(picture.absolute(), lambda part: _draw(model, moons, findings, part))
    findings["seconds"] = round(time.perf_counter() - start, 1)
    findings["page"] = str(output.absolute())
    if as_json:
        print_json(findings)
    else:
        _tell(findings, output)


def measure(moons: Dataset, seed: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The source's model, what the demo measures, and the facts of the page."""
    from shiftlearn import SVC
    from shiftlearn.report import shift_report

    Xs, ys, Xt, yt = moons.split()
    begin = time.perf_counter()
    model = SVC(C=1.0, gamma=1.0).fit(Xs, ys)
    seconds = time.perf_counter() - begin
    # Fresh rows of the source: the rows that trained a model flatter it.
    X_new, y_new, _, _ = make_rotated_moons(_ANGLE, random_state=seed + 1).split()
    report = shift_report(
        Xs, Xt, ys, names=("where it was trained", "where it works today"), test_rows=500,
        n_permutations=100, random_state=seed,
    )  # fmt: skip
    proof, shift = model.certificate_, report["shift"]
    findings = {
        "n_source": len(Xs), "n_target": len(Xt), "angle": _ANGLE,
        "mmd_p_value": shift["mmd"]["p_value"], "domain_auc": shift["domain_auc"]["auc"],
        "jensen_shannon_bits": shift["jensen_shannon_bits"],
        "n_support": len(model.support_), "fit_seconds": seconds,
        "objective": proof.objective, "gap": proof.gap, "converged": proof.converged,
        "accuracy_source": float(model.score(X_new, y_new)),
        "accuracy_target": float(model.score(Xt, yt)),
        "systems": [system(seed) for system in _SYSTEMS],
        "labels": _labels(model, Xt, yt),
        "guard": _guard(moons, seed),
    }  # fmt: skip
    return model, findings, report


def _adapted(seed: int) -> dict[str, Any]:
    from shiftlearn import SVC, AdaptCV, select_queries

    Xs, ys, Xt, yt = make_rotated_moons(_ANGLE, random_state=seed).split()
    source = SVC(C=1.0, gamma=1.0).fit(Xs, ys)
    few = select_queries(source, Xt, 20)
    model = AdaptCV(source, random_state=seed).fit(Xt[few], yt[few])
    rest = np.setdiff1d(np.arange(len(Xt)), few)
    before, after = source.score(Xt[rest], yt[rest]), model.score(Xt[rest], yt[rest])
    return _system("AdaptCV", "a model and 20 labels of today", "the model as it is", before, after)


def _weighted(seed: int) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    from shiftlearn import CovariateShiftLogisticRegression

    data = make_covariate_shift(1.5, random_state=seed)
    Xs, ys, Xt, yt = data.split()
    plain = LogisticRegression().fit(Xs, ys)
    model = CovariateShiftLogisticRegression().fit(
        data.data, data.target, sample_domain=data.domain
    )
    return _system(
        "CovariateShiftLogisticRegression", "no labels of today, only the inputs moved",
        "logistic regression", plain.score(Xt, yt), model.score(Xt, yt),
    )  # fmt: skip


def _aligned(seed: int) -> dict[str, Any]:
    from shiftlearn import DAKSVC, SVC

    data = make_gaussian_shift(random_state=seed)
    Xs, ys, Xt, yt = data.split()
    plain = SVC(kernel="linear").fit(Xs, ys)
    model = DAKSVC(C=1.0, alignment=1e3, kernel="linear")
    model.fit(data.data, data.target, sample_domain=data.domain)
    return _system(
        "DAKSVC", "no labels of today, mean and spread moved", "support vectors",
        plain.score(Xt, yt), model.score(Xt, yt),
    )  # fmt: skip


def _one_class(seed: int) -> dict[str, Any]:
    from shiftlearn import OneClassSVM, UncertainOneClassTransferSVM

    task = make_gaussian_tasks(8, 10, random_state=seed)
    few = task.data[task.domain < 0] if task.domain is not None else task.data
    plain = OneClassSVM(nu=0.1).fit(few)
    model = UncertainOneClassTransferSVM().fit(task.data, sample_domain=task.domain)
    before, after = (np.mean(m.predict(task.test) == task.test_target) for m in (plain, model))
    return _system(
        "UncertainOneClassTransferSVM", "10 normal rows, a related task", "one-class machine",
        before, after,
    )  # fmt: skip


def _prototypes(seed: int) -> dict[str, Any]:
    from shiftlearn import LinearSVC, PrototypeSVC

    data = make_isolated(seed)
    train = np.arange(len(data.data)) % 2 == 0
    X, y = data.data[train], data.target[train]
    rows, labels = data.data[~train], data.target[~train]
    plain, model = LinearSVC().fit(X, y), PrototypeSVC(random_state=seed).fit(X, y)
    return _system(
        "PrototypeSVC", "classes in scattered regions, nothing to tune", "linear machine",
        plain.score(rows, labels), model.score(rows, labels),
    )  # fmt: skip


_SYSTEMS: tuple[Callable[[int], dict[str, Any]], ...] = (
    _adapted, _aligned, _weighted, _one_class, _prototypes,
)  # fmt: skip


def _system(name: str, has: str, instead: str, before: float, after: float) -> dict[str, Any]:
    return {"name": name, "has": has, "instead": instead, "before": float(before),
            "after": float(after)}  # fmt: skip


def _labels(source: Any, Xt: Any, yt: Any) -> dict[str, Any]:
    """Accuracy by the number of labels, the rows chosen and drawn; and the labels saved."""
    from shiftlearn import AdaptSVC, select_queries

    def accuracy(rows: Any) -> float:
        model = AdaptSVC(source, C=10.0, gamma=1.0).fit(Xt[rows], yt[rows])
        return float(model.score(Xt, yt))

    chosen = [accuracy(select_queries(source, Xt, n)) for n in _BUDGETS]
    drawn = [
        float(np.mean([
            accuracy(select_queries(source, Xt, n, strategy="random", random_state=k))
            for k in range(_DRAWS)
        ]))
        for n in _BUDGETS
    ]  # fmt: skip
    # Half a point is not worth counting labels for.
    as_good = next((n for n, score in zip(_BUDGETS, drawn) if score >= chosen[0] - 0.005), None)
    return {"budgets": list(_BUDGETS), "chosen": chosen, "random": drawn,
            "first": _BUDGETS[0], "random_needs": as_good}  # fmt: skip


def _guard(moons: Dataset, seed: int) -> dict[str, Any]:
    """Whether the search would adapt at all, without labels of the target."""
    from shiftlearn import ShiftSearchCV

    places = np.random.default_rng(seed).permutation(len(moons.data))[:400]
    domain = moons._domains()[places]
    y = moons.target[places].astype(object)
    y[domain < 0] = None
    search = ShiftSearchCV(random_state=seed)
    search.fit(moons.data[places], y, sample_domain=domain)
    return {"takes": str(search.best_name_), "verdict": str(search.guard_.verdict)}


def _draw(model: Any, moons: Dataset, findings: dict[str, Any], path: Path) -> None:
    """The same decision regions twice: under the rows that trained them, under today's rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from shiftlearn.plot import DecisionRegionDisplay

    page = Figure(figsize=(11.0, 5.8), layout="constrained")
    FigureCanvasAgg(page)
    left, right = page.subplots(1, 2, sharex=True, sharey=True)
    display = DecisionRegionDisplay.from_estimator(
        model, moons.data, moons.target, sample_domain=moons.domain, ax=left, show="source"
    )
    display.plot(ax=right, show="target")
    left.set_title(f"where it was trained: {100 * findings['accuracy_source']:.1f} % right")
    right.set_title(f"where it works today: {100 * findings['accuracy_target']:.1f} % right")
    for ax in (left, right):
        ax.set(xlabel="", ylabel="")
    page.suptitle(f"A support vector machine, and data that turned by {findings['angle']:.0f}°")
    page.savefig(path, dpi=130, format="png")


def _tell(f: dict[str, Any], output: Path) -> None:
    """The findings as a short story with bars."""
    import shiftlearn

    page = console()
    page.print(
        Text.assemble(
            ("shiftlearn ", "bold cyan"),
            (f"{shiftlearn.__version__}  ", "cyan"),
            ("classifiers that keep working when the data move", "italic"),
        )
    )
    for title, lines in _story(f):
        page.print()
        page.print(Text(title, style="bold"))
        for line in lines:
            page.print(Text("  ").append_text(line), soft_wrap=True)
    page.print()
    page.print(Text.assemble(("Report  ", "bold"), (str(output), "cyan")), soft_wrap=True)
    page.print(
        Text("Next    shiftlearn report OLD.csv NEW.csv --label COLUMN", style="dim"),
        soft_wrap=True,
    )


def _story(f: dict[str, Any]) -> list[tuple[str, list[Text]]]:
    """Headings and lines."""
    return [
        (
            "1  Have the data moved?",
            [
                Text(f"{f['n_source']} rows of before, {f['n_target']} of today: two moons, "
                     f"turned by {f['angle']:.0f}°."),
                _fact("MMD test", f"p = {f['mmd_p_value']:.3f}", _verdict(f["mmd_p_value"])),
                _fact("domain AUC", f"{f['domain_auc']:.3f}", "0.5: alike, 1: told apart"),
                _fact("divergence", f"{f['jensen_shannon_bits']:.3f} bits", "0: alike, 1: apart"),
            ],
        ),
        (
            "2  A model of before, and its proof",
            [
                _fact("SVC", f"{f['n_support']} support vectors",
                      f"fitted in {1000 * f['fit_seconds']:.0f} ms"),
                _fact("certificate",
                      f"objective {f['objective']:.4f}, at most {f['gap']:.1e} above the optimum",
                      "proved" if f["converged"] else "not converged"),
                _share("on the source", f["accuracy_source"], "green"),
                _share("on the target", f["accuracy_target"], "red"),
            ],
        ),
        ("3  Five systems, each where it belongs", _systems(f["systems"])),
        ("4  Labels saved by choosing the rows", _saved(f["labels"])),
        ("5  Adapt at all? Without labels the guard decides", _guarded(f["guard"])),
    ]  # fmt: skip


def _systems(systems: list[dict[str, Any]]) -> list[Text]:
    lines = []
    for s in systems:
        lines += [
            Text.assemble((s["name"], "bold"), (f"   you have: {s['has']}", "dim")),
            _share(s["instead"], s["before"], "red"),
            _share("with it", s["after"], "green"),
        ]
    return lines


def _saved(labels: dict[str, Any]) -> list[Text]:
    pairs = zip(labels["budgets"], labels["chosen"], labels["random"], strict=True)
    lines = [
        Text(f"{n:>3} labels   chosen {100 * a:5.1f} %   drawn at random {100 * b:5.1f} %")
        for n, a, b in pairs
    ]
    needs, first = labels["random_needs"], labels["first"]
    if needs is None:
        words = f"{first} chosen labels do more than {labels['budgets'][-1]} random ones."
    elif needs > first:
        words = f"{first} chosen labels do what {needs} random ones do: {needs - first} saved."
    else:
        words = "On these rows choosing saves nothing."
    return [*lines, Text(words, style="bold")]


def _guarded(guard: dict[str, Any]) -> list[Text]:
    return [_fact("it takes", guard["takes"], ""), Text(guard["verdict"])]


def _verdict(p_value: float) -> str:
    return "below 0.05: they have moved" if p_value < 0.05 else "no shift is shown by this test"


def _fact(name: str, value: str, remark: str) -> Text:
    return Text.assemble(f"{name:<20}", (value, "bold"), (f"   {remark}", "dim"))


def _share(name: str, share: float, colour: str) -> Text:
    return Text.assemble(f"{name:<20}", (bar(share), colour), (f" {100 * share:5.1f} %", "bold"))
