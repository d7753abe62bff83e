"""MATLAB files of the published data."""

from __future__ import annotations

import inspect
from typing import Any

from shiftlearn.datasets.catalogue import FILES
from shiftlearn.datasets.folder import locate

__all__ = ["read_mat"]


def read_mat(path: str) -> dict[str, Any]:
    """The variables in the published file ``path``; sparse ones as sparse arrays.

    SciPy before 1.17 gives sparse matrices, which behave alike wherever ``@`` and methods are used.
    """
    from scipy.io import loadmat

    form = {"spmatrix": False} if "spmatrix" in inspect.signature(loadmat).parameters else {}
    content: dict[str, Any] = loadmat(locate(FILES[path]), **form)
    return content
