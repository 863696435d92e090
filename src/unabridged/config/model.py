"""The settings as pydantic models: one definition for the loader, the JSON Schema and the documentation.

Keys in a file are written in camelCase, as the system before this one writes them; attributes in
Python are snake_case. Nothing is coerced: ``"768"`` is not a number.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, Tag, field_validator
from pydantic_core import PydanticCustomError

from unabridged.config.model_job import JobSection  # noqa: TC001 pydantic reads it
from unabridged.config.model_memory import ChatSettings, MemorySettings, WebSearchSettings
from unabridged.config.model_recall import RecallSection
from unabridged.config.section import (
    CacheChoice,
    CacheSettings,
    Count,
    Secret,
    Secrets,
    Section,
    Text,
    Url,
    one_of,
)

__all__ = [
    "CacheSettings",
    "ChunkingSettings",
    "EmbeddingSettings",
    "LimitSettings",
    "ProviderSettings",
    "RateSettings",
    "RetrievalSettings",
    "Section",
    "ServerSection",
    "Settings",
]


class ChunkingSettings(Section):
    """How texts over the limit are cut; what is unset follows the model's limit, or scales along."""

    max_chunk_size: Count | None = Field(default=None, description="Largest chunk; default 70 % of the model's limit.")
    overlap_size: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="What a chunk repeats of the one before it; default 5 % of the limit."
    )
    min_chunk_size: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Smallest chunk wished for; default 10 % of the limit."
    )
    semantic_split: bool = Field(default=True, description="Prefer sentence ends.")
    max_lines_per_chunk: Count | None = Field(
        default=None, description="End a chunk after so many new lines; unset, lines do not count."
    )
    unit: Literal["tokens", "chars"] | None = Field(
        default=None,
        description="What sizes are in; default tokens, and characters under the id memory-lancedb-pro.",
    )
    compat: bool = Field(
        default=False, description="Characters, 50 lines and a plain mean, as memory-lancedb-pro documents."
    )
    method: Text | None = Field(default=None, description="Name of a segmenter, instead of the plain cut.")

    @field_validator("overlap_size", "min_chunk_size")
    @classmethod
    def _within_the_chunk(cls, size: int | None, info: Any) -> int | None:
        most = info.data.get("max_chunk_size")
        if size is None or most is None:
            return size
        if info.field_name == "overlap_size" and size >= most:
            raise _contradiction(size, f"less than maxChunkSize ({most})")
        if size > most:
            raise _contradiction(size, f"at most maxChunkSize ({most})")
        return size


ChunkingChoice = Annotated[
    Annotated[bool, Tag("<boolean>")] | Annotated[ChunkingSettings, Tag("<object>")],
    one_of("true, false or an object"),
]


class LimitSettings(Section):
    """What the model takes, where the built-in table is wrong or does not know it."""

    input_tokens: Count | None = Field(default=None, description="Tokens of one text.")
    input_chars: Count | None = Field(default=None, description="Characters of one text.")
    input_bytes: Count | None = Field(default=None, description="UTF-8 bytes of one text.")
    request_inputs: Count | None = Field(default=None, description="Texts of one request.")
    request_tokens: Count | None = Field(default=None, description="Tokens of one request.")
    request_bytes: Count | None = Field(default=None, description="Bytes of one request.")


class ProviderSettings(Section):
    """A model, and how to reach it."""

    provider: Text | None = Field(
        default=None,
        description="local, hashing, openai, ollama, jina …; default: found from model and baseURL.",
    )
    model: Text | None = Field(default=None, description="The model's name as the provider spells it.")
    api_key: Secrets | None = Field(
        default=None, description="A key, or a list of keys to rotate; ${VAR} reads the environment."
    )
    base_url: Url | None = Field(
        default=None, alias="baseURL", repr=False, description="Where the endpoint is: http(s)://host[:port][/path]."
    )
    dimensions: Count | None = Field(default=None, description="Width to ask for, where the model offers a choice.")
    task_query: Text | None = Field(default=None, description="Task name or instruction for queries.")
    task_passage: Text | None = Field(default=None, description="Task name or instruction for documents.")
    normalized: bool | None = Field(default=None, description="Ask for unit vectors, where the provider offers it.")
    headers: dict[str, SecretStr] | None = Field(default=None, description="Further HTTP headers; values are secret.")
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Seconds that one request may take."
    )
    options: dict[str, Any] | None = Field(
        default=None,
        repr=False,
        description="Further options of the provider, such as apiVersion, numCtx, region, query.",
    )


class EmbeddingSettings(ProviderSettings):
    """Any text to one vector: the model, its fallbacks, cutting, pooling, the cache."""

    fallbacks: list[ProviderSettings] | None = Field(
        default=None, description="Tried in order when the first fails; must be the same model."
    )
    max_input_chars: Count | None = Field(
        default=None, description="Characters of one text; the same as limit.inputChars."
    )
    limit: LimitSettings | None = Field(default=None, description="What the model takes, if the table does not know.")
    tokenizer: Text | None = Field(default=None, description="Exact tokenizer, such as tiktoken/cl100k_base.")
    chunking: ChunkingChoice = Field(
        default=True, description="false: over-long texts fail with the provider's own error."
    )
    auto_chunk: ChunkingChoice | None = Field(
        default=None, description="The same settings under memory-lancedb-pro's name."
    )
    pooling: Literal["weighted", "mean", "max", "first", "hierarchical"] | None = Field(
        default=None, description="How chunk vectors become one; default weighted (by unique tokens)."
    )
    cache: CacheChoice = Field(default=True, description="true, false, a folder, or settings.")
    concurrency: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None, description="Requests in flight at the most; default 8, 1 for the embedded model."
    )
    empty: Literal["error", "skip", "zero"] = Field(default="error", description="What a blank text in a batch is.")
    on_error: Literal["raise", "report"] = Field(default="raise", description="Whether a failed text ends the call.")
    on_overflow: Literal["chunk", "truncate", "error"] = Field(
        default="chunk", description="What an over-long text is."
    )
    on_unknown: Literal["warn", "error", "ignore"] = Field(
        default="warn", description="What a script is that the model does not know."
    )
    on_drift: Literal["ignore", "error"] = Field(
        default="ignore", description="error: refuse a model whose vectors are no longer what they were."
    )
    max_requests_per_text: Count | None = Field(default=None, description="Request budget of one text.")


