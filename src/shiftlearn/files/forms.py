"""Forms for what skops does not write, or not safely: odd dictionaries, neighbour trees.

skops writes the keys of a dictionary as names in JSON and reads them back through their types;
``bool("False")`` is True and None has no type of that sort. And it has no loader for the search
trees of nearest-neighbour models, whose indices nothing would check. While a model is written,
such dictionaries are stored as :class:`Pairs`, which is a dictionary itself, and such trees as
their rows, from which they are grown again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Pairs", "forms"]

_LOCK = threading.Lock()
State = Callable[[Any, Any], dict[str, Any]]


class Pairs(dict[Any, Any]):
    """A dictionary whose state is its pairs.

    Examples
    --------
    >>> odd = Pairs({None: 1})
    >>> odd.__getstate__()
    {'keys': [None], 'values': [1]}
    """

    def __getstate__(self) -> dict[str, Any]:
        return {"keys": list(self), "values": list(self.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.update(zip(state["keys"], state["values"], strict=True))


@contextmanager
def forms() -> Iterator[None]:
    """Within the block skops writes the things above in the forms of this module."""
    from skops.io import _utils

    from shiftlearn.files import trees

    with _LOCK:
        new: dict[type, State] = {dict: _dictionaries(_utils._get_state.dispatch(dict))}
        new |= {kind: _trees(form) for kind, form in trees.FORMS.items()}
        before = {kind: _utils._get_state.dispatch(kind) for kind in new}
        for kind, state in new.items():
            _utils._get_state.register(kind, state)
        try:
            yield
        finally:
            for kind, state in before.items():
                _utils._get_state.register(kind, state)


def _dictionaries(plain: State) -> State:
    def state(value: Any, context: Any) -> dict[str, Any]:
        if all(_plain_key(key) for key in value):
            return plain(value, context)
        return _node(Pairs, Pairs.__getstate__(value), context)

    return state


def _trees(form: Any) -> State:
    return lambda value, context: _node(form, form.state_of(value), context)


def _node(form: type, state: Any, context: Any) -> dict[str, Any]:
    from skops.io import _utils

    return {
        "__class__": form.__name__,
        "__module__": form.__module__,
        "__loader__": "ObjectNode",
        "content": _utils.get_state(state, context),
    }


def _plain_key(key: Any) -> bool:
    """Whether skops reads a key back as it was: text, integers, NumPy's numbers."""
    numpy_kind = key.dtype.kind if hasattr(key, "dtype") else ""
    return type(key) in (str, int) or numpy_kind in ("i", "u", "f", "U")
