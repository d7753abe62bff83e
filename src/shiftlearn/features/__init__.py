"""Explicit feature maps of kernels, and low-rank factors of kernel matrices."""

from shiftlearn.features.fourier import RandomFourier
from shiftlearn.features.nystroem import Nystroem
from shiftlearn.features.pivoted import LowRank, pivoted_cholesky
from shiftlearn.features.resolve import resolve_features

__all__ = ["LowRank", "Nystroem", "RandomFourier", "pivoted_cholesky", "resolve_features"]
