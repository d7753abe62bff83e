"""A fit on a local cluster of two processes, one of which is killed in the middle."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")


@pytest.mark.parametrize("arguments", [[], ["kill"]])
def test_a_cluster_gives_the_same_answer(arguments):
    script = Path(__file__).with_name("cluster_job.py")
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(re.search(r"difference (\S+)", done.stdout)[1]) < 1e-6
    assert ("killed" in done.stdout) == bool(arguments)
