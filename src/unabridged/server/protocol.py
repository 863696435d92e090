"""uvicorn's quick HTTP protocol, with bounds on what comes before the body: it has none of its own.

A client that never ends its headers would fill the memory; one that sends them a byte a minute would keep
a connection for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["Bounded"]

# What nginx and others take at the most is 8 to 64 KB; here keys, ids and a long address have room.
_MOST = 1 << 16
_PATIENCE = 30.0  # seconds from a connection, or from the end of the answer before, to the end of the headers


class Bounded(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = 0  # bytes since the headers began; -1 when they are over
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Wait for the first request."""
        super().connection_made(transport)
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
        """They are whole."""
        self._head = -1
        self._calm()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._calm()
        super().connection_lost(exc)

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self.transport.close()
