"""Text files: found in folders and by patterns, read with their encoding told from the bytes.

A walk skips what is hidden, build and package folders, links to folders and everything that is not a
regular file, and counts it. Encodings are UTF-8, and UTF-16 or UTF-32 with a byte order mark; a file with
a few stray bytes, or with the isolated high letters of Western European text, is read with a warning;
anything else is refused rather than guessed, because a wrong guess is a wrong vector that nobody notices.
PDF, Word and EPUB files are read as their text, with the extra ``documents``; all others as they are.
"""

from __future__ import annotations

import codecs
import fnmatch
import glob
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unabridged.errors import MissingExtra, UnreadableFile
from unabridged.text.documents.decode import decode as decoded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

__all__ = ["BinaryFile", "Found", "TextFile", "decode", "find_files", "read_text", "text_of"]

_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_PACKED = {".docx": "word", ".docm": "word", ".epub": "epub"}
_MAGIC = re.compile(r"[*?[]")
_HEAD = 1 << 16
# Control characters that text has: tab, line feed, vertical tab, form feed, carriage return, escape.
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_BINARY_SHARE = 0.01
_FEW_CONTROLS = 4  # in a short text, one stray NUL is more than its share
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class BinaryFile(UnreadableFile):
    """A file that holds no text."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file to read. ``id`` is its path as the user wrote it; ``named``: it was asked for by name."""

    id: str
    path: Path
    size: int
    named: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The files in a stable order, and how many things were passed over, by reason."""

    files: tuple[TextFile, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)


def find_files(paths: Iterable[str | Path], *, hidden: bool = False, exclude: Collection[Path] = ()) -> Found:
    """Every file that ``paths`` mean: files, folders (walked) and patterns such as ``docs/**/*.md``.

    A file that several paths reach is taken once. Raises :class:`~unabridged.errors.UnreadableFile` for a
    path or a pattern that leads to nothing.
    """
    skipped: Counter[str] = Counter()
    left_out = {os.path.realpath(path) for path in exclude}
    files: dict[str, TextFile] = {}
    for path in paths:
        for name, is_named in _expanded(str(path), skipped, hidden=hidden):
            real = os.path.realpath(name)
            if real in left_out:
                continue
            if real not in files or (is_named and not files[real].named):
                files[real] = TextFile(_printable(name), Path(name), _size(name), is_named)
    return Found(tuple(files.values()), dict(skipped))


def read_text(path: Path, encoding: str | None = None) -> tuple[str, str | None]:
    """A file's text, and a warning if its bytes were not quite what they should be.

    ``encoding`` says what the file is in; without it, it is told from the bytes. Raises
    :class:`BinaryFile`, or :class:`~unabridged.errors.UnreadableFile` with the reason.
    """
    name = _printable(str(path))
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            kind = _document_kind(head, path)
            if kind is None and encoding is None and _is_binary(head):
                raise BinaryFile(name, "a binary file, not text")
            data = head + file.read()
    except OSError as error:
        raise UnreadableFile(name, (error.strerror or str(error)).lower()) from None
    return decode(data, name, encoding) if kind is None else _text_of(data, name, kind)


def text_of(data: bytes, name: str, encoding: str | None = None) -> tuple[str, str | None]:
    """The text of a file's bytes, as :func:`read_text` has it, and what is to be said of it."""
    kind = _document_kind(data[:_HEAD], Path(name))
    if kind is not None:
        return _text_of(data, name, kind)
    if encoding is None and _is_binary(data[:_HEAD]):
        raise BinaryFile(name, "a binary file, not text")
    return decode(data, name, encoding)


def _document_kind(head: bytes, path: Path) -> str | None:
    if head.startswith(b"%PDF-"):
        return "pdf"
    return _PACKED.get(path.suffix.lower()) if head.startswith(b"PK\x03\x04") else None


def _text_of(data: bytes, name: str, kind: str) -> tuple[str, str | None]:
    """The text of a document that is not text itself."""
    from unabridged.text.documents import read_document

    try:
        found = read_document(data, format=kind, source=name)
    except MissingExtra as missing:
        raise BinaryFile(name, str(missing)) from None
    return found.text, "; ".join(found.warnings) or None


