"""What a study is: a grid of settings, a function that does one cell of it, figures to compare.

A study asks one question of a paper. Its grid is the product of named factors; a cell is one
setting with one seed; the cell's function returns named figures. Everything else (keeping and
resuming, averaging, the table with the paper's figure beside ours, the picture) is the same for
every study and lives beside this module.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cell", "Reference", "Study", "get_study", "reference_row", "register", "study"]

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """One piece of work: a setting and a seed."""

    settings: Settings
    seed: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A printed figure and the settings to which it belongs (factors left out match anything)."""

    figure: str
    value: float
    where: Settings

    def fits(self, figure: str, settings: Settings) -> bool:
        """Whether this is the printed value of ``figure`` at ``settings``."""
        return self.figure == figure and all(
            settings.get(name) == value for name, value in self.where.items()
        )


@dataclass(frozen=True)
class Study:
    """One experiment.

    Attributes
    ----------
    name, title, about : str
        The name of the command, a line, and a paragraph that states what the paper leaves open.
    run_cell : callable
        ``run_cell(seed=..., **settings)`` returns the figures of one cell, name to number; it may
        return no figure for a setting that does not apply.
    grid : mapping of str to sequence
        The factors and their values, in the order of the table.
    columns : str
        The factor laid out from left to right and along the x axis.
    figures : mapping of str to str
        The figures in their order, with how each is called in tables (with its unit).
    seeds, quick_seeds : int
        Repeats of every setting, seeds 0, 1, ...
    quick : mapping of str to sequence
        Values that replace those of ``grid`` in the quick form.
    references : tuple of Reference
        The printed figures.
    reference_name : str
        What the printed figures are: "paper" or another word.
    applies : callable, optional
        ``applies(settings)`` is False for combinations to leave out.
    data : tuple of str
        Published files that the study reads, as places in the data folder.
    version : int
        Raise it whenever a cell would now give other figures: kept results are then not used.
    extra_pictures : callable, optional
        ``extra_pictures(results, folder)`` draws what the general picture does not show into the
        folder and gives the paths by name.
    """

    name: str
    title: str
    about: str
    run_cell: Callable[..., Mapping[str, float]]
    grid: Mapping[str, Sequence[Any]]
    columns: str
    figures: Mapping[str, str]
    seeds: int = 10
    quick: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    quick_seeds: int = 2
    references: tuple[Reference, ...] = ()
    reference_name: str = "paper"
    applies: Callable[[Settings], bool] | None = None
    data: tuple[str, ...] = ()
    version: int = 1
    extra_pictures: Callable[[Any, Path], Mapping[str, Path]] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise ValueError(f"name must be words joined by hyphens, got {self.name!r}.")
        if self.columns not in self.grid:
            raise ValueError(f"columns must be a factor of the grid, got {self.columns!r}.")
        unknown = set(self.quick) - set(self.grid)
        if unknown:
            raise ValueError(f"quick names factors that the grid has not: {sorted(unknown)}.")

    def factors(self, *, quick: bool) -> dict[str, Sequence[Any]]:
        """The factors and values of the quick or the full form."""
        return {**self.grid, **self.quick} if quick else dict(self.grid)

    def settings(self, *, quick: bool) -> list[dict[str, Any]]:
        """Every setting of the quick or the full form, in order."""
        factors = self.factors(quick=quick)
        product = (dict(zip(factors, values)) for values in itertools.product(*factors.values()))
        return [one for one in product if self.applies is None or self.applies(one)]

    def cells(self, *, quick: bool) -> Iterator[Cell]:
        """Every piece of work, seed by seed, so that an interrupted run has whole repeats."""
        settings = self.settings(quick=quick)
        for seed in range(self.quick_seeds if quick else self.seeds):
            for one in settings:
                yield Cell(one, seed)

    def reference(self, figure: str, settings: Settings) -> float | None:
        """The printed value of a figure at a setting, where there is one."""
        return next((r.value for r in self.references if r.fits(figure, settings)), None)


def reference_row(
    figure: str, columns: str, places: Iterable[Any], values: Iterable[float], **where: Any
) -> tuple[Reference, ...]:
    """References for one printed row: ``values`` at ``places`` of the factor ``columns``."""
    return tuple(
        Reference(figure, float(value), {**where, columns: place})
        for place, value in zip(places, values, strict=True)
    )


_REGISTRY: dict[str, Study] = {}


def register(new: Study) -> Study:
    """Enter a study; its name must be free."""
    known = _REGISTRY.get(new.name)
    if known is not None and known.run_cell.__module__ != new.run_cell.__module__:
        raise ValueError(f"A study named {new.name!r} is registered already.")
    _REGISTRY[new.name] = new
    return new


def study(name: str, **fields: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the cell of a study; the docstring becomes ``about``.

    The function itself is returned unchanged, so that worker processes can import it.

    Parameters
    ----------
    name : str
        The name of the command.
    **fields
        Fields of `Study`.

    Examples
    --------
    >>> from shiftlearn.studies import get_study, study
    >>> @study("squares", title="Squares", grid={"x": (1, 2)}, columns="x",
    ...        figures={"y": "y"}, seeds=1)
    ... def squares(x, seed):
    ...     "Squares of two numbers."
    ...     return {"y": x * x}
    >>> [dict(cell.settings) for cell in get_study("squares").cells(quick=False)]
    [{'x': 1}, {'x': 2}]
    """

    def enter(run_cell: Callable[..., Any]) -> Callable[..., Any]:
        about = " ".join((run_cell.__doc__ or "").split())
        register(Study(name=name, about=about, run_cell=run_cell, **fields))
        return run_cell

    return enter


def registered() -> dict[str, Study]:
    """The studies entered so far, by name."""
    return dict(sorted(_REGISTRY.items()))


def get_study(name: str) -> Study:
    """The study called ``name``."""
    if name not in _REGISTRY:
        known = ", ".join(sorted(_REGISTRY)) or "none"
        raise ValueError(f"There is no study named {name!r}. Known: {known}.")
    return _REGISTRY[name]
