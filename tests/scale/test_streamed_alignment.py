"""Aligned machines from blocks: the answers of rows in memory, whatever the blocking."""

import numpy as np
import pytest

from shiftlearn import DAKSVC, LSDAKSVC, Blocks, RandomFourier
from shiftlearn.datasets import make_rotated_moons
from shiftlearn.errors import NoTargetWarning

MOONS = make_rotated_moons(30, n_per_moon=150, random_state=0)
X, Y, DOMAIN = MOONS.data, MOONS.target, MOONS.domain
MAP = RandomFourier(40, gamma=1.0, random_state=0)


def blocks(rows):
    order = np.random.default_rng(0).permutation(len(X))
    return Blocks.from_arrays(X[order], Y[order], DOMAIN[order], rows=rows)


@pytest.mark.parametrize("form", ["rkhs", "coef"])
@pytest.mark.parametrize("kind", [LSDAKSVC, DAKSVC])
def test_answers_of_memory_and_of_any_blocking(kind, form):
    model = kind(features=MAP, form=form, tol=1e-6 if kind is LSDAKSVC else 1e-4)
    whole = model.fit(X, Y, sample_domain=DOMAIN)
    scores, alignment = whole.decision_function(X), whole.alignment_
    proof = whole.certificate_
    one = model.fit(blocks(10_000)).decision_function(X)
    assert model.alignment_ == pytest.approx(alignment, rel=1e-8)
    few = model.fit(blocks(77))
    np.testing.assert_allclose(few.decision_function(X), one, atol=1e-7)
    np.testing.assert_allclose(one, scores, atol=1e-6 if kind is LSDAKSVC else 0.05)
    away = abs(few.certificate_.objective - proof.objective)
    assert away <= few.certificate_.gap + proof.gap + 1e-7 * abs(proof.objective)


def test_columns_alone_and_no_target():
    model = LSDAKSVC(kernel="linear").fit(blocks(100))
    whole = LSDAKSVC(kernel="linear").fit(X, Y, sample_domain=DOMAIN)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)
    with pytest.warns(NoTargetWarning):
        DAKSVC(kernel="linear").fit(Blocks.from_arrays(X, Y, rows=100))
    with pytest.raises(ValueError, match="C_target reads target labels"):
        DAKSVC(kernel="linear", C_target=1.0).fit(blocks(100))
    with pytest.raises(ValueError, match="needs all rows at once"):
        DAKSVC().fit(blocks(100))
