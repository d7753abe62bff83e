"""Rows in blocks, sums over them, and the moments of their columns."""

from shiftlearn.statistics.blocks import RowBlocks, map_reduce, row_blocks, transposed
from shiftlearn.statistics.checkpoint import recorded
from shiftlearn.statistics.moments import Moments, MomentValues
from shiftlearn.statistics.passes import Stream, open_stream
from shiftlearn.statistics.stream import Block, Blocks, by_blocks, is_stream

__all__ = [
    "Block",
    "Blocks",
    "MomentValues",
    "Moments",
    "RowBlocks",
    "Stream",
    "by_blocks",
    "is_stream",
    "map_reduce",
    "open_stream",
    "recorded",
    "row_blocks",
    "transposed",
]
