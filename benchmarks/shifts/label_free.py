"""The library's methods without target labels, at their defaults.

One search fits the committee and its members; all methods here read the last one, so that a
task costs one fit. The members are there for the figure "the best candidate in hindsight".
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from shiftlearn import ShiftSearchCV, stack_domains
from shifts.draws import View
from shifts.methods import Predict, method

_last: dict[tuple[Any, ...], Any] = {}


def _search(view: View) -> Any:
    key = (view.seed, view.Xs.shape, view.Xu.shape, float(view.Xu.sum()), float(view.Xs.sum()))
    if key not in _last:
        _last.clear()
        X, y, domain = stack_domains(view.Xs, view.ys, view.Xu)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search = ShiftSearchCV(random_state=view.seed, n_jobs=1)
            _last[key] = search.fit(X, y, sample_domain=domain)
    return _last[key]


def _candidate(place: int) -> Predict:
    """The candidate at a place: 1 self-training, 2 and 3 the views, 4 the committee."""

    def predict(view: View) -> np.ndarray:
        model = list(_search(view).candidates_.values())[place]
        return np.asarray(model.predict(view.Xu)).astype(int)

    return predict


@method("search")
def search(view: View) -> np.ndarray:
    return np.asarray(_search(view).predict(view.Xu)).astype(int)


method("committee")(_candidate(4))
method("self-training")(_candidate(1))
method("Monge, self-trained")(_candidate(2))
method("second view, self-trained")(_candidate(3))
