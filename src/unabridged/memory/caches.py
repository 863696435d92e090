"""What stays in memory of a place's tables: bounded, shared by all that is open there, and begun anew when it is stale.

An index that is refreshed is another one to Lance: pages of the old one stay until others push them out. A small
dataset that is written to all day would fill the whole cache with them (40 KB a commit).
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Caches", "caches_of"]

READ_CACHE = 512 << 20  # bytes of indexes: the hot pages of a million records
WRITE_CACHE = 64 << 20  # the same, for LanceDB, which looks up the rows that a merge or a deletion changes
MANIFESTS = 32 << 20  # bytes of manifests and the like; unbounded they grew by 0.3 MB a commit
SPARE = 64 << 20  # bytes that may be of indexes that are no more
LOOKED = 60.0  # seconds between two looks at how large the indexes are: they may be of many datasets


class Caches:
    """Two of Lance's sessions: what is read through, and what LanceDB writes through."""

    def __init__(self, lance: Any, lancedb: Any, *, writing: int) -> None:
        self._lance = lance
        self._looked = time.monotonic()
        self.reading = self._session()
        self.writing = lancedb.Session(index_cache_size_bytes=writing, metadata_cache_size_bytes=MANIFESTS)

    def _session(self) -> Any:
        return self._lance.Session(index_cache_size_bytes=READ_CACHE, metadata_cache_size_bytes=MANIFESTS)

    def tidy(self, size: Callable[[], int]) -> bool:
        """Begin the read cache anew where most of it must be stale: ``size`` is that of all indexes there are.

        What is open keeps the old one until it is closed, so nobody's read fails.
        """
        now, held = time.monotonic(), self.reading.size_bytes()
        if held <= SPARE or now - self._looked < LOOKED:
            return False
        self._looked = now
        if held <= SPARE + 2 * size():  # in memory a page is about twice what it is in its file
            return False
        self.reading = self._session()
        return True


_caches: weakref.WeakValueDictionary[str, Caches] = weakref.WeakValueDictionary()  # by place, while it is open
_mutex = threading.Lock()


def caches_of(uri: str, lance: Any, lancedb: Any) -> Caches:
    """Those of a place, shared by all that is open there."""
    with _mutex:
        found = _caches.get(uri) or Caches(lance, lancedb, writing=WRITE_CACHE)
        _caches[uri] = found
        return found
