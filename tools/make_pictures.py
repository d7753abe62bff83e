"""Make the pictures of the landing page: the terminal of `shiftlearn demo`, as an SVG.

    python tools/make_pictures.py

Run it when the demo changes; the picture is kept in docs/_static.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

STATIC = Path(__file__).resolve().parents[1] / "docs" / "_static"


def main() -> None:
    """Run the demo in an empty folder and draw what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "92", "TERM": "xterm-256color"}
        command = [sys.executable, "-m", "shiftlearn.cli", "demo"]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
    page = Console(record=True, width=92, file=open(os.devnull, "w"))  # noqa: SIM115
    page.print(Text("$ shiftlearn demo\n", style="bold"))
    page.print(Text.from_ansi(done.stdout.rstrip()))
    picture = page.export_svg(title="shiftlearn demo")
    # The page must need no network: the reader's own monospaced font will do.
    picture = re.sub(r"@font-face\s*{.*?}", "", picture, flags=re.S)
    lines = [line.rstrip() for line in picture.splitlines()]
    (STATIC / "demo.svg").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
