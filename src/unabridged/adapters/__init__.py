"""Drop-in: ``wrap(client)`` gives the client you have, and long texts work.

What comes back is of the client's own class (or of the framework's own base class), answers in its own
types and raises its own exceptions. The client itself is never changed.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from unabridged.adapters.again import again, is_ours
from unabridged.errors import ConfigError
from unabridged.types import Limit

__all__ = ["wrap"]

_T = TypeVar("_T")

# Class, as "package:name", anywhere among a thing's bases -> the adapter that knows it.
_CLASSES = {
    "openai:OpenAI": "openai",
    "openai:AsyncOpenAI": "openai",
    "langchain_core:Embeddings": "langchain",
    "llama_index:BaseEmbedding": "llama_index",
    "sentence_transformers:SentenceTransformer": "sentence_transformers",
    "chromadb:EmbeddingFunction": "chroma",
    "lancedb:TextEmbeddingFunction": "lancedb",
    "fastembed:TextEmbedding": "fastembed",
    "ollama:Client": "ollama",
    "ollama:AsyncClient": "ollama",
    "cohere:BaseCohere": "cohere",
    "cohere:AsyncBaseCohere": "cohere",
    "voyageai:_BaseClient": "voyage",
    "google:Client": "google_genai",
    "mistralai:Mistral": "mistral",
    "litellm:Router": "litellm",
    "pydantic_ai:EmbeddingModel": "pydantic_ai",
    "llm:EmbeddingModel": "llm",
    "mem0:EmbeddingBase": "mem0",
    "graphiti_core:EmbedderClient": "graphiti",
}
_FUNCTIONS = {"litellm:embedding": "litellm", "litellm:aembedding": "litellm"}


def wrap(client: _T, **options: Any) -> _T:
    """The same client or model, for texts of any length.

    ``client`` is a client of the OpenAI, Cohere, Voyage, Google, Mistral or Ollama SDK, an embeddings
    object of LangChain, LlamaIndex, Haystack, Chroma, LanceDB, sentence-transformers, fastembed, LiteLLM,
    pydantic-ai, llm, mem0 or graphiti, or any function ``list[str] -> vectors``, sync or async.
    ``options`` are those of :class:`~unabridged.Embedder`; ``limit`` may be a number of tokens, ``model``
    names the model of a function, ``patience`` is how many seconds without success the client's own
    retries are followed by more. What is wrapped already comes back as it is, or with the options given anew.

    Raises :class:`~unabridged.errors.ConfigError` for what is not known, with a list of what is.

    >>> embed = wrap(lambda texts: [[float(len(text)), 1.0] for text in texts], limit=512)
    >>> embed(["short", "long " * 5000])[0]
    [5.0, 1.0]
    """
    checked = _checked(options)
    if is_ours(client):
        return again(client, checked)
    owner = getattr(client, "__self__", None)
    if inspect.ismethod(client) and is_ours(owner):
        return getattr(again(owner, checked), client.__name__)
    if inspect.ismethod(client) and _named(owner) is not None:  # a method of a client that is known
        return getattr(wrap(owner, **options), client.__name__)
    adapter = _adapter_of(client)
    if adapter is None:
        raise ConfigError("wrap", _unknown(client))
    return adapter.wrapped(client, checked)


def _adapter_of(thing: Any) -> Any:
    known = _named(thing)
    if known is not None:
        return import_module(f"unabridged.adapters.{known}")
    for entry in entry_points(group="unabridged.adapters"):
        adapter = entry.load()
        if adapter.knows(thing):
            return adapter
    if callable(thing) and not inspect.isclass(thing):
        return import_module("unabridged.adapters.function")
    return None


def _named(thing: Any) -> str | None:
    if inspect.isroutine(thing):
        return _FUNCTIONS.get(f"{_root(thing)}:{getattr(thing, '__name__', '')}")
    for kind in type(thing).__mro__:
        found = _CLASSES.get(f"{_root(kind)}:{kind.__name__}")
        if found is not None:
            return found
    return "haystack" if hasattr(thing, "__haystack_input__") else None


def _root(thing: Any) -> str:
    return str(getattr(thing, "__module__", "") or "").split(".")[0]


def _unknown(thing: Any) -> str:
    known = sorted({*_CLASSES, *_FUNCTIONS, "haystack:TextEmbedder", "haystack:DocumentEmbedder"})
    listed = ", ".join(name.replace(":", ".") for name in known)
    if inspect.isclass(thing):
        return f"found the class {thing.__module__}.{thing.__qualname__}, expected an instance of it"
    found = f"{type(thing).__module__}.{type(thing).__qualname__}"
    return f"found a {found}, which is not known; known are {listed}, and functions list[str] -> vectors"


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.inputs import not_known

    known = {*list(inspect.signature(Embedder).parameters)[1:], "patience", "model"}
    for name in options:
        if name not in known:
            raise ConfigError(f"wrap.{name}", not_known(name, sorted(known)))
    if "dimensions" in options:
        raise ConfigError("wrap.dimensions", "set it on the client, or on the call, as you would without us")
    for name, value in (("on_error", "report"), ("pooling", "none"), ("empty", "skip")):
        if options.get(name) == value:
            raise ConfigError(f"wrap.{name}", f"found {value!r}, but an adapter gives one vector for every text")
    if isinstance(options.get("limit"), int):
        options = {**options, "limit": Limit(input_tokens=options["limit"])}
    return options
