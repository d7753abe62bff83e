"""
Labels there, only data here
============================

Two moons with labels, and the same moons turned by 30 and by 60 degrees without any. A plain
machine learns where the moons used to be. :class:`~shiftlearn.DAKSVC` uses the rows without labels:
it looks for a boundary whose scores have nearly the same mean and scatter on both sides.
"""

# %%
# The setting of the paper: coefficients are penalised (``form="coef"``), strength 1,000.

import matplotlib.pyplot as plt

from shiftlearn import DAKSVC, SVC, DecisionRegionDisplay
from shiftlearn.datasets import make_rotated_moons

figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), layout="constrained")
for row, angle in zip(axes, (30, 60), strict=True):
    moons = make_rotated_moons(angle, n_per_moon=200, random_state=0)
    Xs, ys, Xt, yt = moons.split()
    plain = SVC(gamma=2.0).fit(Xs, ys)
    aligned = DAKSVC(C=1.0, alignment=1e3, balance=0.5, form="coef", sigma="paper")
    aligned.fit(moons.data, moons.target, sample_domain=moons.domain)
    for ax, name, model in zip(row, ("SVC", "DAKSVC"), (plain, aligned), strict=True):
        DecisionRegionDisplay.from_estimator(
            model, moons.data, moons.target, sample_domain=moons.domain, ax=ax
        )
        ax.set_title(f"{angle}°, {name}: {100 * model.score(Xt, yt):.0f} % on the target")
plt.show()

# %%
# What the alignment did, in numbers: the terms of the solution, and how far the domains are apart.

{
    "MMD²": aligned.mmd2_,
    "tr |Δ|": aligned.scatter_trace_,
    "(wᵀd)²": float(aligned.mean_term_[0]),
    "wᵀ|Δ|w": float(aligned.scatter_term_[0]),
    "proved gap": aligned.certificate_.relative_gap,
}
