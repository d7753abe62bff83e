"""
A shift one can see
===================

Two moons, and the same moons turned by 50 degrees: the labels still follow the same rule *on the
moons*, but a classifier that learnt where the moons used to be no longer meets them there. The
source-only classifier is perfect at home and poor abroad; that gap is what this library is about.
"""

# %%
# Data come with a domain for each row: 0 and above is a source, below 0 a target.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from shiftlearn.datasets import make_rotated_moons

moons = make_rotated_moons(50, n_per_moon=150, random_state=0)
source, target = moons.domain >= 0, moons.domain < 0
X, y = moons.data, moons.target

# %%
# A source-only machine, and its accuracy on both sides.

model = SVC(gamma=2.0).fit(X[source], y[source])
accuracy = {
    "source": model.score(X[source], y[source]),
    "target": model.score(X[target], y[target]),
}
accuracy

# %%
# The regions it learnt, with the rows of both domains.

side = np.linspace(-2.6, 2.6, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1)
regions = model.decision_function(grid.reshape(-1, 2)).reshape(200, 200)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained")
for axis, rows, name in zip(axes, (source, target), accuracy):
    axis.contourf(side, side, regions > 0, levels=1, colors=["#f3d9c7", "#cfe0ee"])
    for label, colour in ((-1, "#b5561c"), (1, "#1c5fa8")):
        own = rows & (y == label)
        axis.scatter(*X[own].T, s=12, color=colour, label=f"class {label}")
    axis.set_title(f"{name}: accuracy {accuracy[name]:.2f}")
    axis.set_aspect("equal")
axes[0].legend(loc="upper left")
plt.show()
