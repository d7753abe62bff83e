"""Where published files lie, how they are checked, and how missing ones are downloaded.

A file is trusted when its SHA-256 equals the published one. Hashing every file at every call would
cost more than parsing some of them, so that a file once found right is remembered by its path,
size and modification time; ``verify=True`` hashes again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shiftlearn.errors import DataNotFoundError

__all__ = ["Published", "cache_folder", "data_folder", "locate", "sha256", "write_atomically"]

_log = logging.getLogger("shiftlearn")
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Published:
    """One published file: its place in the data folder, its checksum, its publisher.

    Attributes
    ----------
    path : str
        Place in the data folder.
    sha256 : str
        Checksum of the file at ``path``.
    url : str
        The publisher's address; empty where the file can no longer be had from one.
    original : str
        Place of the publisher's own form, where ``path`` is a repacked copy of it ("" if the two
        are the same file). Loaders read both forms.
    original_sha256 : str
        Checksum of the publisher's own form; empty where it is not known. Then only the counts of
        rows, which every loader checks, stand between a broken download and its use.
    member : str
        Name inside the publisher's zip archive.
    """

    path: str
    sha256: str
    url: str = ""
    original: str = ""
    original_sha256: str = ""
    member: str = ""


def cache_folder() -> Path:
    """The user's cache folder of the library: downloads, checks, results of studies.

    Examples
    --------
    >>> from shiftlearn.datasets import cache_folder
    >>> cache_folder().name
    'shiftlearn'
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shiftlearn"


def data_folder() -> Path:
    """The folder of the published files: ``SHIFTLEARN_DATA``, else a place in the user's cache.

    Examples
    --------
    >>> from shiftlearn.datasets import data_folder
    >>> data_folder().is_absolute()
    True
    """
    named = os.environ.get("SHIFTLEARN_DATA", "")
    return Path(named).expanduser().absolute() if named else cache_folder() / "data"


def locate(published: Published, *, download: bool = True, verify: bool = False) -> Path:
    """Path of a published file that is there and has the right checksum; download it if need be."""
    folder = data_folder()
    forms = [(published.path, published.sha256)]
    if published.original:
        forms.append((published.original, published.original_sha256))
    for name, checksum in forms:
        if (folder / name).is_file():
            _check(folder / name, checksum, again=verify)
            return folder / name
    if not (download and published.url):
        raise DataNotFoundError(_advice(published, folder))
    return _download(published, folder)


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary neighbour of ``path``, then move it there in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files can be read by their owner only, and that would stay so.
    part = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
    try:
        write(part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _check(path: Path, checksum: str, *, again: bool) -> None:
    """Raise unless ``path`` has the checksum; an empty one means that none is known."""
    if not checksum or (_marker(path, checksum).exists() and not again):
        return
    found = sha256(path)
    if found != checksum:
        raise ValueError(
            f"{path} is not the published file: its SHA-256 is {found}, {checksum} is needed. "
            "Remove it and get it again."
        )
    # A cache that cannot be written only means that the file is hashed at the next call, too.
    with contextlib.suppress(OSError):
        write_atomically(_marker(path, checksum), lambda marker: marker.write_text(f"{path}\n"))


def _marker(path: Path, checksum: str) -> Path:
    status = path.stat()
    state = f"{path.absolute()}|{status.st_size}|{status.st_mtime_ns}|{checksum}"
    return cache_folder() / "verified" / hashlib.sha256(state.encode()).hexdigest()[:32]


def _download(published: Published, folder: Path) -> Path:
    """Fetch from the publisher into the data folder, check, and only then put in place."""
    name = published.original or published.path
    checksum = published.original_sha256 if published.original else published.sha256
    _log.info("downloading %s to %s", published.url, folder / name)

    def fill(part: Path) -> None:
        try:
            _fetch(published.url, part)
        except (urllib.error.URLError, OSError) as error:
            raise DataNotFoundError(_advice(published, folder, str(error))) from error
        if published.member:
            _unzip(part, published.member)
        _check_download(part, checksum, published.url)

    try:
        write_atomically(folder / name, fill)
    except PermissionError as error:
        raise DataNotFoundError(_advice(published, folder, f"{folder} is read-only")) from error
    return folder / name


def _fetch(url: str, part: Path) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "shiftlearn"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, part.open("wb") as out:
        while block := answer.read(1 << 20):
            out.write(block)


def _unzip(part: Path, member: str) -> None:
    """Replace a zip archive by the one member that is wanted."""
    with zipfile.ZipFile(part) as archive:
        inside = [n for n in archive.namelist() if n.rsplit("/", 1)[-1] == member]
        if not inside:
            raise ValueError(f"The publisher's archive holds no file named {member}.")
        content = archive.read(inside[0])
    part.write_bytes(content)


def _check_download(part: Path, checksum: str, url: str) -> None:
    if not checksum:
        _log.info("no checksum is known for %s; only the number of rows is checked", url)
        return
    found = sha256(part)
    if found != checksum:
        raise ValueError(
            f"{url} no longer serves the published file: its SHA-256 is {found}, {checksum} "
            "was expected. Nothing was kept."
        )


def _advice(published: Published, folder: Path, reason: str = "") -> str:
    """Say which file is missing, where it is expected, and what to do."""
    if reason:
        start = f"{published.path} could not be downloaded from {published.url} ({reason})."
    elif published.url:
        start = f"{published.path} is not in {folder} (publisher: {published.url})."
    else:
        start = f"{published.path} is not in {folder} and no publisher serves it any more."
    named = os.environ.get("SHIFTLEARN_DATA", "")
    setting = f"now {named}" if named else "not set"
    return f"{start} Put it there, or set SHIFTLEARN_DATA ({setting}) to a folder that holds it."
