"""A bounded room for what is kept: what was not asked for goes first, and what did not fit is not read time and again.

What is kept of small commits is small, so there may be tens of thousands of it: their sizes are added up as they
come and go, and each counts for what it takes beside its bytes.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["EACH", "LATER", "Room"]

EACH = 4096  # bytes that anything takes beside its own: measured, of facts of one row 3.2 KB
LATER = 600.0  # seconds until what had to go for want of room is read again
MOST_GONE = 100_000  # of it that are remembered


class Room:
    """Things by key, the latest asked for last.

    >>> room = Room()
    >>> room.put({"a": (1, 10), "b": (2, 10)}, 2 * (EACH + 10)), room.get(["a", "c"])
    (True, {'a': 1})
    >>> room.put({"c": (3, 10)}, 2 * (EACH + 10)), room.get("abc"), room.crowded("ab")
    (True, {'a': 1, 'c': 3}, True)
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._gone: OrderedDict[str, float] = OrderedDict()  # since when
        self._bytes = 0
        self._mutex = threading.Lock()

    def __len__(self) -> int:
        """How many things there are."""
        return len(self._kept)

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """Those of some keys that are there."""
        with self._mutex:
            found = {key: self._kept[key][0] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def crowded(self, keys: Iterable[str]) -> bool:
        """Whether any of some keys was there of late, and had to go for want of room."""
        with self._mutex:
            since = time.monotonic() - LATER
            return any(self._gone.get(key, since) > since for key in keys)

    def put(self, things: Mapping[str, tuple[Any, int]], most: int) -> bool:
        """Keep some things, of so many bytes each, where all may take ``most``; whether these alone would fit."""
        fits = sum(EACH + size for _, size in things.values()) <= most
        with self._mutex:
            for key, (thing, size) in things.items() if fits else ():
                self._bytes += EACH + size - self._taken(key)
                self._kept[key] = (thing, size)
                self._gone.pop(key, None)
            if not fits:
                self._went(things)
            while self._bytes > most:
                key = next(iter(self._kept))
                self._bytes -= self._taken(key)
                self._went([key])
        return fits

    def clear(self) -> None:
        """Let go of everything."""
        with self._mutex:
            self._kept.clear()
            self._gone.clear()
            self._bytes = 0

    def _taken(self, key: str) -> int:
        """What a thing took that is there no more."""
        known = self._kept.pop(key, None)
        return 0 if known is None else EACH + known[1]

    def _went(self, keys: Iterable[str]) -> None:
        self._gone |= dict.fromkeys(keys, time.monotonic())
        while len(self._gone) > MOST_GONE:
            self._gone.popitem(last=False)
