"""Voyage AI. ``truncation: false``: without it Voyage cuts a long text silently.

Source: https://docs.voyageai.com/reference/embeddings-api
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from unabridged.providers.http import Call
    from unabridged.types import Request

__all__ = ["VoyageProvider"]


class VoyageProvider(OpenAIProvider):
    """Voyage's models. The role is ``input_type``, the width ``output_dimension``.

    >>> VoyageProvider("voyage-4", api_key="key-1")
    VoyageProvider('voyage-4', host='api.voyageai.com')
    """

    name = "voyage"
    default_url = "https://api.voyageai.com/v1"
    key_variables = ("VOYAGE_API_KEY",)
    url_variables = ()

    def call(self, request: Request) -> Call:
        """OpenAI's request, the width under another name, the role, and the switch against silent cuts."""
        call = super().call(replace(request, dimensions=None))
        own: dict[str, Any] = {"input_type": request.role, "truncation": False}
        if request.dimensions is not None:
            own["output_dimension"] = request.dimensions
        return replace(call, body={**own, **call.body})
