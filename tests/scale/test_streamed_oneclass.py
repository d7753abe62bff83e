"""TLOC-SVM from blocks: the half-spaces of rows in memory, a true gap, clear refusals."""

import numpy as np
import pytest

from shiftlearn import Blocks, RandomFourier, UncertainOneClassTransferSVM
from shiftlearn.errors import InfeasibleError

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(3.0, 1.0, (300, 3)), RNG.normal(3.5, 1.2, (60, 3))])
X[150:300] += 0.4
DOMAIN = np.repeat([0, 4, -1], [150, 150, 60])
SOME = {"nu": 0.2, "nu_source": 0.1, "uncertainty": None}
MAP = RandomFourier(24, gamma=0.1, random_state=0)


def machine(**options):
    return UncertainOneClassTransferSVM(**{"kernel": "linear", "tol": 1e-4, **SOME, **options})


@pytest.mark.parametrize("features", [None, MAP])
@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("reg", ["auto", 0.3])
def test_half_spaces_of_memory_and_of_any_blocking(features, tasks, reg):
    keep = np.isin(DOMAIN, [-1, 0, 4][:tasks])
    rows, domain = X[keep], DOMAIN[keep]
    weights = 1.0 + (np.arange(len(rows)) % 3 == 0)
    whole = machine(features=features, reg=reg, tol=1e-7)
    whole.fit(rows, sample_domain=domain, sample_weight=weights)
    optimum = whole.certificate_.objective
    found = []
    for size in (len(rows), 47):
        order = np.random.default_rng(1).permutation(len(rows))
        parts = (a[order] for a in (rows, domain, weights))
        Xp, dp, wp = parts
        blocks = Blocks.from_arrays(Xp, sample_domain=dp, sample_weight=wp, rows=size)
        model = machine(features=features, reg=reg).fit(blocks)
        proof = model.certificate_
        assert proof.converged and proof.gap <= 1e-4 * abs(proof.objective) * 1.01
        # The objective is a dual value: it lies at most the gap from the optimum.
        assert -1e-6 * abs(optimum) <= optimum - proof.objective + 1e-9 <= proof.gap + 1e-6
        np.testing.assert_allclose(model.task_coef_, whole.task_coef_, atol=0.03)
        scores = whole.score_samples(rows)
        np.testing.assert_allclose(model.score_samples(rows), scores, atol=0.02 * scores.max())
        np.testing.assert_allclose(model.offsets_, whole.offsets_, atol=0.02 * scores.max())
        assert model.tasks_.tolist() == whole.tasks_.tolist()
        found.append(model.decision_function(rows))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    parts = list(model.predict(Blocks.from_arrays(rows, rows=100)))
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(rows))


def test_no_domain_is_the_target_and_costs_are_those_given():
    model = machine(nu=None, nu_source=None, C=0.05).fit(Blocks.from_arrays(X, rows=50))
    whole = machine(nu=None, nu_source=None, C=0.05).fit(X)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=0.02)
    assert model.costs_ == whole.costs_ and model.tasks_.tolist() == whole.tasks_.tolist()
    hard = machine(nu=None, nu_source=None).fit(Blocks.from_arrays(X, sample_domain=DOMAIN))
    whole = machine(nu=None, nu_source=None).fit(X, sample_domain=DOMAIN)
    np.testing.assert_allclose(hard.costs_, whole.costs_)
    assert hard.certificate_.gap <= 1e-3 * abs(hard.certificate_.objective)
    np.testing.assert_allclose(hard.certificate_.objective, whole.certificate_.objective, rtol=1e-2)


def test_what_cannot_be_done_is_said():
    blocks = Blocks.from_arrays(X, sample_domain=DOMAIN)
    with pytest.raises(ValueError, match="uncertainty='knn' moves single rows"):
        machine(uncertainty="knn").fit(blocks)
    with pytest.raises(ValueError, match="kernel='rbf' needs all rows"):
        machine(kernel="rbf").fit(blocks)
    with pytest.raises(ValueError, match='offset="left-out"'):
        machine(offset="left-out").fit(blocks)
    with pytest.raises(InfeasibleError, match=r"C of the target task -1 is 0.01, .* its 60 rows"):
        machine(nu=None, C=0.01).fit(blocks)
    with pytest.raises(ValueError, match="one target domain"):
        machine().fit(Blocks.from_arrays(X, sample_domain=np.abs(DOMAIN)))
    with pytest.raises(ValueError, match="one target domain"):
        machine().fit(Blocks.from_arrays(X, sample_domain=np.where(DOMAIN == 4, -5, DOMAIN)))
    wide = np.ones((30, 2100)) + np.eye(30, 2100)
    with pytest.raises(ValueError, match="at most 4096"):
        machine().fit(Blocks.from_arrays(wide, sample_domain=np.repeat([0, -1], 15)))
