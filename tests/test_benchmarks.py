"""The benchmarks measure what they say: the unit is an RBF matrix, contenders take turns."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

PEERS = Path(__file__).resolve().parents[1] / "benchmarks/peers"


@pytest.fixture(scope="module")
def harness():
    spec = importlib.util.spec_from_file_location("harness", PEERS / "harness.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["harness"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["harness"]


def test_tile_holds_rbf_values(harness):
    X = np.random.default_rng(0).standard_normal((70, 5)) + 100
    left, right = harness.augmented(X, 0.3)
    tile = harness.rbf_tile(left[:30], right, np.empty((30, 70), dtype=np.float32))
    np.testing.assert_allclose(tile, rbf_kernel(X[:30], X, gamma=0.3), atol=2e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_kernel_pass_computes_every_entry_once(harness, monkeypatch, threads):
    entries = []
    original = harness.rbf_tile

    def counted(left, right, out):
        entries.append(out.size)
        return original(left, right, out)

    monkeypatch.setattr(harness, "rbf_tile", counted)
    harness.kernel_pass(np.ones((101, 3)), 1.0, threads=threads, tile=(16, 40))
    assert sum(entries) == 101**2


def test_contenders_take_turns_and_keep_their_figures(harness, tmp_path):
    order = []
    race = harness.Race("toy")
    race.add("a", lambda: order.append("a"))
    race.add("b", lambda: order.append("b") or {"objective": 2.0})
    race.add_process("c", "import os", "figures = {'mark': os.environ['MARK']}", {"MARK": "m"})
    race.run(repeats=3)
    assert order == ["a", "b"] * 4
    assert all(len(race.seconds[name]) == 3 for name in "abc")
    assert race.figures["b"] == {"objective": 2.0} and race.figures["c"] == {"mark": "m"}
    (path,) = harness.record(race, folder=tmp_path)
    content = json.loads(path.read_text(encoding="utf8"))
    assert content["machine"]["processors"] >= 1 and content["machine"]["blas"]
    assert set(content["seconds"]) == {"a", "b", "c"}


def test_ratio_is_the_median_of_the_rounds(harness):
    race = harness.Race("toy", seconds={"fast": [1.0, 1.0, 2.0], "slow": [2.0, 8.0, 6.0]})
    assert race.ratio("fast", reference="slow") == 3.0
    assert "3.00" in race.table(reference="slow")


def test_a_contender_that_dies_is_an_error(harness):
    race = harness.Race("toy")
    race.add_process("bad", "", "raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="ended with 3"):
        race.run()
