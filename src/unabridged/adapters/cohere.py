"""The Cohere SDK: ``ClientV2``, ``Client``, their async twins. Nothing is cut at the end unless asked for."""

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
    def embed(self, **given: Any) -> Any:
        return _EMBED.call(self.theirs("embed"), self._unabridged, _host(self), **given)


class _AsyncClient(StandIn):
    async def embed(self, **given: Any) -> Any:
        return await _EMBED.acall(self.theirs("embed"), self._unabridged, _host(self), **given)


def _host(client: Any) -> str:
    return host_of(client._client_wrapper.get_base_url(), "api.cohere.com")  # noqa: SLF001


def _read(reply: Any) -> Answer:
    rows = reply.embeddings if isinstance(reply.embeddings, list) else reply.embeddings.float_
    billed = getattr(getattr(reply, "meta", None), "billed_units", None)
    tokens = getattr(billed, "input_tokens", None)
    return Answer(rows or [], tokens=None if tokens is None else int(tokens))


def _write(outcome: Outcome, given: dict[str, Any]) -> Any:
    """In the form that the client answers in: by type, or (v1 without types) as plain lists."""
    from cohere.types.api_meta import ApiMeta
    from cohere.types.api_meta_billed_units import ApiMetaBilledUnits
    from cohere.types.embed_by_type_response import EmbedByTypeResponse
    from cohere.types.embed_by_type_response_embeddings import EmbedByTypeResponseEmbeddings

    rows = outcome.vectors.tolist()
    meta = ApiMeta(billed_units=ApiMetaBilledUnits(input_tokens=outcome.tokens))
    report = {"unabridged": dict(outcome.report)}
    reply, texts = outcome.sample, list(given["texts"])
    if reply is not None:
        kept = rows if isinstance(reply.embeddings, list) else reply.embeddings.model_copy(update={"float_": rows})
        return reply.model_copy(update={"embeddings": kept, "texts": texts, "meta": meta, **report})
    by_type = EmbedByTypeResponseEmbeddings(float=rows)
    return EmbedByTypeResponse(id="unabridged", embeddings=by_type, texts=texts, meta=meta, **report)


def _only_floats(given: dict[str, Any]) -> bool:
    return not given.get("images") and list(given.get("embedding_types") or ["float"]) == ["float"]


_EMBED = Method(
    "cohere",
    _read,
    _write,
    extras=("request_options", "priority"),
    whole={"truncate": "NONE"},
    cuts=lambda given: given.get("truncate") in ("START", "END"),
    floats=_only_floats,
)
