"""
Few normal examples, and noisy ones
===================================

A sensor in a new regime has given a dozen normal readings, some of them disturbed. An older regime
gave many. There is no example of a failure. Four machines from one class: with and without the
older regime, with and without correcting the readings.
"""

# %%
# The older regime is the source (``sample_domain`` 0), the new one the target (-1). A third of all
# readings are disturbed.

import matplotlib.pyplot as plt
import numpy as np

from shiftlearn import OneClassDisplay, UncertainOneClassTransferSVM

rng = np.random.default_rng(4)


def regime(centre, n, noisy):
    along = rng.normal(size=n)
    rows = centre + np.column_stack([along, 0.6 * along + 0.35 * rng.normal(size=n)])
    hit = rng.permutation(n)[: round(noisy * n)]
    rows[hit] += 0.8 * rng.normal(size=(len(hit), 2))
    return rows


old, new = regime([4.0, 4.0], 120, 0.33), regime([4.8, 4.4], 12, 0.33)
X, domain = np.vstack([old, new]), np.repeat([0, -1], [len(old), len(new)])

# %%
# ``uncertainty=None`` takes rows as they are; without source rows only the dozen is left. The
# corrections (arrows) point into the class; a row moves by the distance to its nearest neighbour.

options = {"nu": 0.2, "nu_source": 0.2, "gamma": 0.4, "offset": "left-out", "delta_scale": 1.0}
figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained", sharex=True, sharey=True)
models = {}
for row, uncertainty in enumerate((None, "knn")):
    for column, sources in enumerate((False, True)):
        name = (("OC-SVM", "TLOC-SVM"), ("UOC-SVM", "UOCT-SVM"))[row][column]
        used = domain < 0 if not sources else np.ones(len(X), dtype=bool)
        model = UncertainOneClassTransferSVM(uncertainty=uncertainty, reg=1.0, **options)
        models[name] = model.fit(X[used], sample_domain=domain[used])
        OneClassDisplay.from_estimator(
            model, X[used], sample_domain=domain[used], extent=X, ax=axes[row, column],
            title=name, legend=row == column == 1,
        )  # fmt: skip
plt.show()

# %%
# On fresh readings of the new regime without noise, and on failures spread over the plane:

test = regime([4.8, 4.4], 2000, 0.0)
failures = rng.uniform([0, 0], [9, 9], size=(2000, 2))
for name, model in models.items():
    normal, alarms = (model.predict(test) == 1).mean(), (model.predict(failures) == -1).mean()
    print(f"{name:9s} normal readings accepted {normal:.0%}, failures noticed {alarms:.0%}")
