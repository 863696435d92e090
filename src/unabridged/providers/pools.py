"""Connections to one host, lent out: pools of at most eight, as many pools as are needed.

A pool is scanned on every request, so one pool of 64 connections reaches a tenth of what eight
pools of eight do (FINDINGS §4). There is no upper bound here: how many requests are in flight is
the embedder's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit

import httpcore

from unabridged.providers.wire import AsyncNetwork, Network, deadline

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

__all__ = ["AsyncPools", "Outgoing", "Pools", "Raw"]

_CONNECTIONS = 8
_IDLE = 4.5  # seconds; many servers hang up after 5, and a request on a dying connection is lost
_CONNECT = 15.0  # seconds for a connection; a host that is there answers sooner

Pool = TypeVar("Pool")


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


@dataclass(slots=True)
class _Slot(Generic[Pool]):
    pool: Pool
    lent: int = 0


class _Lender(Generic[Pool]):
    def __init__(self, make: Callable[[], Pool]) -> None:
        self._make = make
        self._slots: list[_Slot[Pool]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def lend(self) -> Iterator[Pool]:
        """The first pool with a free connection: the busiest stay warm, the others run dry."""
        with self._lock:
            slot = next((slot for slot in self._slots if slot.lent < _CONNECTIONS), None)
            if slot is None:
                slot = _Slot(self._make())
                self._slots.append(slot)
            slot.lent += 1
        try:
            yield slot.pool
        finally:
            with self._lock:
                slot.lent -= 1

    def empty(self) -> list[Pool]:
        with self._lock:
            slots, self._slots = self._slots, []
        return [slot.pool for slot in slots]


class Pools:
    """For threads. A process that was forked off gets connections of its own."""

    def __init__(self, proxy: str | None = None, context: ssl.SSLContext | None = None) -> None:
        self._make = partial(_pool, proxy, context)
        self._lender: _Lender[httpcore.ConnectionPool] = _Lender(self._make)
        self._process = os.getpid()

    def send(self, out: Outgoing, allowed: float) -> Raw:
        """Send and read the reply within ``allowed`` seconds.

        Raises ``TimeoutError``, or ``ConnectionError`` with the reason.
        """
        if self._process != os.getpid():
            self._lender, self._process = _Lender(self._make), os.getpid()
        at = time.monotonic() + allowed
        with self._lender.lend() as pool, deadline(at), _plainly():
            response = pool.handle_request(_request(out, allowed))
            try:
                content = b"".join(response.iter_stream())
            finally:
                response.close()
        return Raw(response.status, response.headers, content)

    def close(self) -> None:
        """Close every connection."""
        for pool in self._lender.empty():
            pool.close()


class AsyncPools:
    """For the tasks of one event loop, which closes them when it shuts down."""

    def __init__(self, proxy: str | None = None, context: ssl.SSLContext | None = None) -> None:
        self._lender: _Lender[httpcore.AsyncConnectionPool] = _Lender(partial(_async_pool, proxy, context))
        self._guard: AsyncGenerator[None, None] | None = None

    async def send(self, out: Outgoing, allowed: float) -> Raw:
        """The same as :meth:`Pools.send`; when it is cancelled, the connection is closed."""
        if self._guard is None:
            # A loop closes its open generators when it shuts down (asyncio.run does), so this is
            # how connections learn of that; left alone they would be found by the garbage collector.
            self._guard = self._until_shutdown()
            await anext(self._guard)
        async with asyncio.timeout(allowed):
            with self._lender.lend() as pool, _plainly():
                response = await pool.handle_async_request(_request(out, allowed))
                try:
                    content = b"".join([part async for part in response.aiter_stream()])
                finally:
                    await response.aclose()
        return Raw(response.status, response.headers, content)

    async def aclose(self) -> None:
        """Close every connection."""
        guard, self._guard = self._guard, None
        if guard is not None:
            await guard.aclose()

    async def _until_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            for pool in self._lender.empty():
                await pool.aclose()


def _request(out: Outgoing, allowed: float) -> httpcore.Request:
    waits = {"connect": min(_CONNECT, allowed), "read": allowed, "write": allowed, "pool": allowed}
    return httpcore.Request(
        out.method, out.url, headers=out.headers, content=out.content, extensions={"timeout": waits}
    )


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


def _pool(proxy: str | None, context: ssl.SSLContext | None) -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(network_backend=Network(), **_options(proxy, context))


def _async_pool(proxy: str | None, context: ssl.SSLContext | None) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(network_backend=AsyncNetwork(), **_options(proxy, context))


def _options(proxy: str | None, context: ssl.SSLContext | None) -> dict[str, Any]:
    return {
        "ssl_context": context,
        "proxy": None if proxy is None else _proxy(proxy, context),
        "max_connections": _CONNECTIONS,
        "max_keepalive_connections": _CONNECTIONS,
        "keepalive_expiry": _IDLE,
    }


def _proxy(url: str, context: ssl.SSLContext | None) -> httpcore.Proxy:
    parts = urlsplit(url)
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username), unquote(parts.password or ""))
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return httpcore.Proxy(url, auth, ssl_context=context if parts.scheme == "https" else None)
