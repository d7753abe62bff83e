"""Models without the sources they were adapted from."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["without_sources"]


def without_sources(model: Any) -> Any:
    """A shallow copy whose adapted models have no source; the model itself is left as it is.

    Adapted models say themselves what they are without their source (``without_source``);
    pipelines are looked into.
    """
    if hasattr(model, "without_source"):
        return model.without_source()
    steps = getattr(model, "steps", None)
    if isinstance(steps, list):
        bare = copy.copy(model)
        bare.steps = [(name, without_sources(step)) for name, step in steps]
        return bare
    return model
