import os
import subprocess
import sys
from pathlib import Path

import pytest

import shiftlearn

SOURCE = str(Path(shiftlearn.__file__).parents[1])

pytest.importorskip("skops", reason="needs the extra `files`")


@pytest.fixture
def other_process(tmp_path):
    """Run lines in a fresh Python whose working folder is empty."""

    def run(code, *arguments):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": SOURCE},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
