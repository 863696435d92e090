"""Chroma: any ``EmbeddingFunction``, and one of our own that is stored with a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chromadb.api.types import Documents, EmbeddingFunction, Embeddings
from chromadb.utils.embedding_functions import known_embedding_functions, register_embedding_function

from unabridged.adapters.options import from_json, to_json
from unabridged.adapters.rows import rows_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["UnabridgedEmbeddingFunction", "wrapped"]

_NAME = "unabridged"


class _Name(str):  # noqa: SLOT000
    """Our name, which also answers to the inner function's: a collection made before us opens with us."""

    inner: str | None = None

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == self.inner

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class _NameOf:
    """Chroma asks the class for its name, and instances too."""

    def __get__(self, function: UnabridgedEmbeddingFunction | None, _: type) -> Callable[[], str]:
        made = _Name(_NAME)
        made.inner = None if function is None else function._inner_name  # noqa: SLF001
        return lambda: made


def wrapped(inner: Any, options: Mapping[str, Any]) -> UnabridgedEmbeddingFunction:
    """The function, for texts of any length."""
    return UnabridgedEmbeddingFunction(inner, **options)


@register_embedding_function
class UnabridgedEmbeddingFunction(EmbeddingFunction[Documents]):
    """A function for texts of any length, around another one, or a model's name.

    A collection stores its configuration, the inner function's included, and makes it again when it is
    opened; for that this module has to be imported.
    """

    def __init__(self, inner: Any = None, **options: Any) -> None:
        self.inner = inner
        self.options = options
        self._rows = rows_for(inner, options, _calls)

    def __call__(self, input: Documents) -> Embeddings:  # noqa: A002
        """A vector for each document."""
        return self._rows.documents(input)

    def embed_query(self, input: Documents) -> Embeddings:  # noqa: A002
        """A vector for each query."""
        return [self._rows.query(text) for text in input]

    name = _NameOf()

    @property
    def _inner_name(self) -> str | None:
        return None if self.inner is None or isinstance(self.inner, str) else self.inner.name()

    def default_space(self) -> Any:
        """As the inner function has it."""
        return "cosine" if self._inner_name is None else self.inner.default_space()

    def supported_spaces(self) -> Any:
        """As the inner function has them."""
        return ["cosine", "l2", "ip"] if self._inner_name is None else self.inner.supported_spaces()

    def get_config(self) -> dict[str, Any]:
        """What it is made again from: the inner function's own configuration, and our options."""
        inner = self.inner
        if self._inner_name is not None:
            inner = {"name": self._inner_name, "config": self.inner.get_config()}
        return {"inner": inner, "options": to_json(self.options)}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> UnabridgedEmbeddingFunction:
        """Make it again."""
        inner = config.get("inner")
        if isinstance(inner, dict):
            inner = known_embedding_functions[inner["name"]].build_from_config(inner["config"])
        return UnabridgedEmbeddingFunction(inner, **from_json(config.get("options", {})))

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self.inner, self.options)


def _calls(inner: Any) -> dict[str, Any]:
    return {"documents": inner, "query": lambda text: inner.embed_query([text])[0]}
