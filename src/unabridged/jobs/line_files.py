"""A file of lines, opened: unpacked, its encoding told as any text file's is, its lines apart."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
from typing import TYPE_CHECKING, Any, Self

from unabridged.errors import ConfigError, UnreadableFile
from unabridged.text.documents.decode import encoding_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LineFile", "Replayed", "known_encoding"]

_BUFFER = 1 << 20
_HEAD = 1 << 16  # bytes that tell an encoding
_MARK = "\ufeff"
_BLANK = b"\0 \t\r\n\v\f"  # of characters of several bytes, too


class LineFile:
    """Bytes after their mark, what they are in, and what is to be said of that.

    ``is_utf8``: what neither ``encoding`` nor a mark calls otherwise is not guessed.

    Raises :class:`~unabridged.errors.UnreadableFile` for an encoding that cannot be told.

    >>> with LineFile(io.BytesIO('{"text": "naïve"}\\n'.encode("utf-16")), "a.jsonl") as file:
    ...     file.encoding, [file.decoded(line) for line in file.lines()]
    ('utf-16-le', ['{"text": "naïve"}\\n'])
    """

    def __init__(self, raw: Any, name: str, encoding: str | None = None, *, is_utf8: bool = False) -> None:
        self.name = name
        self.stream = io.BufferedReader(raw, _BUFFER)
        with self.whole():
            head = self.stream.peek(_HEAD)[:_HEAD]
            self.encoding, self.notes = encoding_of(head, name, charset=encoding, is_utf8=is_utf8)
            self.head = len(head), head.count("\n".encode(self.encoding))  # its bytes, and the lines in them
            mark = _MARK.encode(self.encoding, "ignore")
            if mark and head.startswith(mark):
                self.stream.read(len(mark))

    def lines(self) -> Iterator[bytes]:
        """Every line that is not blank, with its end."""
        end = "\n".encode(self.encoding)
        if end == b"\n":
            return (line for line in self.stream if line.strip())
        return (line for line in _apart(self.stream, end) if line.strip(_BLANK))

    def decoded(self, line: bytes) -> str:
        """A line as text; where several files were put together there are marks within. Raises as ``bytes.decode``."""
        return line.decode(self.encoding).removeprefix(_MARK)

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """While it is read: it may be cut off in the middle of what is packed, or its disk fail."""
        try:
            yield
        except (OSError, EOFError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            reason = f"cannot be read to its end: {said[:160].lower().rstrip('.')}"
            raise UnreadableFile(self.name, reason) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()


class Replayed(io.RawIOBase):
    """Standard input, whose beginning is there once more after :meth:`rewind`."""

    def __init__(self) -> None:
        self._input: Any = getattr(sys.stdin, "buffer", sys.stdin)
        self._seen = b""
        self._again: io.BytesIO | None = None

    def rewind(self) -> None:
        """From the beginning, this time for good."""
        self._again, self._seen = io.BytesIO(self._seen), b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """What is there by now: who writes slowly is not waited for longer than need be."""
        data = b"" if self._again is None else self._again.read(len(buffer))
        if not data:
            data = getattr(self._input, "read1", self._input.read)(len(buffer))
            if self._again is None:
                self._seen += data
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """It is not ours to close."""


def known_encoding(encoding: str | None) -> str | None:
    """The encoding, if there is one of that name; its mark, if it has one, is no part of it."""
    try:
        return None if encoding is None else codecs.lookup(encoding).name.removesuffix("-sig").replace("_", "-")
    except LookupError:
        raise ConfigError("source.encoding", f"{encoding} is not an encoding that Python knows") from None


def _apart(stream: io.BufferedReader, end: bytes) -> Iterator[bytes]:
    """Lines whose end has several bytes: it counts only where a character begins."""
    held, seen = b"", 0
    while data := stream.read1(_BUFFER):
        held, begin = held + data, 0
        while (at := held.find(end, seen)) >= 0:
            seen = at + 1
            if at % len(end) == 0:
                seen = at + len(end)
                yield held[begin:seen]
                begin = seen
        held, seen = held[begin:], max(len(held) - begin - len(end), 0)
    if held:
        yield held
