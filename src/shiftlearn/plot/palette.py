"""Colours and markers shared by all pictures: told apart by colour-blind eyes, on light and dark.

The hues are those of Okabe and Ito; regions are the same hues blended into the axes' own
background, so that one picture serves light and dark pages.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

__all__ = [
    "CLASS_COLOURS",
    "axes_for",
    "blend",
    "class_colours",
    "foreground",
    "is_dark",
    "line_styles",
]

CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")


def class_colours(n_classes: int, *, dark: bool = False) -> list[str]:
    """Colours for the classes in their sorted order; after seven they begin again.

    On a dark page the deep blue and the light blue change places.
    """
    swap = {"#0072B2": "#56B4E9", "#56B4E9": "#0072B2"} if dark else {}
    order = [swap.get(colour, colour) for colour in CLASS_COLOURS]
    return list(islice(cycle(order), n_classes))


def line_styles(n_lines: int, *, dark: bool = False) -> list[dict[str, Any]]:
    """Colour and marker for each of several lines, so that no two look alike in grey."""
    markers = cycle("osD^vP*X")
    return [
        {"color": colour, "marker": marker}
        for colour, marker in zip(class_colours(n_lines, dark=dark), markers, strict=False)
    ]


def blend(colour: Any, background: Any, share: float) -> tuple[float, float, float]:
    """``share`` of a colour over a background, as opaque RGB."""
    from matplotlib.colors import to_rgb

    over, under = to_rgb(colour), to_rgb(background)
    red, green, blue = (share * o + (1 - share) * u for o, u in zip(over, under, strict=True))
    return red, green, blue


def is_dark(ax: Any) -> bool:
    """Whether the background of ``ax`` is dark."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.get_facecolor())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def foreground(ax: Any) -> tuple[float, float, float]:
    """A colour that is read on ``ax``: near black on a light background, near white on dark."""
    return (0.93, 0.93, 0.93) if is_dark(ax) else (0.13, 0.13, 0.13)


def axes_for(ax: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]
