"""Decision trees in files: allowed where their indices have been checked.

Compiled code follows the indices in a tree's array without looking whether they are inside, and
reads the columns that it names. A tree is sound where every child lies behind its parent, every
column below the number of columns, and that number is the ``n_features_in_`` of all ensembles
around the tree, which scikit-learn compares with the rows.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["TREE", "sound_trees"]

TREE = "sklearn.tree._tree.Tree"
_AROUND = ("sklearn.tree.", "sklearn.ensemble.")


def sound_trees(schema: Any, read: Callable[[str], bytes]) -> set[int]:
    """The ``id`` of each node of the schema that is a sound tree."""
    trees = list(_trees(schema))
    if not trees:
        return set()
    unsure = _ambiguous(schema, trees)
    return {id(node) for node, widths in trees if _sound(node, widths, unsure, read)}


def _trees(schema: Any) -> Iterator[tuple[dict[str, Any], tuple[Any, ...]]]:
    """Tree nodes, with the ``n_features_in_`` nodes of the estimators around them."""
    stack: list[tuple[Any, tuple[Any, ...]]] = [(schema, ())]
    while stack:
        item, widths = stack.pop()
        if isinstance(item, dict):
            if item.get("__loader__") == "TreeNode":
                yield item, widths
            if str(item.get("__module__", "")).startswith(_AROUND) and "content" in item:
                inside = item["content"]
                attributes = inside.get("content", {}) if isinstance(inside, dict) else {}
                widths = (*widths, attributes.get("n_features_in_"))
            stack += [(value, widths) for value in item.values()]
        elif isinstance(item, list):
            stack += [(value, widths) for value in item]


def _sound(
    node: dict[str, Any], widths: tuple[Any, ...], unsure: set[Any], read: Callable[[str], bytes]
) -> bool:
    if not widths or any(n.get("__id__") in unsure for n in _nodes([node, *widths])):
        return False
    try:
        n_features = _json(node["__reduce__"]["args"]["content"][0])
        table = np.load(io.BytesIO(read(node["content"]["content"]["nodes"]["file"])))
        count = _json(node["content"]["content"]["node_count"])
        return (
            all(_json(width) == n_features for width in widths)
            and count == len(table)
            and _inside(table, n_features)
        )
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OSError):
        return False


def _inside(table: Any, n_features: int) -> bool:
    """Whether every index of the array of nodes is one that may be followed."""
    left, right = table["left_child"], table["right_child"]
    leaf = left == -1
    place = np.arange(len(table))[~leaf]
    ends = [side[~leaf] for side in (left, right)]
    columns = table["feature"][~leaf]
    return bool(
        table.ndim == 1
        and len(table) > 0
        and (right[leaf] == -1).all()
        and all((side > place).all() and (side < len(table)).all() for side in ends)
        and (columns >= 0).all()
        and (columns < n_features).all()
    )


def _json(node: Any) -> int:
    if node["__loader__"] != "JsonNode":
        raise ValueError("a number is needed")
    value = json.loads(node["content"])
    if type(value) is not int:
        raise ValueError("a whole number is needed")
    return value


def _ambiguous(schema: Any, trees: list[tuple[dict[str, Any], tuple[Any, ...]]]) -> set[Any]:
    """Identities that stand for different things: a reader takes the first, whatever follows."""
    wanted = {n.get("__id__") for node, widths in trees for n in _nodes([node, *widths])}
    seen: dict[Any, str] = {}
    unsure = {None}
    for node in _nodes([schema]):
        name = node.get("__id__")
        if isinstance(name, dict | list) or name not in wanted:
            continue
        text = json.dumps(node, sort_keys=True)
        if seen.setdefault(name, text) != text:
            unsure.add(name)
    return unsure


def _nodes(items: list[Any]) -> Iterator[dict[str, Any]]:
    stack = list(items)
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "__loader__" in item:
                yield item
            stack += item.values()
        elif isinstance(item, list):
            stack += item
