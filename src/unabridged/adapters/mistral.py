"""The Mistral SDK: ``client.embeddings.create`` and ``create_async``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.adapters.client import Answer
from unabridged.adapters.identity import host_of
from unabridged.adapters.method import Method
from unabridged.adapters.standin import StandIn, stand_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.adapters.bridge import Outcome

__all__ = ["wrapped"]


def wrapped(client: Any, options: Mapping[str, Any]) -> Any:
    """A client of the same class, whose embeddings take texts of any length."""
    made = stand_in(client, _Client, options)
    made.__dict__.pop("embeddings", None)  # the SDK makes it when it is first asked for, and keeps it there
    made.__dict__["embeddings"] = stand_in(made.embeddings, _Embeddings, options)
    return made


class _Client(StandIn):
    forgets = ("embeddings",)


class _Embeddings(StandIn):
    def create(self, **given: Any) -> Any:
        return _CREATE.call(self.theirs("create"), self._unabridged, _host(self, given), **given)

    async def create_async(self, **given: Any) -> Any:
        return await _CREATE.acall(self.theirs("create_async"), self._unabridged, _host(self, given), **given)


def _host(resource: Any, given: dict[str, Any]) -> str:
    url = given.get("server_url") or resource.sdk_configuration.get_server_details()[0]
    return host_of(url, "api.mistral.ai")


def _read(reply: Any) -> Answer:
    usage = getattr(reply, "usage", None)
    return Answer(
        [item.embedding for item in reply.data],
        tokens=getattr(usage, "total_tokens", None),
        model=reply.model,
        indices=[item.index for item in reply.data],
    )


def _write(outcome: Outcome, given: dict[str, Any]) -> Any:
    from mistralai.client.models import EmbeddingResponse, EmbeddingResponseData, UsageInfo

    return EmbeddingResponse(
        id=getattr(outcome.sample, "id", "unabridged"),
        object="list",
        model=given["model"],
        usage=UsageInfo(prompt_tokens=outcome.tokens, total_tokens=outcome.tokens, completion_tokens=0),
        data=[
            EmbeddingResponseData(object="embedding", embedding=row, index=at)
            for at, row in enumerate(outcome.vectors.tolist())
        ],
    )


_CREATE = Method(
    "mistral",
    _read,
    _write,
    texts="inputs",
    extras=("retries", "server_url", "timeout_ms", "http_headers", "metadata"),
    floats=lambda given: (
        given.get("output_dtype") in (None, "float") and given.get("encoding_format") in (None, "float")
    ),
)
