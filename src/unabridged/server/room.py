"""Room for so many requests and so many bytes at once; beyond that a caller is told when to come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from unabridged.server.settings import ServerSettings

__all__ = ["Place", "Room"]

_COME_BACK = "1"  # seconds: what is under way is mostly shorter


class Room:
    """How many requests, and how many bytes of them, are inside."""

    def __init__(self, settings: ServerSettings) -> None:
        self.requests = 0
        self.bytes = 0
        self.closing = False
        self._most = settings.concurrency
        self._most_bytes = settings.max_buffered_bytes

    def enter(self, *, exempt: bool = False) -> Place:
        """A place for one request, or problem 503. Health and the page are always let in."""
        if not exempt and self.closing:
            headers = {"retry-after": "5", "connection": "close"}
            raise Problem(503, "the server is stopping", code="stopping", headers=headers)
        if not exempt and self.requests >= self._most:
            raise _full("too many requests at once")
        return Place(self, counted=not exempt)

    def _take(self, size: int) -> None:
        if size and self.bytes + size > self._most_bytes and self.bytes:  # alone, any allowed body has room
            raise _full("too many bytes at once")
        self.bytes += size


class Place:
    """What one request takes up; given back with :meth:`leave`."""

    def __init__(self, room: Room, *, counted: bool) -> None:
        self._room = room
        self._requests = int(counted)
        self._bytes = 0
        room.requests += self._requests

    def hold(self, size: int) -> None:
        """So many bytes more, or problem 503."""
        self._room._take(size)  # noqa: SLF001 -- a room and its places are one thing
        self._bytes += size

    def leave(self) -> None:
        """Give everything back."""
        self._room.requests -= self._requests
        self._room.bytes -= self._bytes
        self._requests = self._bytes = 0


def _full(what: str) -> Problem:
    return Problem(503, f"{what}; try again", code="overloaded", headers={"retry-after": _COME_BACK})
