"""Mistral: OpenAI's dialect without base64, the width under another name.

Source: https://docs.mistral.ai/api/#tag/embeddings
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from unabridged.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from unabridged.providers.http import Call
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request

__all__ = ["MistralProvider"]


class MistralProvider(OpenAIProvider):
    """Mistral's models.

    >>> MistralProvider("mistral-embed", api_key="key-1")
    MistralProvider('mistral-embed', host='api.mistral.ai')
    """

    name = "mistral"
    default_url = "https://api.mistral.ai/v1"
    key_variables = ("MISTRAL_API_KEY",)
    url_variables = ()

    def __init__(self, model: str | None = None, **options: Unpack[HttpOptions]) -> None:
        super().__init__(model, base64=False, **options)

    def call(self, request: Request) -> Call:
        """``output_dimension`` instead of ``dimensions``."""
        call = super().call(replace(request, dimensions=None))
        if request.dimensions is None:
            return call
        return replace(call, body={"output_dimension": request.dimensions, **call.body})
