"""The package as a whole: lazy import, public names, layers, what may not stand in any file."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shiftlearn

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(shiftlearn._HOME)

# Public names whose docstring has no example. It stays empty.
WITHOUT_EXAMPLE: frozenset[str] = frozenset()


def modules_after(statement):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_lazy():
    loaded = modules_after("import shiftlearn")
    assert "shiftlearn" in loaded
    assert not loaded & {"scipy", "sklearn", "numpy", "pandas", "matplotlib", "shiftlearn._core"}


def test_dir_lists_all_names_without_loading_them():
    loaded = modules_after(
        "import shiftlearn; assert set(shiftlearn.__all__) <= set(dir(shiftlearn))"
    )
    assert not loaded & {"scipy", "sklearn"}


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'NoSuchMethod'"):
        shiftlearn.NoSuchMethod  # noqa: B018


def test_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    assert shiftlearn.__version__ == project["version"]


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_importable_and_documented(name):
    thing = getattr(shiftlearn, name)
    text = inspect.getdoc(thing)
    assert text, f"{name} has no docstring"
    if name not in WITHOUT_EXAMPLE:
        assert re.search(r"^Examples\n-{8}$", text, re.M), f"{name}: no Examples section"
        assert ">>>" in text, f"{name}: its Examples section runs nothing"


@pytest.mark.parametrize("name", NAMES)
def test_public_name_says_its_true_home(name):
    home = importlib.import_module(f"shiftlearn.{shiftlearn._HOME[name]}")
    assert getattr(shiftlearn, name) is getattr(home, name)


def test_every_public_name_is_known_to_type_checkers():
    source = (ROOT / "src/shiftlearn/__init__.py").read_text(encoding="utf8")
    homes = {}
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                homes |= {alias.asname: line.module for alias in line.names}
    assert homes == {name: f"shiftlearn.{home}" for name, home in shiftlearn._HOME.items()}


def test_layers_import_only_downwards():
    pytest.importorskip("importlinter", reason="needs the extra `lint`")
    command = [str(Path(sys.executable).with_name("lint-imports"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def tracked_texts():
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    for name in listing.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path.stat().st_size < 2_000_000:
            try:
                yield name, path.read_text(encoding="utf8")
            except UnicodeDecodeError:
                continue


def test_no_text_holds_a_path_of_somebodys_machine():
    # Written in pieces, so that this file does not find itself.
    roots = ["/" + root + "/" for root in ("home", "root", "work", "opt", "Users")]
    pattern = re.compile("|".join(r"(?<![\w.\-/])" + re.escape(root) for root in roots))
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in tracked_texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)
