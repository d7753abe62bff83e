"""Is there a shift, of which kind, and what does it mean for a model: what a report measures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftlearn.report.rows import Side
from shiftlearn.shift import (
    domain_auc,
    effective_sample_size,
    jensen_shannon,
    mmd_test,
    pareto_k,
    pareto_verdict,
)

__all__ = ["class_facts", "model_facts", "shift_facts", "support_facts", "weight_facts"]

_LEVEL = 0.05
_NEIGHBOUR = 5


def shift_facts(A: Any, B: Any, seed: int, n_permutations: int) -> dict[str, Any]:
    """The three measures of both samples, and the verdict in words."""
    mmd = mmd_test(A, B, n_permutations=n_permutations, random_state=seed)
    auc = domain_auc(A, B, random_state=seed)
    bits = float(jensen_shannon(A, B, random_state=seed))
    moved = bool(mmd.p_value < _LEVEL or auc.low > 0.5)
    return {
        "moved": moved,
        "verdict": _verdict(moved, auc.auc),
        "mmd": {"statistic": float(mmd.statistic), "p_value": float(mmd.p_value),
                "permutations": n_permutations},
        "domain_auc": {"auc": auc.auc, "low": auc.low, "high": auc.high, "level": auc.level},
        "jensen_shannon_bits": bits,
    }  # fmt: skip


def weight_facts(A: Any, B: Any) -> dict[str, Any]:
    """How many source rows are left when they are weighted to look like the target."""
    from shiftlearn.covariate.logistic_ratio import LogisticRatio

    ratio = LogisticRatio().fit(A, B)
    weights = np.asarray(ratio.weights_, dtype=np.float64)
    worth, tail = effective_sample_size(weights), pareto_k(weights)
    counts, edges = np.histogram(np.log10(np.maximum(weights / weights.mean(), 1e-6)), 24)
    return {
        "rows": len(weights),
        "effective_sample_size": float(worth),
        "share": float(worth / len(weights)),
        "pareto_k": None if not math.isfinite(tail) else float(tail),
        "verdict": pareto_verdict(tail, len(weights)),
        "histogram": {"log10_edges": edges.tolist(), "counts": counts.tolist()},
        "certificate": _proof(ratio),
    }


def support_facts(A: Any, B: Any) -> dict[str, Any]:
    """The share of target rows that lie further from the source than its own rows do.

    The distance is that to the fifth nearest source row; the limit is what one source row in a
    hundred exceeds among the others.
    """
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=_NEIGHBOUR).fit(A)
    own, _ = NearestNeighbors(n_neighbors=_NEIGHBOUR + 1).fit(A).kneighbors(A)
    limit = float(np.quantile(own[:, -1], 0.99))
    distance, _ = search.kneighbors(B)
    outside = distance[:, -1] > limit
    return {"rows": len(outside), "outside": int(outside.sum()), "share": float(outside.mean()),
            "expected_share": 0.01, "limit": limit}  # fmt: skip


def class_facts(source: Side, target: Side, Zs: Any, Zt: Any, seed: int) -> dict[str, Any]:
    """What labels tell about the proportions of the classes, and what they cannot."""
    if source.labels is None:
        return {"known": "nothing", "words": "Without labels nothing is known about the classes."}
    known = source.labelled()
    assert known.labels is not None
    names, counts = np.unique(known.labels, return_counts=True)
    facts: dict[str, Any] = {
        "classes": [str(name) for name in names],
        "source": (counts / counts.sum()).tolist(),
    }
    few = target.labelled()
    if few.labels is not None and len(few) >= 10:
        return {**facts, **_seen_proportions(names, counts, few.labels)}
    return {**facts, **_estimated_proportions(known, source, target, Zs, Zt, seed)}


def model_facts(
    model: Any, source: Side, target: Side, Zs: Any, Zt: Any, seed: int
) -> dict[str, Any]:
    """Accuracy at home, and on the target as measured or as estimated without labels."""
    known = np.flatnonzero(_has_label(source))
    if known.size < 20:
        return {"words": "Without labelled source rows nothing is said about a model."}
    assert source.labels is not None
    if model is None:
        model, held, rows_of = _own_model(known, source.labels, Zs, Zt, seed)
        name = "logistic regression on seven tenths of the source rows"
    else:
        from shiftlearn.report.rows import take

        held, name = known, f"{type(model).__name__}, as given; source rows may have trained it"
        both = {"source": source.rows, "target": target.rows}

        def rows_of(side: str, places: NDArray[np.intp]) -> Any:
            return take(both[side], places)

    labels = np.array([source.labels[i] for i in held])
    home = rows_of("source", held)
    facts: dict[str, Any] = {
        "model": name,
        "source_accuracy": float(np.mean(model.predict(home) == labels)),
        "source_rows": len(held),
    }
    everywhere = np.arange(len(target))
    seen = np.flatnonzero(_has_label(target))
    if seen.size:
        assert target.labels is not None
        right = model.predict(rows_of("target", seen)) == np.array([target.labels[i] for i in seen])
        facts["target_measured"] = _wilson(right)
    facts["target_estimated"] = _estimated(
        model, home, labels, rows_of("target", everywhere), target
    )
    return facts


def _verdict(moved: bool, auc: float) -> str:
    if not moved:
        return (
            "No shift is shown. That is no proof that there is none: small shifts need more rows, "
            "and what moved between the columns and the labels cannot be seen here."
        )
    size = "slightly" if auc < 0.65 else "clearly" if auc < 0.9 else "almost completely"
    return f"The data have moved: a classifier tells the domains {size} apart."


def _proof(estimator: Any) -> dict[str, Any] | None:
    proof = getattr(estimator, "certificate_", None)
    if proof is None:
        return None
    return {
        "solved by": type(estimator).__name__,
        "gap": None if math.isnan(proof.gap) else float(proof.gap),
        "objective": float(proof.objective), "converged": bool(proof.converged),
    }  # fmt: skip


def _seen_proportions(
    names: NDArray[Any], counts: NDArray[Any], labels: NDArray[Any]
) -> dict[str, Any]:
    from scipy.stats import chi2_contingency

    found = np.array([np.sum(labels == name) for name in names])
    new = sorted({str(v) for v in labels.tolist()} - {str(name) for name in names})
    table = np.array([counts, found])
    p_value = float(chi2_contingency(table, correction=False).pvalue) if found.all() else None
    moved = p_value is not None and p_value < _LEVEL
    words = (
        f"The labels of {len(labels)} target rows "
        + ("show other proportions of the classes" if moved else "show the same proportions")
        + ", as far as these rows were drawn at random."
    )
    if new:
        words += f" Classes that the source does not have: {', '.join(new)}."
    return {
        "known": "labels", "target": (found / max(1, found.sum())).tolist(), "p_value": p_value,
        "moved": moved, "words": words,
    }  # fmt: skip


def _estimated_proportions(
    known: Side, source: Side, target: Side, Zs: Any, Zt: Any, seed: int
) -> dict[str, Any]:
    import shiftlearn

    words = (
        "Without labels of the target nobody can tell from the rows alone whether the classes' "
        "proportions moved, or what the classes look like."
    )
    from sklearn.linear_model import LogisticRegression

    places = np.flatnonzero(_has_label(source))
    X, y, domain = shiftlearn.stack_domains(Zs[places], known.labels, Zt)
    try:
        model = LogisticRegression(max_iter=1000)
        fitted = shiftlearn.PriorShiftCorrector(model, random_state=seed)
        fitted.fit(X, y, sample_domain=domain)
    except ValueError:
        return {"known": "nothing", "words": words}
    interval = np.asarray(fitted.target_priors_interval_, dtype=float)
    interval = interval if interval.shape[-1] == 2 else interval.T
    return {
        "known": "estimate", "target": np.asarray(fitted.target_priors_).tolist(),
        "target_interval": interval.tolist(),
        "words": words + " If only the proportions moved, they would be those estimated here.",
    }  # fmt: skip


def _has_label(side: Side) -> NDArray[np.bool_]:
    if side.labels is None:
        return np.zeros(len(side), dtype=bool)
    return np.array([v is not None and v == v for v in side.labels.tolist()], dtype=bool)


def _own_model(
    known: NDArray[np.intp], labels: NDArray[Any], Zs: Any, Zt: Any, seed: int
) -> tuple[Any, NDArray[np.intp], Any]:
    from sklearn.linear_model import LogisticRegression

    order = np.random.RandomState(seed).permutation(known)
    cut = int(0.7 * len(order))
    train, held = order[:cut], np.sort(order[cut:])
    model = LogisticRegression(max_iter=1000).fit(Zs[train], np.array([labels[i] for i in train]))
    both = {"source": Zs, "target": Zt}
    return model, held, lambda side, places: both[side][places]


def _estimated(model: Any, home: Any, labels: Any, away: Any, target: Side) -> Any:
    """The label-free estimate with its interval, where this version has it."""
    import shiftlearn

    estimator = shiftlearn.AccuracyEstimator()
    try:
        estimator.fit(model, home, labels)
        value, low, high = estimator.estimate(away)
    except (ValueError, TypeError, AttributeError):
        return None
    return {"accuracy": float(value), "low": float(low), "high": float(high)}


def _wilson(right: NDArray[np.bool_]) -> dict[str, float]:
    n, share, z = len(right), float(np.mean(right)), 1.96
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return {"accuracy": share, "low": max(0.0, centre - reach), "high": min(1.0, centre + reach),
            "rows": n}  # fmt: skip
