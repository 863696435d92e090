"""pydantic-ai: any embedding model, as a wrapper model of its own kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, WrapperEmbeddingModel
from pydantic_ai.usage import RequestUsage

from unabridged.adapters.bridge import Bridges, Outcome
from unabridged.adapters.client import Answer, ClientProvider
from unabridged.adapters.identity import host_of
from unabridged.adapters.shapes import listed, texts_of
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.embeddings import EmbeddingSettings
    from pydantic_ai.embeddings.result import EmbedInputType

    from unabridged.types import Request

__all__ = ["UnabridgedEmbeddingModel", "wrapped"]


def wrapped(model: EmbeddingModel, options: Mapping[str, Any]) -> UnabridgedEmbeddingModel:
    """The model, for texts of any length."""
    return UnabridgedEmbeddingModel(model, **options)


class UnabridgedEmbeddingModel(WrapperEmbeddingModel):
    """An embedding model for texts of any length, around another one (or its name)."""

    def __init__(self, wrapped: EmbeddingModel | str, **options: Any) -> None:
        super().__init__(wrapped)
        self._bridges = Bridges(options)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self.wrapped, self._bridges.options)

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        input_type: EmbedInputType,
        settings: EmbeddingSettings | None = None,
    ) -> EmbeddingResult:
        """Embed one text or several."""
        given = listed(inputs)
        several = texts_of(given)

        async def direct(texts: Any = given) -> EmbeddingResult:
            return await self.wrapped.embed(texts, input_type=input_type, settings=settings)

        if several is None:
            return await direct()

        async def aask(request: Request) -> Answer:
            result = await direct(list(request.texts))
            return Answer(result.embeddings, tokens=result.usage.input_tokens or None, sample=result)

        def build(made: Outcome) -> EmbeddingResult:
            return self._result(made, several, input_type)

        key = repr((input_type, sorted((settings or {}).items())))
        known = await self.wrapped.max_input_tokens()
        bridge = self._bridges.at(
            key,
            lambda: ClientProvider(
                name=self.wrapped.system,
                model=self.wrapped.model_name,
                host=host_of(self.wrapped.base_url, self.wrapped.system),
                aask=aask,
                limit=None if known is None else Limit(input_tokens=known),
                settings={"arguments": key},
            ),
        )
        return await bridge.arun(several, direct, build, role=input_type)

    async def max_input_tokens(self) -> int | None:
        """There is none."""
        return None

    def _result(self, made: Outcome, texts: Sequence[str], input_type: EmbedInputType) -> EmbeddingResult:
        fields: dict[str, Any] = {
            "embeddings": made.vectors.tolist(),
            "inputs": list(texts),
            "usage": RequestUsage(input_tokens=made.tokens),
        }
        sample = made.sample
        details = {**(getattr(sample, "provider_details", None) or {}), "unabridged": dict(made.report)}
        if sample is not None:
            return replace(sample, **fields, provider_details=details)
        return EmbeddingResult(
            **fields,
            provider_details=details,
            input_type=input_type,
            model_name=self.wrapped.model_name,
            provider_name=self.wrapped.system,
        )
