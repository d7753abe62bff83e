"""30,000 rows: time grows with n²d, memory with the models alone."""

import resource
import sys
import time

import numpy as np
import pytest

from shiftlearn import PrototypeSVC


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux")
def test_thirty_thousand_rows_fit_in_minutes_and_little_memory():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 30_000)
    centres = rng.normal(size=(15, 50))
    X = centres[y + 5 * rng.integers(0, 3, len(y))] + rng.normal(size=(len(y), 50))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    model = PrototypeSVC(reading="spec", random_state=0).fit(X, y)
    assert time.process_time() - started < 600
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 << 20
    assert model.score(X[:2000], y[:2000]) > 0.9
