"""Settings of a run: ``--set name=value``, a TOML file, and the file that says what was used."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["as_toml", "parse", "read_config"]

_KEYS = {
    "source": str, "target": str, "label": str, "method": str, "output": str, "normal": str,
    "set": dict,
}  # fmt: skip


def parse(pairs: Sequence[str]) -> dict[str, Any]:
    """Values of ``name=value``: TOML where it is TOML (1.5, true, [1, 2]), none, else text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--set needs name=value, got {pair!r}.")
        found[name.strip()] = _value(text.strip())
    return found


def read_config(path: str | None) -> dict[str, Any]:
    """The keys of a TOML file, checked."""
    if path is None:
        return {}
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML ({error}).") from error
    content.pop("result", None)  # what `fit` writes beside the model
    unknown = [key for key in content if key not in _KEYS]
    if unknown:
        raise ValueError(f"{path} has the key {unknown[0]!r}; known are {', '.join(_KEYS)}.")
    for key, value in content.items():
        if not isinstance(value, _KEYS[key]):
            raise ValueError(f"{path}: {key} must be {_KEYS[key].__name__}, got {value!r}.")
    return content


def as_toml(document: Mapping[str, Any]) -> str:
    """A flat document with tables as TOML; None is left out."""
    plain = {k: v for k, v in document.items() if not isinstance(v, Mapping)}
    tables = {k: v for k, v in document.items() if isinstance(v, Mapping)}
    lines = _lines(plain)
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_lines(table)]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(k)} = {_toml(v)}" for k, v in table.items() if v is not None]


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    import json

    return json.dumps(str(value), ensure_ascii=False)


def _value(text: str) -> Any:
    if text.lower() in ("none", "null"):
        return None
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
