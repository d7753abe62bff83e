"""Build backend: scikit-build-core, with a compiler of its own where the machine has none.

Every hook is scikit-build-core's. What is added: on Linux, where no working C++ compiler is found
and the user has named none, the ``ziglang`` package (a C++ compiler in a wheel) joins the build
requirements, and the build runs with CC, CXX, AR and RANLIB set to small wrapper scripts around it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scikit_build_core import build as _base
from scikit_build_core.build import (  # noqa: F401  (hooks handed on unchanged)
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Zig's command line is not stable between minor releases: the tested one, nothing else.
ZIG_REQUIREMENT = "ziglang==0.17.*"
# The oldest glibc that the result runs on; without it zig would build for this machine's own.
GLIBC = "2.28"

# The build needs threads and the C++17 library, so the line that is tried uses both, and links.
_TRIAL = """\
#include <thread>
#include <string_view>
int main() { std::thread([] {}).join(); return static_cast<int>(std::string_view("").size()); }
"""

# Zig takes no LTO for shared libraries of ours, knows no other linker, and spells processor names
# with underscores. Everything else goes through.
_COMPILER_WRAPPER = """\
#!/bin/sh
for argument in "$@"; do
  shift
  case $argument in
    -flto*|-fno-fat-lto-objects|-ffat-lto-objects|-fuse-ld=*|-fuse-linker-plugin|-static-libgcc) ;;
    -march=x86-64-v*) set -- "$@" "-march=x86_64_v${{argument#-march=x86-64-v}}" ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{zig}" {command} -target {target} "$@"
"""
_TOOL_WRAPPER = '#!/bin/sh\nexec "{zig}" {command} "$@"\n'


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return scikit-build-core's requirements, and a compiler where one is missing."""
    return [*_base.get_requires_for_build_wheel(config_settings), *_compiler_requirement()]


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return scikit-build-core's requirements, and a compiler where one is missing."""
    return [*_base.get_requires_for_build_editable(config_settings), *_compiler_requirement()]


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel as scikit-build-core does, with a compiler that works."""
    with compiler_in_environment():
        return _base.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build an editable wheel as scikit-build-core does, with a compiler that works."""
    with compiler_in_environment():
        return _base.build_editable(wheel_directory, config_settings, metadata_directory)


def _compiler_requirement() -> list[str]:
    return (
        [ZIG_REQUIREMENT]
        if zig_target() and not user_names_a_compiler() and not find_compiler()
        else []
    )


def zig_target() -> str | None:
    """Return the target that zig shall build for, None where there is no fallback.

    Windows and macOS are left out: their Pythons are built for their own compilers, and a wheel
    or the system's compiler is the way there. So is Linux without glibc.
    """
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}.get(
        platform.machine().lower()
    )
    if sys.platform != "linux" or machine is None or sys.maxsize < 2**32:
        return None
    if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
        return None
    return f"{machine}-linux-gnu.{GLIBC}"


def user_names_a_compiler(environment: Mapping[str, str] = os.environ) -> bool:
    """Say whether the user has chosen: then nothing is tried and nothing is changed."""
    named = ("CMAKE_CXX_COMPILER", "CMAKE_TOOLCHAIN_FILE")
    return (
        bool(environment.get("CXX"))
        or bool(environment.get("CMAKE_TOOLCHAIN_FILE"))
        or any(name in environment.get("CMAKE_ARGS", "") for name in named)
    )


def find_compiler() -> str | None:
    """Return the first C++ compiler that compiles, links and is not merely there by name."""
    of_python = (sysconfig.get_config_var("CXX") or "").split(" ")[0]
    for name in dict.fromkeys([of_python, "c++", "g++", "clang++"]):
        path = shutil.which(name) if name else None
        if path and compiles(path):
            return path
    return None


def compiles(compiler: str) -> bool:
    """Compile and link one small program."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "trial.cpp")
        source.write_text(_TRIAL, encoding="utf8")
        command = [
            compiler,
            "-std=c++17",
            "-pthread",
            str(source),
            "-o",
            str(source.with_suffix("")),
        ]
        try:
            return (
                subprocess.run(command, capture_output=True, timeout=120, check=False).returncode
                == 0
            )
        except (OSError, subprocess.TimeoutExpired):
            return False


@contextlib.contextmanager
def compiler_in_environment() -> Iterator[None]:
    """Set CC, CXX, AR and RANLIB for the time of a build, where the user has not."""
    target = zig_target()
    if target is None or user_names_a_compiler():
        yield
        return
    found = find_compiler()
    if found:
        # Python may have been built with a compiler that is not here; CMake would take its name.
        with _environment({"CXX": found}):
            yield
        return
    with (
        tempfile.TemporaryDirectory(prefix="shiftlearn-zig-") as folder,
        _environment(write_wrappers(Path(folder), _zig(), target)),
    ):
        yield


def _zig() -> Path:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise RuntimeError(
            "no working C++ compiler found (tried c++, g++, clang++). Install one, or name one in "
            f"CXX, or `pip install '{ZIG_REQUIREMENT}'` into this environment."
        )
    return Path(spec.origin).with_name("zig")


def write_wrappers(folder: Path, zig: Path, target: str) -> dict[str, str]:
    """Write the wrapper scripts and return the environment that points at them."""
    compiler = {"CC": "cc", "CXX": "c++"}
    tool = {"AR": "ar", "RANLIB": "ranlib"}
    for text, commands in ((_COMPILER_WRAPPER, compiler), (_TOOL_WRAPPER, tool)):
        for command in commands.values():
            script = folder / f"zig-{command}"
            script.write_text(text.format(zig=zig, command=command, target=target), encoding="utf8")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
    scripts = {name: str(folder / f"zig-{command}") for name, command in (compiler | tool).items()}
    # The compiled C++ library stays with the build and goes with it.
    caches = {
        name: str(folder / "cache") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
    }
    return scripts | caches


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
