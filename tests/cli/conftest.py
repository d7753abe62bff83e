import os
import subprocess
import sys
from pathlib import Path

import pytest

import shiftlearn

SOURCE = str(Path(shiftlearn.__file__).parents[1])


@pytest.fixture
def environment(tmp_path):
    """The environment of a newcomer: an empty home and no settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHIFTLEARN_", "XDG_"))}
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "LOCALAPPDATA": str(tmp_path / "home"),
        "PYTHONPATH": SOURCE,
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


@pytest.fixture
def shiftlearn_cli(environment, tmp_path):
    """Run ``shiftlearn`` as its own process in an empty folder."""

    def run(*arguments, code=None, **changes):
        start = code or "from shiftlearn.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", start, *arguments],
            cwd=tmp_path,
            env={**environment, **changes},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )

    return run
