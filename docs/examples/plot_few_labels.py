"""
A model and a few new labels
============================

A classifier of handwritten digits was trained on upright images; the new ones arrive turned by 25
degrees, as embeddings of 24 numbers. How far do five to a hundred new labels carry, by which
method, and which images are worth a label?
"""

# %%
# The old model is a logistic regression; everything below asks it for scores only.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from shiftlearn import (
    SVC,
    AdaptCV,
    AdaptLogisticRegression,
    AdaptSVC,
    AggregateSVC,
    ScoreEnsemble,
    select_queries,
)
from shiftlearn.datasets import rotate_images

X, y = load_digits(return_X_y=True)
old, new = np.arange(900), np.arange(900, 1797)
embedding = PCA(24, whiten=True, random_state=0).fit(X[old])
Xs, ys = embedding.transform(X[old]), y[old]
Xt, yt = embedding.transform(rotate_images(X[new], 25)), y[new]
pool, test = np.arange(450), np.arange(450, 897)

model = LogisticRegression(max_iter=500).fit(Xs, ys)
print(f"at home {model.score(Xs, ys):.2f}, on the turned images {model.score(Xt, yt):.2f}")

# %%
# The five classifiers of the Adapt-SVM paper, each on the same rows drawn at random, and
# :class:`~shiftlearn.AdaptCV`, which decides by itself how far to go. In the union the new rows
# have ten times the cost.

rbf = {"gamma": "scale", "C": 10.0}
scaled = {"source_transform": "scale", "kernel_scale": "mean"}


def union(rows):
    both = np.vstack([Xs, Xt[rows]]), np.concatenate([ys, yt[rows]])
    domain = np.repeat([1, -1], [len(ys), len(rows)])
    return AggregateSVC(**rbf).fit(*both, sample_domain=domain)


methods = {
    "source alone (Aux)": lambda rows: model,
    "new rows alone (New)": lambda rows: SVC(**rbf).fit(Xt[rows], yt[rows]),
    "union (Aggr)": union,
    "average (Ensemble)": lambda rows: ScoreEnsemble(model, source_transform="scale", **rbf).fit(
        Xt[rows], yt[rows]
    ),
    "AdaptSVC": lambda rows: AdaptSVC(model, **rbf, **scaled).fit(Xt[rows], yt[rows]),
    "AdaptCV": lambda rows: AdaptCV(model).fit(Xt[rows], yt[rows]),
}

sizes = (5, 10, 20, 50, 100)
draws = [np.random.default_rng(seed).permutation(pool) for seed in range(2)]


def accuracy(fit, draw, n):
    return fit(draw[:n]).score(Xt[test], yt[test])


by_method = {
    name: [np.mean([accuracy(fit, draw, n) for draw in draws]) for n in sizes]
    for name, fit in methods.items()
}

# %%
# Which rows to label: four rules, batch by batch, for the same learner. Each batch is chosen with
# the model adapted so far.


def learning_curve(rule, seed):
    chosen, present, found = np.array([], dtype=int), model, []
    for n in sizes:
        more = select_queries(
            present, Xt[pool], n - len(chosen), rule, exclude=chosen, random_state=seed
        )
        chosen = np.concatenate([chosen, more])
        present = AdaptLogisticRegression(model, C=100.0).fit(Xt[chosen], yt[chosen])
        found.append(present.score(Xt[test], yt[test]))
    return found


by_rule = {
    rule: np.mean([learning_curve(rule, seed) for seed in range(3)], axis=0)
    for rule in ("diverse", "random", "best-worst", "prior")
}

# %%
# With five labels what keeps the source is far ahead of the new rows alone; with a hundred they
# have nearly met. Rows spread over the pool beat rows drawn at random; the "prior" rule looks for
# something else, rare positives.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, curves, title in zip(
    axes, (by_method, by_rule), ("rows drawn at random", "adapted, rows chosen by a rule"),
    strict=True,
):  # fmt: skip
    for (name, values), marker in zip(curves.items(), "osD^vP"):
        ax.plot(sizes, values, marker=marker, label=name)
    ax.set(xscale="log", xlabel="labelled rows", title=title)
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize="small")
axes[0].set_ylabel("accuracy on other turned images")
plt.show()

# %%
# What the last fit with AdaptCV used, and what it says of the source:

final = AdaptCV(model).fit(Xt[draws[0][:50]], yt[draws[0][:50]])
print(final.guard_.verdict)
for name, weight in sorted(final.weights_.items(), key=lambda pair: -pair[1])[:4]:
    print(f"{weight:.2f}  {name}")
