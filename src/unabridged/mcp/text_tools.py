"""The tools ``embed`` and ``chunk_preview``: texts of any length, and what becomes of them."""

import warnings
from typing import Annotated, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from unabridged.mcp.answers import Chunk, Embedded, Preview
from unabridged.mcp.place import Place
from unabridged.mcp.tools import Toolbox, request_of
from unabridged.text.segmenters import split
from unabridged.text.stats import chunk_stats
from unabridged.types import ChunkSet

__all__ = ["register"]

_DIGITS = 6  # of a component: float32 has seven, and every digit is a token of the agent's


def register(tools: Toolbox, place: Place) -> None:
    """Add the tools."""

    @tools.reads
    def embed(
        ctx: Context,
        texts: Annotated[list[str], Field(min_length=1, max_length=64, description="Texts of any length.")],
        role: Annotated[Literal["document", "query"], Field(description="What they are for.")] = "document",
    ) -> Embedded:
        """Turn texts of any length into vectors; none is refused or cut off for being long.

        A vector is hundreds of numbers: ask for it only to hand it on, and use `recall` to search.
        """
        embedder = place.embedder(request_of(ctx))
        made = embedder.embed_detailed(texts, role=role)
        return Embedded(
            model=embedder.model,
            dimensions=made.width,
            vectors=[[round(float(value), _DIGITS) for value in each.vector] for each in made],
            chunks=[each.chunk_count for each in made],
        )

    @tools.reads
    def chunk_preview(
        text: Annotated[str, Field(min_length=1, description="The text to cut.")],
        method: Annotated[
            Literal["paragraph", "sentence", "recursive", "fixed", "structural", "semantic", "contextual"],
            Field(description="How to cut; structural keeps to the headings of Markdown."),
        ] = "paragraph",
        max_tokens: Annotated[int, Field(ge=32, le=1_000_000, description="Largest chunk.")] = 1024,
        overlap_tokens: Annotated[int, Field(ge=0, description="Shared with the chunk before.")] = 0,
        show: Annotated[int, Field(ge=0, le=100, description="Chunks to give back whole.")] = 5,
    ) -> Preview:
        """See how a text would be cut into chunks, before anything is stored or paid for; no model is called."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chunks = split(text, method, max_tokens=max_tokens, overlap_tokens=overlap_tokens, embedder="lexical")
        return _preview(chunks, show, [str(each.message) for each in caught])


def _preview(chunks: ChunkSet, show: int, said: list[str]) -> Preview:
    row = chunk_stats(chunks)
    names = ("index", "start", "end", "tokens", "overlap_tokens", "section", "text")
    return Preview(
        method=chunks.method,
        chunks=row.n,
        tokens=row.total_tokens,
        min_tokens=row.min,
        mean_tokens=row.mean,
        max_tokens=row.max,
        shown=[Chunk(**{name: getattr(each, name) for name in names}) for each in chunks[:show]],
        notes=list(dict.fromkeys([*chunks.warnings, *said])),
    )
