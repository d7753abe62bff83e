"""Density ratios from two streams: those of rows in memory."""

import numpy as np
import pytest

from shiftlearn import Blocks, KDERatio, LogisticRatio, Nystroem, SelectionBiasRatio

RNG = np.random.default_rng(0)
SOURCE, TARGET = RNG.normal(size=(400, 2)), RNG.normal(0.5, size=(250, 2))


@pytest.mark.parametrize("kind", [LogisticRatio, SelectionBiasRatio])
@pytest.mark.parametrize("features", [None, Nystroem(15, random_state=0)])
def test_weights_agree(kind, features):
    ratio = kind(features=features, tol=1e-10).fit(SOURCE, TARGET)
    weights, size = ratio.weights_, ratio.effective_sample_size_
    for rows in (1000, 37):
        pair = Blocks.from_arrays(SOURCE, rows=rows), Blocks.from_arrays(TARGET, rows=rows)
        streamed = kind(features=features, tol=1e-10).fit(*pair)
        parts = list(streamed.weights(pair[0]))
        np.testing.assert_allclose(np.concatenate(parts), weights, atol=1e-6)
        assert streamed.effective_sample_size_ == pytest.approx(size, rel=1e-6)
        assert "400 rows worth" in streamed.verdict_


def test_others_say_so():
    blocks = Blocks.from_arrays(SOURCE)
    with pytest.raises(TypeError, match="KDERatio cannot be fitted from blocks"):
        KDERatio().fit(blocks, blocks)
    with pytest.raises(TypeError, match="must both be Blocks"):
        LogisticRatio().fit(blocks, TARGET)
