"""The OpenAI SDK (1.x to 3.x): ``OpenAI``, ``AsyncOpenAI``, ``AzureOpenAI``, ``AsyncAzureOpenAI``.

``client.embeddings.create`` takes texts of any length; everything else is the client's own. What is made
here out of several requests goes once more through the SDK, as if a server had sent it, so that formats,
raw and streaming responses are the SDK's own as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.adapters.client import Answer, ClientProvider, current, rows_of, sound
from unabridged.adapters.identity import host_of
from unabridged.adapters.openai_answers import answer_of, replaying
from unabridged.adapters.shapes import listed, texts_of
from unabridged.adapters.standin import StandIn, plain, stand_in
from unabridged.adapters.token_ids import as_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.adapters.bridge import Bridge, Outcome
    from unabridged.types import Request

__all__ = ["wrapped"]

_VIEWS = ("with_raw_response", "with_streaming_response")
_RAW = "X-Stainless-Raw-Response"
# What a call passes on and what does not change its vectors.
_EXTRAS = ("extra_headers", "extra_query", "timeout", "user", "encoding_format")


def wrapped(client: Any, options: Mapping[str, Any]) -> Any:
    """A client of the same class, whose embeddings take texts of any length."""
    made = stand_in(client, _Client, options)
    for name in ("embeddings", *_VIEWS):  # what the SDK has already made belongs to the other client
        if hasattr(type(client), name):
            made.__dict__.pop(name, None)
    bare = type(made.embeddings)(made)
    calls = _AsyncEmbeddings if "Async" in type(bare).__name__ else _Embeddings
    made.__dict__["embeddings"] = stand_in(bare, calls, options)
    for name in set(_VIEWS).intersection(made.__dict__):  # 1.x makes them at once
        made.__dict__[name] = type(made.__dict__[name])(made)
    return made


class _Client(StandIn):
    forgets = ("embeddings", *_VIEWS)

    def copy(self, **changes: Any) -> Any:
        return wrapped(plain(self).copy(**changes), self._unabridged.options)

    with_options = copy


class _Embeddings(StandIn):
    forgets = _VIEWS

    def create(self, **given: Any) -> Any:
        bare = self.theirs("create")
        call = _Embedding(self, given)
        if call.texts is None:
            return bare(**call.given)
        return call.bridge().run(
            call.texts,
            lambda: call.checked(bare(**call.given)),
            lambda outcome: call.replayer(outcome).create(**call.given),
            extras=call.extras,
        )


class _AsyncEmbeddings(StandIn):
    forgets = _VIEWS

    async def create(self, **given: Any) -> Any:
        bare = self.theirs("create")
        call = _Embedding(self, given)
        if call.texts is None:
            return await bare(**call.given)

        async def direct() -> Any:
            return call.checked(await bare(**call.given))

        return await call.bridge().arun(
            call.texts,
            direct,
            lambda outcome: call.replayer(outcome).create(**call.given),
            extras=call.extras,
        )


class _Embedding:
    """One call of ``embeddings.create``."""

    def __init__(self, resource: Any, given: dict[str, Any]) -> None:
        self.resource = resource
        self.client = resource._client  # noqa: SLF001
        self.host = host_of(self.client.base_url, "api.openai.com")
        self.name = "azure" if "Azure" in type(self.client).__name__ else "openai"
        self.given = {**given, "input": as_texts(listed(given.get("input")), self.host)}
        self.texts = texts_of(self.given["input"]) if given.get("model") else None
        self.extras = {name: self.given[name] for name in _EXTRAS if name in self.given}
        headers = self.extras.get("extra_headers")
        if headers:
            self.extras["extra_headers"] = {k: v for k, v in headers.items() if k != _RAW}

    def bridge(self) -> Bridge:
        """The bridge for the model, and for all that changes its vectors."""
        fixed = {k: v for k, v in self.given.items() if k not in (*_EXTRAS, "input")}
        settings = repr(sorted(fixed.items()))
        bridges = self.resource._unabridged  # noqa: SLF001
        return bridges.at((self.host, settings), lambda: self._provider(fixed, settings))

    def _provider(self, fixed: dict[str, Any], settings: str) -> ClientProvider:
        create = plain(self.resource).with_raw_response.create

        def ask(request: Request) -> Answer:
            return answer_of(create(**fixed, **current().extras, input=list(request.texts)))

        async def aask(request: Request) -> Answer:
            return answer_of(await create(**fixed, **current().extras, input=list(request.texts)))

        return ClientProvider(
            name=self.name,
            model=str(fixed["model"]),
            host=self.host,
            ask=ask,
            aask=aask if "Async" in type(self.resource).__name__ else None,
            settings={"arguments": settings},
        )

    def checked(self, reply: Any) -> Any:
        """The SDK's own reply: complete, in order, with our report; a raw response is for the caller."""
        data = getattr(reply, "data", None)
        if not isinstance(data, list):
            return reply
        assert self.texts is not None  # noqa: S101
        count, indices = len(self.texts), [item.index for item in data]
        if indices != list(range(count)) or not sound(item.embedding for item in data):
            rows_of([item.embedding for item in data], count, self.name, indices)
            if None not in indices:
                data.sort(key=lambda item: item.index)
        reply.unabridged = {"texts": count, "chunked": 0, "chunks": count, "requests": 1, "cached": 0}
        return reply

    def replayer(self, outcome: Outcome) -> Any:
        """The SDK's resource on a client that answers with the outcome, without a network."""
        floats = self.given.get("encoding_format") == "float"
        return replaying(plain(self.client), outcome, self.given["model"], floats=floats).embeddings
