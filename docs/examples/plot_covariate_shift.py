"""
The inputs moved, the rule did not
==================================

A straight line has to stand in for a curved rule. Where it should lie depends on where the rows
are: trained on the source, it is right for the source. `CovariateShiftLogisticRegression` sees
unlabelled target rows as well and finds, together with the line, how much each source row should
count.
"""

# %%
# The rule is a parabola. Source rows spread over all of it, target rows lie on its right arm.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from shiftlearn import CovariateShiftLogisticRegression, stack_domains

rng = np.random.default_rng(0)


def label(rows):
    """Above the parabola or below it."""
    return (rows[:, 1] > rows[:, 0] ** 2 - 1).astype(int)


Xs = rng.normal(size=(400, 2)) * [1.0, 1.5]
Xt = rng.normal(size=(300, 2)) * [0.4, 1.2] + [1.2, 0.5]
ys, yt = label(Xs), label(Xt)

# %%
# Ordinary logistic regression, and the joint model. The labels of the target are used for the
# accuracies below and for nothing else.

X, y, sample_domain = stack_domains(Xs, ys, Xt)
plain = LogisticRegression(C=10.0).fit(Xs, ys)
joint = CovariateShiftLogisticRegression(C=10.0).fit(X, y, sample_domain=sample_domain)
accuracy = {"plain": plain.score(Xt, yt), "joint": joint.score(Xt, yt)}
accuracy

# %%
# Each source row is drawn as large as its weight; the weights of the left arm are nearly zero.


def line(ax, model, **style):
    """Where a linear model is undecided."""
    x = np.array([-3.0, 3.0])
    (a, b), c = model.coef_[0], model.intercept_[0]
    ax.plot(x, -(a * x + c) / b, **style)


figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
ax = axes[0]
ax.scatter(*Xt.T, s=6, c="0.75", label="target rows")
for value, colour in ((0, "#0072b2"), (1, "#d55e00")):
    chosen = ys == value
    sizes = 1 + 8 * joint.weights_normalized_[chosen]
    ax.scatter(*Xs[chosen].T, s=sizes, c=colour, alpha=0.6, lw=0)
    ax.scatter([], [], s=20, c=colour, lw=0, label=f"source, class {value}")
curve = np.linspace(-2.3, 2.3, 100)
ax.plot(curve, curve**2 - 1, c="k", lw=1, ls=":", label="the rule")
line(ax, plain, c="k", ls="--", label=f"plain, {100 * accuracy['plain']:.0f} % of the target")
line(ax, joint, c="k", label=f"joint, {100 * accuracy['joint']:.0f} % of the target")
ax.set(xlim=(-3, 3), ylim=(-4.5, 4.5), title="source rows as large as their weights")
ax.legend(fontsize="x-small", loc="lower left")

ax = axes[1]
grid = np.linspace(-3, 3, 200)
true = np.exp(-0.5 * ((grid - 1.2) / 0.4) ** 2) / 0.4 / np.exp(-0.5 * grid**2)
middle = np.stack([grid, np.full(200, 0.5)], axis=1)
ax.plot(grid, true, "k:", label="true ratio in the first column")
ax.plot(grid, joint.density_ratio(middle), "k", label="the model's, second column at 0.5")
ax.scatter(Xs[:, 0], joint.weights_, s=4, c="#0072b2", label="weights of the source rows")
ax.set(ylim=(0, 6), xlabel="first column", title="density ratio: the log-linear model is a sketch")
ax.legend(fontsize="x-small")
plt.show()

# %%
# What the weights leave of 400 rows, and the proof: a stationary point (gradient below ``tol``)
# without a direction of negative curvature.

joint.effective_sample_size_, joint.certificate_.violation, joint.certificate_.curvature
