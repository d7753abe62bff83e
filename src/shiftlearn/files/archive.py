"""``save`` and ``load``: a skops archive with an envelope that says what it is.

The file is a zip of uncompressed entries: ``schema.json`` and the arrays as skops writes them, and
``shiftlearn.json``, the envelope: format, versions, the class of the model, notes. ``load`` reads
the envelope, checks the whole tree against the allow-list, and only then builds anything.
"""

from __future__ import annotations

import io
import json
import platform
import zipfile
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

from shiftlearn.files.audit import Part, own_types, refused_parts
from shiftlearn.files.forms import forms
from shiftlearn.files.sources import without_sources

__all__ = ["FORMAT", "describe", "load", "save"]

FORMAT = 1
_ENVELOPE, _SCHEMA = "shiftlearn.json", "schema.json"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")


def save(
    model: Any,
    path: str | Path,
    source: bool = True,
    *,
    trusted: Collection[str | type] = (),
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model to a file that can be loaded without running anything of its own.

    Parameters
    ----------
    model : estimator
        A fitted (or unfitted) estimator of this library or of scikit-learn, pipelines included.
    path : str or Path
        Any path; ``.skops`` is customary. It is written whole or not at all.
    source : bool, default=True
        False leaves the sources of adapted models out; ``set_source`` puts them back after
        ``load``.
    trusted : collection of str or type, default=()
        Classes of other packages in the model, ``"package.module.Class"``, that ``load`` will be
        told to trust as well.
    notes : mapping, optional
        Whatever JSON can hold; kept beside the model and returned by :func:`describe`.

    Returns
    -------
    Path
        Where the file is.

    Raises
    ------
    ValueError
        Where a part of the model cannot be saved safely; it is named, with the remedy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftlearn import SVC, load, save
    >>> model = SVC().fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(model, Path(folder) / "model.skops")
    ...     load(path).predict([[0.9]])
    array(['b'], dtype='<U1')
    """
    from shiftlearn.datasets.folder import write_atomically

    content = _written(model if source else without_sources(model))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        refused = refused_parts(_read_json(archive, _SCHEMA), _names(trusted), archive.read)
    if refused:
        raise ValueError(_cannot_save(refused))
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(_ENVELOPE, json.dumps(_envelope(model, source, notes), indent=2))
    # At once absolute: a writer may change the working directory.
    place = Path(path).absolute()
    write_atomically(place, lambda part: part.write_bytes(buffer.getvalue()))
    return place


def load(path: str | Path | BinaryIO, trusted: Collection[str | type] = ()) -> Any:
    """Read a model that :func:`save` wrote.

    Nothing in the file is executed: its tree may name only the classes of this library's and of
    scikit-learn's estimators, arrays and plain values, and objects are made without calling their
    constructors. Everything else is refused, pickles among it.

    Parameters
    ----------
    path : str, Path or binary file
        The file.
    trusted : collection of str or type, default=()
        Further classes that may be in it, ``"package.module.Class"``. Trust only what you know.

    Returns
    -------
    estimator
        The model.

    Raises
    ------
    ValueError
        Where the file is not a model of this library, is damaged, was written in a later
        format, or holds what is not allowed.

    See Also
    --------
    describe : what a file says about itself, without building the model.

    Examples
    --------
    >>> import io
    >>> from shiftlearn import load
    >>> load(io.BytesIO(b"no model"))
    Traceback (most recent call last):
        ...
    ValueError: the file is not a model of shiftlearn (not a zip archive); models are written by ...
    """
    skops_io = _skops()
    with _opened(path) as archive:
        _check_envelope(archive, path)
        schema = _read_json(archive, _SCHEMA, path)
        names = _names(trusted)
        refused = refused_parts(schema, names, archive.read)
        if refused:
            raise ValueError(_cannot_load(path, refused))
        stream = archive.fp
        assert stream is not None
        stream.seek(0)
        try:
            return skops_io.load(stream, trusted=[*names, *own_types(schema)])
        except Exception as error:
            raise _damaged(path, error) from error


def describe(path: str | Path | BinaryIO) -> dict[str, Any]:
    """What a model file says about itself: versions, class, notes; the model is not built.

    Parameters
    ----------
    path : str, Path or binary file
        The file.

    Returns
    -------
    dict
        The envelope.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shiftlearn import SVC, save
    >>> from shiftlearn.files import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     describe(save(SVC(), Path(folder) / "a.skops"))["class"]
    'shiftlearn.machines.svc.SVC'
    """
    with _opened(path) as archive:
        return _check_envelope(archive, path)


def _written(model: Any) -> bytes:
    skops_io = _skops()
    try:
        with forms():
            content: bytes = skops_io.dumps(model)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{type(model).__name__} holds a part that cannot be saved safely ({error}). Leave the "
            "source out with source=False and put it back with set_source after load; set "
            "callbacks and other functions to None."
        ) from error
    return content


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "saving and loading models needs skops; install the extra: "
            'pip install "shiftlearn[files]"',
            name="skops",
        ) from error
    return skops.io


def _envelope(model: Any, source: bool, notes: Mapping[str, Any] | None) -> dict[str, Any]:
    import shiftlearn

    kind = type(model)
    return {
        "format": "shiftlearn model",
        "format_version": FORMAT,
        "shiftlearn": shiftlearn.__version__,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "source": bool(source),
        "notes": dict(notes or {}),
    }


def _opened(path: str | Path | BinaryIO) -> zipfile.ZipFile:
    """The archive, of which nothing is believed yet."""
    place = path if hasattr(path, "read") else Path(path)
    try:
        archive = zipfile.ZipFile(place)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError) as error:
        raise _no_model(path, "not a zip archive") from error
    packed = [entry for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
    if packed or _claimed(archive) > _size(archive):
        archive.close()
        raise _no_model(path, "its entries are compressed or overlap")
    return archive


def _claimed(archive: zipfile.ZipFile) -> int:
    return sum(entry.file_size for entry in archive.infolist())


def _size(archive: zipfile.ZipFile) -> int:
    assert archive.fp is not None
    archive.fp.seek(0, io.SEEK_END)
    return archive.fp.tell()


def _check_envelope(archive: zipfile.ZipFile, path: Any) -> dict[str, Any]:
    if _ENVELOPE not in archive.namelist():
        raise _no_model(path, f"it has no {_ENVELOPE}")
    envelope = _read_json(archive, _ENVELOPE, path)
    version = envelope.get("format_version") if isinstance(envelope, dict) else None
    if not isinstance(version, int) or version < 1:
        raise _no_model(path, f"{_ENVELOPE} has no format_version")
    if version > FORMAT:
        raise ValueError(
            f"{_name(path)} was written by shiftlearn {envelope.get('shiftlearn')} in format "
            f"{version}; this version reads formats up to {FORMAT}. Install a newer shiftlearn."
        )
    return dict(envelope)


def _read_json(archive: zipfile.ZipFile, name: str, path: Any = "model") -> Any:
    try:
        return json.loads(archive.read(name))
    except (KeyError, ValueError, RecursionError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise _damaged(path, error) from error


def _names(trusted: Collection[str | type]) -> list[str]:
    if isinstance(trusted, str | bool) or trusted is None:
        raise TypeError(
            f'trusted must be a list of names such as "package.module.Class", got {trusted!r}.'
        )
    return [t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for t in trusted]


def _name(path: Any) -> str:
    return "the file" if hasattr(path, "read") else str(path)


def _no_model(path: Any, why: str) -> ValueError:
    return ValueError(
        f"{_name(path)} is not a model of shiftlearn ({why}); models are written by "
        "shiftlearn.save or by `shiftlearn fit`. Pickles are not read: they can run anything."
    )


def _damaged(path: Any, error: BaseException) -> ValueError:
    return ValueError(
        f"{_name(path)} is damaged or was not written by shiftlearn.save "
        f"({type(error).__name__}: {str(error)[:200]}); nothing was loaded."
    )


def _listed(parts: list[Part]) -> str:
    shown = [f"{part.place} ({part.name})" for part in parts[:3]]
    return "; ".join(shown) + (f"; and {len(parts) - 3} more" if len(parts) > 3 else "")


def _cannot_save(parts: list[Part]) -> str:
    function = any(part.loader in ("FunctionNode", "PartialNode", "MethodNode") for part in parts)
    remedy = "set functions to None, or " if function else ""
    names = ", ".join(sorted({repr(part.name) for part in parts})[:3])
    return (
        f"{_listed(parts)} cannot be saved safely. If it is a source, use source=False and put it "
        f"back with set_source after load; otherwise {remedy}name the class in trusted=[{names}] "
        "for save and load."
    )


def _cannot_load(path: Any, parts: list[Part]) -> str:
    names = ", ".join(sorted({repr(part.name) for part in parts})[:3])
    return (
        f"{_name(path)} holds what is not on the list of harmless parts: {_listed(parts)}. Nothing "
        f"was loaded. If you know the file, name its classes: load(path, trusted=[{names}])."
    )
