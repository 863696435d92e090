"""The one place that talks HTTP: one host, many connections, a total deadline, no key in any message.

It sits on httpcore, the engine inside httpx, without httpx's client around it: some 300 µs of CPU
a request with the reply checked, against 505 for that client alone (one text, base64, 64 in flight).
That, and connections that are lent singly (FINDINGS §4), keep a client within reach of what a server
with 50 ms of latency can give.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
import weakref
import zlib
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn
from urllib.parse import urlencode

import httpcore

from unabridged.errors import ConfigError, ProviderError, ProviderTimeout
from unabridged.providers.address import Address, proxy_for
from unabridged.providers.faults import classify, error_for
from unabridged.providers.lines import AsyncLines, Lines, Outgoing, Raw
from unabridged.providers.replies import bad_reply
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Answer", "Call", "HttpHost", "encoded"]

_TIMEOUT = 120.0  # seconds in all: a batch on a small machine takes long, a hung server for ever
_SHORTEST_SECRET = 6  # shorter ones ("EMPTY", "none") are no secrets, and words of ordinary messages


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: ``body`` goes as JSON, ``form`` as a form, ``content`` (bytes, their type) as it is.

    ``path`` is below the base URL, or below the host's root where it starts with ``//``. ``timeout`` is
    the seconds left; ``patience`` the seconds allowed instead of the host's own, for large files.
    ``whole``: an ``error`` inside a success is part of what was asked for, such as how something ended.
    """

    path: str = ""
    body: Any = field(default=None, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    content: tuple[bytes, str] | None = field(default=None, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"
    timeout: float | None = None
    patience: float | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with a status of success: lower-case headers, and the parsed JSON."""

    status: int
    headers: Mapping[str, str]
    data: Any = field(repr=False)


class HttpHost:
    """Sends calls to one host, from threads and from tasks.

    ``secrets`` are blotted out of whatever the host says. ``proxy`` is a URL, ``"environment"``
    (``HTTPS_PROXY`` and its kin, never for this machine's own addresses) or ``"none"``. ``verify``
    is ``True``, ``False``, the path of a CA bundle, or an ``ssl.SSLContext``.

    Raises :class:`~unabridged.errors.ProviderError` with a fault for any reply that is no success
    (an ``error`` inside a 200 too) and when the host cannot be reached;
    :class:`~unabridged.errors.ProviderTimeout` at the deadline, whatever the host does, with the
    connection closed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        provider: str,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        secrets: Sequence[str | None] = (),
        timeout: float | None = None,
        proxy: str = "environment",
        verify: bool | str | ssl.SSLContext = True,
    ) -> None:
        self.address = Address.parse(base_url)
        self.provider = provider
        self.timeout = _TIMEOUT if timeout is None else timeout
        self._query = dict(query or {})
        self._headers = _lower(
            {
                "user-agent": f"unabridged/{_version()}",
                "accept": "application/json",
                "accept-encoding": "gzip",
            },
            self.address.headers,
            headers or {},
        )
        for name, value in self._headers.items():
            _header(name, value)
        self._secrets = tuple(s.encode() for s in secrets if s and len(s) >= _SHORTEST_SECRET)
        self._proxy = proxy_for(self.address, proxy)
        self._context = _trust(verify) if self._uses_tls() else None
        self._lines = Lines(self.address, proxy=self._proxy, context=self._context)
        self._heads: dict[str, tuple[httpcore.URL, list[tuple[bytes, bytes]]]] = {}
        self._loops: weakref.WeakKeyDictionary[Any, AsyncLines] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        """Name and port, without a key: ``api.openai.com``, ``localhost:11434``."""
        return self.address.host

    def call(self, call: Call) -> Answer:
        """Send one request from a thread."""
        allowed = self._allowed(call)
        with self._told(allowed):
            raw = self._lines.send(self._outgoing(call), allowed)
        return self._answer(raw, whole=call.whole)

    def download(self, call: Call, into: BinaryIO) -> int:
        """Write the body of a reply to a file as it comes, whatever it is; how many bytes there were."""
        allowed = self._allowed(call)
        plain = replace(call, headers={**call.headers, "accept": "*/*", "accept-encoding": "identity"})
        with self._told(allowed):
            raw = self._lines.send(self._outgoing(plain), allowed, into=into)
        if not 200 <= raw.status < 300:
            self._answer(raw)  # raises what it means
        return into.tell()

    async def acall(self, call: Call) -> Answer:
        """Send one request from a task; when it is cancelled, its connection is closed."""
        allowed = self._allowed(call)
        with self._told(allowed):
            raw = await self._here().send(self._outgoing(call), allowed)
        return self._answer(raw, whole=call.whole)

    def close(self) -> None:
        """Close every connection; those of a running event loop as soon as it turns."""
        self._lines.close()
        for loop, lines in list(self._loops.items()):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(lines.aclose(), loop)
        self._loops.clear()

    async def aclose(self) -> None:
        """Close every connection, those of this event loop at once."""
        lines = self._loops.pop(asyncio.get_running_loop(), None)
        if lines is not None:
            await lines.aclose()
        self.close()

    def refuse(self, answer: Answer, problem: str) -> NoReturn:
        """Raise what an answer without the expected contents means: its own error, or ``bad_reply``."""
        fault = classify(answer.status, answer.data, answer.headers, provider=self.provider)
        if fault.kind in {"unknown", "bad_reply"}:
            raise bad_reply(problem, provider=self.provider)
        raise error_for(fault, answer.data, provider=self.provider)

    def _allowed(self, call: Call) -> float:
        most = self.timeout if call.patience is None else call.patience
        allowed = most if call.timeout is None else min(call.timeout, most)
        if allowed <= 0:
            raise self._late(allowed)
        return allowed

    def _outgoing(self, call: Call) -> Outgoing:
        content, kind = _content(call)
        if call.body is None or call.query or call.headers:
            url, head = self._head(call, kind)
        else:  # one of a model's few routes, over and over: what stands before the content is made once
            known = self._heads.get(call.path)
            url, head = known or self._heads.setdefault(call.path, self._head(call, kind))
        return Outgoing(call.method.encode(), url, [*head, (b"content-length", b"%d" % len(content))], content)

    def _head(self, call: Call, kind: str | None) -> tuple[httpcore.URL, list[tuple[bytes, bytes]]]:
        headers = self._headers if kind is None else {**self._headers, "content-type": kind}
        headers = _lower(headers, call.headers)
        target = self.address.target(call.path, {**self._query, **call.query})
        address = self.address
        url = httpcore.URL(scheme=address.scheme, host=address.name, port=address.port, target=target)
        return url, [(b"host", address.host.encode()), *((n.encode(), _header(n, v)) for n, v in headers.items())]

    def _answer(self, raw: Raw, *, whole: bool = False) -> Answer:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw.headers}
        text = self._blotted(self._unpacked(raw.content, headers))
        if not 200 <= raw.status < 300:
            self._raise(raw.status, headers, text)
        try:
            data = _parsed(text)
        except ValueError:
            self.refuse(Answer(raw.status, headers, text), "the answer is not JSON")
        if not whole and isinstance(data, dict) and (data.get("error") or data.get("errors")):
            self._raise(raw.status, headers, text)
        return Answer(raw.status, headers, data)

    def _raise(self, status: int, headers: Mapping[str, str], text: bytes) -> NoReturn:
        if 300 <= status < 400 and "location" in headers:
            message = f"{self.provider}: {self.host} redirects (status {status}); give the final base_url"
            raise ProviderError(message, Fault("bad_request", status=status), body=text)
        fault = classify(status, text, headers, provider=self.provider)
        if fault.kind == "unknown" and status < 300:
            fault = Fault("upstream_error", confidence=0.5, status=status)
        raise error_for(fault, text, provider=self.provider)

    def _unpacked(self, content: bytes, headers: Mapping[str, str]) -> bytes:
        if headers.get("content-encoding", "").lower() not in {"gzip", "x-gzip"}:
            return content
        try:
            return zlib.decompress(content, wbits=zlib.MAX_WBITS | 16)
        except zlib.error:
            raise bad_reply("the answer is not gzip, though it says so", provider=self.provider) from None

    def _blotted(self, text: bytes) -> bytes:
        for secret in self._secrets:
            text = text.replace(secret, "…".encode())
        return text

    def _here(self) -> AsyncLines:
        loop = asyncio.get_running_loop()
        with self._lock:
            lines = self._loops.get(loop)
            if lines is None:
                lines = self._loops[loop] = AsyncLines(self.address, proxy=self._proxy, context=self._context)
        return lines

    @contextlib.contextmanager
    def _told(self, allowed: float) -> Iterator[None]:
        """Network errors as provider errors."""
        try:
            yield
        except TimeoutError:
            raise self._late(allowed) from None
        except ssl.SSLCertVerificationError as error:
            message = f"{self.provider}: the certificate of {self.host} is refused: {error.verify_message}"
            raise ProviderError(message, Fault("bad_request")) from None  # no retry will change it
        except ConnectionError as error:
            message = f"{self.provider}: no answer from {self.host}: {error}"
            raise ProviderError(message, Fault("upstream_error")) from None

    def _late(self, allowed: float) -> ProviderTimeout:
        message = f"{self.provider}: no answer from {self.host} within {max(allowed, 0):.3g} s"
        return ProviderTimeout(message, Fault("timeout"))

    def _uses_tls(self) -> bool:
        return self.address.scheme == "https" or (self._proxy or "").startswith("https:")


@cache
def _version() -> str:
    try:
        return version("unabridged")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0"


def _trust(verify: bool | str | ssl.SSLContext) -> ssl.SSLContext:  # noqa: FBT001
    if isinstance(verify, ssl.SSLContext):
        return verify
    if isinstance(verify, str):
        try:
            return ssl.create_default_context(cafile=verify)
        except OSError as error:
            raise ConfigError("verify", f"found {verify!r}, no readable CA bundle ({error.strerror})") from None
    context = httpcore.default_ssl_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _content(call: Call) -> tuple[bytes, str | None]:
    """What is sent, and what it is."""
    if call.body is not None:
        return encoded(call.body), "application/json"
    if call.form is not None:
        return urlencode(call.form).encode(), "application/x-www-form-urlencoded"
    return (b"", None) if call.content is None else call.content


def _lower(*parts: Mapping[str, str]) -> dict[str, str]:
    """Headers by lower-case name; a later one wins."""
    return {name.lower(): value for part in parts for name, value in part.items()}


def _header(name: str, value: str) -> bytes:
    """A header's bytes. A bad one is named, never shown: it may be a key."""
    found = value.strip()
    if not found.isascii() or not found.isprintable():
        raise ConfigError(f"headers.{name}", "has characters that no header can carry")
    return found.encode()


def encoded(body: Any) -> bytes:
    """JSON in UTF-8; a lone surrogate, which UTF-8 cannot hold, goes as U+FFFD."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _parsed(text: bytes) -> Any:
    """JSON, by the parser that comes with pydantic: five times the standard one's speed on vectors."""
    from pydantic_core import from_json

    try:
        return from_json(text)
    except ValueError:  # it is stricter than some servers: "\ud83d" alone
        return json.loads(text)
