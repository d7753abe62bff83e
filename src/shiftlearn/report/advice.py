"""What to do: the methods that fit what the user has, and why. Measured facts in, words out."""

from __future__ import annotations

from typing import Any

__all__ = ["advice"]

_LITTLE = 0.1  # weights that leave fewer than a tenth of the rows are of no use


def advice(facts: dict[str, Any]) -> list[dict[str, str]]:
    """Steps in the order in which to take them; each names a method where there is one."""
    has, steps = facts["data"], []
    if not facts["shift"]["moved"]:
        steps.append(_step("keep the model", "", "No shift is shown; watch the next data again."))
    if not has["source_labels"]:
        return [*steps, _one_class(facts)]
    if has["target_labels"] >= 10:
        steps.append(
            _step(
                "adapt to the labelled target rows",
                "AdaptCV",
                f"There are {has['target_labels']} labels of the target: worth more than all "
                "methods without labels together. The strength of the change is chosen by them.",
            )
        )
    else:
        steps.append(
            _step(
                "label a few target rows",
                "select_queries",
                "Five rows a class are worth more than every method without labels; these are the "
                "rows to label.",
            )
        )
    if facts["shift"]["moved"]:
        steps += _without_labels(facts)
    steps.append(
        _step(
            "compare on your data",
            "shiftlearn compare",
            "No method helps everywhere, and source-only is often the safest; take another "
            "only where it is credibly better.",
        )
    )
    return steps


def _without_labels(facts: dict[str, Any]) -> list[dict[str, str]]:
    steps = []
    share, outside = facts["weights"]["share"], facts["support"]["share"]
    classes = facts["classes"]
    if classes.get("known") == "labels" and classes.get("moved"):
        steps.append(
            _step(
                "correct for the classes' proportions",
                "PriorShiftCorrector",
                "The labels show that the proportions moved. Only where the classes themselves "
                "look as before; else it does harm.",
            )
        )
    if share >= _LITTLE:
        steps.append(
            _step(
                "weigh the source rows",
                "CovariateShiftLogisticRegression",
                f"Weighted like the target the source rows are still worth {100 * share:.0f} % of "
                "their number. Right where the same row has the same label in both domains.",
            )
        )
    else:
        steps.append(
            _step(
                "do not weigh the source rows",
                "",
                f"Weighted like the target they are worth {100 * share:.1f} % of their number: too "
                "few decide everything.",
            )
        )
    if outside > 0.2:
        reason = f"{100 * outside:.0f} % of the target rows lie where the source has none"
    else:
        reason = "The domains overlap"
    steps.append(
        _step(
            "align the domains",
            "DAKSVC",
            f"{reason}; a projection in which mean and spread agree may carry the labels over. "
            "ShiftCommittee averages several such views and is the safer choice.",
        )
    )
    return steps


def _one_class(facts: dict[str, Any]) -> dict[str, str]:
    return _step(
        "one class",
        "UncertainOneClassTransferSVM",
        "There are no labels: if all rows are normal ones, a detector is learnt from the target "
        "rows with the source as a related task.",
    )


def _step(what: str, method: str, why: str) -> dict[str, str]:
    return {"step": what, "use": method, "why": why}
