"""uvicorn's quick HTTP protocol, with bounds on what comes before the body: it has none of its own.

A client that never ends its headers would fill the memory; one that sends them a byte a minute would keep
a connection for ever; ten thousand that send nothing would take every file descriptor that there is.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["Bounded", "most_connections"]

# What nginx and others take at the most is 8 to 64 KB; here keys, ids and a long address have room.
_MOST = 1 << 16
_PATIENCE = 30.0  # seconds from a connection, or from the end of the answer before, to the end of the headers
_FILES = 512  # descriptors that connections leave for the memory's files and for the models' servers
_FEWEST = 128  # connections that are let in all the same


def most_connections() -> int:
    """How many connections there is room for; the process may first open as many files as it is allowed to."""
    try:
        import resource
    except ImportError:  # not on Windows, where sockets are no files
        return 1 << 14
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return 1 << 16 if soft == resource.RLIM_INFINITY else max(_FEWEST, soft - _FILES)


class Bounded(HttpToolsProtocol):
    """One connection. Where there are ``most``, a new one takes the place of the one that has been silent longest."""

    most = 1 << 14

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # Those of this server between two requests, the longest silent first.
        self._silent: dict[Bounded, None] = self.server_state.__dict__.setdefault("silent", {})
        self._head = 0  # bytes since the headers began; -1 when they are over
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most and self._silent:
            next(iter(self._silent)).hang_up()
        self._silent[self] = None
        self._patience = self.loop.call_later(_PATIENCE, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the headers have no end."""
        super().data_received(data)
        if self._head < 0:
            return
        self._head += len(data)
        if self._head > _MOST and not self.transport.is_closing():
            self.send_400_response("The headers are over 64 KB.")

    def on_message_begin(self) -> None:
        """The headers of a request begin."""
        super().on_message_begin()
        self._head = 0
        if self._patience is None:
            self._patience = self.loop.call_later(_PATIENCE, self._give_up)

    def on_headers_complete(self) -> None:
        """They are whole; also those that came in one piece are held against their limit."""
        self._head = -1
        self._silent.pop(self, None)
        self._calm()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > _MOST:
            raise ValueError("the headers are over 64 KB")  # the parser's caller answers 400, and hangs up
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """It is silent until it asks again."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._silent[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._silent.pop(self, None)
        self._calm()
        super().connection_lost(exc)

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def hang_up(self) -> None:
        """Close it, whatever is on its way."""
        self._silent.pop(self, None)
        self.transport.abort()

    def _give_up(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self.transport.close()
