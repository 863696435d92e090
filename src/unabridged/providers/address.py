"""Where requests go: a base URL, checked and taken apart, and the proxy on the way (pure)."""

from __future__ import annotations

import base64
import ipaddress
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Address", "proxy_for"]

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """A base URL. A user and a password in it become a header, and are shown nowhere.

    >>> Address.parse("http://me:secret@localhost:8080/v1/?tenant=7").host
    'localhost:8080'
    """

    scheme: str
    name: str
    port: int | None
    path: str
    query: tuple[tuple[str, str], ...] = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, base_url: str, *, key: str = "base_url") -> Address:
        """Check a base URL. Raises :class:`~unabridged.errors.ConfigError` that says what is wrong."""
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
            name = (parts.hostname or "").encode("idna").decode()
        except ValueError as error:
            raise ConfigError(key, f"found {_shown(base_url)!r}, which is no URL ({error})") from None
        if parts.scheme not in _PORTS or not name:
            expected = "expected http://host/path or https://host/path"
            raise ConfigError(key, f"found {_shown(base_url)!r}, {expected}")
        path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        return cls(parts.scheme, name, port, path, tuple(parse_qsl(parts.query)), _basic(parts))

    @property
    def host(self) -> str:
        """Name, and the port where it is not the scheme's own."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port in {None, _PORTS[self.scheme]} else f"{name}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        if self.name == "localhost" or self.name.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.name).is_loopback
        except ValueError:
            return False

    def target(self, path: str, query: Mapping[str, str]) -> str:
        """The request target: path below the base (below the root where it starts with ``//``), and both queries."""
        below = "" if path.startswith("//") else self.path
        whole = f"{below}/{path.lstrip('/')}" if path else self.path or "/"
        pairs = {**dict(self.query), **query}
        return f"{whole}?{urlencode(pairs)}" if pairs else whole


def proxy_for(address: Address, proxy: str) -> str | None:
    """The proxy's URL for an address, or ``None``.

    ``"environment"`` asks ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, but never
    for this machine's own addresses: a local model is not reached by way of a company's proxy.
    """
    if proxy == "none":
        return None
    if proxy != "environment":
        return _checked(proxy)
    if address.is_loopback or urllib.request.proxy_bypass(address.host):
        return None
    known = urllib.request.getproxies()
    found = known.get(address.scheme) or known.get("all")
    return _checked(found) if found else None


def _checked(proxy: str) -> str:
    whole = proxy if "://" in proxy else f"http://{proxy}"
    Address.parse(whole, key="proxy")
    return whole


def _basic(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _shown(url: str) -> str:
    """A URL for a message: without what stands before ``@``."""
    scheme, mark, rest = url.partition("://")
    head, at, tail = rest.partition("@")
    return f"{scheme}{mark}…@{tail}" if at and "/" not in head else url
