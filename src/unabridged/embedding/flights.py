"""One flight per key: of many callers that want the same new vector, one asks and the others wait."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.embedding.cache import Entry

__all__ = ["Flights", "Landing"]

# The entry, or None: it did not come to a vector under this key, whoever waits must see for themselves.
Landing = Future["Entry | None"]


class Flights:
    """Which keys are being asked for. Thread-safe; waiting is the caller's business.

    >>> flights = Flights()
    >>> mine, theirs = flights.claim([b"a", b"b"])
    >>> flights.claim([b"b"])[0], sorted(mine), theirs
    ([], [b'a', b'b'], {})
    """

    def __init__(self) -> None:
        self._flying: dict[bytes, Landing | None] = {}  # a future only once somebody waits
        self._lock = threading.Lock()

    def claim(self, keys: Iterable[bytes]) -> tuple[list[bytes], dict[bytes, Landing]]:
        """Keys that nobody asks for yet (now the caller's), and where others' will land."""
        mine: list[bytes] = []
        theirs: dict[bytes, Landing] = {}
        with self._lock:
            for key in keys:
                if key not in self._flying:
                    self._flying[key] = None
                    mine.append(key)
                    continue
                flying = self._flying[key] or Future()
                self._flying[key] = theirs[key] = flying
        return mine, theirs

    def land(self, key: bytes, entry: Entry | None) -> None:
        """Give the result to all who wait; later callers look into the cache."""
        with self._lock:
            flying = self._flying.pop(key, None)
        if flying is not None:
            flying.set_result(entry)
