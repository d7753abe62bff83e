"""What a result was made with: versions, processor, threads, BLAS."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import shiftlearn
from shiftlearn.resources import n_threads

__all__ = ["environment"]


def environment() -> dict[str, Any]:
    """Versions and machine as plain data.

    Examples
    --------
    >>> from shiftlearn.studies import environment
    >>> sorted(environment())[:4]
    ['blas', 'cpu', 'instruction set', 'numpy']
    """
    from shiftlearn import _core

    return {
        "shiftlearn": shiftlearn.__version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "platform": platform.platform(aliased=True),
        "cpu": _cpu(),
        "instruction set": _core.isa(),
        "threads": n_threads(None),
        "blas": _blas(),
    }


@cache
def _cpu() -> str:
    """Name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def _blas() -> str:
    """The BLAS libraries in use, with their versions and threads."""
    import numpy  # noqa: F401 - what it loads is what is asked for
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    found = {
        f"{pool['internal_api']} {pool.get('version') or ''} ({pool['num_threads']} threads)"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return ", ".join(sorted(found)) or f"unknown ({sys.platform})"
