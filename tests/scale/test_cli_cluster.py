"""``shiftlearn predict --scheduler``: the labels of the plain command, file by file."""

import json

import numpy as np
import polars as pl
import pytest

from shiftlearn.cli.app import run

distributed = pytest.importorskip("distributed")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))


def test_a_folder_is_predicted_on_a_cluster(tmp_path, capsys):
    rows = tmp_path / "rows"
    rows.mkdir()
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": np.where(X[:, 0] > 0, "yes", "no")})
    for part in range(3):
        frame[20 * part : 20 * part + 20].write_parquet(rows / f"part-{part}.parquet")
    model, out = str(tmp_path / "m.skops"), tmp_path / "out"
    assert run(["fit", str(rows), "-l", "label", "-m", "logistic", "-o", model]) == 0
    assert run(["predict", model, str(rows), "-o", str(tmp_path / "all.parquet")]) == 0
    capsys.readouterr()
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = ["--scheduler", cluster.scheduler_address]
        assert run(["predict", model, str(rows), "-o", str(out), "--json", *address]) == 0
        assert json.loads(capsys.readouterr().out)["rows"] == 60
        whole = pl.read_parquet(tmp_path / "all.parquet")
        parts = pl.concat([pl.read_parquet(file) for file in sorted(out.glob("*.parquet"))])
        assert parts.equals(whole)
        assert run(["predict", model, str(rows), "-o", str(rows), *address]) != 0
        assert run(["predict", model, model, "-o", str(out), *address]) != 0
