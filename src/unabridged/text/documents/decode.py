"""Bytes to text: the encoding that a file declares, else the one that fits.

Order: a byte order mark, a declaration (HTTP header, ``<meta>``, XML, a ``coding:`` line), UTF-8, then a guess.
A NUL byte in what is not UTF-16 or UTF-32 says that the file is not text. Where vectors are made of thousands of
files nobody sees a wrong guess: there bytes that do not fit are refused.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from typing import TYPE_CHECKING, Literal

from unabridged.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["decode", "encoding_of"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Where formats declare their encoding: HTML within 1,024 bytes, Python on the first two lines (PEP 263).
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)"""
    rb"""|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)"""
    rb"""|^(?:[^\n]*\n)?[ \t\f]*\#[^\n]*?coding[:=][ \t]*([\w.-]+)""",
    re.IGNORECASE,
)
_PRESCAN = 4096
_WINDOWS, _AS_WINDOWS = "cp1252", "not UTF-8, read as Windows-1252"
_STRAY = "\ufffd"
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
# What is still met undeclared; a guess of a Mac's or a DOS code page is nearly always a wrong one.
_IN_USE = re.compile(r"cp125\d|cp874|cp932|cp949|gb|big5|shift_jis|euc|koi8|iso8859|iso2022|tis|johab|utf")
_SAMPLE = 262_144  # a guess needs no more, and is slow
# The web reads these labels as Windows' supersets (WHATWG Encoding, 4.2).
_WEB = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252",
        "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932",
        "x-sjis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "tis-620": "cp874", "iso-8859-9": "cp1254",
        "iso-8859-11": "cp874", "big5": "big5hkscs", "utf8": "utf-8", "unicode": "utf-16"}  # fmt: skip


def decode(
    data: bytes, source: object = "bytes", *, charset: str | None = None, unfit: Literal["guess", "refuse"] = "guess"
) -> tuple[str, tuple[str, ...]]:
    """The text of ``data`` and what had to be assumed. ``charset`` is what a transport, or a user, said.

    ``unfit`` is what becomes of bytes that are not what they seem. ``guess``: every declaration is tried, then a
    guess; a document is read if it can be. ``refuse``: what the user or a byte order mark says holds, and of what
    is not UTF-8 only a few stray bytes and Western European accents are read; the rest is an error.

    Raises :class:`~unabridged.errors.UnreadableFile` for what is not text, or is refused.

    >>> decode("naïve".encode("utf-16"))[0]
    'naïve'
    >>> decode(b'<meta charset="windows-1252">caf' + bytes([0xE9]))[0][-4:]
    'café'
    >>> decode("中文".encode("gbk"), "a.txt", unfit="refuse")
    Traceback (most recent call last):
    unabridged.errors.UnreadableFile: a.txt: not UTF-8 (byte 0); say what it is in, such as --encoding gb18030
    """
    strict = unfit == "refuse"
    named = charset or next(_marked(data), None)
    at = 0
    for encoding in [named or "utf-8"] if strict else _declarations(data, charset):
        try:
            return data.decode(encoding).removeprefix("\ufeff"), ()
        except LookupError:
            if strict:
                raise UnreadableFile(source, f"{encoding} is not an encoding that Python knows") from None
        except UnicodeDecodeError as error:
            at = error.start
    if strict and named:
        raise UnreadableFile(source, f"not {named.upper()} at byte {at}")
    if strict:
        return _salvaged(data, source, at)
    if b"\0" in data:
        raise UnreadableFile(source, f"a NUL byte at {data.index(0)}: this is a binary file, not text")
    return _guess(data, source)


