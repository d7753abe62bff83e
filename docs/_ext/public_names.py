"""Write ``api/index.rst`` from the package itself, so that a new public name appears by itself.

One section for each part of the house that has public names, in the order of the table; then the
modules that are public as a whole.
"""

import importlib
import inspect
from pathlib import Path

import shiftlearn

# Public as modules: everything in their ``__all__``.
MODULES = ("metrics", "datasets", "errors", "solvers.qp")


def sections():
    """Yield (title, text, module, names in it) for every section of the reference."""
    homes = {}
    for name, home in shiftlearn._HOME.items():
        homes.setdefault(home.split(".")[0], []).append(name)
    for home, names in homes.items():
        title = home.replace("_", " ").capitalize()
        yield title, _first_line(f"shiftlearn.{home}"), "shiftlearn", sorted(names)
    for module in MODULES:
        full = f"shiftlearn.{module}"
        if importlib.util.find_spec(full):
            public = getattr(importlib.import_module(full), "__all__", ())
            yield f"``{full}``", _first_line(full), full, sorted(public)


def _first_line(module):
    text = inspect.getdoc(importlib.import_module(module)) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def page():
    """Return the text of the page."""
    lines = ["API reference", "=============", ""]
    for title, text, module, names in sections():
        lines += [title, "-" * len(title), "", text, "", f".. currentmodule:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {name}" for name in names] + [""]
    return "\n".join(lines)


def setup(app):
    """Write the page before Sphinx looks for its sources; leave it alone where nothing changed."""
    path = Path(app.srcdir, "api", "index.rst")
    text = page()
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf8") != text:
        path.write_text(text, encoding="utf8")
    return {"parallel_read_safe": True}
