"""A vector cache that writes after the answer has gone: in batches, from a thread of its own.

On a busy disk a write took longer than all else that the gateway does. What waits to be written is found
as if it were; a process that is killed loses what came in the last moments, which is asked for again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from unabridged.embedding.cache import CacheStats, Entry, VectorCache

__all__ = ["LateCache"]

_MOST = 8192  # entries that wait; beyond that whoever puts more writes them
_GATHER = 0.05  # seconds in which a batch comes together


class LateCache:
    """Stands before a :class:`~unabridged.embedding.cache.VectorCache`, and has its methods.

    >>> import tempfile, numpy as np
    >>> from unabridged.embedding.cache import Entry, VectorCache
    >>> cache = LateCache(VectorCache(tempfile.mkdtemp()))
    >>> cache.put({b"k": Entry(np.ones(3, np.float32), tokens=7)})
    >>> cache.get([b"k"])[b"k"].tokens, cache.stats().entries
    (7, 1)
    >>> cache.close()
    """

    is_quick = True  # for an event loop: nothing is written, and a read takes some 20 µs

    def __init__(self, inner: VectorCache, forgotten: Callable[[], None] | None = None) -> None:
        self._inner = inner
        self._forgotten = forgotten or (lambda: None)
        self._waiting: dict[bytes, Entry] = {}
        self._lock = threading.Lock()  # of what waits
        self._writing = threading.Lock()  # of the one who writes
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def folder(self) -> Path:
        """Where the entries lie."""
        return self._inner.folder

    @property
    def size_limit(self) -> int:
        """The bytes that they may take."""
        return self._inner.size_limit

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Entry]:
        """The entries that are there, on disk or on their way."""
        wanted = list(keys)
        waiting = self._waiting
        found = {key: entry for key in wanted if (entry := waiting.get(key)) is not None}
        return found | self._inner.get(key for key in wanted if key not in found)

    def put(self, entries: Mapping[bytes, Entry]) -> None:
        """Take entries; they are on disk a little later."""
        with self._lock:
            self._waiting.update(entries)
            many = len(self._waiting) > _MOST
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._write_on, name="unabridged-cache", daemon=True)
                self._thread.start()
        self._woken.set()
        if many or self._closed.is_set():
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        with self._writing:
            with self._lock:
                taken = dict(self._waiting)
            if taken:
                self._inner.put(taken)
            with self._lock:  # only now: in between it is found here
                for key, entry in taken.items():
                    if self._waiting.get(key) is entry:
                        del self._waiting[key]

    def delete(self, keys: Iterable[bytes]) -> int:
        """Remove entries; how many there were. Whoever holds copies hears of it."""
        self.flush()
        self._forgotten()
        return self._inner.delete(keys)

    def clear(self) -> int:
        """Remove everything; how many entries there were."""
        self.flush()
        self._forgotten()
        return self._inner.clear()

    def verify(self) -> tuple[int, list[bytes]]:
        """Read every entry: how many are whole, and the keys of those that are not."""
        self.flush()
        return self._inner.verify()

    def stats(self) -> CacheStats:
        """Entries and bytes."""
        self.flush()
        return self._inner.stats()

    def close(self) -> None:
        """Write what waits, and let the files go."""
        self._closed.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()
        self._inner.close()

    def _write_on(self) -> None:
        while not self._closed.is_set():
            self._woken.wait()
            self._closed.wait(_GATHER)
            self._woken.clear()
            self.flush()
        self._inner.close()  # this thread's own connection
