"""Fetching a page from an address that a user or a text named, without reaching where it must not.

An address may name this machine, its network, or a cloud's metadata service (SSRF). So what is looked
at is not the name but where the connection goes: every address that the name resolves to, at the moment of
connecting, for each redirect again. No proxy, no cookie, no credential is taken along.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpcore

from unabridged.errors import InputError, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Fetched", "fetch"]

MAX_BYTES = 32 << 20  # 32 MiB: as large as an image may be, and far above any page
REDIRECTS = 5
TIMEOUT = 30.0  # seconds, in all


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address gave: where it was in the end, its bytes, its media type and charset as the server says."""

    url: str
    data: bytes = field(repr=False)
    media_type: str | None = None
    charset: str | None = None


def fetch(url: str, *, private: bool = False, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT) -> Fetched:
    """Fetch what is at an ``http`` or ``https`` address.

    ``private`` also takes addresses of this machine and its networks. Raises
    :class:`~unabridged.errors.InputError` for an address that is not to be reached, and
    :class:`~unabridged.errors.UnreadableFile` for what does not answer, or is over ``max_bytes``.
    """
    until = time.monotonic() + timeout
    backend = _Guarded(private=private)
    context = ssl.create_default_context()
    with httpcore.ConnectionPool(ssl_context=context, network_backend=backend, max_connections=1) as pool:
        for _ in range(REDIRECTS + 1):
            _checked(url)
            url = _written(url)
            status, headers, data = _answer(pool, url, max_bytes, until)
            if status in {301, 302, 303, 307, 308} and "location" in headers:
                url = urljoin(url, headers["location"])
                continue
            if status != 200:
                raise UnreadableFile(_shown(url), f"the server answered with status {status}")
            kind, _, more = headers.get("content-type", "").partition(";")
            charset = more.partition("charset=")[2].strip().strip("\"'") or None
            return Fetched(url, data, kind.strip().lower() or None, charset)
    raise UnreadableFile(_shown(url), f"more than {REDIRECTS} redirects")


def _checked(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(f"url: found the scheme {parts.scheme!r}, expected an http or https address")
    if parts.username or parts.password:
        raise InputError("url: holds a user name or a password; they would be stored with it")


def _written(url: str) -> str:
    """An address as it is sent: letters of other scripts as IDNA and UTF-8 have them.

    >>> _written("https://bücher.example/straße?q=ä#top")
    'https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%A4'
    """
    if url.isascii() and url.isprintable():
        return url
    parts = urlsplit(url)
    try:
        host = (parts.hostname or "").encode("idna").decode()
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise InputError("url: its host is no name that the network knows") from None
    path, query = (quote(each, safe="/%:;=&?@!$'()*+,~") for each in (parts.path, parts.query))
    return urlunsplit((parts.scheme, f"{host}{port}", path, query, ""))


def _shown(url: str) -> str:
    """An address as a message may show it: without its query, which may hold a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _answer(pool: Any, url: str, most: int, until: float) -> tuple[int, dict[str, str], bytes]:
    left = max(0.001, until - time.monotonic())
    limits = dict.fromkeys(("connect", "read", "write", "pool"), left)
    told = {"user-agent": "unabridged", "accept": "text/html, text/markdown, text/*;q=0.9, */*;q=0.5"}
    data = bytearray()
    try:
        with pool.stream("GET", url, headers=list(told.items()), extensions={"timeout": limits}) as answer:
            for part in answer.iter_stream():
                data += part
                if len(data) > most:
                    raise UnreadableFile(_shown(url), f"over the limit of {most:,} bytes")
                if time.monotonic() > until:
                    raise UnreadableFile(_shown(url), "was not read within its time")
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
            return answer.status, headers, bytes(data)
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
        raise UnreadableFile(_shown(url), f"cannot be reached ({type(error).__name__})") from None


class _Guarded(httpcore.SyncBackend):
    """Connects to public addresses alone, by the address that was looked at and not by the name once more."""

    def __init__(self, *, private: bool) -> None:
        super().__init__()
        self._private = private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Resolve, look at every address, connect to the first."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise httpcore.ConnectError("the name does not resolve") from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not self._private and (closed := [each for each in addresses if not _public(each)]):
            raise InputError(
                f"url: {len(closed)} of its {len(addresses)} addresses belong to this machine, its network or no one",
                advice="private",
            )
        return super().connect_tcp(addresses[0], port, timeout, local_address, socket_options)


def _public(address: str) -> bool:
    """Whether an address is of the open network; one that wraps another counts as that.

    >>> _public("93.184.216.34"), _public("127.0.0.1"), _public("169.254.169.254"), _public("::ffff:10.0.0.1")
    (True, False, False, False)
    >>> _public("2606:4700::1111"), _public("::127.0.0.1"), _public("64:ff9b::7f00:1"), _public("64:ff9b:1::7f00:1")
    (True, False, False, False)
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv4Address):
        return _public_4(found)
    inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
    if found in _NAT64:
        inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    if inner is not None:
        return _public_4(inner)
    return found in _GLOBAL and found.is_global


def _public_4(found: ipaddress.IPv4Address) -> bool:
    return found.is_global and not found.is_multicast and not any(found in each for each in _CLOSED)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# All that is given out to anybody (RFC 4291, 2.4): other prefixes that are none of ours to judge wrap addresses
# (::/96, ::ffff:0:0:0/96), or are of somebody's own network (64:ff9b:1::/48, fec0::/10, fc00::/7).
_GLOBAL = ipaddress.IPv6Network("2000::/3")
# For protocols and relays (RFC 6890, 7526); some versions of Python call parts of them global.
_CLOSED = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("192.88.99.0/24"))
