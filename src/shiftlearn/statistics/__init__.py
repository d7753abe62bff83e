"""Rows in blocks, sums over them, and the moments of their columns."""

from shiftlearn.statistics.blocks import RowBlocks, map_reduce, row_blocks, transposed
from shiftlearn.statistics.moments import Moments, MomentValues

__all__ = ["MomentValues", "Moments", "RowBlocks", "map_reduce", "row_blocks", "transposed"]
