"""Books (EPUB): the spine's chapters in order, as Markdown."""

from __future__ import annotations

import io
import posixpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from unabridged.errors import MissingExtra, UnreadableFile
from unabridged.text.documents.decode import decode
from unabridged.text.documents.html import write_html
from unabridged.text.documents.model import Document
from unabridged.text.documents.writer import MarkdownWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_epub"]

_LARGEST = 256 << 20  # bytes unpacked; a book is a few megabytes, a bomb is not
_CONTAINER = "META-INF/container.xml"


def read_epub(data: bytes, source: str | None) -> Document:
    """Read a book; ``metadata`` has its creator and language."""
    where = source or "bytes"
    try:
        book = ZipFile(io.BytesIO(data))
    except BadZipFile:
        raise UnreadableFile(where, "not an EPUB file (no zip archive)") from None
    with book:
        if sum(entry.file_size for entry in book.infolist()) > _LARGEST:
            raise UnreadableFile(where, f"an EPUB of more than {_LARGEST >> 20} MiB unpacked")
        try:
            root, folder = _package(book)
        except (KeyError, ValueError):
            raise UnreadableFile(where, "an EPUB without a readable package document") from None
        out = MarkdownWriter()
        for chapter in _spine(root, folder):
            if chapter in book.namelist():
                text, _ = decode(book.read(chapter), f"{where}:{chapter}")
                write_html(text, out, whole=False)
    about = {key: value for key in ("creator", "language") if (value := _about(root, key))}
    return Document(out.text(), out.blocks(), "epub", source, title=_about(root, "title"), metadata=about)


def _package(book: ZipFile) -> tuple[Any, str]:
    """The package document, and the folder that its paths are relative to."""
    path = next(node.get("full-path") for node in _xml(book.read(_CONTAINER)).iter() if _name(node) == "rootfile")
    return _xml(book.read(path)), posixpath.dirname(path)


def _spine(root: Any, folder: str) -> Iterator[str]:
    items = {node.get("id"): node for node in root.iter() if _name(node) == "item"}
    for reference in (node for node in root.iter() if _name(node) == "itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and "nav" not in (item.get("properties") or "").split():
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))


def _about(root: Any, key: str) -> str | None:
    found = next((node for node in root.iter() if _name(node) == key), None)
    return (found.text or "").strip() or None if found is not None else None


def _name(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]


def _xml(data: bytes) -> Any:
    try:
        from lxml import etree
    except ImportError:
        raise MissingExtra("lxml", "documents") from None
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from None
