"""What an embedder is given, checked: providers, limits, a cache, texts, numbers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from unabridged.embedding.cache import VectorCache, default_cache_folder
from unabridged.embedding.plan import Chunking
from unabridged.errors import ConfigError, InputError
from unabridged.providers.limits import default_limit, known_model
from unabridged.providers.registry import open_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from unabridged.types import Limit, Provider

__all__ = [
    "cache_of",
    "checked_texts",
    "declared_limit",
    "knowledge_path",
    "known_names",
    "not_known",
    "one_of",
    "positive",
    "providers",
]

_P = ParamSpec("_P")


def known_names(init: Callable[_P, None]) -> Callable[_P, None]:
    """The same ``__init__``; an option that it does not have is told apart from what the caller may have meant."""
    known = ("provider", *(init.__kwdefaults__ or ()))

    @wraps(init)
    def checked(*args: _P.args, **options: _P.kwargs) -> None:
        for name in options:
            if name not in known:
                raise ConfigError(name, not_known(name, known))
        init(*args, **options)

    return checked


def not_known(name: str, known: Sequence[str]) -> str:
    """What is wrong with the name of an option, and what was meant.

    >>> not_known("min_tokens", ["pooling"])
    'not known here: it says how to cut: chunking=Chunking(min_tokens=…)'
    >>> not_known("poling", ["pooling"])
    "not known; did you mean 'pooling'?"
    """
    if name in {field.name for field in fields(Chunking)}:
        return f"not known here: it says how to cut: chunking=Chunking({name}=…)"
    near = difflib.get_close_matches(name, known, 1)
    return f"not known; did you mean {near[0]!r}?" if near else f"not known; known are {', '.join(sorted(known))}"


def providers(given: Provider | str | Sequence[Provider | str] | None) -> list[Provider]:
    """The providers meant by a name, a provider, or several of either; ``None`` is the embedded default."""
    if given is None or isinstance(given, str):
        return [open_provider(given)]
    several: Sequence[Provider | str] = given if isinstance(given, Sequence) else [given]
    return [open_provider(p) if isinstance(p, str) else p for p in several]


def declared_limit(provider: Provider, given: Limit | None) -> Limit:
    """The limit to start from: the caller's, the provider's own, the table's, else the default."""
    limit = provider.limit if given is None else given
    if any(n is not None for n in (limit.input_tokens, limit.input_chars, limit.input_bytes)):
        return limit
    known = known_model(provider.model, provider=provider.name)
    if known is not None and known.limit.input_tokens is None:
        return limit  # a static model: it takes texts of any length, and must not be cut
    return replace(limit, input_tokens=(known.limit if known is not None else default_limit()).input_tokens)


def cache_of(given: bool | str | Path | VectorCache) -> VectorCache | None:  # noqa: FBT001
    """The cache that a setting means; whatever gets and puts entries is one."""
    if isinstance(given, bool):
        return VectorCache(None) if given else None
    return VectorCache(given) if isinstance(given, str | Path) else given


def knowledge_path(cache: VectorCache | None) -> Path | None:
    """Where what is learned of hosts is kept: beside the cache; ``None`` is the default place."""
    return None if cache is None or cache.folder == default_cache_folder() else cache.folder


def checked_texts(texts: str | Iterable[str]) -> list[str]:
    """The texts as a list; what is not text is named by its position."""
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, (bytes, bytearray)) or not hasattr(texts, "__iter__"):
        raise InputError(f"found {type(texts).__name__}, expected a text or several")
    if isinstance(texts, Mapping):
        raise InputError(f"found a {type(texts).__name__}, expected a text or a list of texts, such as its values")
    if isinstance(texts, (set, frozenset)):
        raise InputError(f"found a {type(texts).__name__}, expected texts in an order: a list, or an iterator")
    listed = list(texts)
    for at, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"text {at}: found {type(text).__name__}, expected str")
    return listed


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a value that is not one of those known."""
    if value not in known:
        raise ConfigError(name, f"found {value!r}, expected one of {', '.join(known)}")


def positive(name: str, value: float | None) -> None:
    """Refuse a number that is not above 0; ``None`` is allowed."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0):
        raise ConfigError(name, f"found {value!r}, expected a number above 0")
