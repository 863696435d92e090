"""Jina AI. ``truncate: false`` is said, although it is the default: an over-long text is refused.

Source: https://api.jina.ai/redoc#tag/embeddings
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from unabridged.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.providers.http import Call
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request, Role

__all__ = ["JinaProvider"]

_TASKS: Mapping[Role, str] = {"document": "retrieval.passage", "query": "retrieval.query"}
_WITHOUT_TASKS = re.compile(r"-v[12](-|$)|^jina-clip-v1")


class JinaProvider(OpenAIProvider):
    """Jina's models. The role is ``task``, which models before v3 do not know.

    ``tasks`` names others by role (``{"query": "code.query", "document": "code.passage"}``);
    ``normalized`` is passed on.

    >>> JinaProvider("jina-embeddings-v3", api_key="key-1")
    JinaProvider('jina-embeddings-v3', host='api.jina.ai')
    """

    name = "jina"
    default_url = "https://api.jina.ai/v1"
    key_variables = ("JINA_API_KEY",)
    url_variables = ()

    def __init__(
        self,
        model: str | None = None,
        *,
        tasks: Mapping[Role, str] | None = None,
        normalized: bool = True,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, **options)
        self._tasks = tasks if tasks is not None else {} if _WITHOUT_TASKS.search(self.model) else _TASKS
        self._normalized = normalized

    @property
    def settings(self) -> Mapping[str, str]:
        """The tasks, and whether vectors are unit length."""
        tasks = {f"task.{role}": task for role, task in self._tasks.items()}
        return {**super().settings, **tasks, "normalized": str(self._normalized).lower()}

    def call(self, request: Request) -> Call:
        """OpenAI's request, with a type instead of a format, and a task."""
        call = super().call(request)
        body: dict[str, Any] = dict(call.body)
        body["embedding_type"] = "base64" if body.pop("encoding_format", None) else "float"
        body |= {"normalized": self._normalized, "truncate": False}
        if request.role in self._tasks:
            body["task"] = self._tasks[request.role]
        return replace(call, body={**body, **self._body})
