"""Printing for people and for machines."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

__all__ = ["bar", "console", "print_json"]


def console(*, stderr: bool = False) -> Console:
    """A console that follows the terminal: colours and width there, plain text in pipes."""
    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def print_json(document: Any) -> None:
    """One JSON document on stdout, nothing else."""
    import typer

    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=_plain))


def bar(share: float, width: int = 28) -> str:
    """A bar of ``width`` characters, filled to ``share`` in eighths of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
