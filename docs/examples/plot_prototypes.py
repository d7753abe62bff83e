"""
Classes in scattered regions
============================

Three data sets whose classes lie in many places, and one machine without a kernel to choose:
`PrototypeSVC` begins with one small machine for every training row and keeps those that stand for
a region.
"""

# %%
# Isolated clusters in a background, stripes, two spirals.

import matplotlib.pyplot as plt

from shiftlearn import PrototypeMapDisplay, PrototypeSVC
from shiftlearn.datasets import make_isolated, make_spirals, make_striated

sets = {"isolated": make_isolated(0), "striated": make_striated(0), "spirals": make_spirals()}
models = {
    name: PrototypeSVC(reading="spec", random_state=0).fit(d.data, d.target)
    for name, d in sets.items()
}
{name: len(model.exemplars_) for name, model in models.items()}

# %%
# The rows as dots, the prototypes as rings (larger: they stand for more rows), regions in colour,
# paler where no prototype fires.

figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
for ax, (name, d) in zip(axes, sets.items(), strict=True):
    PrototypeMapDisplay.from_estimator(models[name], d.data, d.target, ax=ax)
    ax.set_title(f"{name}: {len(models[name].exemplars_)} prototypes")
plt.show()

# %%
# Why does the machine say so? A row of a cluster, and the training rows that voted.

clusters, model = sets["isolated"], models["isolated"]
row = clusters.data[612]
PrototypeMapDisplay.from_estimator(model, clusters.data, clusters.target, explain=row)
plt.show()

# %%
# The same in words, strongest votes first.

print(model.explain(row[None])[0])
