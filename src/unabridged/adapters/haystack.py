"""Haystack: any text or document embedder, as a component of its own kind."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core import serialization
from haystack.utils.deserialization import deserialize_component_inplace

from unabridged.adapters.bridge import Bridge, Outcome
from unabridged.adapters.client import Answer, ClientProvider
from unabridged.adapters.identity import identity_of, own_limit
from unabridged.adapters.options import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.types import Request

# Whoever imports this module trusts it: pipelines that were stored with our components load again.
if hasattr(serialization, "allow_deserialization_module"):
    serialization.allow_deserialization_module(__name__)

__all__ = ["UnabridgedDocumentEmbedder", "UnabridgedTextEmbedder", "wrapped"]


def wrapped(inner: Any, options: Mapping[str, Any]) -> Any:
    """The component, for texts of any length."""
    takes_documents = hasattr(inner.__haystack_input__, "documents")
    return (UnabridgedDocumentEmbedder if takes_documents else UnabridgedTextEmbedder)(inner, dict(options))


class _Embedder:
    """What both have: the inner component, its bridge, and how they are stored."""

    def __init__(self, inner: Any, options: dict[str, Any] | None = None) -> None:
        self.inner = inner
        self.options = dict(options or {})
        self._asked = copy.copy(inner)
        if hasattr(inner, "raise_on_failure"):
            self._asked.raise_on_failure = True  # a refusal that is only logged could not be understood
        identity, (limit, tokenizer) = identity_of(inner), own_limit(inner)
        provider = ClientProvider(
            name=identity.name,
            model=identity.model or type(inner).__name__,
            host=identity.host,
            ask=self._ask,
            aask=self._aask,
            limit=limit,
            tokenizer=tokenizer,
        )
        self._bridge = Bridge(provider, self.options)

    def warm_up(self) -> None:
        """Let the inner component get ready."""
        if hasattr(self._asked, "warm_up"):
            self._asked.warm_up()

    def to_dict(self) -> dict[str, Any]:
        """As Haystack stores components."""
        inner = serialization.component_to_dict(self.inner, "inner")
        return default_to_dict(self, inner=inner, options=to_json(self.options))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make it again."""
        deserialize_component_inplace(data["init_parameters"], key="inner")
        data["init_parameters"]["options"] = from_json(data["init_parameters"].get("options") or {})
        return default_from_dict(cls, data)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.options)

    async def _arun(self, **given: Any) -> dict[str, Any]:
        if hasattr(self._asked, "run_async"):
            return await self._asked.run_async(**given)
        return await asyncio.to_thread(self._asked.run, **given)

    def _ask(self, request: Request) -> Answer:
        raise NotImplementedError

    async def _aask(self, request: Request) -> Answer:
        raise NotImplementedError


@component
class UnabridgedTextEmbedder(_Embedder):
    """A text embedder for texts of any length, around another one."""

    @component.output_types(embedding=list[float], meta=dict[str, Any])
    def run(self, text: str) -> dict[str, Any]:
        """Embed one text."""
        if not isinstance(text, str):
            return self._asked.run(text=text)
        return self._bridge.run([text], lambda: self._asked.run(text=text), _text_output)

    @component.output_types(embedding=list[float], meta=dict[str, Any])
    async def run_async(self, text: str) -> dict[str, Any]:
        """As :meth:`run`."""
        if not isinstance(text, str):
            return await self._arun(text=text)
        return await self._bridge.arun([text], lambda: self._arun(text=text), _text_output)

    def _ask(self, request: Request) -> Answer:
        return _texts_answer([self._asked.run(text=text) for text in request.texts])

    async def _aask(self, request: Request) -> Answer:
        return _texts_answer([await self._arun(text=text) for text in request.texts])


@component
class UnabridgedDocumentEmbedder(_Embedder):
    """A document embedder for documents of any length, around another one. Documents are never changed."""

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Embed documents: new ones come back, with their vectors."""
        texts = self._texts(documents)
        if texts is None:
            return self._asked.run(documents=documents)
        try:
            return self._bridge.run(
                texts,
                lambda: self._asked.run(documents=[replace(d) for d in documents]),
                lambda made: _documents_output(made, documents),
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
            return await self._arun(documents=documents)
        try:
            return await self._bridge.arun(
                texts,
                lambda: self._arun(documents=[replace(d) for d in documents]),
                lambda made: _documents_output(made, documents),
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

    def _ask(self, request: Request) -> Answer:
        return _documents_answer(
            self._asked.run(documents=[Document(content=text) for text in request.texts])
        )

    async def _aask(self, request: Request) -> Answer:
        return _documents_answer(
            await self._arun(documents=[Document(content=text) for text in request.texts])
        )


def _tokens(output: Mapping[str, Any]) -> int | None:
    usage = (output.get("meta") or {}).get("usage") or {}
    return usage.get("total_tokens") or None


def _texts_answer(outputs: list[dict[str, Any]]) -> Answer:
    counts = [_tokens(output) for output in outputs]
    tokens = None if None in counts else sum(filter(None, counts))
    return Answer([output["embedding"] for output in outputs], tokens=tokens, sample=outputs[-1])


def _documents_answer(output: dict[str, Any]) -> Answer:
    return Answer([d.embedding for d in output["documents"]], tokens=_tokens(output), sample=output)


def _meta(made: Outcome) -> dict[str, Any]:
    meta = dict((made.sample or {}).get("meta") or {})
    return {
        **meta,
        "usage": {"prompt_tokens": made.tokens, "total_tokens": made.tokens},
        "unabridged": made.report,
    }


def _text_output(made: Outcome) -> dict[str, Any]:
    return {"embedding": made.vectors[0].tolist(), "meta": _meta(made)}


def _documents_output(made: Outcome, documents: list[Document]) -> dict[str, Any]:
    new = [replace(d, embedding=row) for d, row in zip(documents, made.vectors.tolist(), strict=True)]
    return {"documents": new, "meta": _meta(made)}
