"""The README's first page runs, and the names that it calls available are there."""

import re
from pathlib import Path

import pytest

import shiftlearn

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf8")


def test_quick_start_runs():
    space = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(block, space)
    model, moons = space["model"], space["moons"]
    target = moons.domain < 0
    assert model.score(moons.data[target], moons.target[target]) > 0.9
    assert 0 <= model.certificate_.gap < 0.01
    assert set(space["search"].best_params_) == {"C"}


@pytest.mark.parametrize(
    "row", [line for line in TEXT.splitlines() if re.search(r"\| (available|planned) \|$", line)]
)
def test_availability_is_true(row):
    status = re.search(r"(\w+) \|$", row).group(1)
    names = re.findall(r"`(\w+)`", row)
    assert all((name in shiftlearn._HOME) == (status == "available") for name in names), names


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
