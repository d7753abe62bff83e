"""What a file may hold: an allow-list over (loader, type), checked before anything is built.

A skops archive is a tree of nodes in JSON; each names a loader and a type. Loaders that call
functions with arguments from the file (methods, partials, operators, constructors) are never
allowed; objects are made without their constructors, and only of the classes listed here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from shiftlearn.files.forests import TREE, sound_trees

__all__ = ["Part", "own_types", "refused_parts"]

_PLAIN = {
    "JsonNode": ("builtins.str",),
    "DictNode": ("builtins.dict", "collections.OrderedDict"),
    "DefaultDictNode": ("collections.defaultdict",),
    "ListNode": ("builtins.list",),
    "TupleNode": ("builtins.tuple",),
    "SetNode": ("builtins.set",),
    "SliceNode": ("builtins.slice",),
    "BytesNode": ("builtins.bytes",),
    "BytearrayNode": ("builtins.bytearray",),
    "DTypeNode": ("numpy.dtype",),
    "MaskedArrayNode": ("numpy.ma.core.MaskedArray", "numpy.ma.MaskedArray"),
    "RandomStateNode": ("numpy.random.mtrand.RandomState",),
}
_TYPES = frozenset(
    f"builtins.{name}" for name in ("int", "float", "str", "bool", "list", "tuple", "dict", "set")
)
# Packages of ours whose classes are parts of models. Nothing of them acts when its state is set.
_OWN = (
    "adaptation", "alignment", "certificates", "covariate", "domains", "features", "files.forms",
    "files.trees", "kernels", "machines", "oneclass", "parameters", "prototypes", "shift",
    "solvers", "statistics", "tabular", "trust", "views",
)  # fmt: skip
# Parts of scikit-learn's estimators that are no estimators themselves.
_PARTS = frozenset(
    {
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """A node of a file: where in the model it is, its type and the loader it asks for."""

    place: str
    name: str
    loader: str
    sound: bool = False


def refused_parts(
    schema: Any, trusted: Collection[str], read: Callable[[str], bytes]
) -> list[Part]:
    """Parts of a skops schema that the allow-list does not have and the user did not trust.

    ``read`` returns the content of an entry of the archive.
    """
    trees = sound_trees(schema, read)
    return [part for part in _parts(schema, trees) if not _allowed(part, trusted)]


def own_types(schema: Any) -> list[str]:
    """The types that this allow-list adds to those skops trusts by itself."""
    built = ("ObjectNode", "SparseMatrixNode", "DTypeNode", "MaskedArrayNode")
    found = {part.name for part in _parts(schema) if part.loader in built and _allowed(part, ())}
    trees = {TREE for part in _parts(schema) if part.loader == "TreeNode"}  # all found to be sound
    return sorted(found | trees)


def _parts(schema: Any, trees: Collection[int] = ()) -> Iterator[Part]:
    """All nodes, wherever they stand; an explicit stack, so that depth costs nothing."""
    stack: list[tuple[str, Any]] = [("model", schema)]
    while stack:
        place, item = stack.pop()
        if isinstance(item, dict):
            loader = item.get("__loader__")
            if isinstance(loader, str):
                name = f"{item.get('__module__')}.{item.get('__class__')}"
                yield Part(place, name, loader, id(item) in trees)
            stack += [(_inside(place, key), value) for key, value in item.items()]
        elif isinstance(item, list):
            stack += [(f"{place}[{i}]", value) for i, value in enumerate(item)]


def _inside(place: str, key: str) -> str:
    hidden = key in ("content", "key_types") or key.startswith("__")
    return place if hidden else f"{place}.{key}"


def _allowed(part: Part, trusted: Collection[str]) -> bool:
    """Whether a node may be there; skops applies its own rules besides."""
    name, loader = part.name, part.loader
    if loader == "CachedNode" or name in trusted:
        return True
    if loader in _PLAIN:
        return name in _PLAIN[loader]
    rules = {
        "NdArrayNode": lambda: name == "numpy.ndarray" or _is_scalar(name),
        "TypeNode": lambda: name in _TYPES or _is_scalar(name),
        "SparseMatrixNode": lambda: _is_sparse(name),
        "FunctionNode": lambda: _is_ufunc(name),
        "TreeNode": lambda: name == TREE and part.sound,
        "LossNode": lambda: name.startswith(("sklearn._loss.", "sklearn.linear_model.", "_loss.")),
        "ObjectNode": lambda: name in _PARTS or _is_estimator(name) or _is_own(name),
    }
    return loader in rules and rules[loader]()


def _is_scalar(name: str) -> bool:
    import numpy as np

    module, _, kind = name.rpartition(".")
    value = getattr(np, kind, None) if module == "numpy" else None
    return isinstance(value, type) and issubclass(value, np.generic) and value is not np.void


def _is_sparse(name: str) -> bool:
    import scipy.sparse

    module, _, kind = name.rpartition(".")
    value = getattr(scipy.sparse, kind, None) if module.startswith("scipy.sparse") else None
    return isinstance(value, type) and value.__module__ == module


def _is_ufunc(name: str) -> bool:
    from skops.io import _trusted_types as known

    return name in known.NUMPY_UFUNC_TYPE_NAMES or name in known.SCIPY_UFUNC_TYPE_NAMES


def _is_estimator(name: str) -> bool:
    """Whether skops itself counts the type among the harmless ones of scikit-learn."""
    from skops.io import _trusted_types as known

    inner = getattr(known, "SKLEARN_INTERNAL_TYPE_NAMES", ())
    return name in known.SKLEARN_ESTIMATOR_TYPE_NAMES or name in inner


def _is_own(name: str) -> bool:
    """Whether it is a class that one of our model packages defines."""
    module, _, kind = name.rpartition(".")
    if not any(f"{module}.".startswith(f"shiftlearn.{package}.") for package in _OWN):
        return False
    try:
        value = getattr(importlib.import_module(module), kind, None)
    except ImportError:
        return False
    return isinstance(value, type) and value.__module__ == module
