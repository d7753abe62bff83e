"""The README's first page runs, and the names that it calls available are there."""

import re
from pathlib import Path

import pytest

import shiftlearn

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf8")
TABLE = TEXT.split("<!-- begin: what is in it -->")[1].split("<!-- end: what is in it -->")[0]


def test_quick_start_runs():
    space = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(block, space)
    model, moons = space["model"], space["moons"]
    target = moons.domain < 0
    assert model.score(moons.data[target], moons.target[target]) > 0.9
    assert 0 <= model.certificate_.gap < 0.01
    assert set(space["search"].best_params_) == {"C"}


@pytest.mark.parametrize("name", re.findall(r"`([A-Za-z]+)`", TABLE))
def test_names_in_the_table_are_public(name):
    assert name in shiftlearn._HOME


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md"]
    pages += sorted((ROOT / "docs").rglob("*.md"))
    missing = []
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf8")):
            # These two the build of the documentation makes; Sphinx checks them itself.
            if "://" in link or link.split("/")[0] in ("api", "gallery"):
                continue
            if not (page.parent / link).exists():
                missing.append(f"{page.relative_to(ROOT)}: {link}")
    assert not missing
