"""
When the domains do not overlap
===============================

Weights can only count rows that are there. The farther the target lies from the source, the fewer
source rows carry all of the weight, until none does: the joint model then says so, and its
classifier goes back to knowing nothing.
"""

# %%
# The target moves away from the source, step by step.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from shiftlearn import CovariateShiftLogisticRegression, LogisticRatio, stack_domains
from shiftlearn.errors import NoOverlapWarning

rng = np.random.default_rng(0)
Xs, away = rng.normal(size=(400, 2)), rng.normal(size=(300, 2))
ys = (Xs[:, 1] + 0.5 * rng.normal(size=400) > 0).astype(int)
distances = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0])


def fit(distance):
    """The joint model, whether it warned, and the effective sample size of two-stage weights."""
    Xt = away + np.array([distance, 0.0])
    X, y, sample_domain = stack_domains(Xs, ys, Xt)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = CovariateShiftLogisticRegression(C_shift=10.0).fit(
            X, y, sample_domain=sample_domain
        )
        two_stage = LogisticRatio(C=10.0).fit(Xs, Xt)
    warned = any(issubclass(one.category, NoOverlapWarning) for one in said)
    weights = two_stage.weights_
    return model, warned, weights.sum() ** 2 / (weights**2).sum()


fits = [fit(distance) for distance in distances]
joint = [model for model, _, _ in fits]

# %%
# On the left the rows at three distances; on the right what is left of 400 source rows. Very far
# away the rows that are left become more again, because all weights are then equally tiny: look at
# the mean weight too, as the warning does.

figure, axes = plt.subplots(
    1, 4, figsize=(12, 3.4), layout="constrained", width_ratios=[1, 1, 1, 1.5]
)
for ax, place in zip(axes[:3], (2, 5, 8), strict=True):
    Xt, model = away + np.array([distances[place], 0.0]), joint[place]
    ax.scatter(*Xt.T, s=5, c="0.75")
    sizes = 0.5 + 60 * model.weights_normalized_ / model.weights_normalized_.max()
    ax.scatter(*Xs.T, s=sizes, c=np.where(ys == 1, "#d55e00", "#0072b2"), alpha=0.6, lw=0)
    rows = model.effective_sample_size_
    ax.set(title=f"distance {distances[place]:g}: worth {rows:.0f} rows", xlim=(-4, 11), yticks=[])
ax = axes[3]
ax.semilogy(distances, [m.effective_sample_size_ for m in joint], "o-k", label="joint: rows left")
ax.semilogy(distances, [rows for _, _, rows in fits], "s--", c="0.5", label="two-stage: rows left")
ax.semilogy(distances, [m.weights_.mean() for m in joint], "^-", c="#0072b2", label="mean weight")
first = distances[[warned for _, warned, _ in fits].index(True)]
ax.axvline(first, c="#d55e00", lw=1, ls=":", label=f"it warns from {first:g} on")
ax.set(xlabel="distance of the means (standard deviations)")
ax.legend(fontsize="x-small")
plt.show()

# %%
# The size of the classifier's weights: without evidence the prior decides.

[float(np.linalg.norm(model.coef_).round(3)) for model in joint]
