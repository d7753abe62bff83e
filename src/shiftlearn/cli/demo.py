"""``shiftlearn demo``: what happens to a classifier when the data move, on generated data."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from shiftlearn.cli.console import bar, console, print_json
from shiftlearn.datasets import Dataset, make_rotated_moons, write_atomically

__all__ = ["Findings", "measure", "show"]

_ANGLE = 40.0


@dataclass(frozen=True)
class Findings:
    """What the demo measures."""

    n_source: int
    n_target: int
    angle: float
    mmd2: float
    mmd_p_value: float
    domain_auc: float
    jensen_shannon_bits: float
    n_support: int
    fit_seconds: float
    objective: float
    gap: float
    relative_gap: float
    violation: float
    converged: bool
    accuracy_source: float
    accuracy_target: float


def show(output: Path, *, seed: int, as_json: bool) -> None:
    """Measure, draw, and tell."""
    import matplotlib  # noqa: F401 - better missed now than after the work

    moons = make_rotated_moons(_ANGLE, random_state=seed)
    model, findings = measure(moons, seed)
    write_atomically(output.absolute(), lambda path: _draw(model, moons, findings, path))
    if as_json:
        print_json({**asdict(findings), "picture": str(output.absolute())})
    else:
        _tell(findings, output)


def measure(moons: Dataset, seed: int) -> tuple[Any, Findings]:
    """Fit a machine on the source alone; measure it, and the shift."""
    from shiftlearn import SVC
    from shiftlearn.shift import domain_auc, jensen_shannon, mmd_test

    Xs, ys, Xt, yt = moons.split()
    start = time.perf_counter()
    model = SVC(C=1.0, gamma=1.0).fit(Xs, ys)
    seconds = time.perf_counter() - start
    # Fresh rows of the source: the rows that trained a model flatter it.
    X_new, y_new, _, _ = make_rotated_moons(_ANGLE, random_state=seed + 1).split()
    mmd = mmd_test(Xs, Xt, random_state=seed)
    proof = model.certificate_
    return model, Findings(
        n_source=len(Xs),
        n_target=len(Xt),
        angle=_ANGLE,
        mmd2=float(mmd.statistic),
        mmd_p_value=float(mmd.p_value),
        domain_auc=float(domain_auc(Xs, Xt, random_state=seed).auc),
        jensen_shannon_bits=float(jensen_shannon(Xs, Xt)),
        n_support=len(model.support_),
        fit_seconds=seconds,
        objective=proof.objective,
        gap=proof.gap,
        relative_gap=proof.relative_gap,
        violation=proof.violation,
        converged=proof.converged,
        accuracy_source=float(model.score(X_new, y_new)),
        accuracy_target=float(model.score(Xt, yt)),
    )


def _draw(model: Any, moons: Dataset, findings: Findings, path: Path) -> None:
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
    left.set_title(f"where it was trained: {100 * findings.accuracy_source:.1f} % right")
    right.set_title(f"where it works today: {100 * findings.accuracy_target:.1f} % right")
    for ax in (left, right):
        ax.set(xlabel="", ylabel="")
    page.suptitle(f"A support vector machine, and data that turned by {findings.angle:.0f}°")
    page.savefig(path, dpi=130, format="png")


def _tell(findings: Findings, output: Path) -> None:
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
    for title, lines in _story(findings):
        page.print()
        page.print(Text(title, style="bold"))
        for line in lines:
            page.print(Text("  ").append_text(line), soft_wrap=True)
    page.print()
    page.print(Text.assemble(("Picture  ", "bold"), (str(output), "cyan")), soft_wrap=True)


def _story(f: Findings) -> list[tuple[str, list[Text]]]:
    """Headings and lines."""
    return [
        (
            "1  The data",
            [
                Text(f"{f.n_source} labelled rows from where the model is made (source),"),
                Text(f"{f.n_target} rows from where it works (target), turned by {f.angle:.0f}°."),
            ],
        ),
        (
            "2  Have the data moved?",
            [
                _fact("MMD test", f"p = {f.mmd_p_value:.3f}", _verdict(f.mmd_p_value)),
                _fact("domain AUC", f"{f.domain_auc:.3f}", "0.5: alike, 1: told apart"),
                _fact("divergence", f"{f.jensen_shannon_bits:.3f} bits", "0: alike, 1: disjoint"),
            ],
        ),
        (
            "3  A support vector machine of the source, and its proof",
            [
                _fact(
                    "SVC",
                    f"{f.n_support} support vectors",
                    f"fitted in {1000 * f.fit_seconds:.0f} ms",
                ),
                _fact(
                    "certificate",
                    f"objective {f.objective:.4f}, at most {f.gap:.1e} above the optimum",
                    "proved" if f.converged else "not converged",
                ),
            ],
        ),
        (
            "4  How often is it right?",
            [
                _share("on the source", f.accuracy_source, "green"),
                _share("on the target", f.accuracy_target, "red"),
            ],
        ),
    ]


def _verdict(p_value: float) -> str:
    return "below 0.05: they have moved" if p_value < 0.05 else "no shift is shown by this test"


def _fact(name: str, value: str, remark: str) -> Text:
    return Text.assemble(f"{name:<14}", (value, "bold"), (f"   {remark}", "dim"))


def _share(name: str, share: float, colour: str) -> Text:
    return Text.assemble(f"{name:<14}", (bar(share), colour), (f" {100 * share:5.1f} %", "bold"))
