"""The section recall: what a recall takes where a call says nothing, and the cross-encoder that orders its head."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from unabridged.config.section import Count, Secret, Section, Text, Url

__all__ = ["RecallSection", "RerankSettings"]

Share = Annotated[float, Field(ge=0, le=1)]


class RerankSettings(Section):
    """A cross-encoder: behind HTTP, or a local one of sentence-transformers or fastembed."""

    provider: Literal["tei", "cohere", "jina", "voyage", "sentence-transformers", "fastembed"] = Field(
        description="Whose shape it speaks, or the package that runs it here."
    )
    model: Text | None = Field(default=None, description="Its name, or the folder of a local one.")
    api_key: Secret | None = Field(
        default=None, description="Its key; default: COHERE_API_KEY, JINA_API_KEY, VOYAGE_API_KEY or TEI_API_KEY."
    )
    base_url: Url | None = Field(
        default=None, alias="baseURL", repr=False, description="Where it is; default: the provider's own."
    )
    path: Annotated[str, Field(pattern=r"^/\S*$")] | None = Field(
        default=None, description="Where a server has it, such as /v1/rerank."
    )
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Seconds that one request may take; default 30."
    )
    batch_inputs: Count | None = Field(default=None, description="Texts a request, or a run of a local model.")


class RecallSection(Section):
    """What a recall takes where a call says nothing: of the library, the command line, HTTP and MCP alike."""

    limit: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Hits at the most; default 10 (8 by MCP)."
    )
    budget_tokens: Count | None = Field(
        default=None, description="Tokens of what a model is given; default 4,000 (1,500 by MCP)."
    )
    threshold: Share | None = Field(default=None, description="The least score of a hit, 0 for all; default 0.5.")
    kinds: Annotated[list[Literal["passage", "summary", "document", "fact", "entity"]], Field(min_length=1)] | None = (
        Field(default=None, description="Kinds of hits; default all.")
    )
    lanes: Annotated[list[Literal["vector", "text", "names", "graph"]], Field(min_length=1)] | None = Field(
        default=None, description="Ways to search; default all."
    )
    passes: Annotated[int, Field(ge=1, le=2)] | None = Field(
        default=None, description="2: also into the documents found; default 1."
    )
    diversity: Share | None = Field(default=None, description="How much hits should differ; default 0.")
    recency: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Age in days at which a hit's time counts half as much; default: no age counts."
    )
    rerank: RerankSettings | None = Field(default=None, description="A cross-encoder for the best hits; default none.")
