"""Sphinx: pydata theme, numpydoc, a gallery that runs, the reference made of `_HOME`."""

import re
import sys
import warnings
from pathlib import Path

import shiftlearn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "shiftlearn"
author = "The shiftlearn developers"
copyright = "the shiftlearn developers"
version = release = shiftlearn.__version__

extensions = [
    "public_names",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "examples"]
nitpicky = False

# Markdown pages: $formulas$, and links to headings.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3

# Members are listed by our own template; numpydoc's lists would ask for a page each.
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "plot_gallery": "True",
}
# An example that warns is an example that needs mending.
warnings.filterwarnings("error", module="__main__")

html_theme = "pydata_sphinx_theme"
html_title = "shiftlearn"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"changelog": [], "contributing": []}

_REQUEST_METHOD = re.compile(r"set_\w+_request|set_output|get_metadata_routing")


def _skip_routing(app, what, name, item, skip, options):
    """Leave scikit-learn's metadata plumbing out: its texts point into scikit-learn's own pages."""
    return True if _REQUEST_METHOD.fullmatch(name) else None


def setup(app):
    """Connect the above."""
    app.connect("autodoc-skip-member", _skip_routing)
