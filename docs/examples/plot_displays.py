"""
Pictures of a shift and of an adaptation
========================================

Each picture is a display in scikit-learn's form: made from what was fitted, drawn on any axes, and
holding the numbers that it shows.
"""

# %%
# How far each column moved.

import matplotlib.pyplot as plt
import numpy as np

from shiftlearn import (
    SVC,
    AdaptSVC,
    ConvergenceDisplay,
    FeatureShiftDisplay,
    LabellingCurveDisplay,
    LogisticRatio,
    WeightsDisplay,
    select_queries,
)
from shiftlearn.datasets import make_rotated_moons

rng = np.random.default_rng(0)
old = rng.normal(size=(400, 6))
new = rng.normal([0, 0, 0.5, 1, 1.5, 2], size=(300, 6))
FeatureShiftDisplay.from_samples(old, new)
plt.show()

# %%
# What is left of the old rows when they are weighted like the new ones.

display = WeightsDisplay.from_estimator(
    LogisticRatio().fit(old[:, :3], new[:, :3]), label="3 columns"
)
WeightsDisplay.from_estimator(LogisticRatio().fit(old, new), ax=display.ax_, label="6 columns")
plt.show()

# %%
# What labels are worth, and what choosing them saves.

Xs, ys, Xt, yt = make_rotated_moons(40, n_per_moon=120, random_state=0).split()
source = SVC(gamma=1.0).fit(Xs, ys)
LabellingCurveDisplay.from_estimator(
    AdaptSVC(source, C=10.0, gamma=1.0), Xt, yt, source=source, select=select_queries, n_draws=4
)
plt.show()

# %%
# How a solver came to its answer, and how far from the optimum that is at most.

ConvergenceDisplay.from_estimator(SVC(C=10.0).fit(Xs, ys), tol=1e-3)
plt.show()
