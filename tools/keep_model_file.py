"""Write the small model file of this minor version that a test keeps loading: tests/files/kept.

Run once for each minor release, before it is tagged; earlier files are never written again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shiftlearn
from shiftlearn.datasets import make_rotated_moons

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "files" / "kept"


def main() -> None:
    """Adapt a pipeline's model to rotated moons, and keep rows and answers beside it."""
    Xs, ys, Xt, yt = make_rotated_moons(30, n_per_moon=20, random_state=0).split()
    names = np.array(["down", "up"])
    source = make_pipeline(StandardScaler(), LogisticRegression()).fit(Xs, names[(ys > 0) * 1])
    model = shiftlearn.AdaptSVC(source, C=3.0).fit(Xt[::2], names[(yt[::2] > 0) * 1])
    rows = np.round(Xt[1::4], 3)
    notes = {
        "rows": rows.tolist(),
        "predictions": model.predict(rows).tolist(),
        "scores": model.decision_function(rows).tolist(),
    }
    FOLDER.mkdir(exist_ok=True)
    minor = ".".join(shiftlearn.__version__.split(".")[:2])
    shiftlearn.save(model, FOLDER / f"{minor}.skops", notes=notes)


if __name__ == "__main__":
    main()
