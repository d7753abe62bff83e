"""The methods of ``fit`` and ``compare``: one line each, by name.

A method is a public estimator, what one needs to have for it, and which rows it learns from:

    source      labelled SOURCE rows alone
    unlabelled  labelled SOURCE rows and TARGET rows without labels
    labelled    SOURCE, and TARGET rows of which some have labels
    normal      rows that are all normal; no labels
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["METHODS", "Method", "available", "build", "fit_help", "get_method"]


@dataclass(frozen=True, slots=True)
class Method:
    """A line of the table; ``home`` is a public name, ``inner`` the ratio or view that it takes."""

    name: str
    home: str
    rows: str
    needs: str
    inner: str | None = None


METHODS = (
    Method(
        "adapt", "AdaptCV", "labelled",
        "TARGET with a few labels; chooses among the ways to adapt",
    ),
    Method(
        "committee", "ShiftCommittee", "unlabelled",
        "TARGET without labels; average over views, safest of these",
    ),
    Method(
        "search", "ShiftSearchCV", "unlabelled",
        "TARGET without labels; tries candidates, keeps source-only unless it pays",
    ),
    Method("daksvm", "DAKSVC", "unlabelled", "TARGET without labels, mean and spread have moved"),
    Method(
        "lsdaksvm", "LSDAKSVC", "unlabelled",
        "the same with least squares; quick with several classes",
    ),
    Method(
        "covariate", "CovariateShiftLogisticRegression", "unlabelled",
        "TARGET without labels, only the inputs have moved",
    ),
    Method(
        "prior", "PriorShiftCorrector", "unlabelled",
        "TARGET without labels, only the class proportions have moved",
    ),
    Method(
        "oneclass", "UncertainOneClassTransferSVM", "normal",
        "few normal TARGET rows, a related SOURCE; no labels",
    ),
    Method(
        "prototype", "PrototypeSVC", "source",
        "SOURCE alone; classes in many scattered regions",
    ),
    Method(
        "adapt-svm", "AdaptSVC", "labelled",
        "TARGET with a few labels; support vectors on top of the source",
    ),
    Method(
        "adapt-logistic", "AdaptLogisticRegression", "labelled",
        "TARGET with a few labels; logistic change of the source",
    ),
    Method(
        "aggregate", "AggregateSVC", "labelled",
        "TARGET with a few labels; machine of all rows, weighted",
    ),
    Method(
        "score-ensemble", "ScoreEnsemble", "labelled",
        "TARGET with a few labels; average of old and new machine",
    ),
    Method("lmproj", "LMProjSVC", "unlabelled", "TARGET without labels, the mean has moved"),
    Method(
        "transductive", "TransductiveSVC", "unlabelled",
        "TARGET without labels, its classes form clusters",
    ),
    Method(
        "cdcs", "CDCSClassifier", "unlabelled",
        "TARGET without labels, its classes form clusters",
    ),
    Method(
        "lwe", "LocallyWeightedEnsemble", "unlabelled",
        "TARGET without labels; models weighted by its clusters",
    ),
    Method(
        "self-training", "SelfTrainingAdapter", "unlabelled",
        "TARGET without labels; learns from its own surest answers",
    ),
    Method(
        "monge", "MongeMapper", "unlabelled",
        "TARGET without labels; SOURCE mapped onto it, then logistic", "view",
    ),
    Method(
        "coral", "CoralMapper", "unlabelled",
        "TARGET without labels; covariances matched, then logistic", "view",
    ),
    Method(
        "standardize", "DomainStandardizer", "unlabelled",
        "TARGET without labels; each standardised by itself, then logistic", "view",
    ),
    Method(
        "reweight", "LogisticRatio", "unlabelled",
        "TARGET without labels; weights of a domain classifier", "ratio",
    ),
    Method(
        "selection-bias", "SelectionBiasRatio", "unlabelled",
        "SOURCE is a biased sample of TARGET", "ratio",
    ),
    Method(
        "kmm", "KernelMeanMatching", "unlabelled",
        "TARGET without labels; weights that match the means", "ratio",
    ),
    Method(
        "kde", "KDERatio", "unlabelled",
        "TARGET without labels, few columns; weights by densities", "ratio",
    ),
    Method(
        "ulsif", "ULSIFRatio", "unlabelled",
        "TARGET without labels; weights by least squares", "ratio",
    ),
    Method(
        "kliep", "KLIEPRatio", "unlabelled",
        "TARGET without labels; weights by likelihood", "ratio",
    ),
    Method("exemplar", "ExemplarSVC", "source", "SOURCE alone; one machine a row"),
    Method(
        "logistic", "LogisticRegression", "source",
        "SOURCE alone; logistic regression, the reference",
    ),
    Method("svc", "SVC", "source", "SOURCE alone; support vector machine with a kernel"),
    Method(
        "linear-svc", "LinearSVC", "source",
        "SOURCE alone; linear support vector machine, many rows",
    ),
    Method("lssvc", "LSSVC", "source", "SOURCE alone; least-squares machine"),
    Method("one-class-svm", "OneClassSVM", "normal", "normal SOURCE rows alone; no labels"),
)  # fmt: skip


def available() -> tuple[Method, ...]:
    """The methods whose estimators this version has."""
    import shiftlearn

    known = {*shiftlearn._HOME, "LogisticRegression"}
    around = {"ratio": {"ReweightedClassifier"}}  # what a ratio is used through
    return tuple(m for m in METHODS if {m.home, *around.get(m.inner or "", set())} <= known)


def get_method(name: str) -> Method:
    """The method of this name."""
    found = {method.name: method for method in available()}
    if name not in found:
        raise ValueError(
            f"there is no method {name!r}; `shiftlearn fit --help` says what each needs: "
            f"{', '.join(found)}."
        )
    return found[name]


def fit_help() -> str:
    """The help of ``fit``: what it does, and all methods with what one needs to have for each."""
    width = max(len(method.name) for method in available())
    lines = [f"{method.name:<{width}}  {method.needs}" for method in available()]
    return (
        "Fit a method; writes the model, and beside it a TOML file that says what was used.\n\n"
        "\b\nMethods, and what you need to have:\n" + "\n".join(lines)
    )


def build(method: Method, settings: Mapping[str, Any]) -> Any:
    """The unfitted estimator with these parameters."""
    estimator = _default(method)
    known = estimator.get_params()
    unknown = [name for name in settings if name not in known]
    if unknown:
        names = sorted(name for name in known if "__" not in name)
        raise ValueError(
            f"{method.name} has no parameter {unknown[0]!r}; --set takes {', '.join(names)}."
        )
    return estimator.set_params(**settings)


def _default(method: Method) -> Any:
    import shiftlearn

    if method.home == "LogisticRegression":
        return _logistic()
    kind = getattr(shiftlearn, method.home)
    if method.inner == "ratio":
        return shiftlearn.ReweightedClassifier(_logistic(), kind())
    if method.inner == "view":
        from sklearn.pipeline import Pipeline

        return Pipeline([("view", kind()), ("classifier", _logistic())])
    needed = [
        p.name
        for p in inspect.signature(kind).parameters.values()
        if p.default is inspect.Parameter.empty
    ]
    return kind(**({"estimator": _logistic()} if "estimator" in needed else {}))


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000)