def decode(data: bytes, name: str, encoding: str | None = None) -> tuple[str, str | None]:
    r"""Bytes as text, and a warning if they were not quite what they should be; ``name`` is for messages.

    >>> decode("naïve".encode("utf-16"), "a.txt"), decode(b"caf\xe9", "b.txt")
    (('naïve', None), ('café', 'not UTF-8, read as Windows-1252'))
    """
    text, notes = decoded(data, name, charset=encoding, unfit="refuse")
    return text, "; ".join(notes) or None


def _is_binary(head: bytes) -> bool:
    """Whether control characters make up more than text ever has of them. A stray NUL does not."""
    if head.startswith(_MARKS):
        return False
    controls = len(_CONTROLS.findall(head))
    return controls > max(_BINARY_SHARE * len(head), _FEW_CONTROLS) or controls > len(head) / 3


def _expanded(path: str, skipped: Counter[str], *, hidden: bool) -> Iterator[tuple[str, bool]]:
    """The files that one path means, and whether it names them."""
    if Path(path).is_dir():
        for name in _walk(path, skipped, hidden=hidden):
            yield name, False
    elif os.path.lexists(path):
        yield path, True
    elif _MAGIC.search(path):
        yield from _matched(path, skipped, hidden=hidden)
    else:
        raise UnreadableFile(_printable(path), "there is no such file or folder")


def _matched(pattern: str, skipped: Counter[str], *, hidden: bool) -> Iterator[tuple[str, bool]]:
    if "**" in Path(pattern).parts:
        names = _matched_below(Path(pattern).parts, skipped, hidden=hidden)
    else:
        names = sorted(glob.glob(pattern, include_hidden=hidden))  # noqa: PTH207
    if not names:
        raise UnreadableFile(_printable(pattern), "no file matches")
    for name in names:
        if Path(name).is_dir():
            yield from ((inner, False) for inner in _walk(name, skipped, hidden=hidden))
        else:
            yield name, False


def _matched_below(parts: tuple[str, ...], skipped: Counter[str], *, hidden: bool) -> list[str]:
    """The files that a pattern with ``**`` means, by a walk of ours: glob follows links to folders, and loops."""
    plain = next(at for at, part in enumerate(parts) if _MAGIC.search(part))
    base, wild = Path(*parts[:plain]), parts[plain:]
    shown = hidden or any(part.startswith(".") for part in wild)
    names = (name.removeprefix("./") for name in _walk(str(base), skipped, hidden=shown))
    return [name for name in names if _fits(Path(name).parts[plain:], wild)]


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] != "**":
        return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])
    rest = pattern[1:] or ("*",)
    return any(_fits(parts[at:], rest) for at in range(len(parts)))


def _walk(folder: str, skipped: Counter[str], *, hidden: bool) -> Iterator[str]:
    """Every file below a folder, in order of names. Links to folders are not followed, so no loop is."""
    todo = [folder]
    while todo:
        try:
            entries = sorted(os.scandir(todo.pop()), key=lambda entry: entry.name)
        except OSError:
            skipped["unreadable"] += 1
            continue
        inner = []
        for entry in entries:
            reason = _passed_over(entry, hidden=hidden)
            if reason is not None:
                skipped[reason] += 1
            elif entry.is_dir(follow_symlinks=False):
                inner.append(entry.path)
            else:
                yield entry.path
        todo += reversed(inner)


def _passed_over(entry: os.DirEntry[str], *, hidden: bool) -> str | None:
    """Why an entry of a folder is not read, or ``None``."""
    if entry.name.startswith(".") and (not hidden or entry.name == ".git"):
        return "hidden"
    try:
        kind = entry.stat().st_mode
    except OSError:  # a link to nothing, or round in a circle; or it went away
        return "broken" if entry.is_symlink() else "unreadable"
    if stat.S_ISDIR(kind):
        if entry.is_symlink():
            return "linked"
        return "build output" if entry.name in _SKIPPED_FOLDERS else None
    return None if stat.S_ISREG(kind) else "special"


def _size(name: str) -> int:
    try:
        found = Path(name).stat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _printable(name: str) -> str:
    """A path as text: bytes of the name that are not UTF-8 are spelled out, so that two stay two."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
