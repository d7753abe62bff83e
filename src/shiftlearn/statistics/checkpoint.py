"""Results of passes on disk: numbers, arrays and the few types made of them; nothing is executed.

A result is written as one ``.npz`` file: its arrays, and a JSON skeleton that says how they hang
together. Types that are made of such parts register with `recorded`.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

__all__ = ["PassLog", "recorded"]

Kind = TypeVar("Kind", bound=type)
_TYPES: dict[str, type] = {}
_FORM = 1


def recorded(kind: Kind) -> Kind:
    """Let values of this class be kept: its state is what ``__dict__`` or its slots hold."""
    _TYPES[kind.__name__] = kind
    return kind


class PassLog:
    """The results of the passes of one fit, in a folder.

    Raises ``ValueError`` where the folder holds the passes of another fit.
    """

    def __init__(self, folder: Path, key: str, signature: str) -> None:
        self.folder, self._next = folder, 0
        own = {"form": _FORM, "estimator": key, "data": signature}
        manifest = folder / "fit.json"
        if manifest.exists():
            _compare(json.loads(manifest.read_text(encoding="utf8")), own, folder)
        else:
            if folder.exists() and any(folder.iterdir()):
                raise ValueError(
                    f"checkpoint: the folder {folder} holds other files; name an empty one."
                )
            folder.mkdir(parents=True, exist_ok=True)
            _write(manifest, json.dumps(own, indent=1).encode())

    def has_next(self) -> bool:
        """Whether the result of the next pass is known."""
        return self._place().exists()

    def read(self) -> Any:
        """The result of the next pass."""
        with np.load(self._place(), allow_pickle=False) as archive:
            value = _decoded(json.loads(str(archive["skeleton"])), archive)
        self._next += 1
        return value

    def write(self, value: Any) -> None:
        """Keep the result of the next pass; the file is there whole or not at all."""
        arrays: dict[str, Any] = {}
        skeleton = json.dumps(_encoded(value, arrays))
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, skeleton=np.array(skeleton), **arrays)
        os.replace(name, self._place())
        self._next += 1

    def clear(self) -> None:
        """Remove what was written."""
        for file in [*self.folder.glob("pass-*.npz"), self.folder / "fit.json"]:
            file.unlink(missing_ok=True)

    def _place(self) -> Path:
        return self.folder / f"pass-{self._next:05d}.npz"


def _compare(found: dict[str, Any], own: dict[str, Any], folder: Path) -> None:
    words = {"form": "another version", "estimator": "other parameters", "data": "other data"}
    for name, word in words.items():
        if found.get(name) != own[name]:
            raise ValueError(
                f"checkpoint: {folder} holds a fit with {word}; name another folder, or remove "
                "this one."
            )


def _write(place: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=place.parent, suffix=".part")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(name, place)


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return {"int": int(value)}
    if isinstance(value, (float, np.floating)):
        return {"float": float(value).hex()}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            raise TypeError("arrays of objects cannot be kept in a checkpoint")
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        word = type(value).__name__
        return {word: [_encoded(part, arrays) for part in value]}
    if isinstance(value, dict):
        pairs = [[_encoded(k, arrays), _encoded(v, arrays)] for k, v in value.items()]
        return {"dict": pairs}
    if hasattr(value, "indptr"):
        parts = [value.data, value.indices, value.indptr, list(value.shape)]
        return {"csr": [_encoded(part, arrays) for part in parts]}
    if type(value).__name__ not in _TYPES:
        raise TypeError(f"{type(value).__name__} cannot be kept in a checkpoint")
    return {"type": type(value).__name__, "state": _encoded(_state(value), arrays)}


def _state(value: Any) -> dict[str, Any]:
    if hasattr(value, "__dict__"):
        return dict(vars(value))
    return {name: getattr(value, name) for name in value.__slots__}


def _decoded(value: Any, arrays: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "type" in value:
        made: Any = object.__new__(_TYPES[value["type"]])
        for name, part in _decoded(value["state"], arrays).items():
            object.__setattr__(made, name, part)
        return made
    ((word, content),) = value.items()
    if word == "csr":
        from scipy.sparse import csr_array

        data, indices, indptr, shape = (_decoded(part, arrays) for part in content)
        return csr_array((data, indices, indptr), shape=tuple(shape))
    readers: dict[str, Any] = {
        "int": int,
        "float": float.fromhex,
        "array": lambda name: arrays[name],
        "list": lambda parts: [_decoded(part, arrays) for part in parts],
        "tuple": lambda parts: tuple(_decoded(part, arrays) for part in parts),
        "dict": lambda pairs: {_decoded(k, arrays): _decoded(v, arrays) for k, v in pairs},
    }
    return readers[word](content)
