"""Settings -> an embedder."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from unabridged.config.jsonc import Path, spell
from unabridged.config.model import CacheSettings, ChunkingSettings
from unabridged.config.resolve import open_all
from unabridged.config.sources import PREDECESSOR
from unabridged.embedding.cache import VectorCache
from unabridged.embedding.embedder import Embedder
from unabridged.embedding.inputs import declared_limit
from unabridged.embedding.plan import Chunking
from unabridged.errors import ConfigError
from unabridged.providers.limits import known_model
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.config.load import Config
    from unabridged.config.model import EmbeddingSettings
    from unabridged.types import Provider

__all__ = ["build_embedder", "cache_of_settings", "chunking_of"]

_AT: Path = ("embedding",)
_CHUNKING_KEYS = {
    "max_tokens": "maxChunkSize",
    "overlap_tokens": "overlapSize",
    "min_tokens": "minChunkSize",
    "max_lines": "maxLinesPerChunk",
    "method": "method",
}
_PASSED_ON = (
    "dimensions",
    "concurrency",
    "empty",
    "on_error",
    "on_overflow",
    "on_unknown",
    "on_drift",
    "max_requests_per_text",
)


def build_embedder(config: Config, *, at: Path = _AT, **overrides: Any) -> Embedder:
    """The embedder that a configuration describes; ``overrides`` win. ``at`` is where its settings stand.

    Raises :class:`~unabridged.errors.ConfigError` with the path of the key that is wrong.
    """
    settings = config.embedding
    opened = list(open_all(settings, at))
    for number, fallback in enumerate(settings.fallbacks or ()):
        opened += open_all(fallback, (*at, "fallbacks", number))
    try:
        given = _options(config, opened[0])
        if "cache" not in overrides:
            given["cache"] = cache_of_settings(settings)
        return Embedder(opened, **{**given, **overrides})
    except ConfigError as error:
        raise _placed(error, settings, at) from None


def _options(config: Config, provider: Provider) -> dict[str, Any]:
    """What the embedder is told of the settings; what is not set is left to it."""
    settings = config.embedding
    chunking = chunking_of(settings, config.block.plugin)
    options: dict[str, Any] = {name: getattr(settings, name) for name in _PASSED_ON}
    options |= {"chunking": chunking, "pooling": settings.pooling, "tokenizer": settings.tokenizer}
    options["limit"] = limit_of(settings, provider, compat=isinstance(chunking, Chunking) and chunking.compat)
    return {name: value for name, value in options.items() if value is not None}


def chunking_of(settings: EmbeddingSettings, plugin: str) -> bool | Chunking:
    """How to cut: ``chunking`` and ``autoChunk`` together, as the embedder takes it."""
    if settings.chunking is False or settings.auto_chunk is False:
        return False
    given: dict[str, Any] = {}
    for part in (settings.chunking, settings.auto_chunk):
        if isinstance(part, ChunkingSettings):
            given |= {name: getattr(part, name) for name in part.model_fields_set}
    if not given:
        return True
    sizes = {name: given.get(name) for name in ("max_chunk_size", "overlap_size", "min_chunk_size")}
    # SPEC L3: the predecessor measures in characters what is set by hand.
    in_chars = plugin == PREDECESSOR and any(size is not None for size in sizes.values())
    return Chunking(
        max_tokens=sizes["max_chunk_size"],
        overlap_tokens=sizes["overlap_size"],
        min_tokens=sizes["min_chunk_size"],
        max_lines=given.get("max_lines_per_chunk"),
        semantic=given.get("semantic_split", True),
        unit=given.get("unit") or ("chars" if in_chars else "tokens"),
        compat=given.get("compat", False),
        method=given.get("method"),
    )


def limit_of(settings: EmbeddingSettings, provider: Provider, *, compat: bool) -> Limit | None:
    """The limit to declare: what is known, with what the settings say in its place; ``None`` changes nothing."""
    known = declared_limit(provider, None)
    given: dict[str, int] = {} if settings.limit is None else _set(settings.limit.model_dump())
    if settings.max_input_chars is not None:
        given["input_chars"] = min(settings.max_input_chars, given.get("input_chars", settings.max_input_chars))
    if compat:
        info = known_model(provider.model, provider.name, compat=True)
        documented = None if info is None else info.limit.input_tokens
        given = {**_set({"input_tokens": documented}), **given}
    return replace(known, **given) if given else None


def _set(values: Mapping[str, int | None]) -> dict[str, int]:
    names = {one.name for one in fields(Limit)}
    return {name: value for name, value in values.items() if value is not None and name in names}


def cache_of_settings(settings: EmbeddingSettings) -> bool | VectorCache:
    """The vector cache that the settings describe, as the embedder takes it; ``True`` is the user's own."""
    given = settings.cache
    if isinstance(given, bool):
        return given
    chosen = CacheSettings(folder=given) if isinstance(given, str) else given
    if not chosen.enabled:
        return False
    folder = None if chosen.folder is None else FilePath(chosen.folder).expanduser()
    return VectorCache(folder, size_limit=chosen.max_bytes)


def _placed(error: ConfigError, settings: EmbeddingSettings, at: Path) -> ConfigError:
    """An error of the embedder's own words, under the key that it is about."""
    key = _CHUNKING_KEYS.get(error.path)
    if key is None:
        return ConfigError(spell((*at, to_camel(error.path))), error.problem, advice=error.advice)
    holder = "autoChunk" if isinstance(settings.auto_chunk, ChunkingSettings) else "chunking"
    problem = error.problem
    for name, spelled in _CHUNKING_KEYS.items():
        problem = problem.replace(name, spelled)
    return ConfigError(spell((*at, holder, key)), problem)
