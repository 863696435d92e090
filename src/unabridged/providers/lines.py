"""Connections to one host, each lent to one request at a time, as many as there are requests.

The engine's own pool is scanned on every request: one pool of 64 connections reaches a tenth of
what eight pools of eight do (FINDINGS §4), and a stack of single connections needs no scan at all.
There is no upper bound here: how many requests are in flight is the embedder's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar
from urllib.parse import unquote, urlsplit

import httpcore

from unabridged.providers.wire import AsyncNetwork, Network, deadline

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from unabridged.providers.address import Address

__all__ = ["AsyncLines", "Lines", "Outgoing", "Raw"]

_IDLE = 4.5  # seconds; many servers hang up after 5, and a request on a dying connection is lost
_CONNECT = 15.0  # seconds for a connection; a host that is there answers sooner

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request, ready for the wire."""

    method: bytes
    url: httpcore.URL
    headers: list[tuple[bytes, bytes]] = field(repr=False)
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Raw:
    """A reply as it came."""

    status: int
    headers: list[tuple[bytes, bytes]] = field(repr=False)
    content: bytes = field(repr=False)


class Lines:
    """For threads. A process that was forked off gets connections of its own."""

    def __init__(self, address: Address, *, proxy: str | None = None, context: ssl.SSLContext | None = None) -> None:
        self._make = partial(_line, address, proxy, context)
        self._stack: _Stack[httpcore.HTTPConnection | httpcore.ConnectionPool] = _Stack(self._make)
        self._process = os.getpid()

    def send(self, out: Outgoing, allowed: float, *, into: BinaryIO | None = None) -> Raw:
        """Send and read the reply within ``allowed`` seconds; a success goes ``into`` a file, if there is one.

        Raises ``TimeoutError``, or ``ConnectionError`` with the reason.
        """
        if self._process != os.getpid():
            self._stack, self._process = _Stack(self._make), os.getpid()
        at = time.monotonic() + allowed
        with self._stack.lend() as lent, deadline(at), _plainly():
            if _spent(lent.line):
                lent.line.close()
                lent.line = self._make()
            response = lent.line.handle_request(_request(out, allowed))
            try:
                if into is None or not 200 <= response.status < 300:
                    content = b"".join(response.iter_stream())
                else:
                    content = b""
                    into.writelines(response.iter_stream())
            finally:
                response.close()
        return Raw(response.status, response.headers, content)

    def close(self) -> None:
        """Close every idle connection."""
        for lent in self._stack.empty():
            lent.line.close()

    def __del__(self) -> None:  # a provider that nobody closed
        self.close()


class AsyncLines:
    """For the tasks of one event loop, which closes them when it shuts down."""

    def __init__(self, address: Address, *, proxy: str | None = None, context: ssl.SSLContext | None = None) -> None:
        self._make = partial(_async_line, address, proxy, context)
        self._stack: _Stack[httpcore.AsyncHTTPConnection | httpcore.AsyncConnectionPool] = _Stack(self._make)
        self._guard: AsyncGenerator[None, None] | None = None

    async def send(self, out: Outgoing, allowed: float) -> Raw:
        """The same as :meth:`Lines.send`; when it is cancelled, the connection is closed."""
        if self._guard is None:
            # A loop closes its open generators when it shuts down (asyncio.run does), so this is
            # how connections learn of that; left alone they would be found by the garbage collector.
            self._guard = self._until_shutdown()
            await anext(self._guard)
        async with asyncio.timeout(allowed):
            with self._stack.lend() as lent, _plainly():
                if _spent(lent.line):
                    await lent.line.aclose()
                    lent.line = self._make()
                response = await lent.line.handle_async_request(_request(out, allowed))
                try:
                    content = b"".join([part async for part in response.aiter_stream()])
                finally:
                    await response.aclose()
        return Raw(response.status, response.headers, content)

    async def aclose(self) -> None:
        """Close every idle connection."""
        guard, self._guard = self._guard, None
        if guard is not None:
            await guard.aclose()

    async def _until_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            for lent in self._stack.empty():
                await lent.line.aclose()


@dataclass(slots=True)
class _Lent(Generic[Line]):
    line: Line


class _Stack(Generic[Line]):
    """Idle connections: the last one used is lent first, so that those in excess run dry."""

    def __init__(self, make: Callable[[], Line]) -> None:
        self._make = make
        self._idle: list[_Lent[Line]] = []

    @contextlib.contextmanager
    def lend(self) -> Iterator[_Lent[Line]]:
        """A connection of one's own. ``pop`` and ``append`` are atomic, so no lock is needed."""
        try:
            lent = self._idle.pop()
        except IndexError:
            lent = _Lent(self._make())
        try:
            yield lent
        finally:
            self._idle.append(lent)

    def empty(self) -> list[_Lent[Line]]:
        """Take all that are idle."""
        idle, self._idle = self._idle, []
        return idle


def _spent(line: object) -> bool:
    """Whether a connection was closed, by either side, or was idle too long."""
    if isinstance(line, httpcore.HTTPConnection | httpcore.AsyncHTTPConnection):
        return line.is_closed() or line.has_expired()
    return False  # a pool of one, by way of a proxy, sees to that itself


def _request(out: Outgoing, allowed: float) -> httpcore.Request:
    waits = {"connect": min(_CONNECT, allowed), "read": allowed, "write": allowed, "pool": allowed}
    request = httpcore.Request(out.method, out.url, content=out.content, extensions={"timeout": waits})
    request.headers = out.headers  # bytes that were checked when they were made: each again is 1 % of a request's CPU
    return request


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """The engine's errors in Python's words."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise TimeoutError(str(error)) from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise cause from None
        raise ConnectionError(str(error) or type(error).__name__) from error


def _line(
    address: Address, proxy: str | None, context: ssl.SSLContext | None
) -> httpcore.HTTPConnection | httpcore.ConnectionPool:
    common: dict[str, Any] = {"ssl_context": context, "keepalive_expiry": _IDLE, "network_backend": Network()}
    if proxy is None:
        return httpcore.HTTPConnection(_origin(address), **common)
    return httpcore.ConnectionPool(proxy=_proxy(proxy, context), max_connections=1, **common)


def _async_line(
    address: Address, proxy: str | None, context: ssl.SSLContext | None
) -> httpcore.AsyncHTTPConnection | httpcore.AsyncConnectionPool:
    common: dict[str, Any] = {
        "ssl_context": context,
        "keepalive_expiry": _IDLE,
        "network_backend": AsyncNetwork(),
    }
    if proxy is None:
        return httpcore.AsyncHTTPConnection(_origin(address), **common)
    return httpcore.AsyncConnectionPool(proxy=_proxy(proxy, context), max_connections=1, **common)


def _origin(address: Address) -> httpcore.Origin:
    port = address.port or {"http": 80, "https": 443}[address.scheme]
    return httpcore.Origin(address.scheme.encode(), address.name.encode(), port)


def _proxy(url: str, context: ssl.SSLContext | None) -> httpcore.Proxy:
    parts = urlsplit(url)
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username), unquote(parts.password or ""))
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return httpcore.Proxy(url, auth, ssl_context=context if parts.scheme == "https" else None)
