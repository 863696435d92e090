"""Haystack: any text or document embedder, as a component of its own kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from haystack import Document, component
from haystack.core import serialization

from unabridged.adapters.haystack_inner import (
    Stored,
    checked,
    documents_answer,
    documents_output,
    text_output,
    texts_answer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.adapters.client import Answer
    from unabridged.types import Request

# Whoever imports this module trusts it: pipelines that were stored with our components load again.
if hasattr(serialization, "allow_deserialization_module"):
    serialization.allow_deserialization_module(__name__)

__all__ = ["UnabridgedDocumentEmbedder", "UnabridgedTextEmbedder", "wrapped"]


def wrapped(inner: Any, options: Mapping[str, Any]) -> Any:
    """The component, for texts of any length."""
    takes_documents = hasattr(inner.__haystack_input__, "documents")
    return (UnabridgedDocumentEmbedder if takes_documents else UnabridgedTextEmbedder)(inner, dict(options))


@component
class UnabridgedTextEmbedder(Stored):
    """A text embedder for texts of any length, around another one."""

    @component.output_types(embedding=list[float], meta=dict[str, Any])
    def run(self, text: str) -> dict[str, Any]:
        """Embed one text."""
        if not isinstance(text, str):
            return self.asked.run(text=text)
        return self.bridge.run(
            [text], lambda: checked(self.asked.run(text=text), [text], self.bridge.provider.name), text_output
        )

    @component.output_types(embedding=list[float], meta=dict[str, Any])
    async def run_async(self, text: str) -> dict[str, Any]:
        """As :meth:`run`."""
        if not isinstance(text, str):
            return await self.arun(text=text)

        async def direct() -> dict[str, Any]:
            return checked(await self.arun(text=text), [text], self.bridge.provider.name)

        return await self.bridge.arun([text], direct, text_output)

    def ask(self, request: Request) -> Answer:  # noqa: D102
        return texts_answer([self.asked.run(text=text) for text in request.texts])

    async def aask(self, request: Request) -> Answer:  # noqa: D102
        return texts_answer([await self.arun(text=text) for text in request.texts])


@component
class UnabridgedDocumentEmbedder(Stored):
    """A document embedder for documents of any length, around another one. Documents are never changed."""

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Embed documents: new ones come back, with their vectors."""
        texts = self._texts(documents)
        if texts is None:
            return self.asked.run(documents=documents)

        def direct() -> dict[str, Any]:
            output = self.asked.run(documents=[replace(d) for d in documents])
            return checked(output, texts, self.bridge.provider.name)

        try:
            return self.bridge.run(
                texts,
                direct,
                lambda made: documents_output(made, documents),
            )
        except Exception:
            if getattr(self.inner, "raise_on_failure", True):
                raise
            return self.inner.run(documents=documents)  # it logs, and goes on

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    async def run_async(self, documents: list[Document]) -> dict[str, Any]:
        """As :meth:`run`."""
        texts = self._texts(documents)
        if texts is None:
            return await self.arun(documents=documents)

        async def direct() -> dict[str, Any]:
            output = await self.arun(documents=[replace(d) for d in documents])
            return checked(output, texts, self.bridge.provider.name)

        try:
            return await self.bridge.arun(
                texts,
                direct,
                lambda made: documents_output(made, documents),
            )
        except Exception:
            if getattr(self.inner, "raise_on_failure", True):
                raise
            return await self.inner.run_async(documents=documents)

    def _texts(self, documents: Any) -> list[str] | None:
        """What the inner component would embed, less prefix and suffix: chosen meta fields, content."""
        if not isinstance(documents, list) or not documents:
            return None
        if not all(isinstance(d, Document) and isinstance(d.content, str) for d in documents):
            return None
        fields = getattr(self.inner, "meta_fields_to_embed", None) or []
        between = getattr(self.inner, "embedding_separator", "\n")
        metas = [[str(d.meta[f]) for f in fields if d.meta.get(f) is not None] for d in documents]
        return [between.join([*meta, d.content or ""]) for meta, d in zip(metas, documents, strict=True)]

    def ask(self, request: Request) -> Answer:  # noqa: D102
        return documents_answer(self.asked.run(documents=[Document(content=text) for text in request.texts]))

    async def aask(self, request: Request) -> Answer:  # noqa: D102
        return documents_answer(await self.arun(documents=[Document(content=text) for text in request.texts]))
