"""The effective configuration, masked, and the numbers in force with where each came from (SPEC P6)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from unabridged.config.build import build_embedder, chunking_of
from unabridged.embedding.plan import Chunking
from unabridged.providers.models import known_model

if TYPE_CHECKING:
    from unabridged.config.load import Config
    from unabridged.embedding.embedder import Embedder

__all__ = ["Explanation", "Figure", "explain", "masked"]

_MASK = "********"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number or word in force, and where it came from."""

    name: str
    value: object
    origin: str


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
    written: dict[str, Any] = config.settings.model_dump(by_alias=True, exclude_none=True, exclude_unset=False)
    made = _without_secrets(written)
    assert isinstance(made, dict)  # noqa: S101
    return made


def explain(config: Config) -> Explanation:
    """Build the embedder and say what it works with."""
    with build_embedder(config) as embedder:
        return Explanation(masked(config), tuple(_figures(config, embedder)), config.notes)


def _figures(config: Config, embedder: Embedder) -> list[Figure]:
    settings, provider = config.embedding, embedder.provider
    figures = [
        Figure("provider", provider.name, "file" if settings.provider else "found from the model"),
        Figure("host", provider.host, "file" if settings.base_url else "the provider's own"),
        Figure("model", provider.model, "file" if settings.model else "embedded default"),
        *_limits(config, embedder),
        *_sizes(config, embedder),
    ]
    known = known_model(provider.model, provider=provider.name)
    if settings.dimensions is not None:
        figures.append(Figure("dimensions", settings.dimensions, "file"))
    else:
        width = embedder.dimensions or (None if known is None else known.dimensions)
        figures.append(Figure("dimensions", width, "the model's own" if width else "seen with the first vector"))
    figures.append(Figure("pooling", settings.pooling or "weighted", "file" if settings.pooling else "default"))
    folder = None if embedder.cache is None else str(embedder.cache.folder)
    figures.append(Figure("cache", folder or "off", "file" if "cache" in settings.model_fields_set else "default"))
    return figures


def _limits(config: Config, embedder: Embedder) -> list[Figure]:
    settings = config.embedding
    given = {} if settings.limit is None else settings.limit.model_dump(exclude_none=True)
    if settings.max_input_chars is not None:
        given["input_chars"] = settings.max_input_chars
    own = embedder.provider.limit
    learned = embedder.declared_limit
    figures = []
    for name in (f.name for f in fields(own)):
        value = getattr(embedder.limit, name)
        if value is None:
            continue
        if getattr(learned, name) != value:
            origin = "learned from a refusal"
        elif name in given:
            origin = "file"
        elif getattr(own, name) == value:
            origin = "the model's own" if embedder.provider.host == "process" else "model table"
        else:
            origin = "default for unknown models"
        figures.append(Figure(f"limit {name.replace('_', ' ')}", value, origin))
    return figures


def _sizes(config: Config, embedder: Embedder) -> list[Figure]:
    chunking = chunking_of(config.embedding, config.block.plugin)
    plan = embedder.cutting
    if chunking is False:
        return [Figure("chunking", "off", "file")]
    chunking = chunking if isinstance(chunking, Chunking) else Chunking()
    if plan is None:
        return [Figure("chunking", "never needed", "the model takes texts of any length")]
    rows = (
        ("chunk", plan.max_size, chunking.max_tokens, "70 % of the limit"),
        ("overlap", plan.overlap, chunking.overlap_tokens, "5 % of the limit"),
        ("minimum", plan.minimum, chunking.min_tokens, "10 % of the limit"),
    )
    figures = [
        Figure(
            name,
            f"{value} {plan.unit}",
            "file" if given is not None else (why if chunking.max_tokens is None else "scaled with the chunk"),
        )
        for name, value, given, why in rows
    ]
    if plan.max_lines is not None:
        figures.append(Figure("lines a chunk", plan.max_lines, "file" if chunking.max_lines else "compat"))
    return figures


def _without_secrets(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return _MASK
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    return [_without_secrets(item) for item in value] if isinstance(value, list | tuple) else value
