"""OpenAI's embeddings dialect, which most servers speak: vLLM, LM Studio, llama.cpp, TEI, and many hosts.

Text is sent as text, never as token ids: another host has another vocabulary (case 25). Vectors are
asked for as base64 of float32, which costs a server and a client far less than lists of decimals,
and taken as lists from a server that does not know it.
Source: https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from unabridged.providers.http import Call
from unabridged.providers.remote import HttpOptions, HttpProvider
from unabridged.types import Reply

if TYPE_CHECKING:
    from unabridged.errors import ProviderError
    from unabridged.providers.http import Answer
    from unabridged.types import Request

__all__ = ["OpenAIProvider", "embedding_items", "total_tokens"]

_ROUTE = "/embeddings"


class OpenAIProvider(HttpProvider):
    """Any endpoint that speaks ``POST {base_url}/embeddings``.

    ``organization`` and ``project`` are OpenAI's own headers; ``base64=False`` asks for decimals
    from the start. With a ``base_url`` of your own a key is optional.

    >>> OpenAIProvider("text-embedding-3-small", api_key="sk-1", base_url="http://localhost:8000/v1")
    OpenAIProvider('text-embedding-3-small', host='localhost:8000')
    """

    name = "openai"
    default_url: str | None = "https://api.openai.com/v1"
    key_variables: tuple[str, ...] = ("OPENAI_API_KEY",)
    url_variables: tuple[str, ...] = ("OPENAI_BASE_URL",)

    def __init__(
        self,
        model: str | None = None,
        *,
        organization: str | None = None,
        project: str | None = None,
        base64: bool = True,
        **options: Unpack[HttpOptions],
    ) -> None:
        own = {"openai-organization": organization, "openai-project": project}
        headers = {name: value for name, value in own.items() if value}
        options["headers"] = {**headers, **(options.get("headers") or {})}
        super().__init__(model, **options)
        self._base64 = base64
        self._understood = False

    def call(self, request: Request) -> Call:
        """``input`` is always a list of strings."""
        body: dict[str, Any] = {"model": self.model, "input": list(request.texts)}
        if request.dimensions is not None:
            body["dimensions"] = request.dimensions
        if self._base64:
            body["encoding_format"] = "base64"
        whole = self.http.address.path.endswith(_ROUTE)  # the full address was given
        return Call("" if whole else _ROUTE, body={**body, **self._body})

    def read(self, request: Request, answer: Answer) -> Reply:
        """``data[i].embedding`` in the order of ``data[i].index``."""
        vectors = self.vectors(request, answer, embedding_items(answer.data))
        self._understood = True
        return Reply(vectors, total_tokens(answer.data), answer.data.get("model"))

    def adapt(self, request: Request, error: ProviderError) -> bool:
        """Leave out ``encoding_format`` for a server that does not know it."""
        if super().adapt(request, error):
            return True
        unclear = error.fault.kind in {"bad_request", "unknown", "wrong_shape"} or _names_format(error.body)
        if self._base64 and unclear and not self._understood and error.fault.status in {400, 422}:
            self._base64 = False
            return True
        return False


def _names_format(body: object) -> bool:
    """Whether a refusal speaks of the format, whatever else it seems to say."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)
    return any(word in text for word in ("encoding_format", "embedding_type", "base64"))


def embedding_items(data: Any) -> list[tuple[object, object]] | None:
    """``(index, embedding)`` of each entry of ``data``, or ``None`` where there is no such list."""
    entries = data.get("data") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    return [(entry.get("index"), entry.get("embedding")) for entry in entries]


def total_tokens(data: Any) -> int | None:
    """``usage.total_tokens``, or ``prompt_tokens`` where a server gives that alone."""
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return None
    counts = (usage.get(name) for name in ("total_tokens", "prompt_tokens"))
    return next((count for count in counts if type(count) is int and count > 0), None)
