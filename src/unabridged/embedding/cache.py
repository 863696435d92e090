"""Vectors on disk: key -> float32 bytes, by diskcache, which can neither write nor read a pickle here.

The same shelf, :class:`ByteCache`, keeps other bytes by key: the answers of chat models
(:mod:`unabridged.memory.asking.cache`).

diskcache unpickles a row that says it is a pickle (CVE-2025-69872). :class:`_RawDisk` refuses every mode
but raw bytes, in both directions, so a tampered row is a miss with a warning, never code that runs.
A value is a header (magic, version, shape, counts, CRC-32) and little-endian float32 and int64 bytes.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import diskcache
import numpy as np
from diskcache.core import MODE_BINARY, MODE_RAW
from platformdirs import user_cache_dir

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from unabridged.types import Vector

__all__ = ["ByteCache", "CacheStats", "Entry", "VectorCache", "default_cache_folder", "pack", "unpack"]

T = TypeVar("T")

# magic, format version, width, tokens, rows of spans, dispersion, unknown share, CRC-32 of what follows
_HEADER = struct.Struct("<4sHIQIddI")
_MAGIC = b"UBV\x01"
_VERSION = 1
_SPAN_COLUMNS = 4
_DEFAULT_BYTES = 4 << 30
_WRITES_A_TRANSACTION = 500  # FINDINGS §6: 18.6 k sets/s in such, 9.6 k alone
_NO_TOKENS = (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A vector of shape ``(width,)`` and what is known of the text it stands for.

    ``spans`` of a chunked document has a row a chunk: start, end, tokens, overlap tokens.
    """

    vector: Vector = field(repr=False)
    tokens: int | None = None
    dispersion: float | None = None
    unknown: float | None = None
    spans: NDArray[np.int64] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How full a cache is: entries, bytes on disk, the bytes it may take, and its folder."""

    entries: int
    bytes: int
    limit_bytes: int
    folder: str


class _RefusedError(Exception):
    """A row that is not raw bytes."""


class _RawDisk(diskcache.Disk):  # type: ignore[misc]
    """Raw bytes in, raw bytes out."""

    def put(self, key: Any) -> tuple[Any, bool]:
        if not isinstance(key, bytes):
            raise TypeError("a cache key is bytes")
        return sqlite3.Binary(key), True

    def get(self, key: Any, raw: bool) -> Any:  # noqa: FBT001
        if not raw:
            raise _RefusedError
        return bytes(key)

    def store(self, value: Any, read: bool, key: Any = None) -> Any:  # noqa: FBT001
        if read or not isinstance(value, bytes):
            raise TypeError("a cache value is bytes")
        return super().store(value, read, key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> bytes:  # noqa: FBT001
        if mode == MODE_RAW and isinstance(value, bytes):
            return value
        if mode == MODE_BINARY and filename and not read and ".." not in Path(filename).parts:
            return (Path(self._directory) / filename).read_bytes()
        raise _RefusedError


def default_cache_folder() -> Path:
    """Where vectors are kept unless told otherwise; ``UNABRIDGED_CACHE`` names another folder."""
    named = os.environ.get("UNABRIDGED_CACHE")
    return Path(named) if named else Path(user_cache_dir("unabridged")) / "vectors"


class ByteCache(Generic[T]):
    """Values by key, safe for several threads and processes; survives ``kill -9``.

    A subclass says how a value is written (:meth:`_pack`) and read (:meth:`_unpack`, ``None`` for a damaged
    one). ``size_limit`` is in bytes (4 GiB); over it, what was stored longest ago goes first, so that a read
    never writes. The folder is the user's alone (mode 0700).
    """

    what = "cache"  # for warnings

    def __init__(self, folder: str | Path | None = None, *, size_limit: int = _DEFAULT_BYTES) -> None:
        self.folder = Path(folder) if folder is not None else self._default_folder()
        if size_limit < 1 << 20:
            raise ConfigError("cache.size_limit", f"found {size_limit} bytes, expected at least 1048576")
        self.size_limit = size_limit
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._store = diskcache.Cache(
                str(self.folder),
                disk=_RawDisk,
                eviction_policy="least-recently-stored",
                size_limit=size_limit,
                # Not at each write: inside a transaction freed pages still count, and it would evict all.
                cull_limit=0,
                disk_min_file_size=1 << 17,
                statistics=0,
                tag_index=0,
            )
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise ConfigError("cache", f"the folder {self.folder} cannot be used: {why}") from error

    def _default_folder(self) -> Path:
        return default_cache_folder()

    def _pack(self, value: T) -> bytes:
        raise NotImplementedError

    def _unpack(self, value: bytes) -> T | None:
        raise NotImplementedError

    def get(self, keys: Iterable[bytes]) -> dict[bytes, T]:
        """The entries that are there and whole; the others are missing from the mapping."""
        found = {}
        for key in keys:
            entry = self._read(key)
            if entry is not None:
                found[key] = entry
        return found

    def put(self, entries: Mapping[bytes, T]) -> None:
        """Store entries; a full or read-only disk costs a warning, never the values themselves."""
        items = [(key, self._pack(entry)) for key, entry in entries.items()]
        try:
            for at in range(0, len(items), _WRITES_A_TRANSACTION):
                self._write(items[at : at + _WRITES_A_TRANSACTION])
            if self._store.volume() > self.size_limit:
                self._store.cull()  # a transaction at a time, until the rest fits
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:
            warnings.warn(f"the {self.what} could not be written: {error}", RuntimeWarning, stacklevel=2)

    def _write(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        if len(items) == 1:
            self._store.set(*items[0])
            return
        with self._store.transact():
            for key, value in items:
                self._store.set(key, value)

    def _read(self, key: bytes) -> T | None:
        try:
            value = self._store.get(key)
        except (_RefusedError, OSError, sqlite3.Error, diskcache.Timeout):
            value = b""
        if value is None:
            return None
        entry = self._unpack(value) if isinstance(value, bytes) else None
        if entry is None:
            warnings.warn(f"an entry of the {self.what} is damaged; it is ignored", RuntimeWarning, stacklevel=4)
        return entry

    def verify(self) -> tuple[int, list[bytes]]:
        """Read every entry: how many are whole, and the keys of those that are not."""
        whole, damaged = 0, []
        rows = self._store._sql("SELECT key, raw FROM Cache").fetchall()  # noqa: SLF001
        for key, raw in rows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                entry = self._read(bytes(key)) if raw and isinstance(key, bytes) else None
            if entry is None:
                damaged.append(key if isinstance(key, bytes) else str(key).encode())
            else:
                whole += 1
        return whole, damaged

    def delete(self, keys: Iterable[bytes]) -> int:
        """Remove entries; how many there were."""
        return sum(bool(self._store.delete(key)) for key in keys)

    def beginning(self, prefix: bytes) -> list[bytes]:
        """The keys that begin so, in order."""
        above = prefix + b"\xff" * 64  # no key is as long
        rows = self._store._sql(  # noqa: SLF001 - diskcache has no public search by range
            "SELECT key FROM Cache WHERE key >= ? AND key < ? ORDER BY key",
            (sqlite3.Binary(prefix), sqlite3.Binary(above)),
        )
        return [bytes(key) for (key,) in rows]

    def clear(self) -> int:
        """Remove everything; how many entries there were."""
        return int(self._store.clear())

    def stats(self) -> CacheStats:
        """Entries and bytes."""
        return CacheStats(len(self._store), int(self._store.volume()), self.size_limit, str(self.folder))

    def close(self) -> None:
        """Close this thread's connection; the cache opens again by itself when it is used."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class VectorCache(ByteCache[Entry]):
    """Vectors by key.

    >>> import tempfile
    >>> with VectorCache(tempfile.mkdtemp()) as cache:
    ...     cache.put({b"k": Entry(np.ones(3, np.float32), tokens=7)})
    ...     found = cache.get([b"k", b"other"])
    >>> found[b"k"].tokens, b"other" in found
    (7, False)
    """

    what = "vector cache"

    def _pack(self, value: Entry) -> bytes:
        return pack(value)

    def _unpack(self, value: bytes) -> Entry | None:
        return unpack(value)


