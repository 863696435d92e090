"""The loopback provider: decides what is answered, refused, cut, delayed or spoilt, and remembers it."""

from __future__ import annotations

import base64
import json
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import ConfigError
from unabridged.providers.hashing import HashingTokenizer
from unabridged.testing.dialect import Asked, Incoming, NotServed, WrongShape
from unabridged.testing.dialects import DIALECTS
from unabridged.testing.refusals import Refusal, wording
from unabridged.testing.server import Exchange, HttpServer, Listening
from unabridged.testing.troubles import Bucket, RateLimit, Script, Trouble, waiting
from unabridged.testing.vectors import spoilt, vector_for
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from unabridged.testing.refusals import RefusalKind

__all__ = ["LoopbackProvider", "Seen"]

_OK = 200


@dataclass(slots=True, eq=False)
class Seen:
    """One request that the server got: ``status`` is ``None`` until it is answered, 0 if it never was."""

    number: int
    path: str
    headers: Mapping[str, str] = field(repr=False)
    size: int
    body: Any = field(default=None, repr=False)
    texts: tuple[str, ...] = field(default=(), repr=False)
    tokens: int = 0
    role: str | None = None
    dimensions: int | None = None
    key: str | None = field(default=None, repr=False)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    status: int | None = None
    hung_up: bool = False


