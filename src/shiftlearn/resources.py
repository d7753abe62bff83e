"""How many threads and how much memory a call may use."""

from __future__ import annotations

import numbers
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["memory_budget", "n_threads", "own_thread", "serial_blas"]

_inside = threading.local()


@contextmanager
def own_thread() -> Iterator[None]:
    """Mark the current thread as one of the library's own: calls inside it stay serial."""
    before = getattr(_inside, "depth", 0)
    _inside.depth = before + 1
    try:
        yield
    finally:
        _inside.depth = before


_blas_lock = threading.Lock()
_blas_users = 0
_blas_restore: Any = None
_blas_controller: Any = None


@contextmanager
def serial_blas() -> Iterator[None]:
    """One BLAS thread while our own threads work; the last user of several restores the limit."""
    global _blas_users, _blas_restore, _blas_controller
    with _blas_lock:
        if _blas_users == 0:
            if _blas_controller is None:
                import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be limited)
                from threadpoolctl import ThreadpoolController

                _blas_controller = ThreadpoolController()
            _blas_restore = _blas_controller.limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_restore.restore_original_limits()


def n_threads(n_jobs: Any) -> int:
    """Threads for ``n_jobs``: None means all CPUs of this process, one inside a worker.

    Negative numbers count from the end as in joblib (-1: all CPUs, -2: all but one).
    """
    if n_jobs is None:
        return 1 if _inside_worker() else _cpus()
    if not issubclass(type(n_jobs), numbers.Integral) or type(n_jobs) is bool:
        raise ValueError(f"n_jobs must be None or a whole number, got {n_jobs!r}.")
    count = int(n_jobs)
    if count == 0:
        raise ValueError("n_jobs must not be 0; use 1 for serial work or None for all CPUs.")
    return count if count > 0 else max(1, _cpus() + 1 + count)


def memory_budget(memory_limit: int | float | str) -> int:
    """Bytes for ``memory_limit``: a number, or "auto": a quarter of what is free, at most 1 GiB."""
    if memory_limit == "auto":
        return int(max(64 << 20, min(1 << 30, _free_memory() // 4)))
    if isinstance(memory_limit, str) or not memory_limit > 0:
        raise ValueError(
            f'memory_limit must be "auto" or a positive number of bytes, got {memory_limit!r}.'
        )
    return int(memory_limit)


def _cpus() -> int:
    limit = os.environ.get("SHIFTLEARN_NUM_THREADS", "")
    counts = [
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ]
    if limit.isdigit() and int(limit) > 0:
        counts.append(int(limit))
    quota = _cgroup_quota()
    if quota is not None:
        counts.append(quota)
    return max(1, min(counts))


_quota_cache: list[int | None] = []


def _cgroup_quota() -> int | None:
    """Whole CPUs that the control group grants (rounded up), None without a limit."""
    if not _quota_cache:
        _quota_cache.append(_read_quota())
    return _quota_cache[0]


def _read_quota() -> int | None:
    try:
        text = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        quota, period = text[0], float(text[1])
    except (OSError, IndexError, ValueError):
        try:
            quota = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text().strip()
            period = float(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text())
        except (OSError, ValueError):
            return None
    if quota in ("max", "-1"):
        return None
    return max(1, -int(-float(quota) // period))


def _inside_worker() -> bool:
    if getattr(_inside, "depth", 0):
        return True
    return _inside_joblib() or _inside_dask()


def _inside_joblib() -> bool:
    import sys

    parallel = sys.modules.get("joblib.parallel")
    if parallel is None:
        return False
    if os.environ.get("JOBLIB_SPAWNED_PROCESS") or os.environ.get("LOKY_WORKER"):
        return True
    backend, _ = parallel.get_active_backend()
    return bool(getattr(backend, "nesting_level", 0))


def _inside_dask() -> bool:
    import sys

    worker = sys.modules.get("distributed.worker")
    return worker is not None and getattr(worker.thread_state, "execution_state", None) is not None


_free_cache: tuple[float, int] | None = None


def _free_memory() -> int:
    """Free bytes, looked up at most once a second: reading it costs as much as a small fit."""
    global _free_cache
    now = time.monotonic()
    if _free_cache is None or now - _free_cache[0] > 1.0:
        _free_cache = now, _read_free_memory()
    return _free_cache[1]


def _read_free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 2 << 30
