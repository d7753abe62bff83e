"""
Should I adapt at all?
======================

A sensor array was replaced: every channel has another gain and offset. There are labels from before
and none from now. What accuracy is to be expected, does adapting help, and which rows should
somebody look at?
"""

# %%
# The data: four classes, six channels. The labels of the target are kept for the last cell only.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from shiftlearn import AccuracyEstimator, ShiftCommittee, ShiftSearchCV, stack_domains

rng = np.random.default_rng(3)
centres = 1.6 * rng.normal(size=(4, 6))


def measure(n, gain=1.0, offset=0.0):
    y = rng.integers(0, 4, n)
    return (centres[y] + rng.normal(size=(n, 6))) * gain + offset, y


Xs, ys = measure(600)
Xt, yt = measure(600, np.exp(0.5 * rng.normal(size=6)), 1.2 * rng.normal(size=6))

# %%
# **What to expect** of the model that is in use, from held-out rows of before and unlabelled rows
# of now. The words say what the figure is worth.

model = LogisticRegression().fit(Xs[:400], ys[:400])
estimator = AccuracyEstimator().fit(model, Xs[400:], ys[400:])
expected = estimator.estimate(Xt)
print(estimator.words_)

# %%
# Fifty labels of a random part make it much narrower.

some = np.full(len(yt), np.nan)
some[:50] = yt[:50]
with_labels = estimator.estimate(Xt, some)
print(estimator.words_)

# %%
# **Does adapting help?** The search compares the source-only model with a committee of views and
# its members, and the guard says whether the difference is to be believed.

X, y, domain = stack_domains(Xs, ys, Xt)
search = ShiftSearchCV(random_state=0).fit(X, y, sample_domain=domain)
print(search.guard_.verdict)

# %%
# The same where nothing moved:

X_same, y_same, domain_same = stack_domains(Xs[:300], ys[:300], Xs[300:])
same = ShiftSearchCV(random_state=0).fit(X_same, y_same, sample_domain=domain_same)
print(same.guard_.verdict)

# %%
# **Which rows to look at:** those on which the members disagree. Only now the target's labels are
# used, to see whether all this was true.

committee = ShiftCommittee(random_state=0).fit(X, y, sample_domain=domain)
agreement = committee.agreement(Xt)
right = committee.predict(Xt) == yt
truth = model.score(Xt, yt)

fig, (left, middle) = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
for place, (value, low, high) in enumerate((expected, with_labels)):
    left.errorbar(place, value, [[value - low], [high - value]], fmt="o", capsize=5)
left.axhline(truth, color="0.4", linestyle="--", label="truth")
left.axhline(estimator.source_accuracy_, color="0.7", linestyle=":", label="held-out source rows")
left.set(xticks=[0, 1], xticklabels=["no labels", "50 labels"], xlim=(-0.5, 1.5))
left.set(title="Accuracy to expect", ylabel="accuracy", ylim=(0, 1.05))
left.legend(loc="lower right")
fourths = np.array_split(np.argsort(agreement), 4)
middle.bar(range(4), [right[rows].mean() for rows in fourths], color="tab:green")
middle.set(xticks=range(4), xticklabels=["lowest", "", "", "highest"], ylim=(0, 1))
middle.set(title="Right, by agreement of the members", xlabel="fourth of the target rows")
plt.show()
