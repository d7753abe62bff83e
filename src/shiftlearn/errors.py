"""Warnings and errors of the library. Wrong input is a ``ValueError`` or ``TypeError``."""

from __future__ import annotations


class InfeasibleError(ValueError):
    """The constraints of a problem contradict each other; the message names the group."""


class NoTargetWarning(UserWarning):
    """No target rows were given: what was fitted is the plain machine on the source rows."""


class NoOverlapWarning(UserWarning):
    """Source and target rows lie so far apart that labels of one say nothing about the other."""


class NoSourceWarning(UserWarning):
    """No source rows or source model were given: the target rows were used alone."""


class ScaleWarning(UserWarning):
    """Columns or scores lie on scales so different that the answer depends on it."""


class MissingLabelWarning(UserWarning):
    """A value of ``y`` was taken as the mark of an unlabelled row."""


class DataNotFoundError(FileNotFoundError):
    """A published data set is not there; the message names the file, the folder and the remedy."""
