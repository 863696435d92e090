"""Settings -> a chat that is asked with a policy, a web search, and the memory that uses both."""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from unabridged.config.build_recall import recall_defaults
from unabridged.config.jsonc import Path, spell
from unabridged.errors import ConfigError
from unabridged.providers.chat import Chat
from unabridged.providers.compatible import HOSTS
from unabridged.providers.websearch import open_search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import SecretStr

    from unabridged.config.load import Config
    from unabridged.config.model_memory import ChatModelSettings
    from unabridged.memory import Memory
    from unabridged.memory.asking.asking import Asker
    from unabridged.providers.websearch import WebSearch

__all__ = ["build_asker", "build_memory", "build_search", "memory_options"]

_CHAT: Path = ("chat",)
# Beside those that speak OpenAI's form for embeddings too: an address, and the variables that hold a key.
_HOSTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",)),
    "deepseek": ("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "groq": ("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "jina": ("https://deepsearch.jina.ai/v1", ("JINA_API_KEY",)),
    "mistral": ("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "nim": ("https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",)),
    "ollama": ("http://localhost:11434/v1", ()),
    "openai": ("https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    **{name: (host.url, host.keys) for name, host in HOSTS.items()},
}
_KEYS = {"api_key": "apiKey", "base_url": "baseURL"}


def build_asker(config: Config, **overrides: Any) -> Asker | None:
    """The chat that a configuration describes, ``None`` where it has none; ``overrides`` are options of ``Asker``.

    Raises :class:`~unabridged.errors.ConfigError` with the path of the key that is wrong.
    """
    from unabridged.memory.asking.asking import Asker

    settings = config.settings.chat
    if settings is None:
        return None
    chats = list(_chats(settings, _CHAT))
    for at, fallback in enumerate(settings.fallbacks or ()):
        chats += _chats(fallback, (*_CHAT, "fallbacks", at))
    options: dict[str, Any] = {
        "models": settings.models.model_dump(exclude_none=True),
        "reasoning": settings.reasoning.model_dump(exclude_none=True),
        "max_tokens": settings.max_tokens.model_dump(exclude_none=True),
        "concurrency": settings.concurrency,
        "cache": FilePath(settings.cache).expanduser() if isinstance(settings.cache, str) else settings.cache,
    }
    return Asker(chats, **{**options, **overrides})


def build_search(config: Config) -> WebSearch | None:
    """The web search that a configuration describes, ``None`` where it has none."""
    settings = config.settings.websearch
    if settings is None:
        return None
    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    given = {
        "base_url": settings.base_url,
        "api_key": key,
        "timeout": settings.timeout,
        "headers": _plain(settings.headers),
    }
    try:
        return open_search(settings.provider, results=settings.results, **given)
    except ConfigError as error:
        raise ConfigError(spell(("websearch", *_place(error.path))), error.problem, advice=error.advice) from None


def memory_options(config: Config) -> dict[str, Any]:
    """How a configuration has its memory opened, whichever dataset: options of ``Memory.open``."""
    settings = config.settings.memory
    given: dict[str, Any] = {
        "unsupported": settings.unsupported,
        "vector_type": settings.vector_type,
        "grace": settings.grace,
        "upkeep": settings.upkeep,
        "lock": settings.lock,
    }
    if settings.max_text_bytes is not None:
        given["max_text_bytes"] = settings.max_text_bytes
    if settings.storage_options is not None:
        given["storage_options"] = _plain(settings.storage_options)
    return given


def build_memory(config: Config, **options: Any) -> Memory:
    """The memory at ``dbPath``, with its embedder, its chat and its web search; ``options`` win."""
    from unabridged.memory import Memory

    settings = config.settings.memory
    if config.db_path is None:
        raise config.block.error(("dbPath",), "not given; name the folder, or the URI, of the memory")
    place = config.db_path if "://" in config.db_path else FilePath(config.db_path).expanduser()
    given = {"dataset": settings.dataset, **memory_options(config)}
    made: dict[str, Callable[[], Any]] = {"embedder": config.embedder, "chat": config.asker, "websearch": config.search}
    fresh = {name: make() for name, make in made.items() if name not in options}
    memory = Memory.open(place, **{**given, **fresh, **options}).own(*fresh.values())
    memory.defaults = recall_defaults(config)
    return memory.own(memory.defaults.get("rerank"))


def _chats(settings: ChatModelSettings, path: Path) -> Iterator[Chat]:
    """One chat, or one for each key."""
    name = (settings.provider or "openai").lower()
    if name not in _HOSTS and settings.base_url is None:
        known = ", ".join(sorted(_HOSTS))
        raise ConfigError(
            spell((*path, "provider")), f"found {settings.provider!r}, known are {known}; or give baseURL"
        )
    if settings.model is None:
        raise ConfigError(spell((*path, "model")), "not given; name the chat model")
    own, variables = _HOSTS.get(name, ("", ()))
    for key in _keys(settings, variables if settings.base_url is None else (), path):
        try:
            yield Chat(
                settings.model,
                base_url=settings.base_url or own,
                api_key=key,
                timeout=settings.timeout,
                temperature=settings.temperature,
                prices={name: (price.input, price.output) for name, price in (settings.prices or {}).items()} or None,
                body=settings.options,
                headers=_plain(settings.headers),
            )
        except ConfigError as error:
            raise ConfigError(spell((*path, *_place(error.path))), error.problem, advice=error.advice) from None


def _keys(settings: ChatModelSettings, variables: tuple[str, ...], path: Path) -> list[str | None]:
    """The keys given; a host that needs one has it in the environment. With an address of one's own none is needed."""
    given = settings.api_key
    if given is not None:
        return [key.get_secret_value() for key in (given if isinstance(given, list) else [given])]
    found = next((value for name in variables if (value := os.environ.get(name, "").strip())), None)
    if found is None and variables:
        raise ConfigError(spell((*path, "apiKey")), f"not given; give it, or set {' or '.join(variables)}")
    return [found]


def _place(option: str) -> tuple[str, ...]:
    """Where an option stands in the settings."""
    return tuple(_KEYS.get(part, part) for part in option.split("."))


def _plain(secrets: dict[str, SecretStr] | None) -> dict[str, str] | None:
    return None if secrets is None else {name: value.get_secret_value() for name, value in secrets.items()}