class RetrievalSettings(Section):
    """memory-lancedb-pro's retrieval settings; what can be used of them goes into ``recall`` (config/retrieval.py)."""

    mode: Literal["hybrid", "vector"] | None = None
    vector_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    bm25_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    hard_min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    candidate_pool_size: Count | None = None
    rerank: Literal["cross-encoder", "lightweight", "none"] | None = None
    rerank_provider: Text | None = None
    rerank_model: Text | None = None
    rerank_endpoint: Url | None = Field(default=None, repr=False)
    rerank_api_key: Secret | None = None
    rerank_timeout_ms: Count | None = None
    recency_half_life_days: Annotated[float, Field(ge=0)] | None = None
    recency_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    time_decay_half_life_days: Annotated[float, Field(ge=0)] | None = None
    filter_noise: bool | None = None
    length_norm_anchor: Annotated[int, Field(ge=0)] | None = None
    reinforcement_factor: Annotated[float, Field(ge=0)] | None = None
    max_half_life_multiplier: Annotated[float, Field(ge=1)] | None = None


class RateSettings(Section):
    """What one key may ask for; what is unset is not limited."""

    requests_per_minute: Count | None = Field(default=None, description="Requests a minute.")
    tokens_per_minute: Count | None = Field(default=None, description="Tokens a minute, as billed by the model.")
    tokens_per_month: Count | None = Field(default=None, description="Tokens a calendar month (UTC).")


UpstreamChoice = Annotated[
    Annotated[Text, Tag("<string>")] | Annotated[EmbeddingSettings, Tag("<object>")],
    one_of("the name of another model, or an object like embedding"),
]


class ServerSection(Section):
    """`unabridged serve`: where it listens, who may use it, what it may take."""

    host: Text = Field(default="127.0.0.1", description="Address to listen on; other than loopback needs keys.")
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(default=8080, description="Port; 0 takes a free one.")
    models: dict[str, UpstreamChoice] | None = Field(
        default=None,
        description="Models by the name that clients ask for (* stands for anything), beside the one of embedding.",
    )
    keys_file: Text | None = Field(
        default=None, description="Where keys are kept, hashed; default: in the user's data folder."
    )
    keys: list[Annotated[SecretStr, Field(min_length=16)]] | None = Field(
        default=None, description="Further keys with every right, from the environment: ${VAR}."
    )
    limits: RateSettings = Field(
        default_factory=RateSettings, description="For keys that have no limits of their own, and without keys."
    )
    allowed_hosts: list[Text] | None = Field(
        default=None, description="Host names that requests may be for; default on loopback: its names."
    )
    cors_origins: list[Text] | None = Field(
        default=None, description="Origins whose pages may call, such as https://app.example; default none."
    )
    folders: list[Text] | None = Field(default=None, description="Folders whose files may be previewed; default none.")
    preview_max_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=1.0, description="Dollars that the model calls of one preview may cost at the most."
    )
    max_body_bytes: Annotated[int, Field(ge=1 << 10)] = Field(default=64 << 20, description="Bytes of one request.")
    max_buffered_bytes: Annotated[int, Field(ge=1 << 10)] = Field(
        default=512 << 20, description="Bytes of all requests that are being read or worked on."
    )
    concurrency: Count = Field(default=256, description="Requests worked on at once; further ones get 503.")
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=600.0, description="Seconds that one request may take."
    )
    body_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=30.0, description="Seconds that a client may pause while it sends."
    )
    stop_grace: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=30.0, description="Seconds for what is under way when the server stops."
    )
    hot_bytes: Annotated[int, Field(ge=0)] = Field(
        default=64 << 20, description="Memory for vectors asked for lately; 0: only the cache on disk."
    )


class Settings(Section):
    """Everything a file can say. ``{}`` is whole: the embedded default model."""

    schema_: str | None = Field(default=None, alias="$schema", description="For editors.")
    enabled: bool = Field(default=True, description="false: the file is refused.")
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    db_path: Text | None = Field(default=None, description="Folder or URI of the memory.")
    chat: ChatSettings | None = Field(default=None, description="The chat model that the memory and segmenters ask.")
    websearch: WebSearchSettings | None = Field(default=None, description="What web searches ask.")
    memory: MemorySettings = Field(default_factory=MemorySettings, description="How the memory keeps what it is told.")
    recall: RecallSection = Field(
        default_factory=RecallSection, description="What a recall takes where a call says nothing."
    )
    server: ServerSection = Field(default_factory=ServerSection, description="For `unabridged serve`.")
    job: JobSection | None = Field(default=None, description="For `unabridged job run`.")
    retrieval: RetrievalSettings | None = Field(
        default=None, description="memory-lancedb-pro's section: what can be used of it goes into recall."
    )


def _contradiction(found: object, expected: str) -> PydanticCustomError:
    return PydanticCustomError("expected", "{expected}", {"expected": expected, "found": found})
