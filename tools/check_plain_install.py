"""Import every module of the installed package where only its run-time requirements are installed.

Run by a Python into which nothing but the package was installed: shows that no module needs an
extra at import, and that the requirements are NumPy, SciPy and scikit-learn alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil

import shiftlearn

EXTRAS = ("typer", "rich", "matplotlib", "jinja2", "pyarrow", "polars", "pandas", "skops", "dask")


def main() -> None:
    """Import all modules and all public names."""
    present = [name for name in EXTRAS if importlib.util.find_spec(name)]
    assert not present, f"this check wants an environment without {present}"
    # The commands are the extra `cli` itself; everything else must do without.
    found = pkgutil.walk_packages(shiftlearn.__path__, "shiftlearn.")
    modules = [m.name for m in found if not m.name.startswith("shiftlearn.cli")]
    for name in modules:
        importlib.import_module(name)
    for name in shiftlearn.__all__:
        getattr(shiftlearn, name)
    print(f"{len(modules)} modules and {len(shiftlearn.__all__)} names import without extras")


if __name__ == "__main__":
    main()
