"""Methods of other libraries in the same table: skada and adapt, at their defaults.

Their base is the same logistic regression as everywhere. They see dense rows.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from shifts.draws import View
from shifts.methods import logistic, method

_SKADA = {
    "skada CORAL": "CORAL",
    "skada linear OT": "LinearOTMapping",
    "skada OT": "OTMapping",
    "skada subspace": "SubspaceAlignment",
    "skada density": "DensityReweight",
    "skada KMM": "KMMReweight",
}
_ADAPT = {"adapt RULSIF": "RULSIF", "adapt KLIEP": "KLIEP", "adapt TCA": "TCA"}


def _skada(kind: str) -> Callable[[View], np.ndarray]:
    def predict(view: View) -> np.ndarray:
        import skada

        base = LogisticRegression(C=1.0, max_iter=1000)
        weights = kind.endswith("Density") or kind.endswith("Reweight")
        if weights:
            base = base.set_fit_request(sample_weight=True)
        pipeline = skada.make_da_pipeline(getattr(skada, f"{kind}Adapter")(), base)
        X = np.vstack([view.Xs, view.Xu])
        y = np.concatenate([view.ys, np.full(len(view.Xu), -1)])
        domain = np.repeat([1, -2], [len(view.ys), len(view.Xu)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(pipeline.fit(X, y, sample_domain=domain).predict(view.Xu))

    return predict


def _adapt(kind: str) -> Callable[[View], np.ndarray]:
    def predict(view: View) -> np.ndarray:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "TCA":
                from adapt.feature_based import TCA

                model: Any = TCA(LogisticRegression(max_iter=1000), Xt=view.Xu, random_state=0)
            else:
                import adapt.instance_based as instances

                model = getattr(instances, kind)(
                    LogisticRegression(max_iter=1000), Xt=view.Xu, random_state=0, verbose=0
                )
            return np.asarray(model.fit(view.Xs, view.ys, verbose=0).predict(view.Xu)).ravel()

    return predict


for _name, _kind in _SKADA.items():
    method(_name, dense=True)(_skada(_kind))
for _name, _kind in _ADAPT.items():
    method(_name, dense=True)(_adapt(_kind))


@method("source, dense", dense=True)
def source_dense(view: View) -> np.ndarray:
    """The source model on the rows that the dense methods see."""
    return logistic(view.Xs, view.ys).predict(view.Xu)
