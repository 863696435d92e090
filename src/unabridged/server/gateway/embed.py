"""Texts -> vectors for the gateway's routes: what is warm at once, the rest by the embedder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unabridged.errors import EmptyText
from unabridged.server.auth import caller_of
from unabridged.server.hot import Warm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.results import EmbedResult, TextResult
    from unabridged.server.auth import Caller
    from unabridged.server.state import Server
    from unabridged.types import Role

__all__ = ["Made", "embed", "opened"]

_UNKNOWN_SHARE = 0.05  # SPEC L14: above this the vector says little


@dataclass(slots=True)
class Made:
    """The vectors of a request, in the order of its texts; ``tokens`` are those that the model billed."""

    rows: list[Warm] = field(repr=False)
    tokens: int = 0
    requests: int = 0
    cached: int = 0

    def headers(self) -> dict[str, str]:
        """What became of the texts: how many were cut, into how many chunks, how many were known."""
        told = {
            "x-unabridged-chunked": str(sum(row.chunks > 1 for row in self.rows)),
            "x-unabridged-chunks": str(sum(row.chunks for row in self.rows)),
            "x-unabridged-cached": str(self.cached),
            "x-unabridged-requests": str(self.requests),
        }
        unknown = max((row.unknown for row in self.rows), default=0.0)
        if unknown > _UNKNOWN_SHARE:
            told["x-unabridged-unknown"] = f"{unknown:.2f}"
        return told


def opened(request: Request) -> tuple[Server, Caller]:
    """The server, and a caller who may embed; problem 403 for another."""
    return request.app.state.server, caller_of(request.scope, "embed")


async def embed(server: Server, caller: Caller, embedder: Embedder, texts: Sequence[str], *, role: Role) -> Made:
    """Every text's vector. Refused texts raise the library's errors, which name positions, never contents."""
    prefix = embedder.fingerprint(role).encode()
    warm = [server.hot.get(prefix, text) for text in texts]
    missing = [at for at, row in enumerate(warm) if row is None]
    made = Made([], cached=len(texts) - len(missing))
    if missing:
        try:
            found = await _asked(server, caller, embedder, [texts[at] for at in missing], role, made)
        except EmptyText as error:  # its positions are those among the missing
            raise EmptyText([missing[at] for at in error.indices]) from None
        for at, result in zip(missing, found, strict=True):
            warm[at] = row = _warmed(at, result)
            # Who wants no cache wants none in memory either; and a text that was cut off may yet be whole.
            if embedder.cache is not None and result.status != "truncated":
                server.hot.put(prefix, texts[at], row)
    made.rows = [row for row in warm if row is not None]
    server.metrics.embedded(
        texts=len(texts),
        texts_cached=made.cached,
        texts_chunked=sum(row.chunks > 1 for row in made.rows),
        tokens=made.tokens,
        upstream_requests=made.requests,
    )
    return made


async def _asked(
    server: Server, caller: Caller, embedder: Embedder, texts: list[str], role: Role, made: Made
) -> EmbedResult:
    """Ask the embedder, within the caller's limits."""
    with server.meters.embedding(caller, texts) as billed:
        result = await embedder.aembed_detailed(texts, role=role, timeout=server.settings.timeout)
        billed.tokens = made.tokens = result.usage.tokens
    made.requests = result.usage.requests
    made.cached += result.usage.cached
    return result


def _warmed(at: int, found: TextResult) -> Warm:
    if found.vector is None:
        raise EmptyText([at])  # the settings skip blank texts: here there is no answer without a vector
    return Warm(found)
