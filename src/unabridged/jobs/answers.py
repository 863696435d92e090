"""Every answer that was paid for, as soon as it is there: an append-only log beside the journal.

A block is noted when all of its rows are done; until then its answers would be lost with the process. So each
goes to a segment file at once, and a job that is resumed finds in there what the one before had paid for. A
segment is removed when every block that may have written to it is noted. One write an answer, no sync: what a
killed process wrote is there, and after a power failure a torn record is told by its check sum and asked anew.

An :class:`Answers` is a store of entries, as :class:`~unabridged.embedding.cache.VectorCache` is, and may have one
of those below it, which other jobs share.
"""

from __future__ import annotations

import os
import secrets
import struct
import threading
from typing import TYPE_CHECKING, Self

from unabridged.embedding.cache import pack, unpack
from unabridged.jobs.disk import on_disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from unabridged.embedding.cache import Entry, VectorCache

__all__ = ["SEGMENT_BYTES", "Answers"]

_HEADER = struct.Struct("<I32s")  # the length of what follows, the key
SEGMENT_BYTES = 64 << 20
_Place = tuple[int, int, int]  # segment, offset, length


class Answers:
    """Entries by key in a folder; thread-safe. Several processes may have segments of their own in one folder.

    >>> import pathlib, tempfile, numpy as np
    >>> from unabridged.embedding.cache import Entry
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with Answers(folder) as answers:
    ...     answers.put({b"k" * 32: Entry(np.ones(3, np.float32), tokens=7)})
    >>> with Answers(folder) as again:
    ...     again.get([b"k" * 32])[b"k" * 32].tokens
    7
    """

    def __init__(self, folder: Path, below: VectorCache | None = None, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.place = folder
        self.below = below
        self.folder = folder if below is None else below.folder  # beside it lies what is learned of the host
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._index: dict[bytes, _Place] = {}
        self._segments: dict[int, tuple[int, Path]] = {}
        self._users: dict[int, int] = {}  # segment -> blocks that began while it was the last
        self._last, self._size = -1, 0
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.answers")):
            self._read(path)
        self._first = len(self._segments)  # those before are of an earlier run: any block may need them to the end

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Entry]:
        """The entries that are there and whole: those of this job, then those of the cache below."""
        asked = list(keys)
        found = self._own(asked) if self._index else {}
        if self.below is not None:
            found |= self.below.get(key for key in asked if key not in found)
        return found

    def put(self, entries: Mapping[bytes, Entry]) -> None:
        """Keep entries. Raises :class:`OSError` where the disk is full: what cannot be kept must not be paid for."""
        packed = [(key, pack(entry)) for key, entry in entries.items()]
        data = b"".join(part for key, value in packed for part in (_HEADER.pack(len(value), key), value))
        with self._lock:
            handle, at = self._room()
            with on_disk(self._segments[self._last][1]):
                _write(handle, data)
            for key, value in packed:
                self._index[key] = self._last, at + _HEADER.size, len(value)
                at += _HEADER.size + len(value)
            self._size = at
        if self.below is not None:
            self.below.put(entries)

    def begin(self) -> int:
        """A block begins: its answers go to this segment and to later ones, which stay until :meth:`end`."""
        with self._lock:
            self._room()
            self._users[self._last] = self._users.get(self._last, 0) + 1
            return self._last

    def end(self, segment: int) -> None:
        """A block is noted; segments that no other block needs are removed."""
        with self._lock:
            self._users[segment] -= 1
            if not self._users[segment]:
                del self._users[segment]
            oldest = min(self._users, default=self._last)
            gone = [at for at in self._segments if self._first <= at < oldest]
            for at in gone:
                handle, path = self._segments.pop(at)
                os.close(handle)
                path.unlink(missing_ok=True)
            if gone:
                self._index = {key: place for key, place in self._index.items() if place[0] in self._segments}

    def clear(self) -> None:
        """Everything is noted: nothing is needed any more."""
        with self._lock:
            for handle, path in self._segments.values():
                os.close(handle)
                path.unlink(missing_ok=True)
            self._segments, self._users, self._index = {}, {}, {}
            self._last = -1
            self._first = 0

    def close(self) -> None:
        """Close the files; they stay."""
        with self._lock:
            for handle, _ in self._segments.values():
                os.close(handle)
            self._segments = {}
            self._index = {}
            self._last = -1
        if self.below is not None:
            self.below.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _own(self, asked: list[bytes]) -> dict[bytes, Entry]:
        found = {}
        for key in asked:
            with self._lock:  # a segment may go while it is read
                place = self._index.get(key)
                value = b"" if place is None else os.pread(self._segments[place[0]][0], place[2], place[1])
            entry = unpack(value) if value else None
            if entry is not None:
                found[key] = entry
        return found

    def _room(self) -> tuple[int, int]:
        """The segment to write to, and where it ends."""
        if self._last < 0 or self._size >= self._segment_bytes:
            number = max(self._segments, default=-1) + 1
            path = self.place / f"{number:06}-{os.getpid()}-{secrets.token_hex(3)}.answers"
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            self._segments[number] = handle, path
            self._last, self._size = number, 0
        return self._segments[self._last][0], self._size

    def _read(self, path: Path) -> None:
        number = max(self._segments, default=-1) + 1
        handle = os.open(path, os.O_RDONLY)
        self._segments[number] = handle, path
        for key, at, length in _records(handle):
            self._index[key] = number, at, length


def _records(handle: int) -> Iterator[tuple[bytes, int, int]]:
    """The records of a segment, up to a torn one."""
    end, at = os.fstat(handle).st_size, 0
    while at + _HEADER.size <= end:
        length, key = _HEADER.unpack(os.pread(handle, _HEADER.size, at))
        at += _HEADER.size
        if at + length > end:
            return
        yield key, at, length
        at += length


def _write(handle: int, data: bytes) -> None:
    """All of it, or nothing: half a record would hide those after it."""
    view, start = memoryview(data), os.lseek(handle, 0, os.SEEK_CUR)
    try:
        while view:
            view = view[os.write(handle, view) :]
    except OSError:
        os.ftruncate(handle, start)
        os.lseek(handle, start, os.SEEK_SET)
        raise
