"""LangChain: any ``Embeddings``, and one of our own.

>>> from unabridged.adapters.langchain import UnabridgedEmbeddings
>>> vectors = UnabridgedEmbeddings("hashing", cache=False).embed_documents(["short", "long " * 9000])
>>> len(vectors), len(vectors[0])
(2, 256)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from unabridged.adapters.rows import rows_for

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UnabridgedEmbeddings", "wrapped"]


def wrapped(inner: Embeddings, options: Mapping[str, Any]) -> UnabridgedEmbeddings:
    """The embeddings, for texts of any length."""
    return UnabridgedEmbeddings(inner, **options)


class UnabridgedEmbeddings(Embeddings):
    """Embeddings for texts of any length, around other embeddings or a model's name.

    ``inner`` is any LangChain embeddings object, or a name such as ``"openai/text-embedding-3-small"``;
    nothing means the embedded default. ``options`` are those of :func:`unabridged.wrap`. Whatever else is
    asked of it, the inner object answers.
    """

    def __init__(self, inner: Embeddings | str | None = None, **options: Any) -> None:
        self.inner = inner
        self.options = options
        self._rows = rows_for(inner, options, _calls)
        self._others: dict[str, Any] = {}

    def embed_documents(self, texts: list[str], *rest: Any, **named: Any) -> list[list[float]]:
        """A vector for each text."""
        return self._with(rest, named).documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self._rows.query(text)

    async def aembed_documents(self, texts: list[str], *rest: Any, **named: Any) -> list[list[float]]:
        """As :meth:`embed_documents`, for async callers."""
        return await self._with(rest, named).adocuments(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """As :meth:`embed_query`, for async callers."""
        return await self._rows.aquery(text)

    def _with(self, rest: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Some embeddings take more than texts (``chunk_size`` and so on): it is theirs, in every request."""
        if not rest and not named:
            return self._rows
        calls = _calls(self.inner)
        for name in ("documents", "adocuments"):
            calls[name] = _bound(calls[name], rest, named)
        key = repr((rest, sorted(named.items())))
        return self._others.setdefault(key, rows_for(self.inner, self.options, lambda _: calls))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.inner, self.options)


def _again(inner: Any, options: dict[str, Any]) -> UnabridgedEmbeddings:
    return UnabridgedEmbeddings(inner, **options)


def _calls(inner: Embeddings) -> dict[str, Any]:
    return {
        "documents": inner.embed_documents,
        "query": inner.embed_query,
        "adocuments": inner.aembed_documents,
        "aquery": inner.aembed_query,
    }


def _bound(call: Any, rest: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return lambda texts: call(texts, *rest, **named)
