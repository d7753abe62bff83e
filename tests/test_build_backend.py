"""The build backend: when it brings a compiler of its own, and that the build then works."""

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fallback exists on Linux only")


@pytest.fixture
def backend(monkeypatch):
    for name in ("CC", "CXX", "CMAKE_ARGS", "CMAKE_TOOLCHAIN_FILE"):
        monkeypatch.delenv(name, raising=False)
    path = ROOT / "build_backend/shiftlearn_build.py"
    spec = importlib.util.spec_from_file_location("shiftlearn_build", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.sysconfig, "get_config_var", lambda name: None)
    monkeypatch.chdir(ROOT)
    return module


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf8")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def requirements(backend):
    return backend.get_requires_for_build_wheel(), backend.get_requires_for_build_editable()


def test_without_a_compiler_zig_is_required(backend, no_compiler):
    for required in requirements(backend):
        assert backend.ZIG_REQUIREMENT in required
    assert backend.ZIG_REQUIREMENT not in backend.get_requires_for_build_sdist()


def test_a_compiler_by_name_only_does_not_count(backend, no_compiler):
    for name in ("c++", "g++", "clang++"):
        script(no_compiler / name, "exit 1")
    assert backend.find_compiler() is None
    assert all(backend.ZIG_REQUIREMENT in required for required in requirements(backend))


def test_the_first_compiler_that_works_is_taken(backend, no_compiler):
    script(no_compiler / "c++", "exit 1")
    works = script(no_compiler / "g++", "exit 0")
    assert backend.find_compiler() == str(works)
    assert not any(backend.ZIG_REQUIREMENT in required for required in requirements(backend))
    with backend.compiler_in_environment():
        assert os.environ["CXX"] == str(works)
    assert "CXX" not in os.environ


@pytest.mark.parametrize(
    "name, value",
    [
        ("CXX", "nowhere++"),
        ("CMAKE_ARGS", "-DCMAKE_CXX_COMPILER=nowhere++"),
        ("CMAKE_TOOLCHAIN_FILE", "toolchain.cmake"),
    ],
)
def test_the_users_choice_is_respected(backend, no_compiler, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert not any(backend.ZIG_REQUIREMENT in required for required in requirements(backend))
    before = dict(os.environ)
    with backend.compiler_in_environment():
        assert dict(os.environ) == before


@pytest.mark.parametrize(
    "system, machine", [("win32", "AMD64"), ("darwin", "arm64"), ("linux", "riscv64")]
)
def test_elsewhere_there_is_no_fallback(backend, no_compiler, monkeypatch, system, machine):
    monkeypatch.setattr(backend.sys, "platform", system)
    monkeypatch.setattr(backend.platform, "machine", lambda: machine)
    assert backend.zig_target() is None
    assert backend._compiler_requirement() == []


def test_target_names_processor_and_glibc(backend, monkeypatch):
    monkeypatch.setattr(backend.platform, "machine", lambda: "aarch64")
    assert backend.zig_target() == "aarch64-linux-gnu.2.28"


def test_no_compiler_and_no_zig_says_what_to_do(backend, no_compiler, monkeypatch):
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    message = r"no working C\+\+ compiler.*CXX.*pip install 'ziglang"
    with pytest.raises(RuntimeError, match=message), backend.compiler_in_environment():
        pass


def test_environment_is_restored_after_a_failure(backend, no_compiler, monkeypatch):
    monkeypatch.setattr(backend, "_zig", lambda: Path("zig"))
    monkeypatch.setenv("AR", "my-ar")
    with pytest.raises(KeyError), backend.compiler_in_environment():
        folder = Path(os.environ["CXX"]).parent
        assert {Path(os.environ[name]).name for name in ("CC", "CXX", "AR", "RANLIB")} == {
            "zig-cc",
            "zig-c++",
            "zig-ar",
            "zig-ranlib",
        }
        raise KeyError
    assert os.environ["AR"] == "my-ar" and "CXX" not in os.environ
    assert not folder.exists()


def test_wrapper_drops_what_zig_cannot_take(backend, tmp_path):
    zig = script(tmp_path / "zig", 'printf "%s\\n" "$@"')
    scripts = backend.write_wrappers(tmp_path, zig, "x86_64-linux-gnu.2.28")
    given = ["-O3", "-flto=auto", "-march=x86-64-v3", "-fuse-ld=gold", "a b.cpp", "-o", "a b.o"]
    done = subprocess.run([scripts["CXX"], *given], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        *("c++", "-target", "x86_64-linux-gnu.2.28"),
        *("-O3", "-march=x86_64_v3", "a b.cpp", "-o", "a b.o"),
    ]
    done = subprocess.run([scripts["AR"], "qc", "x.a"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ar", "qc", "x.a"]


@pytest.mark.slow
def test_installs_where_there_is_no_compiler(tmp_path):
    """About three minutes, and 130 MB of downloads."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "env", "uname", "cat", "rm", "mkdir"):
        (tools / name).symlink_to(shutil.which(name))
    ignored = shutil.ignore_patterns(".git", "build", ".venv", "*.so", "__pycache__", "_build")
    shutil.copytree(ROOT, tmp_path / "clone", ignore=ignored)
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv/bin/python")
    kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "HOME", "HTTP", "SSL_"))}
    environment = {**kept, "PATH": str(tools)}
    install = [python, "-m", "pip", "install", "--no-deps", str(tmp_path / "clone")]
    done = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    says = [python, "-c", "import shiftlearn._core as core; print(core.isa())"]
    done = subprocess.run(
        says, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() in {"portable", "avx2", "avx512"}, done.stderr
