"""Methods for a few labelled target rows: adaptations of a source, without and with its rows.

The user's model is the same logistic regression as everywhere. ``adapt-cv`` is what a user calls
with the source rows at hand, ``adapt-cv, no source rows`` with the fitted model alone; the others
have one setting for all tasks.
"""

from __future__ import annotations

import numpy as np

from shiftlearn import AdaptCV, AdaptLogisticRegression, AdaptSVC
from shifts.draws import View
from shifts.methods import logistic, method, stack


@method("adapt-cv", needs_labels=True)
def adapt_cv(view: View) -> np.ndarray:
    rows = stack(view.Xs, view.Xl)
    labels = np.concatenate([view.ys, view.yl])
    domain = np.repeat([1, -1], [len(view.ys), len(view.yl)])
    model = AdaptCV(logistic(view.Xs, view.ys))
    return model.fit(rows, labels, sample_domain=domain).predict(view.Xu)


@method("adapt-cv, no source rows", needs_labels=True)
def adapt_cv_alone(view: View) -> np.ndarray:
    return AdaptCV(logistic(view.Xs, view.ys)).fit(view.Xl, view.yl).predict(view.Xu)


@method("adapt-logistic", needs_labels=True)
def adapt_logistic(view: View) -> np.ndarray:
    model = AdaptLogisticRegression(logistic(view.Xs, view.ys))
    return model.fit(view.Xl, view.yl).predict(view.Xu)


@method("adapt-svc, as printed", needs_labels=True)
def adapt_svc(view: View) -> np.ndarray:
    model = AdaptSVC(logistic(view.Xs, view.ys), kernel="linear")
    return model.fit(view.Xl, view.yl).predict(view.Xu)
