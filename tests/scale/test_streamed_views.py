"""Maps between domains from blocks: the maps of rows in memory, whatever the blocking."""

import numpy as np
import pytest
from scipy import sparse

from shiftlearn import Blocks, CoralMapper, DomainStandardizer, MongeMapper
from shiftlearn.errors import NoTargetWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5)) @ RNG.normal(size=(5, 5))
DOMAIN = RNG.choice([1, 2, -1], 600)


@pytest.mark.parametrize("view", [CoralMapper(), DomainStandardizer(), MongeMapper()])
@pytest.mark.parametrize("rows", [600, 37])
def test_maps_agree(view, rows):
    whole = view.fit(X, sample_domain=DOMAIN).transform(X, sample_domain=DOMAIN)
    blocks = Blocks.from_arrays(X, sample_domain=DOMAIN, rows=rows)
    mapped = view.fit(blocks).transform(X, sample_domain=DOMAIN)
    np.testing.assert_allclose(mapped, whole, atol=1e-10)
    parts = list(view.transform(Blocks.from_arrays(X, rows=100)))
    np.testing.assert_allclose(np.concatenate(parts), view.transform(X))


def test_sparse_rows_go_through_the_same_decomposition():
    rows = sparse.csr_array(np.where(RNG.random((300, 40)) < 0.2, 1.0, 0.0))
    domain = np.arange(300) % 2 - 1
    whole = MongeMapper().fit(rows, sample_domain=domain).transform(rows)
    view = MongeMapper().fit(Blocks.from_arrays(rows, sample_domain=domain, rows=33))
    np.testing.assert_allclose(view.transform(rows), whole, atol=1e-8)


def test_no_target_is_said():
    with pytest.warns(NoTargetWarning):
        CoralMapper().fit(Blocks.from_arrays(X, sample_domain=np.ones(600, dtype=int)))
