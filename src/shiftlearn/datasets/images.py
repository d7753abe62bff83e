"""Face images and their rotation, the made shift of the multi-class experiments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftlearn.datasets.base import Dataset, check_count
from shiftlearn.datasets.matlab import read_mat

__all__ = ["load_orl_faces", "load_yale_faces", "rotate_images"]


def load_yale_faces() -> Dataset:
    """Yale faces, 165 images of 32 x 32 pixels, 15 persons with 11 images each.

    Returns
    -------
    Dataset
        ``data`` (165, 1024) in [0, 1], each row an image read line by line; ``target`` the person.

    Examples
    --------
    >>> from shiftlearn.datasets import load_yale_faces
    >>> load_yale_faces().data.shape  # doctest: +SKIP
    (165, 1024)
    """
    return _faces(
        "yale-faces/Yale_32x32.mat",
        165,
        "The Yale Face Database, 32 x 32 version of D. Cai; research use with acknowledgement.",
    )


def load_orl_faces() -> Dataset:
    """ORL faces, 400 images of 32 x 32 pixels, 40 persons with 10 images each.

    Returns
    -------
    Dataset
        As `load_yale_faces`.

    Examples
    --------
    >>> from shiftlearn.datasets import load_orl_faces
    >>> load_orl_faces().data.shape  # doctest: +SKIP
    (400, 1024)
    """
    return _faces(
        "orl-faces/ORL_32x32.mat",
        400,
        "The ORL Database of Faces, AT&T Laboratories Cambridge, 32 x 32 version of D. Cai; "
        "free for research with credit.",
    )


def rotate_images(X: ArrayLike, angle: float, *, order: int = 1) -> NDArray[np.float64]:
    """Rotate square images, given as rows, counter-clockwise about their centre.

    Parameters
    ----------
    X : array-like of shape (n, side * side)
        Images read line by line.
    angle : float
        Degrees, counter-clockwise as seen.
    order : int
        Order of the spline that interpolates; 1 is bilinear. Pixels from outside are 0.

    Returns
    -------
    ndarray of shape (n, side * side)
        The rotated images, of the same size.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn.datasets import rotate_images
    >>> rotate_images([[1, 2, 3, 4]], 90).round(6).tolist()
    [[2.0, 4.0, 1.0, 3.0]]
    """
    from scipy.ndimage import rotate

    X = np.asarray(X, dtype=np.float64)
    side = round(X.shape[-1] ** 0.5) if X.ndim == 2 else 0
    if X.ndim != 2 or side * side != X.shape[1]:
        raise ValueError(f"X must hold one square image a row, got an array of shape {X.shape}.")
    images = X.reshape(-1, side, side)
    turned = rotate(images, angle, axes=(2, 1), reshape=False, order=order, cval=0.0)
    return np.asarray(turned, dtype=np.float64).reshape(len(X), -1)


def _faces(path: str, count: int, description: str) -> Dataset:

    content = read_mat(path)
    check_count(path, len(content["fea"]), count)
    # Published column by column; transposed, the rows read like the image.
    upright = content["fea"].reshape(-1, 32, 32).transpose(0, 2, 1).reshape(-1, 1024)
    target = content["gnd"].ravel().astype(np.int64)
    names = tuple(str(person) for person in np.unique(target))
    return Dataset(upright / 255.0, target, names, description)
