"""A small HTTP/1.1 server on 127.0.0.1, in a thread of its own: quick, and able to misbehave.

One ``asyncio.Protocol``, no framework: a benchmark of a client should not measure its server
(67 to 90 µs of CPU a request, system calls and the vector included).
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

__all__ = ["Exchange", "HttpServer", "Listening"]

_START = 10.0  # seconds for the thread to listen


@dataclass(slots=True, eq=False)
class Exchange:
    """One request, and the ways to answer it. Exactly one of them is used."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    connection: _Connection = field(repr=False)
    gone: Callable[[], None] | None = None  # called when the client hangs up before the answer
    done: bool = False

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answer at once."""
        if not self.done:
            self.done = True
            self.connection.answer(_message(status, body, headers or {}))

    def drip(self, status: int, body: bytes, seconds: float) -> None:
        """Answer one byte at a time, the head too, with so many seconds between them."""
        message = _message(status, body, {})
        for at in range(len(message)):
            self.later(seconds * at, self.connection.write, message[at : at + 1])
        self.later(seconds * len(message), self.connection.finish)

    def drop(self) -> None:
        """Hang up without an answer."""
        self.done = True
        self.connection.hang_up()

    def later(self, seconds: float, action: Callable[..., None], *given: object) -> None:
        """Do something on the server's thread after so many seconds (at once for 0)."""
        if seconds > 0:
            asyncio.get_running_loop().call_later(seconds, action, *given)
        else:
            action(*given)


class Listening:
    """What every server of this package is to its user: a context manager, with ``start`` and ``stop``."""

    _server: HttpServer

    def __enter__(self) -> Self:
        """Start listening."""
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and hang up on everybody."""
        self._server.stop()

    def start(self) -> Self:
        """Start listening."""
        return self.__enter__()

    def stop(self) -> None:
        """Stop, and hang up on everybody."""
        self._server.stop()


class HttpServer:
    """Listens on 127.0.0.1; ``handle`` gets every request, on the server's thread. ``context`` speaks TLS."""

    def __init__(
        self, handle: Callable[[Exchange], None], *, port: int = 0, context: ssl.SSLContext | None = None
    ) -> None:
        self.handle = handle
        self._context = context
        self.port = port
        self.connections: set[_Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="loopback-provider", daemon=True)

    def start(self) -> None:
        """Listen, and come back when that works."""
        self._thread.start()
        self._ready.wait(_START)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Hang up on everybody, and wait for the thread to end."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_START)

    def _run(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        try:
            listening = loop.run_until_complete(
                loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port, backlog=1024, ssl=self._context)
            )
        except OSError as error:
            self._failure = error
            self._ready.set()
            loop.close()
            return
        self.port = listening.sockets[0].getsockname()[1]
        self._ready.set()
        loop.run_forever()
        listening.close()
        for connection in list(self.connections):
            connection.hang_up()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


class _Connection(asyncio.Protocol):
    """Requests of one client, one after another."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._received = bytearray()
        self._current: Exchange | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._server.connections.discard(self)
        current, self._current = self._current, None
        if current is not None and current.gone is not None:
            current.gone()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._current is None:
            self._next()

    def answer(self, message: bytes) -> None:
        self.write(message)
        self.finish()

    def write(self, message: bytes) -> None:
        if self._transport is not None:
            self._transport.write(message)

    def finish(self) -> None:
        self._current = None
        if self._received:
            self._next()

    def hang_up(self) -> None:
        self._current = None
        if self._transport is not None:
            self._transport.abort()

    def _next(self) -> None:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = self._received[:end].decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        whole = end + 4 + int(headers.get("content-length", 0))
        if len(self._received) < whole:
            return
        body = bytes(self._received[end + 4 : whole])
        del self._received[:whole]
        method, target, _ = lines[0].split(" ", 2)
        self._current = Exchange(method, target, headers, body, self)
        self._server.handle(self._current)


def _message(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    head = {"content-type": "application/json", **headers, "content-length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode("latin-1") + body
