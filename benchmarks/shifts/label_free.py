"""The library's methods without target labels, at their defaults."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from shiftlearn import SelfTrainingAdapter, ShiftCommittee, ShiftSearchCV, stack_domains
from shifts.draws import View
from shifts.methods import method


def _fitted(model: Any, view: View) -> np.ndarray:
    X, y, domain = stack_domains(view.Xs, view.ys, view.Xu)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.fit(X, y, sample_domain=domain).predict(view.Xu)).astype(int)


@method("self-training")
def self_training(view: View) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    return _fitted(SelfTrainingAdapter(LogisticRegression(max_iter=1000)), view)


@method("committee")
def committee(view: View) -> np.ndarray:
    return _fitted(ShiftCommittee(random_state=view.seed, n_jobs=1), view)


@method("search")
def search(view: View) -> np.ndarray:
    return _fitted(ShiftSearchCV(random_state=view.seed, n_jobs=1), view)