def pack(entry: Entry) -> bytes:
    """An entry as bytes, with a check sum."""
    vector = np.ascontiguousarray(entry.vector, "<f4")
    rows = 0 if entry.spans is None else len(entry.spans)
    spans = b"" if entry.spans is None else np.ascontiguousarray(entry.spans, "<i8").tobytes()
    body = vector.tobytes() + spans
    return (
        _HEADER.pack(
            _MAGIC,
            _VERSION,
            vector.size,
            _NO_TOKENS if entry.tokens is None else entry.tokens,
            rows,
            np.nan if entry.dispersion is None else entry.dispersion,
            np.nan if entry.unknown is None else entry.unknown,
            zlib.crc32(body),
        )
        + body
    )


def unpack(value: bytes) -> Entry | None:
    """The entry that bytes hold; ``None`` if they are damaged."""
    if len(value) < _HEADER.size:
        return None
    magic, version, width, tokens, rows, dispersion, unknown, crc = _HEADER.unpack_from(value)
    body = memoryview(value)[_HEADER.size :]
    if (magic, version) != (_MAGIC, _VERSION) or len(body) != 4 * width + 8 * _SPAN_COLUMNS * rows:
        return None
    if zlib.crc32(body) != crc or width == 0:
        return None
    return Entry(
        np.frombuffer(body, "<f4", width).astype(np.float32),  # a copy: callers may change what they get
        None if tokens == _NO_TOKENS else int(tokens),
        None if np.isnan(dispersion) else float(dispersion),
        None if np.isnan(unknown) else float(unknown),
        np.frombuffer(body, "<i8", offset=4 * width).reshape(rows, _SPAN_COLUMNS).astype(np.int64) if rows else None,
    )
