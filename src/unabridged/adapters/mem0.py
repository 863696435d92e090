"""mem0: any embedder; ``memory.embedding_model = wrap(memory.embedding_model)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem0.embeddings.base import EmbeddingBase

from unabridged.adapters.identity import identity_of
from unabridged.adapters.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["UnabridgedEmbedding", "wrapped"]


def wrapped(inner: EmbeddingBase, options: Mapping[str, Any]) -> UnabridgedEmbedding:
    """The embedder, for texts of any length."""
    return UnabridgedEmbedding(inner, **options)


class UnabridgedEmbedding(EmbeddingBase):
    """An embedder for texts of any length, around another one."""

    def __init__(self, inner: EmbeddingBase, **options: Any) -> None:
        super().__init__(inner.config)
        self.inner = inner
        self.options = options
        self._rows: dict[str | None, Rows] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text that is added, searched for, or updated."""
        return self._for(memory_action).query(text)

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = "add") -> list[list[float]]:
        """A vector for each text."""
        return self._for(memory_action).documents(texts)

    def _for(self, action: str | None) -> Rows:
        """mem0's embedders may tell the actions apart, so each has calls of its own."""
        found = self._rows.get(action)
        if found is None:
            found = self._rows[action] = Rows(
                self.inner,
                self.options,
                documents=lambda texts: self.inner.embed_batch(texts, action),
                query=lambda text: self.inner.embed(text, action),
                identity=identity_of(self.inner, self.inner.config),
            )
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self.inner, self.options)
