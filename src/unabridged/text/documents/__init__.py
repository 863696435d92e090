"""Files and bytes to documents: one text, its blocks, their pages and sections.

Text, Markdown, HTML, PDF, Word, EPUB, source code, JSON Lines and CSV. What is not text becomes Markdown; a
text stays as it is. The parsers are in the extra ``documents`` and imported where they are used.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unabridged.errors import InputError, UnreadableFile
from unabridged.text.documents.decode import decode
from unabridged.text.documents.folder import is_code, walk_folder
from unabridged.text.documents.formats import FORMATS, format_of
from unabridged.text.documents.model import Block, Document

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Block", "Document", "is_code", "read_document", "read_documents", "walk_folder"]


def read_document(
    file: str | os.PathLike[str] | bytes | Document,
    *,
    format: str | None = None,
    source: str | None = None,
    charset: str | None = None,
    password: str | None = None,
    whole: bool = False,
) -> Document:
    """Read a file, bytes or a text.

    A ``str`` is a path if such a file exists or if it looks like one (one word with a known suffix), else the
    text itself; a :class:`~pathlib.Path` is always a path. ``format`` overrides what name and first bytes say
    (``text``, ``markdown``, ``html``, ``pdf``, ``word``, ``epub``, ``code``, ``jsonl``, ``csv``); ``source`` is
    the URI to record; ``whole`` keeps a page's navigation and running heads. ``digest`` of the result is the
    SHA-256 of the original (SPEC K1).

    Raises :class:`~unabridged.errors.UnreadableFile` for what is missing, binary, damaged or locked, and
    :class:`~unabridged.errors.MissingExtra` where a parser is not installed.

    >>> doc = read_document("# Title\\n\\nSome text.")
    >>> [(b.kind, b.section) for b in doc.blocks]
    [('heading', 'Title'), ('paragraph', 'Title')]
    """
    if isinstance(file, Document):
        return file.with_blocks()
    if isinstance(file, str) and not _is_path(file):
        text = file
        digest = hashlib.sha256(file.encode("utf-8", "surrogatepass")).hexdigest()
        return _of_text(text, format or "markdown", source, digest, whole=whole)
    data, place = (bytes(file), source) if isinstance(file, (bytes, bytearray, memoryview)) else _load(file, source)
    kind = format or format_of(data, place)
    if kind not in FORMATS:
        raise InputError(f"format {kind!r} is not known; there are {', '.join(FORMATS)}")
    digest = hashlib.sha256(data).hexdigest()
    reading = _of_bytes(data, kind, place, charset=charset, password=password, whole=whole)
    return replace(reading, digest=digest)


def read_documents(
    file: str | os.PathLike[str] | bytes,
    *,
    column: str | None = None,
    format: str | None = None,
    **options: object,
) -> Iterator[Document]:
    """Every document of a file or folder: one a row of JSON Lines or CSV, one a file of a folder.

    ``column`` names the field that holds a row's text. Other options as :func:`read_document`.

    >>> [d.text for d in read_documents(b'{"text": "one"}\\n{"text": "two"}\\n', format="jsonl")]
    ['one', 'two']
    """
    if isinstance(file, (str, os.PathLike)) and Path(file).is_dir():
        for path in walk_folder(file):
            yield from read_documents(path, column=column, format=format, **options)
        return
    source = options.pop("source", None)
    data, place = (bytes(file), source) if isinstance(file, (bytes, bytearray, memoryview)) else _load(file, None)
    name = str(source or place) if source or place else None
    kind = format or format_of(data, name)
    if kind in ("jsonl", "csv"):
        from unabridged.text.documents.rows import row_documents

        text, _ = decode(data, name or "bytes")
        yield from row_documents(text, name, kind, column=column)
    else:
        yield read_document(data, format=kind, source=name, **options)  # type: ignore[arg-type]


def _is_path(text: str) -> bool:
    if len(text) > 1024 or not text.strip() or set("\n\r\0") & set(text):  # longer than any path in use
        return False
    try:
        if Path(text).is_file():
            return True
    except OSError:  # longer than a name may be, or under what may not be looked into
        return False
    looks = not any(map(str.isspace, text)) and format_of(b"", text) != "text"
    if looks or (text.startswith(("/", "./", "../", "~/")) and " " not in text):
        raise UnreadableFile(text, "no such file (a text is taken as text if it does not look like a path)")
    return False


def _load(file: str | os.PathLike[str], source: str | None) -> tuple[bytes, str]:
    path = Path(file)
    try:
        return path.read_bytes(), source or str(path)
    except IsADirectoryError:
        raise UnreadableFile(file, "is a folder", advice="folder") from None
    except FileNotFoundError:
        raise UnreadableFile(file, "no such file") from None
    except OSError as error:
        raise UnreadableFile(file, error.strerror or type(error).__name__) from None


def _of_bytes(
    data: bytes, kind: str, source: str | None, *, charset: str | None, password: str | None, whole: bool
) -> Document:
    if kind == "pdf":
        from unabridged.text.documents.pdf import read_pdf

        return read_pdf(data, source, password=password, whole=whole)
    if kind == "word":
        from unabridged.text.documents.word import read_word

        return read_word(data, source)
    if kind == "epub":
        from unabridged.text.documents.epub import read_epub

        return read_epub(data, source)
    if kind == "html":
        from unabridged.text.documents.html import read_html

        return read_html(data, source, charset=charset, whole=whole)
    text, notes = decode(data, source or "bytes", charset=charset)
    reading = _of_text(text, kind, source, None, whole=whole)
    return replace(reading, warnings=(*reading.warnings, *notes))


def _of_text(text: str, kind: str, source: str | None, digest: str | None, *, whole: bool) -> Document:
    if kind == "html":
        from unabridged.text.documents.html import read_html

        return replace(read_html(text, source, whole=whole), digest=digest)
    if kind == "code":
        from unabridged.text.documents.code import LANGUAGES, read_code

        suffix = (source or "").rpartition(".")[2].lower()
        return replace(read_code(text, source, LANGUAGES.get(suffix)), digest=digest)
    if kind in ("jsonl", "csv"):
        from unabridged.text.documents.rows import read_rows

        return replace(read_rows(text, source, kind), digest=digest)
    if kind == "text":
        from unabridged.text.documents.plain import read_plain

        return replace(read_plain(text, source), digest=digest)
    reading = Document(text, (), kind, source, digest).with_blocks()
    first = next((block.section for block in reading.blocks if block.kind == "heading"), None)
    return replace(reading, title=first)
