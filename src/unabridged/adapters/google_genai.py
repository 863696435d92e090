"""Google's Gen AI SDK: ``client.models.embed_content`` and ``client.aio.models.embed_content``."""

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
    """A client of the same class, whose models embed texts of any length."""
    made = stand_in(client, _Client, options)
    waiting = stand_in(client.aio, _Client, options)
    made.__dict__["_models"] = stand_in(client.models, _Models, options)
    waiting.__dict__["_models"] = stand_in(client.aio.models, _AsyncModels, options)
    made.__dict__["_aio"] = waiting
    for part in (waiting, waiting.models, made.models):  # the client hangs up when nobody holds it
        part.__dict__["_client_held"] = client
    return made


class _Client(StandIn):
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return wrapped, (self.__dict__["_unabridged_client"], self._unabridged.options)


class _Models(StandIn):
    def embed_content(self, **given: Any) -> Any:
        return _EMBED.call(self.theirs("embed_content"), self._unabridged, _host(self), **_whole(self, given))


class _AsyncModels(StandIn):
    async def embed_content(self, **given: Any) -> Any:
        return await _EMBED.acall(self.theirs("embed_content"), self._unabridged, _host(self), **_whole(self, given))


def _host(models: Any) -> str:
    return host_of(models._api_client._http_options.base_url, "generativelanguage.googleapis.com")  # noqa: SLF001


def _whole(models: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Vertex cuts silently unless told not to; the Gemini API does not know the switch."""
    if not models._api_client.vertexai:  # noqa: SLF001
        return given
    config = given.get("config") or {}
    config = dict(config) if isinstance(config, dict) else config.model_dump(exclude_none=True)
    return {**given, "config": {"auto_truncate": False, **config}}


def _cuts(given: dict[str, Any]) -> bool:
    config = given.get("config")
    named = config if isinstance(config, dict) else vars(config) if config is not None else {}
    return named.get("auto_truncate") is True


def _read(reply: Any) -> Answer:
    counts = [getattr(item.statistics, "token_count", None) for item in reply.embeddings or []]
    stated = [int(count) for count in counts if count is not None]
    tokens = sum(stated) if stated and len(stated) == len(counts) else None
    return Answer([item.values for item in reply.embeddings or []], tokens=tokens)


def _write(outcome: Outcome, _: dict[str, Any]) -> Any:
    from google.genai.types import ContentEmbedding, EmbedContentResponse

    rows = [ContentEmbedding(values=row) for row in outcome.vectors.tolist()]
    if outcome.sample is not None:
        return outcome.sample.model_copy(update={"embeddings": rows})
    return EmbedContentResponse(embeddings=rows)


_EMBED = Method("gemini", _read, _write, texts="contents", cuts=_cuts)
