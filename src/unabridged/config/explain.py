"""The effective configuration, masked, and the numbers in force with where each came from (SPEC P6)."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr
from pydantic.alias_generators import to_camel

from unabridged.config.build import chunking_of
from unabridged.config.jsonc import spell
from unabridged.config.model import ChunkingSettings
from unabridged.config.problems import is_secret
from unabridged.embedding.plan import Chunking
from unabridged.providers.models import known_model
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.config.jsonc import Path
    from unabridged.config.load import Config
    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.plan import Cutting

__all__ = ["Explanation", "Figure", "explain", "masked"]

_MASK = "********"
_ADDRESSES = ("baseURL", "path", "rerankEndpoint")
_IN_QUERY = re.compile(r"(?<=[?&])([^=&]*(?:key|token|sig|secret|code)[^=&]*)=[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number or word in force, and where it came from; ``unit`` is what a size is in."""

    name: str
    value: object
    origin: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a configuration comes to. ``settings`` are as a file would write them, secrets masked."""

    settings: dict[str, Any]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]


def masked(config: Config) -> dict[str, Any]:
    """The settings as a file would write them; no secret in them.

    >>> from unabridged.config import load_config
    >>> masked(load_config({"embedding": {"apiKey": "sk-1234"}}))["embedding"]["apiKey"]
    '********'
    """
    written: dict[str, Any] = config.settings.model_dump(by_alias=True, exclude_none=True)
    hidden = config.secrets
    return {key: _without_secrets(value, (key,), hidden) for key, value in written.items()}


def explain(config: Config) -> Explanation:
    """Build the embedder, which sends nothing, and say what it works with."""
    with config.embedder() as embedder:
        hidden = config.secrets
        figures = (replace(one, value=_hidden(one.value, hidden)) for one in _figures(config, embedder))
        return Explanation(masked(config), tuple(figures), config.notes)


def _figures(config: Config, embedder: Embedder) -> Iterator[Figure]:
    provider, settings = embedder.provider, config.embedding
    found = "embedded default" if settings.model is None and settings.base_url is None else "found from the model"
    yield Figure("provider", provider.name, _origin(config, "provider") or found)
    yield Figure("host", provider.host, _origin(config, "baseURL") or "the provider's own")
    yield Figure("model", provider.model, _origin(config, "model") or "the provider's own")
    yield from _limits(config, embedder)
    yield from _sizes(config, embedder.cutting, embedder.limit)
    known = known_model(provider.model, provider=provider.name)
    width = embedder.dimensions or (None if known is None else known.dimensions)
    theirs = "the model's own" if width else "seen with the first vector"
    yield Figure("dimensions", width, _origin(config, "dimensions") or theirs)
    compat = _compat(config) and settings.pooling is None
    pooling = settings.pooling or ("mean" if compat else "weighted")
    yield Figure("pooling", pooling, _origin(config, "pooling") or ("compat" if compat else "default"))
    folder = "off" if embedder.cache is None else str(embedder.cache.folder)
    yield Figure("cache", folder, _origin(config, "cache") or "default")
    yield from _around(config)
    yield from _recalls(config)


def _around(config: Config) -> Iterator[Figure]:
    """The memory's place, the chat model that it asks, and the names that a server knows besides."""
    settings, origin = config.settings, config.block.origin
    yield Figure("memory", config.db_path or "the user's own folder", origin(("dbPath",)) or "default")
    chat = settings.chat
    named = "off" if chat is None else f"{chat.provider or 'openai'} {chat.model or ''}".rstrip()
    moved = "llm, used as chat" if chat is not None else "default"
    yield Figure("chat", named, origin(("chat",)) or moved)
    for name, chosen in (settings.server.models or {}).items():
        meant = chosen if isinstance(chosen, str) else " ".join(filter(None, (chosen.provider, chosen.model or name)))
        yield Figure(f"server model {name}", meant, origin(("server", "models", name)) or "given")


