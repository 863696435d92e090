"""LlamaIndex: any ``BaseEmbedding``, and one of our own.

>>> from unabridged.adapters.llama_index import UnabridgedEmbedding
>>> len(UnabridgedEmbedding("hashing", cache=False).get_text_embedding("long " * 9000))
256
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import Field, PrivateAttr

from unabridged.adapters.rows import rows_for

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UnabridgedEmbedding", "wrapped"]

# What the inner object has been given for its base class to do; ours does it instead, once.
_SHARED = (
    "model_name",
    "embed_batch_size",
    "callback_manager",
    "num_workers",
    "embeddings_cache",
    "rate_limiter",
)
_MOST = 2048  # the largest batch that LlamaIndex allows; the embedder makes its own


def wrapped(inner: BaseEmbedding, options: Mapping[str, Any]) -> UnabridgedEmbedding:
    """The embedding, for texts of any length."""
    return UnabridgedEmbedding(inner, **options)


class UnabridgedEmbedding(BaseEmbedding):
    """An embedding for texts of any length, around another one or a model's name."""

    inner: Any = Field(default=None, exclude=True)
    options: dict[str, Any] = Field(default_factory=dict, exclude=True)
    _rows: Any = PrivateAttr()

    def __init__(self, inner: BaseEmbedding | str | None = None, **options: Any) -> None:
        shared = {name: getattr(inner, name) for name in _SHARED if hasattr(inner, name)}
        named = {"model_name": inner or "unabridged", "embed_batch_size": _MOST}
        super().__init__(inner=inner, options=options, **(shared or named))
        self._rows = rows_for(inner, options, _calls)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex lists it."""
        return "UnabridgedEmbedding"

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._rows.documents([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._rows.documents(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._rows.query(query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._rows.adocuments([text]))[0]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await self._rows.adocuments(texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await self._rows.aquery(query)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.inner, self.options)

    def __deepcopy__(self, memo: Any = None) -> UnabridgedEmbedding:
        from copy import deepcopy

        return _again(deepcopy(self.inner, memo), deepcopy(self.options, memo))


def _again(inner: Any, options: dict[str, Any]) -> UnabridgedEmbedding:
    return UnabridgedEmbedding(inner, **options)


def _calls(inner: BaseEmbedding) -> dict[str, Any]:
    """One floor below the public methods, which would count, cache and report each call twice."""
    return {
        "documents": inner._get_text_embeddings,  # noqa: SLF001
        "query": inner._get_query_embedding,  # noqa: SLF001
        "adocuments": inner._aget_text_embeddings,  # noqa: SLF001
        "aquery": inner._aget_query_embedding,  # noqa: SLF001
    }
