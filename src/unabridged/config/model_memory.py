"""The sections for the memory: its chat model, its web searches, and how it keeps what it is told."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SecretStr, Tag

from unabridged.config.section import Count, Secret, Secrets, Section, Text, Url, one_of

__all__ = [
    "ChatModelSettings",
    "ChatSettings",
    "MemorySettings",
    "PriceSettings",
    "StageBudgets",
    "StageModels",
    "StageReasoning",
    "WebSearchSettings",
]

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Level = Literal["none", "low", "medium", "high"]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _ByStage(Section):
    """Keys are the names of stages as inferences and requests have them, so no camelCase here."""

    model_config = ConfigDict(alias_generator=None)


class StageModels(_ByStage):
    """A model for each stage; what is unset asks ``chat.model``."""

    extract_graph: Text | None = Field(default=None, description="Entities and facts of a text.")
    summarize_chunk: Text | None = Field(default=None, description="The summary of a chunk.")
    resolve_edges: Text | None = Field(default=None, description="Whether facts are new, the same, or contradicted.")
    link_chunks: Text | None = Field(default=None, description="Facts that need two distant chunks.")
    answer_query: Text | None = Field(default=None, description="Answers from what was recalled.")
    rerank: Text | None = Field(default=None, description="The order of what was recalled.")
    segment: Text | None = Field(default=None, description="What a segmenter asks.")


class StageReasoning(_ByStage):
    """A level of reasoning for each stage; default none."""

    extract_graph: Level | None = Field(default=None, description="Entities and facts of a text.")
    summarize_chunk: Level | None = Field(default=None, description="The summary of a chunk.")
    resolve_edges: Level | None = Field(default=None, description="Whether facts are new, the same, or contradicted.")
    link_chunks: Level | None = Field(default=None, description="Facts that need two distant chunks.")
    answer_query: Level | None = Field(default=None, description="Answers from what was recalled.")
    rerank: Level | None = Field(default=None, description="The order of what was recalled.")
    segment: Level | None = Field(default=None, description="What a segmenter asks.")


class StageBudgets(_ByStage):
    """The most tokens of an answer for each stage, reasoning apart."""

    extract_graph: Count | None = Field(default=None, description="Entities and facts of a text.")
    summarize_chunk: Count | None = Field(default=None, description="The summary of a chunk.")
    resolve_edges: Count | None = Field(default=None, description="Whether facts are new, the same, or contradicted.")
    link_chunks: Count | None = Field(default=None, description="Facts that need two distant chunks.")
    answer_query: Count | None = Field(default=None, description="Answers from what was recalled.")
    rerank: Count | None = Field(default=None, description="The order of what was recalled.")
    segment: Count | None = Field(default=None, description="What a segmenter asks.")


class PriceSettings(Section):
    """US dollars a million tokens."""

    input: Dollars = Field(description="For tokens that the model reads.")
    output: Dollars = Field(description="For tokens that it writes.")


class ChatModelSettings(Section):
    """A chat model, and how to reach it."""

    provider: Text | None = Field(
        default=None, description="openai, ollama, openrouter, vllm …: whose address and key; default openai."
    )
    model: Text | None = Field(default=None, description="The model's name as the provider spells it.")
    api_key: Secrets | None = Field(
        default=None, description="A key, or a list of keys to rotate; ${VAR} reads the environment."
    )
    base_url: Url | None = Field(
        default=None, alias="baseURL", repr=False, description="Where the endpoint is: http(s)://host[:port][/path]."
    )
    headers: dict[str, SecretStr] | None = Field(default=None, description="Further HTTP headers; values are secret.")
    timeout: Seconds | None = Field(default=None, description="Seconds that one request may take; default 300.")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(
        default=0.0, description="0, or what the model is to vary by; null leaves it to the server."
    )
    prices: dict[str, PriceSettings] | None = Field(
        default=None, description="What tokens cost, by model (* stands for any other); with it calls have a cost."
    )
    options: dict[str, Any] | None = Field(
        default=None, repr=False, description="Further keys of every request's body, as the provider knows them."
    )


AnswerCacheChoice = Annotated[
    Annotated[bool, Tag("<boolean>")] | Annotated[Text, Tag("<string>")], one_of("true, false or a folder")
]


class ChatSettings(ChatModelSettings):
    """The chat model that extraction, summaries, resolution, answers and some segmenters ask."""

    fallbacks: list[ChatModelSettings] | None = Field(
        default=None, description="Asked in order when the first is out of keys, or down."
    )
    models: StageModels = Field(default_factory=StageModels, description="Other models by stage.")
    reasoning: StageReasoning = Field(default_factory=StageReasoning, description="Levels of reasoning by stage.")
    max_tokens: StageBudgets = Field(default_factory=StageBudgets, description="The most tokens of an answer by stage.")
    concurrency: Annotated[int, Field(ge=1, le=1024)] = Field(default=8, description="Requests in flight at the most.")
    cache: AnswerCacheChoice = Field(
        default=True, description="Keep answers so that a retry is free: true, false or a folder."
    )


class WebSearchSettings(Section):
    """What web searches ask: a SearXNG server of one's own, Brave, or Tavily."""

    provider: Literal["searxng", "brave", "tavily"] = Field(description="Which API it is.")
    base_url: Url | None = Field(
        default=None, alias="baseURL", repr=False, description="Where it is; needed for searxng."
    )
    api_key: Secret | None = Field(default=None, description="Its key; default: BRAVE_API_KEY or TAVILY_API_KEY.")
    results: Annotated[int, Field(ge=1, le=20)] = Field(default=5, description="Results of a search at the most.")
    timeout: Seconds | None = Field(default=None, description="Seconds that one search may take; default 30.")
    headers: dict[str, SecretStr] | None = Field(default=None, description="Further HTTP headers; values are secret.")


class MemorySettings(Section):
    """How the memory at ``dbPath`` keeps what it is told."""

    dataset: Text = Field(default="default", description="The dataset that is opened.")
    max_text_bytes: Count | None = Field(default=None, description="Bytes of one text at the most; default 1 MiB.")
    unsupported: Literal["delete", "keep"] = Field(
        default="delete", description="What becomes of facts that lose their last source."
    )
    vector_type: Literal["float32", "float16"] = Field(
        default="float32", description="How a new dataset keeps its vectors."
    )
    grace: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=60.0, description="Seconds that a superseded version stays for readers."
    )
    upkeep: bool = Field(default=True, description="Compact and index by itself while it is written to.")
    lock: Literal["auto", "file", "lease"] = Field(
        default="auto", description="How writers of several processes keep apart."
    )
    storage_options: dict[str, SecretStr] | None = Field(
        default=None, description="Options of the object store, such as keys and endpoints; values are secret."
    )