def _recalls(config: Config) -> Iterator[Figure]:
    """What a recall takes where a call says nothing."""
    from unabridged.memory.recall.settings import Settings as Recalling

    given, default = config.settings.recall, Recalling()
    for name in ("limit", "budget_tokens", "threshold", "kinds", "lanes", "passes", "diversity", "recency"):
        value = getattr(given, name)
        shown = getattr(default, name) if value is None else value
        told = ", ".join(shown) if isinstance(shown, list | tuple) else "off" if shown is None else shown
        yield Figure(f"recall {name.replace('_', ' ')}", told, _recall_origin(config, name))
    reranker = given.rerank
    named = "off" if reranker is None else " ".join(filter(None, (reranker.provider, reranker.model)))
    yield Figure("recall rerank", named, _recall_origin(config, "rerank"))


def _recall_origin(config: Config, name: str) -> str:
    theirs = config.origins.get(name)
    if theirs is not None:
        return f"{spell(theirs)}, {config.block.origin(theirs)}"
    return config.block.origin(("recall", to_camel(name))) or "default"


def _limits(config: Config, embedder: Embedder) -> Iterator[Figure]:
    own, declared = embedder.provider.limit, embedder.declared_limit
    for name in (f.name for f in fields(Limit)):
        value = getattr(embedder.limit, name)
        if value is not None:
            learned = getattr(declared, name) != value
            origin = "learned from a refusal" if learned else _limit_origin(config, name, own, embedder)
            yield Figure(f"limit {name.replace('_', ' ')}", value, origin)


def _limit_origin(config: Config, name: str, own: Limit, embedder: Embedder) -> str:
    head, _, tail = name.partition("_")
    given = _origin(config, "limit", head + tail.capitalize())
    if given is None and name == "input_chars":
        given = _origin(config, "maxInputChars")
    if given is not None:
        return given
    if getattr(own, name) == getattr(embedder.limit, name):
        provider = embedder.provider
        if provider.host == "process":
            return "the model's own"
        known = known_model(provider.model, provider=provider.name) is not None
        return "model table" if known else "default for an unknown model"
    return "memory-lancedb-pro" if _compat(config) else "default for an unknown model"


def _sizes(config: Config, plan: Cutting | None, limit: Limit) -> Iterator[Figure]:
    chunking = chunking_of(config.embedding, config.block.plugin)
    if chunking is False:
        yield Figure("chunking", "off", _chunking_origin(config) or "given")
        return
    if plan is None:
        yield Figure("chunking", "never needed", "the model takes texts of any length")
        return
    given = chunking if isinstance(chunking, Chunking) else Chunking()
    counted = ", its tokens taken for characters" if plan.unit == "chars" and limit.input_tokens is not None else ""
    for name, size, wanted, key, percent in (
        ("chunk", plan.max_size, given.max_tokens, "maxChunkSize", 70),
        ("overlap", plan.overlap, given.overlap_tokens, "overlapSize", 5),
        ("minimum", plan.minimum, given.min_tokens, "minChunkSize", 10),
    ):
        derived = f"{percent} % of the limit{counted}" if given.max_tokens is None else "scaled with the chunk"
        origin = derived if wanted is None else _chunking_origin(config, key) or "given"
        if wanted is not None and wanted != size:
            origin = f"the limit, under {wanted:,} ({origin})"
        yield Figure(name, size, origin, plan.unit)
    if plan.max_lines is not None:
        yield Figure("lines a chunk", plan.max_lines, _chunking_origin(config, "maxLinesPerChunk") or "compat")


def _origin(config: Config, *keys: str) -> str | None:
    return config.block.origin(("embedding", *keys))


def _chunking_origin(config: Config, *keys: str) -> str | None:
    return _origin(config, "autoChunk", *keys) or _origin(config, "chunking", *keys)


def _compat(config: Config) -> bool:
    parts = (config.embedding.chunking, config.embedding.auto_chunk)
    return any(isinstance(part, ChunkingSettings) and part.compat for part in parts)


def _without_secrets(value: Any, path: Path, known: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(item, (*path, key), known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item, (*path, at), known) for at, item in enumerate(value)]
    if isinstance(value, SecretStr) or is_secret(path):
        return _MASK
    value = _hidden(value, known)
    return _IN_QUERY.sub(rf"\1={_MASK}", value) if path[-1] in _ADDRESSES else value


def _hidden(value: Any, known: frozenset[str]) -> Any:
    """A value with the secrets that stand in it masked: a key in the path of an address, a folder named by one."""
    if not isinstance(value, str):
        return value
    for secret in sorted(known, key=len, reverse=True):  # the longest first: one may hold another
        value = value.replace(secret, _MASK)
    return value
