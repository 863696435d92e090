"""The Voyage SDK: ``Client`` and ``AsyncClient``. Its ``truncation`` is off unless asked for."""

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
    """A client of the same class, whose ``embed`` takes texts of any length."""
    return stand_in(client, _AsyncClient if "Async" in type(client).__name__ else _Client, options)


class _Client(StandIn):
    def embed(self, *args: Any, **given: Any) -> Any:
        return _EMBED.call(self.theirs("embed"), self._unabridged, _host(self), *args, **given)


class _AsyncClient(StandIn):
    async def embed(self, *args: Any, **given: Any) -> Any:
        return await _EMBED.acall(self.theirs("embed"), self._unabridged, _host(self), *args, **given)


def _host(client: Any) -> str:
    return host_of(client._params.get("base_url"), "api.voyageai.com")  # noqa: SLF001


def _read(reply: Any) -> Answer:
    return Answer(reply.embeddings, tokens=reply.total_tokens or None)


def _write(outcome: Outcome, _: dict[str, Any]) -> Any:
    from voyageai.object.embeddings import EmbeddingsObject

    reply = EmbeddingsObject()
    reply.embeddings, reply.total_tokens = outcome.vectors.tolist(), outcome.tokens
    reply.unabridged = dict(outcome.report)
    return reply


_EMBED = Method(
    "voyage",
    _read,
    _write,
    whole={"truncation": False},
    cuts=lambda given: given.get("truncation") is True,
    floats=lambda given: given.get("output_dtype") in (None, "float"),
)