class LoopbackProvider(Listening):
    """A real embeddings server on 127.0.0.1 that speaks a provider's dialect, for tests.

    ``limit`` is what it refuses over (tokens by ``count``, characters, bytes, inputs, tokens and
    bytes a request), in the words of the dialect; ``numbers=False`` leaves limit and size out,
    ``indexed=True`` says which input where the dialect has such a sentence. ``silent=True`` cuts
    over-long texts without a word, as some servers do whatever they are told.

    ``latency`` is in seconds, or a function of the request. ``rate`` is a token bucket; ``keys`` the
    keys that are accepted (``None``: any); ``models`` the models that exist; ``matryoshka=False``
    refuses ``dimensions``; ``base64=False`` refuses that format; ``routes`` serves only paths that end
    so. ``troubles`` go wrong as scripted. ``record=False`` keeps counts only.

    Vectors come from the text alone (:func:`vector_for`, or your own ``vector``), so that a test can
    tell whether vector *i* belongs to text *i*.

    >>> from unabridged.providers.openai import OpenAIProvider
    >>> from unabridged.types import Request
    >>> with LoopbackProvider() as server:
    ...     provider = OpenAIProvider("a-model", base_url=server.url)
    ...     vectors = provider.send(Request(("one", "two"))).vectors
    ...     provider.close()
    >>> bool((vectors[1] == vector_for("two")).all()), len(server.requests)
    (True, 1)
    """

    def __init__(
        self,
        dialect: str = "openai",
        *,
        limit: Limit | None = None,
        count: Callable[[str], int] | None = None,
        dimensions: int = 32,
        vector: Callable[[str, int], Sequence[float]] | None = None,
        numbers: bool = True,
        indexed: bool = False,
        silent: bool = False,
        usage: bool = True,
        latency: float | Callable[[Seen], float] = 0.0,
        rate: RateLimit | None = None,
        keys: Collection[str] | None = None,
        models: Collection[str] | None = None,
        matryoshka: bool = True,
        base64: bool = True,
        routes: Collection[str] | None = None,
        troubles: Sequence[Trouble] = (),
        seed: int = 0,
        record: bool = True,
        port: int = 0,
    ) -> None:
        if dialect not in DIALECTS:
            raise ConfigError("dialect", f"found {dialect!r}, known are {', '.join(sorted(DIALECTS))}")
        self.dialect = DIALECTS[dialect]
        self.limit = limit or Limit()
        self.keys = None if keys is None else set(keys)
        self.models = models
        self.requests: list[Seen] = []
        self.counts: dict[int, int] = {}
        self.in_flight = 0
        self.in_flight_max = 0
        self.hung_up = 0
        self._count = count or HashingTokenizer().count
        self._dimensions = dimensions
        self._vector = vector or vector_for
        self._numbers = numbers
        self._indexed = indexed
        self._silent = silent
        self._usage = usage
        self._latency = latency
        self._rate = rate
        self._bucket = None if rate is None else Bucket(rate)
        self._matryoshka = matryoshka
        self._base64 = base64
        self._routes = routes
        self._script = Script(troubles, seed)
        self._record = record
        self._total = 0
        self._server = HttpServer(self._handle, port=port)

    @property
    def root(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def url(self) -> str:
        """The base URL that a client of this dialect is given."""
        return self.root + self.dialect.base

    @property
    def total(self) -> int:
        """How many requests came."""
        return self._total

    @property
    def texts(self) -> list[str]:
        """Every text that was answered with a vector, in order of arrival."""
        return [text for seen in self.requests if seen.status == _OK for text in seen.texts]

    def trouble(self, trouble: Trouble) -> None:
        """One more trouble, from now on."""
        self._script.add(trouble)

    def revoke(self, key: str) -> None:
        """Refuse a key from now on."""
        if self.keys is not None:
            self.keys.discard(key)

    # Everything below runs on the server's thread.

    def _handle(self, exchange: Exchange) -> None:
        seen = Seen(self._total, exchange.target, exchange.headers, len(exchange.body))
        self._total += 1
        if self._record:
            self.requests.append(seen)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        exchange.gone = lambda: self._ended(seen, 0)
        try:
            self._answer(exchange, seen)
        except _Refused as refused:
            self._refuse(exchange, seen, refused)

    def _answer(self, exchange: Exchange, seen: Seen) -> None:
        if exchange.target.startswith("/identity/token"):  # watsonx: a key is changed for a token
            given = exchange.body.partition(b"apikey=")[2].decode()
            self._reply(exchange, seen, _OK, {"access_token": given[::-1], "expires_in": 3600})
            return
        about = self.dialect.about(exchange.target, self.limit)
        if about is not None:
            self._reply(exchange, seen, _OK, about)
            return
        asked, key = self._read(exchange, seen)
        trouble = self._script.strike(seen)
        if trouble is not None and self._struck(exchange, seen, trouble):
            return
        self._admit(asked, key, seen)
        texts = self._fitting(asked)
        rows = self._rows(asked, texts)
        if trouble is not None:
            rows = spoilt(rows, trouble)
        tokens = sum(map(self._count, texts)) if self._usage else None
        body = self.dialect.write(asked, rows, tokens)
        latency = self._latency(seen) if callable(self._latency) else self._latency
        exchange.later(latency, self._reply, exchange, seen, _OK, body)

    def _read(self, exchange: Exchange, seen: Seen) -> tuple[Asked, str | None]:
        try:
            body = json.loads(exchange.body) if exchange.body else None
            incoming = Incoming.parse(exchange.target, exchange.headers, body)
            seen.body = body
            asked = self._served(incoming)
        except NotServed:
            raise _Refused(Refusal(404, "404 page not found"), plain=True) from None
        except (WrongShape, ValueError, KeyError, TypeError, IndexError):
            raise _Refused(wording(self.dialect.wording, "shape")) from None
        seen.texts, seen.role, seen.dimensions = asked.texts, asked.role, asked.dimensions
        seen.tokens = sum(map(self._count, asked.texts))
        seen.key = self.dialect.key(incoming)
        return asked, seen.key

    def _served(self, incoming: Incoming) -> Asked:
        if self._routes is not None and not incoming.path.endswith(tuple(self._routes)):
            raise NotServed
        return self.dialect.read(incoming)

    def _struck(self, exchange: Exchange, seen: Seen, trouble: Trouble) -> bool:
        """Answer with a trouble; whether that was all."""
        if trouble.kind == "status":
            self._reply(exchange, seen, trouble.status, trouble.payload, trouble.headers)
        elif trouble.kind == "drop":
            exchange.drop()
            self._ended(seen, 0)
        elif trouble.kind == "drip":
            exchange.drip(_OK, b"{}" + b" " * 4096, trouble.seconds)
        elif trouble.kind == "error_in_200":
            body = {"error": {"message": "No successful provider responses.", "code": 404}}
            self._reply(exchange, seen, _OK, body)
        elif trouble.kind == "not_json":
            self._reply(exchange, seen, _OK, b"<html><body>Welcome</body></html>")
        return trouble.kind in {"status", "drop", "drip", "hang", "error_in_200", "not_json"}

    def _admit(self, asked: Asked, key: str | None, seen: Seen) -> None:
        """Key, rate, model and options, in the order in which servers ask for them."""
        if self.keys is not None and key not in self.keys:
            shown = f"{key[:3]}***" if key else "none"
            raise _Refused(self._words("auth"), key=shown)
        if self._bucket is not None and self._rate is not None:
            wait = self._bucket.take(seen.tokens)
            if wait > 0:
                raise self._too_fast(self._rate, wait, seen)
        if self.models is not None and asked.model not in self.models:
            raise _Refused(self._words("model"), model=asked.model)
        if asked.dimensions is not None and not self._matryoshka:
            raise _Refused(self._words("dimensions"), model=asked.model)
        if asked.base64 and not self._base64:
            raise _Refused(Refusal(400, "Unsupported value for 'encoding_format': 'base64'."))

    def _too_fast(self, rate: RateLimit, wait: float, seen: Seen) -> _Refused:
        if math.isinf(wait):  # more tokens than the bucket holds: no waiting helps
            text = "Request too large for {model} on tokens per min (TPM): Limit {limit}, Requested {actual}."
            return _Refused(Refusal(429, text, code="rate_limit_exceeded"), limit=rate.tokens, actual=seen.tokens)
        headers, words = waiting(rate, wait)
        per_minute = math.floor((rate.requests or rate.tokens or 0) * 60 / rate.seconds)
        refusal = self._words("rate")
        if rate.tell != "body":
            refusal = replace(refusal, text=refusal.text.replace(" Please try again in {wait}.", ""))
        return _Refused(refusal, limit=per_minute, wait=words, headers=headers)

    def _fitting(self, asked: Asked) -> list[str]:
        """The texts, cut where the server may; or a refusal."""
        limit, texts = self.limit, list(asked.texts)
        if limit.request_inputs is not None and len(texts) > limit.request_inputs:
            raise _Refused(self._words("batch"), limit=limit.request_inputs, actual=len(texts))
        empty = [at for at, text in enumerate(texts) if not text.strip()]
        if empty or not texts:
            raise _Refused(self._words("empty"), index=empty[0] if empty else 0)
        if limit.input_tokens is not None and (asked.truncate or self._silent):
            texts = [self._cut(text, limit.input_tokens) for text in texts]
        bytes_of = [len(text.encode()) for text in texts]
        self._each("input_tokens", list(map(self._count, texts)), limit.input_tokens)
        self._each("input_chars", list(map(len, texts)), limit.input_chars)
        self._each("input_bytes", bytes_of, limit.input_bytes)
        self._together("request_tokens", sum(map(self._count, texts)), limit.request_tokens)
        self._together("request_bytes", sum(bytes_of), limit.request_bytes)
        return texts

    def _each(self, kind: RefusalKind, sizes: Sequence[int], limit: int | None) -> None:
        for at, size in enumerate(sizes):
            if limit is not None and size > limit:
                raise _Refused(self._words(kind), limit=limit, actual=size, excess=size - limit, index=at)

    def _together(self, kind: RefusalKind, size: int, limit: int | None) -> None:
        if limit is not None and size > limit:
            raise _Refused(self._words(kind), limit=limit, actual=size, excess=size - limit)

    def _cut(self, text: str, tokens: int) -> str:
        """The longest beginning of a text that fits, as a server's tokenizer would keep it."""
        if self._count(text) <= tokens:
            return text
        fits, over = 0, len(text)
        while over - fits > 1:
            middle = (fits + over) // 2
            fits, over = (middle, over) if self._count(text[:middle]) <= tokens else (fits, middle)
        return text[:fits]

    def _rows(self, asked: Asked, texts: Sequence[str]) -> list[tuple[int, Any]]:
        width = asked.dimensions or self._dimensions
        vectors = [np.asarray(self._vector(text, width), dtype="<f4") for text in texts]
        if asked.base64:
            return [(at, base64.b64encode(v.tobytes()).decode()) for at, v in enumerate(vectors)]
        return [(at, v.tolist()) for at, v in enumerate(vectors)]

    def _words(self, kind: RefusalKind) -> Refusal:
        return wording(self.dialect.wording, kind)

    def _refuse(self, exchange: Exchange, seen: Seen, refused: _Refused) -> None:
        refusal = refused.refusal
        text = refusal.text
        if not self._numbers and refusal.bare is not None:
            text = refusal.bare
        elif self._indexed and refusal.indexed is not None:
            text = refusal.indexed
        about = {"model": "the-model", "index": 0, "wait": "1s", "key": "none", **refused.about}
        message = text.format(**about)
        body = message.encode() if refused.plain else self.dialect.refuse(refusal, message)
        self._reply(exchange, seen, refusal.status, body, {**self.dialect.headers(refusal), **refused.headers})

    def _reply(
        self,
        exchange: Exchange,
        seen: Seen,
        status: int,
        body: Any,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if seen.status is None:
            self._ended(seen, status)
            exchange.reply(status, body if isinstance(body, bytes) else _json(body), headers)

    def _ended(self, seen: Seen, status: int) -> None:
        if seen.status is None:
            seen.status, seen.ended = status, time.monotonic()
            seen.hung_up = status == 0
            self.hung_up += seen.hung_up
            self.in_flight -= 1
            self.counts[status] = self.counts.get(status, 0) + 1


class _Refused(Exception):
    def __init__(
        self,
        refusal: Refusal,
        *,
        plain: bool = False,
        headers: Mapping[str, str] | None = None,
        **about: object,
    ) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal
        self.plain = plain
        self.headers = headers or {}
        self.about = about


def _json(body: Any) -> bytes:
    from pydantic_core import to_json

    return to_json(body, inf_nan_mode="constants")
