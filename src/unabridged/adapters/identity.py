"""Which model a client stands for: read from the names that clients use, never by asking it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from unabridged.types import Limit

__all__ = ["HuggingFaceTokens", "Identity", "host_of", "identity_of", "own_limit"]

_MODEL = (
    "openai_model_id",
    "model",
    "model_name",
    "model_id",
    "embedding_model",
    "name",
    "deployment",
    "azure_deployment",
)
_HOST = (
    "openai_api_base",
    "openai_base_url",
    "api_base_url",
    "ollama_base_url",
    "api_base",
    "base_url",
    "azure_endpoint",
    "endpoint",
    "api_url",
    "url",
    "host",
)
_INSIDE = ("_client", "client", "_model", "model", "embedding_backend", "_embedding_model")
_IN_PROCESS = ("huggingface", "sentence_transformers", "fastembed", "onnx", "model2vec", "llamacpp", "fake")


@dataclass(frozen=True, slots=True)
class Identity:
    """The dialect, the model's name, the host; an empty model is one that is not known."""

    name: str
    model: str
    host: str


def identity_of(thing: Any, config: Any = None) -> Identity:
    """The identity of a framework's embedding object, from its attributes (or its config's) and its package.

    Without a model's name it counts as something in this process that nobody can name.
    """
    name = _dialect(thing)
    seen = [*_attributes(thing, _MODEL), *_attributes(config, _MODEL)]
    model = next((v for v in seen if isinstance(v, str) and v), "")
    url = next((v for v in _attributes(thing, _HOST) + _attributes(config, _HOST) if isinstance(v, str) and v), None)
    local = not model or any(word in name for word in _IN_PROCESS) or own_limit(thing)[0] is not None
    return Identity(name, model, "process" if local and url is None else host_of(url, name))


def host_of(url: Any, default: str) -> str:
    """Host and port of a URL, without a key.

    >>> host_of("https://user:key@localhost:8080/v1", "openai"), host_of(None, "openai")
    ('localhost:8080', 'openai')
    """
    if not url:
        return default
    return urlsplit(str(url) if "//" in str(url) else f"//{url}").netloc.rpartition("@")[2] or default


def own_limit(thing: Any) -> tuple[Limit | None, Any]:
    """Limit and tokenizer of a sentence-transformers model, the thing itself or inside it.

    It cuts silently at ``max_seq_length``, so this is the limit that matters.
    """
    inside = _attributes(thing, _INSIDE)
    for model in (thing, *inside, *(inner for one in inside for inner in _attributes(one, _INSIDE))):
        length = getattr(model, "max_seq_length", None)
        if type(length) is int and hasattr(model, "encode"):
            fast = getattr(getattr(model, "tokenizer", None), "backend_tokenizer", None)
            return Limit(input_tokens=length), None if fast is None else HuggingFaceTokens(fast)
    return None, None


class HuggingFaceTokens:
    """A copy of a ``tokenizers.Tokenizer``, without the truncation and padding baked into it."""

    def __init__(self, tokenizer: Any, *, prompt: str = "") -> None:
        from unabridged.text.tokens import as_tokenizer

        copy = type(tokenizer).from_str(tokenizer.to_str())
        copy.no_truncation()
        copy.no_padding()
        self._measure = as_tokenizer(copy)
        self.special_tokens = copy.num_special_tokens_to_add(is_pair=False)
        if prompt:
            self.special_tokens += self._measure.count(prompt)

    @property
    def name(self) -> str:
        """As the measure inside is called."""
        return self._measure.name

    def count(self, text: str) -> int:
        """The tokens of a text, without the special ones."""
        return self._measure.count(text)


def _attributes(thing: Any, names: tuple[str, ...]) -> list[Any]:
    return [value for name in names if (value := getattr(thing, name, None)) is not None]


def _dialect(thing: Any) -> str:
    """The provider in a package's name: both ``langchain_openai`` and ``llama_index.embeddings.openai``."""
    parts = type(thing).__module__.split(".")
    for framework in ("langchain_", "llama_index.embeddings.", "haystack_integrations.components.embedders."):
        module = ".".join(parts)
        if module.startswith(framework):
            return module.removeprefix(framework).split(".")[0]
    word = type(thing).__name__.lower()
    return next((p for p in ("azure", "openai", "cohere", "mistral", "voyage", "ollama") if p in word), parts[0])
