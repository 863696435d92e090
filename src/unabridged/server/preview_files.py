"""Which files the preview may read (SPEC S16): the folders that a setting names, a few kinds, never hidden ones.

Every path is taken apart before the file system sees it, and looked at again after links are followed.
What may not be read is answered as if it were not there: the answer says nothing about the rest of the disk.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from unabridged.errors import InputError, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["IMAGES", "KINDS", "Entry", "Folders", "kind_of", "media_type_of"]

KINDS = {
    "pdf": "pdf", "docx": "word", "docm": "word", "txt": "text", "text": "text", "md": "markdown",
    "markdown": "markdown", "html": "html", "htm": "html", "xhtml": "html", "png": "image", "jpg": "image",
    "jpeg": "image", "gif": "image", "webp": "image", "bmp": "image",
}  # fmt: skip
IMAGES = {  # first bytes; no SVG, which is a program
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
}
LISTED = 1000  # entries of a folder in one answer; the answer says that there are more


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder of a listing; ``path`` is relative to its root, ``size`` in bytes (files only)."""

    name: str
    path: str
    kind: str
    size: int | None = None


def kind_of(name: str) -> str | None:
    """``pdf``, ``word``, ``text``, ``markdown``, ``html`` or ``image`` by a name's ending; ``None``: not to be read.

    >>> kind_of("Report.PDF"), kind_of("photo.jpeg"), kind_of("script.py"), kind_of("notes")
    ('pdf', 'image', None, None)
    """
    return KINDS.get(name.rpartition(".")[2].lower()) if "." in name else None


def media_type_of(data: bytes) -> str | None:
    """An image's media type by its first bytes; ``None`` for what is no image that we show."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in IMAGES.items() if data.startswith(magic)), None)


class Folders:
    """The folders that the preview may read, by number. Names of roots are shown, their places are not.

    >>> Folders([]).names
    ()
    """

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self._roots = tuple(Path(root).expanduser().resolve() for root in roots)

    @property
    def names(self) -> tuple[str, ...]:
        """The last part of each root."""
        return tuple(root.name or str(root) for root in self._roots)

    def list(self, root: int, path: str = "") -> tuple[tuple[Entry, ...], bool]:
        """What may be read in a folder, folders first, and whether there is more than is listed."""
        place = self._inside(root, path)
        if not place.is_dir():
            raise NotFound("no such folder among those that may be previewed")
        found = sorted(self._entries(root, place), key=lambda entry: (entry.kind != "folder", entry.name.casefold()))
        return tuple(found[:LISTED]), len(found) > LISTED

    def read(self, root: int, path: str, most: int) -> tuple[str, bytes]:
        """A file's name and bytes.

        Raises :class:`~unabridged.errors.NotFound` for what is outside, hidden or not there, and
        :class:`~unabridged.errors.InputError` for another kind of file or one over ``most`` bytes.
        """
        place = self._inside(root, path)
        if kind_of(place.name) is None:
            raise InputError(f"path: not one of the kinds that are read ({', '.join(sorted(KINDS))})")
        return place.name, _contents(place, most)

    def _inside(self, root: int, path: str) -> Path:
        """Where a path leads, if that is under its root and nothing on the way is hidden."""
        missing = NotFound("no such file among those that may be previewed")
        parts = PurePosixPath(path).parts
        if not 0 <= root < len(self._roots) or "\0" in path or "\\" in path or path.startswith("/"):
            raise missing
        if any(part.startswith(".") for part in parts):
            raise missing
        base = self._roots[root]
        try:
            place = (base / Path(*parts)).resolve(strict=True)
            inner = place.relative_to(base)
        except (OSError, ValueError, RuntimeError):
            raise missing from None
        if any(part.startswith(".") for part in inner.parts):  # a link that is seen may lead to what is hidden
            raise missing
        return place

    def _entries(self, root: int, place: Path) -> Iterator[Entry]:
        base = self._roots[root]
        try:
            names = sorted(entry.name for entry in place.iterdir())
        except OSError:
            raise NotFound("this folder cannot be read") from None
        for name in names:
            path = "/".join((place / name).relative_to(base).parts)
            try:
                status = self._inside(root, path).stat()
            except (NotFound, OSError):
                continue
            kind = kind_of(name)
            if stat.S_ISDIR(status.st_mode):
                yield Entry(name, path, "folder")
            elif kind is not None and stat.S_ISREG(status.st_mode):
                yield Entry(name, path, kind, status.st_size)


def _contents(place: Path, most: int) -> bytes:
    """The bytes of a plain file; a pipe or a device is not opened for good, a link no longer followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(place, flags)
    except OSError:
        raise NotFound("this file cannot be read") from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotFound("no such file among those that may be previewed")
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"path: the file is over the {most:,} bytes that a preview reads")
    return data
