"""Where files are: the local disk, S3, GCS, Azure and whatever else pyarrow or fsspec opens, as one kind of object."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.fs as pafs

from unabridged.errors import MissingExtra, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["Place", "digest_of", "find", "is_left_out", "is_remote", "lasting", "place_of"]

_URI = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
_MAGIC = re.compile(r"[*?[]")
# What pyarrow opens by itself; everything else is fsspec's.
_NATIVE = ("s3", "gs", "gcs", "hdfs", "viewfs", "file")


@dataclass(frozen=True, slots=True)
class Place:
    """A file or a folder in a file system. ``name`` is as the user wrote it, for ids and messages."""

    name: str
    path: str
    system: Any = field(repr=False, compare=False)
    local: bool = True

    def open(self) -> Any:
        """The file, to be read at any place of it."""
        try:
            return self.system.open_input_file(self.path)
        except OSError as error:
            raise UnreadableFile(self.name, _reason(error)) from None

    def stream(self) -> Any:
        """The file, to be read from its beginning, unpacked by its ending (gz, zst, bz2)."""
        try:
            return self.system.open_input_stream(self.path, compression="detect")
        except OSError as error:
            raise UnreadableFile(self.name, _reason(error)) from None

    @property
    def identity(self) -> str:
        """What changes when the file does: its size and the time of its last change."""
        info = self.system.get_file_info(self.path)
        if info.type == pafs.FileType.NotFound:
            raise UnreadableFile(self.name, "there is no such file or folder")
        return f"{info.size}/{info.mtime_ns}"

    @property
    def lasting(self) -> str:
        """Its name from wherever the program is run."""
        return self.path if self.local else self.name

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return bool(self.system.get_file_info(self.path).type == pafs.FileType.Directory)

    @property
    def exists(self) -> bool:
        """Whether it is there."""
        return bool(self.system.get_file_info(self.path).type != pafs.FileType.NotFound)

    def below(self, name: str) -> Place:
        """A file of the folder."""
        return Place(f"{self.name.rstrip('/')}/{name}", f"{self.path.rstrip('/')}/{name}", self.system, self.local)


def is_remote(path: str) -> bool:
    """Whether a path is a URI.

    >>> is_remote("s3://bucket/rows.parquet"), is_remote("rows.parquet")
    (True, False)
    """
    return bool(_URI.match(path))


def lasting(path: str) -> str:
    """A path that means the same from wherever the program is run."""
    return path if is_remote(path) else str(Path(path).absolute())


def place_of(path: str, storage: Mapping[str, str] | None = None) -> Place:
    """Where a path or URI leads; ``storage`` are options of fsspec's file system."""
    if not is_remote(path):
        return Place(path, str(Path(path).absolute()), pafs.LocalFileSystem())
    scheme = path.partition("://")[0].lower()
    if storage or scheme not in _NATIVE:
        return _by_fsspec(path, dict(storage or {}))
    try:
        system, inner = pafs.FileSystem.from_uri(path)
    except (OSError, ValueError) as error:
        raise UnreadableFile(path, _reason(error)) from None
    return Place(path, inner, system, local=scheme == "file")


def find(
    path: str,
    storage: Mapping[str, str] | None = None,
    *,
    endings: tuple[str, ...] = (),
    leave_out: Collection[str] = (),
) -> list[Place]:
    """The files that a path means: itself, those of a folder with one of the endings, those of a pattern.

    Of the last two those that are to be left out, or lie in a folder that is, are not meant.
    """
    place = place_of(path, storage)
    if not _MAGIC.search(path) or place.exists:
        return _inside(place, endings, leave_out) if place.is_folder else [_there(place)]
    found = [each for each in _listed(_plain_part(place)) if _fits(each.path, place.path)]
    found = [each for each in found if not is_left_out(each, leave_out)]
    if not found:
        raise UnreadableFile(path, "no file matches")
    return found


def _there(place: Place) -> Place:
    place.identity  # noqa: B018 raises where nothing is
    return place


def is_left_out(place: Place, left_out: Collection[str]) -> bool:
    """Whether a local file is one of some, or lies below one of them."""
    if not left_out or not place.local:
        return False
    real = os.path.realpath(place.path)
    return any(real == each or real.startswith(f"{each}/") for each in left_out)


def _inside(place: Place, endings: tuple[str, ...], left_out: Collection[str]) -> list[Place]:
    found = [each for each in _listed(place) if each.path.lower().endswith(endings) and not is_left_out(each, left_out)]
    if not found:
        raise UnreadableFile(place.name, f"no file in this folder ends in {', '.join(endings)}")
    return found


def _listed(folder: Place) -> Iterator[Place]:
    """The files below a folder, by name; hidden ones and those that writers leave half done are left out."""
    if not folder.exists:
        return
    infos = folder.system.get_file_info(pafs.FileSelector(folder.path, recursive=True))
    for info in sorted(infos, key=lambda info: info.path):
        inner = info.path[len(folder.path) :].lstrip("/")
        if info.type == pafs.FileType.File and not any(part.startswith((".", "_")) for part in inner.split("/")):
            yield folder.below(inner)


def _plain_part(place: Place) -> Place:
    """The folder that a pattern begins in."""
    parts = place.path.split("/")
    plain = next(at for at, part in enumerate(parts) if _MAGIC.search(part))
    gone = len(parts) - plain
    name = "/".join(place.name.split("/")[:-gone]) or "."
    return Place(name, "/".join(parts[:plain]) or "/", place.system, place.local)


def _fits(path: str, pattern: str) -> bool:
    return _match(path.split("/"), pattern.split("/"))


def _match(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_match(parts[at:], pattern[1:] or ["*"]) for at in range(len(parts)))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _match(parts[1:], pattern[1:])


def _by_fsspec(path: str, storage: dict[str, str]) -> Place:
    try:
        import fsspec
    except ImportError:
        raise MissingExtra("fsspec", "jobs") from None
    try:
        system, inner = fsspec.core.url_to_fs(path, **storage)
    except ImportError as error:
        raise UnreadableFile(path, str(error)) from None
    except ValueError as error:
        raise UnreadableFile(path, _reason(error)) from None
    return Place(path, inner, pafs.PyFileSystem(pafs.FSSpecHandler(system)), local=False)


def _reason(error: Exception) -> str:
    said = getattr(error, "strerror", None) or str(error)
    return re.sub(r"\s+", " ", said)[:200].rstrip(".").lower()


def digest_of(parts: list[str]) -> str:
    """One identity of several."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
