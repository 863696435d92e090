"""Cohere, API version 2. ``truncate: NONE``: without it Cohere cuts the end of a long text silently.

Source: https://docs.cohere.com/reference/embed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.providers.http import Call
from unabridged.providers.remote import HttpProvider
from unabridged.types import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.providers.http import Answer
    from unabridged.types import Request, Role

__all__ = ["INPUT_TYPES", "CohereProvider"]

INPUT_TYPES: Mapping[Role, str] = {"document": "search_document", "query": "search_query"}


class CohereProvider(HttpProvider):
    """Cohere's embed models. The role is ``input_type``, the width ``output_dimension``.

    >>> CohereProvider("embed-v4.0", api_key="key-1")
    CohereProvider('embed-v4.0', host='api.cohere.com')
    """

    name = "cohere"
    default_url = "https://api.cohere.com/v2"
    key_variables = ("COHERE_API_KEY", "CO_API_KEY")
    url_variables = ("CO_API_URL",)

    def call(self, request: Request) -> Call:
        """``texts``, their role, and the switch against silent cuts."""
        body: dict[str, Any] = {
            "model": self.model,
            "texts": list(request.texts),
            "input_type": INPUT_TYPES[request.role],
            "embedding_types": ["float"],
            "truncate": "NONE",
        }
        if request.dimensions is not None:
            body["output_dimension"] = request.dimensions
        return Call("/embed", body={**body, **self._body})

    def read(self, request: Request, answer: Answer) -> Reply:
        """``embeddings.float`` in the order of the request."""
        vectors = self.vectors(request, answer, cohere_items(answer.data))
        meta = answer.data.get("meta") or {}
        return Reply(vectors, (meta.get("billed_units") or {}).get("input_tokens"))


def cohere_items(data: Any) -> list[tuple[object, object]] | None:
    """The rows of ``embeddings``, which newer models file under their type."""
    rows = data.get("embeddings") if isinstance(data, dict) else None
    if isinstance(rows, dict):
        rows = rows.get("float", rows.get("float_"))
    return [(None, row) for row in rows] if isinstance(rows, list) else None
