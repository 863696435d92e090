"""Haystack components around others: the inner one's calls, and how both are stored."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from haystack import Document, default_from_dict, default_to_dict
from haystack.core import serialization
from haystack.utils.deserialization import deserialize_component_inplace

from unabridged.adapters.bridge import Bridge, Outcome
from unabridged.adapters.client import Answer, ClientProvider, verified
from unabridged.adapters.identity import identity_of, own_limit
from unabridged.adapters.options import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from unabridged.types import Request

__all__ = ["Stored", "checked", "documents_answer", "documents_output", "text_output", "texts_answer"]


class Stored:
    """What both have: the inner component, its bridge, and how they are stored."""

    ask: Callable[[Request], Answer]
    aask: Callable[[Request], Awaitable[Answer]]

    def __init__(self, inner: Any, options: dict[str, Any] | None = None) -> None:
        self.inner = inner
        self.options = dict(options or {})
        self.asked = copy.copy(inner)
        if hasattr(inner, "raise_on_failure"):
            self.asked.raise_on_failure = True  # a refusal that is only logged could not be understood
        identity, (limit, tokenizer) = identity_of(inner), own_limit(inner)
        provider = ClientProvider(
            name=identity.name,
            model=identity.model or type(inner).__name__,
            host=identity.host,
            ask=self.ask,
            aask=self.aask,
            limit=limit,
            tokenizer=tokenizer,
        )
        self.bridge = Bridge(provider, self.options)

    def warm_up(self) -> None:
        """Let the inner component get ready."""
        if hasattr(self.asked, "warm_up"):
            self.asked.warm_up()

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

    async def arun(self, **given: Any) -> dict[str, Any]:
        """Run the inner component without blocking."""
        if hasattr(self.asked, "run_async"):
            return await self.asked.run_async(**given)
        return await asyncio.to_thread(self.asked.run, **given)


def checked(output: dict[str, Any], texts: Sequence[str], name: str) -> dict[str, Any]:
    """The inner component's own output, if it holds a vector for each text."""
    rows = [d.embedding for d in output["documents"]] if "documents" in output else [output["embedding"]]
    verified(rows, texts, name)
    return output


def _tokens(output: Mapping[str, Any]) -> int | None:
    usage = (output.get("meta") or {}).get("usage") or {}
    return usage.get("total_tokens") or None


def texts_answer(outputs: list[dict[str, Any]]) -> Answer:
    """What was embedded one by one."""
    counts = [_tokens(output) for output in outputs]
    tokens = None if None in counts else sum(filter(None, counts))
    return Answer([output["embedding"] for output in outputs], tokens=tokens, sample=outputs[-1])


def documents_answer(output: dict[str, Any]) -> Answer:
    """What was embedded together."""
    return Answer([d.embedding for d in output["documents"]], tokens=_tokens(output), sample=output)


def _meta(made: Outcome) -> dict[str, Any]:
    meta = dict((made.sample or {}).get("meta") or {})
    return {
        **meta,
        "usage": {"prompt_tokens": made.tokens, "total_tokens": made.tokens},
        "unabridged": made.report,
    }


def text_output(made: Outcome) -> dict[str, Any]:
    """As a text embedder answers."""
    return {"embedding": made.vectors[0].tolist(), "meta": _meta(made)}


def documents_output(made: Outcome, documents: list[Document]) -> dict[str, Any]:
    """As a document embedder answers: new documents."""
    new = [replace(d, embedding=row) for d, row in zip(documents, made.vectors.tolist(), strict=True)]
    return {"documents": new, "meta": _meta(made)}