def encoding_of(
    head: bytes, source: object = "bytes", *, charset: str | None = None, is_utf8: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The encoding of a file that is read line by line, as its ``head`` tells it, and what had to be assumed.

    The rules and errors are those of :func:`decode` with ``unfit="refuse"``; ``is_utf8``: what neither the user nor
    a mark calls otherwise is UTF-8, whatever is in it. UTF-16 and UTF-32 come with the order of their bytes, so that
    a line can be decoded alone.

    >>> encoding_of("naïve".encode("utf-16-be"), charset="utf-16-be"), encoding_of("naïve".encode("utf-16"))
    (('utf-16-be', ()), ('utf-16-le', ()))
    """
    named = charset or next(_marked(head), None)
    if named is not None:
        try:
            name = codecs.lookup(named).name
        except LookupError:
            raise UnreadableFile(source, f"{named} is not an encoding that Python knows") from None
        big = head.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
        return f"{name}-{'be' if big else 'le'}" if name in {"utf-16", "utf-32"} else name, ()
    if is_utf8:
        return "utf-8", ()
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # it may end within a character
    except UnicodeDecodeError as error:
        fits = _fitting(head, source, error.start)
        return fits, (_AS_WINDOWS,) if fits == _WINDOWS else ()
    return "utf-8", ()


def _marked(data: bytes) -> Iterator[str]:
    """What a byte order mark says."""
    return (encoding for mark, encoding in _MARKS if data.startswith(mark))


def _declarations(data: bytes, charset: str | None) -> Iterator[str]:
    marked = next(_marked(data), None)
    if marked:
        yield marked
        return
    bare = _bare_utf16(data)
    if bare:
        yield bare
    if b"\0" in data[:_PRESCAN]:
        return
    if charset:
        yield _label(charset)
    found = _DECLARED.search(data, 0, _PRESCAN)
    if found:
        name = _label(next(filter(None, found.groups())).decode("ascii", "replace"))
        yield "utf-8" if name.startswith("utf-16") else name
    yield "utf-8"


def _label(name: str) -> str:
    plain = name.strip().strip("\"'").lower()
    return _WEB.get(plain, plain)


def _bare_utf16(data: bytes) -> str | None:
    """UTF-16 without a mark: at least nine of ten high bytes of the start are zero."""
    head = data[: _PRESCAN & ~1]
    if len(head) < 4 or len(data) % 2:
        return None
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if head[offset::2].count(0) * 10 >= len(head[offset::2]) * 9 and 0 not in head[1 - offset :: 2]:
            return encoding
    return None


def _salvaged(data: bytes, source: object, at: int) -> tuple[str, tuple[str, ...]]:
    """Not UTF-8: text with a few stray bytes, Western European text, or an error."""
    if _fitting(data, source, at) == _WINDOWS:
        return data.decode(_WINDOWS), (_AS_WINDOWS,)
    text = data.decode("utf-8", "replace")
    return text, (f"{text.count(_STRAY)} bytes are not UTF-8 (the first at {at}), read as U+FFFD",)


def _fitting(data: bytes, source: object, at: int) -> str:
    """What bytes are in that are not UTF-8 at ``at``: UTF-8 with a few stray ones, Western European, or an error."""
    text = data.decode("utf-8", "replace")
    stray = text.count(_STRAY)
    letters = sum(len(run) for run in re.findall(r"[^\x00-\x7f]+", text)) - stray
    if letters >= 4 * stray:
        return "utf-8"
    runs = _HIGH_RUN.findall(data)
    # Languages written in Latin letters have their accents apart; other scripts have runs of high bytes.
    if sum(len(run) == 1 for run in runs) >= 0.9 * len(runs):
        with contextlib.suppress(UnicodeDecodeError):
            data.decode(_WINDOWS)
            return _WINDOWS
    raise UnreadableFile(source, f"not UTF-8 (byte {at}); say what it is in, such as --encoding gb18030")


def _guess(data: bytes, source: object) -> tuple[str, tuple[str, ...]]:
    encoding = _best_guess(data[:_SAMPLE])
    text = data.decode(encoding, "replace")
    bad = text.count("\ufffd")
    note = f"{source}: not UTF-8 and no encoding declared; read as {encoding}"
    return text, (note + (f", {bad} bytes replaced" if bad else ""),)


def _best_guess(sample: bytes) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"  # what undeclared 8-bit text most often is
    best = from_bytes(sample).best()
    return best.encoding if best and _IN_USE.match(best.encoding) else "cp1252"
