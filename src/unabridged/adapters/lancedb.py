"""LanceDB: any text embedding function of its registry, and one of our own, which survives in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lancedb.embeddings import TextEmbeddingFunction, get_registry, register
from pydantic import Field, PrivateAttr

from unabridged.adapters.options import from_json, to_json
from unabridged.adapters.rows import rows_for

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UnabridgedEmbeddingFunction", "wrapped"]

_NAME = "unabridged"


def wrapped(inner: Any, options: Mapping[str, Any]) -> UnabridgedEmbeddingFunction:
    """The function, for texts of any length. The inner one is stored in the table as it would be alone."""
    alias = getattr(inner, "__embedding_function_registry_alias__", None) or type(inner).__name__
    made: UnabridgedEmbeddingFunction = UnabridgedEmbeddingFunction.create(
        inner={"name": alias, "config": inner.safe_model_dump()},
        options=to_json(options),
        max_retries=inner.max_retries,
    )
    made.stands_for(inner, options)
    return made


@register(_NAME)
class UnabridgedEmbeddingFunction(TextEmbeddingFunction):
    """``get_registry().get("unabridged").create(model="openai/text-embedding-3-small")``, or around another.

    A table keeps its configuration; to open it elsewhere, import this module first.
    """

    model: str | None = None
    inner: dict[str, Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _rows: Any = PrivateAttr(default=None)
    _inner: Any = PrivateAttr(default=None)

    def stands_for(self, inner: Any, options: Mapping[str, Any]) -> None:
        """Ask this very function, with these very options, instead of ones made from the configuration."""
        self._inner = inner
        self._rows = rows_for(inner, options, _calls)

    def ndims(self) -> int:
        """The width of the vectors."""
        rows = self._bridged()
        if hasattr(self._inner, "ndims"):
            return int(self._inner.ndims())
        return int(rows.embedder.dimensions or rows.embedder.embed("width").shape[0])

    def generate_embeddings(self, texts: Any, *_: Any, **__: Any) -> list[Any]:
        """A vector for each text."""
        return list(self._bridged().documents(texts))

    def compute_query_embeddings(self, query: str, *_: Any, **__: Any) -> list[Any]:
        """The vector of a query."""
        return [self._bridged().query(query)]

    def _bridged(self) -> Any:
        if self._rows is None:
            inner: Any = self.model
            if self.inner is not None:
                inner = get_registry().get(self.inner["name"]).create(**self.inner["config"])
            self.stands_for(inner, from_json(self.options))
        return self._rows


def _calls(inner: Any) -> dict[str, Any]:
    return {
        "documents": inner.compute_source_embeddings,
        "query": lambda text: inner.compute_query_embeddings(text)[0],
        "null_is_refusal": True,
    }
