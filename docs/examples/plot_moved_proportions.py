"""
Did the inputs move, or only the class proportions?
===================================================

A clinic's patients: in the new year either fewer of them are ill (class proportions moved, the ill
look as before), or a new instrument reads differently (inputs moved, the proportions did not). Both
make a classifier worse, and they ask for different corrections. Unlabelled rows tell which it is.
"""

# %%
# Two years of each kind.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from shiftlearn import LogisticRatio, PriorShiftCorrector, stack_domains


def patients(healthy, ill, seed, offset=(0.0, 0.0)):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [healthy, ill])
    return rng.normal(size=(len(y), 2)) + np.outer(y, [2.0, 1.0]) + offset, y


Xs, ys = patients(300, 300, 0)
years = {
    "proportions": patients(450, 60, 1),
    "instrument": patients(250, 250, 2, offset=(0.8, -0.8)),
}

# %%
# The test: can some mixture of the old classes explain the new rows?

for name, (Xt, _) in years.items():
    X, y, domain = stack_domains(Xs, ys, Xt)
    corrector = PriorShiftCorrector(LogisticRegression(), random_state=0)
    print(name, "->", corrector.compare_assumptions(X, y, sample_domain=domain, n_bootstrap=100))

# %%
# The estimated share of ill patients with its interval, and what the correction does to the
# accuracy: it helps where its assumption holds, and only there.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, (name, (Xt, yt)) in zip(axes, years.items()):
    X, y, domain = stack_domains(Xs, ys, Xt)
    model = PriorShiftCorrector(LogisticRegression(), random_state=0)
    model.fit(X, y, sample_domain=domain)
    low, high = model.target_priors_interval_[1]
    share = model.target_priors_[1]
    ax.errorbar([0], [share], [[share - low], [high - share]], fmt="o", capsize=6)
    ax.plot([0], [yt.mean()], "k_", markersize=30)
    ax.bar([1, 2], [model.estimator_.score(Xt, yt), model.score(Xt, yt)], width=0.6, alpha=0.6)
    ax.set_xticks(
        [0, 1, 2], ["share of ill\n(line: truth)", "accuracy\nbefore", "accuracy\ncorrected"]
    )
    ax.set(title=name, ylim=(0, 1))
plt.show()

# %%
# Where the inputs moved, the weights of a density ratio say how many rows are left to learn from.

X, y, domain = stack_domains(Xs, ys, years["instrument"][0])
LogisticRatio().fit(X[domain >= 0], X[domain < 0]).verdict_
