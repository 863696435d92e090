"""Documents that were read for a preview, kept a while under a random name, so that each is read once."""

from __future__ import annotations

import io
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from unabridged.errors import InputError, NotFound, UnreadableFile
from unabridged.server.preview_files import kind_of, media_type_of
from unabridged.text.documents import Document, read_document
from unabridged.text.exact import without_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kept", "Shelf", "opened", "pasted"]

MOST_CHARACTERS = 20_000_000  # of one document's text: a Word file of 20 MB can unfold to far more
MOST_UNFOLDED = 256 << 20  # bytes of all files packed in a Word file: a few KB can be made to hold gigabytes
_SHELF_CHARACTERS = 60_000_000  # of all documents kept; the one asked for longest ago goes first


@dataclass(frozen=True, slots=True)
class Kept:
    """A document on the shelf, or an image (which has no chunks: it gets one vector, whole)."""

    name: str
    document: Document = field(repr=False)
    kind: str
    image: bytes = field(default=b"", repr=False)
    media_type: str = ""

    @property
    def size(self) -> int:
        """What it takes of the shelf."""
        return len(self.document.text) + len(self.image)

    def facts(self) -> Mapping[str, Any]:
        """What the page shows beside the name."""
        document = self.document
        return {
            "name": self.name,
            "kind": self.kind,
            "format": document.format,
            "title": document.title,
            "characters": len(document.text),
            "blocks": len(document.blocks),
            "pages": document.pages,
            "unread_pages": list(document.unread_pages),
            "sections": len({block.section for block in document.blocks if block.section}),
            "warnings": list(document.warnings),
            "media_type": self.media_type or None,
        }


class Shelf:
    """The documents kept, by random names that nobody can guess; for any number of threads.

    >>> shelf = Shelf()
    >>> shelf.get(shelf.keep(opened("note.md", b"# One"))).name
    'note.md'
    """

    def __init__(self, most: int = _SHELF_CHARACTERS) -> None:
        self._most = most
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._mutex = threading.Lock()

    def keep(self, kept: Kept) -> str:
        """Put it there; its name."""
        name = secrets.token_urlsafe(16)
        with self._mutex:
            self._kept[name] = kept
            while len(self._kept) > 1 and sum(each.size for each in self._kept.values()) > self._most:
                self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> Kept:
        """One of them; :class:`~unabridged.errors.NotFound` if it had to go, or never was there."""
        with self._mutex:
            if name not in self._kept:
                raise NotFound("this document is no longer kept for the preview: open it again")
            self._kept.move_to_end(name)
            return self._kept[name]


def opened(name: str, data: bytes) -> Kept:
    """A file's bytes as a document, if its kind is one that the preview reads (SPEC S16).

    Raises :class:`~unabridged.errors.InputError` for another kind, and for a file that is damaged or locked.
    """
    name = name.replace("\\", "/").rpartition("/")[2].strip() or "document.txt"
    kind = kind_of(name)
    if kind is None:
        raise InputError("name: not a PDF, Word, text, Markdown, HTML or image file")
    if kind == "image":
        media_type = media_type_of(data)
        if media_type is None:
            raise InputError("the file is named as an image, and is no PNG, JPEG, GIF, WebP or BMP")
        return Kept(name, Document("", format="image", source=name), "image", data, media_type)
    if kind == "word" and _unfolded(data) > MOST_UNFOLDED:
        raise InputError(f"{name}: unfolds to over {MOST_UNFOLDED >> 20} MB, more than a preview reads")
    try:
        document = read_document(data, format=kind, source=name)
    except UnreadableFile as error:  # of the caller's own name, not of a path here: it may be told
        raise InputError(f"{name}: {error.reason}") from None
    if len(document.text) > MOST_CHARACTERS:
        raise InputError(f"the document has over {MOST_CHARACTERS:,} characters, more than a preview cuts")
    return Kept(name, document, kind)


def _unfolded(data: bytes) -> int:
    """The bytes that a packed file says it holds; its reader takes no more than that. 0 for what is not packed."""
    try:
        with ZipFile(io.BytesIO(data)) as packed:
            return sum(each.file_size for each in packed.infolist())
    except BadZipFile:
        return 0


def pasted(text: str) -> Kept:
    """A text that was pasted, read as Markdown; never taken for the name of a file, whatever it looks like."""
    return Kept("Pasted text", Document(without_surrogates(text), format="markdown").with_blocks(), "markdown")
