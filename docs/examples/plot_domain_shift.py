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

from shiftlearn import SVC, DecisionRegionDisplay
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

DecisionRegionDisplay.from_estimator(model, X, y, sample_domain=moons.domain)
plt.show()
