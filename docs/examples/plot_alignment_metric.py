"""
Which direction can be trusted
==============================

At the source two columns tell the classes apart. At the target the second one has lost its meaning:
its scatter has shrunk to the noise. No label says so, but the rows do. The metric of
:class:`~shiftlearn.DAKSVC` charges directions whose mean or scatter has changed, and as
:class:`~shiftlearn.DomainWhitener` it serves any linear learner.
"""

# %%
# One machine at six strengths. ``alignment_path`` computes moments and eigenvectors once.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from shiftlearn import DAKSVC, DomainWhitener, alignment_path
from shiftlearn.datasets import make_gaussian_shift

data = make_gaussian_shift(random_state=7)
Xs, ys, Xt, yt = data.split()
strengths = [0.0, 0.3, 1.0, 10.0, 100.0, 1000.0]
path = alignment_path(
    data.data,
    data.target,
    {"alignment": strengths},
    estimator=DAKSVC(0.1, kernel="linear"),
    sample_domain=data.domain,
)
accuracy = [100 * model.score(Xt, yt) for model in path]

# %%
# The boundary turns until it stands across the axis that still means something.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for rows, labels, marker, alpha in ((Xs, ys, "o", 0.35), (Xt, yt, "^", 0.6)):
    for label, colour in ((-1, "tab:blue"), (1, "tab:orange")):
        points = rows[labels == label]
        left.scatter(*points.T, c=colour, marker=marker, s=14, alpha=alpha, linewidths=0)
horizontal = np.linspace(-10, 10, 2)
colours = plt.colormaps["viridis"](np.linspace(0, 0.9, len(path)))
for model, strength, colour in zip(path, strengths, colours, strict=True):
    (a, b), c = model.coef_[0], model.intercept_[0]
    vertical = np.linspace(-8, 14, 2)
    left.plot(-(b * vertical + c) / a, vertical, color=colour, label=f"μ = {strength:g}")
left.set(xlim=(-10, 10), ylim=(-6, 12), title="source ●, target ▲, boundaries")
left.legend(frameon=False, fontsize="small")
right.plot(range(len(strengths)), accuracy, "o-", color="0.3")
right.set_xticks(range(len(strengths)), [f"{s:g}" for s in strengths])
right.set(xlabel="alignment μ", ylabel="accuracy on the target (%)")
plt.show()

# %%
# The same metric in front of another learner.

whitener = DomainWhitener(alignment=100.0).fit(data.data, sample_domain=data.domain)
plain = LogisticRegression(C=0.1).fit(Xs, ys)
aligned = LogisticRegression(C=0.1).fit(whitener.transform(Xs), ys)
{"plain": plain.score(Xt, yt), "aligned": aligned.score(whitener.transform(Xt), yt)}
