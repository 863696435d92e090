"""Ollama: its own route, the older one, and OpenAI's, told apart by what the server answers.

``truncate: false`` is always sent: without it Ollama cuts a long text silently (FINDINGS §4).
Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

from unabridged.errors import Overflow, ProviderError
from unabridged.providers.http import Call
from unabridged.providers.openai import embedding_items, total_tokens
from unabridged.providers.remote import HttpProvider
from unabridged.types import Fault, Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.providers.http import Answer
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request

__all__ = ["OllamaProvider"]

Route = Literal["/api/embed", "/api/embeddings", "/embeddings"]


class OllamaProvider(HttpProvider):
    """A model that an Ollama server has pulled.

    A ``base_url`` that ends in ``/v1`` speaks OpenAI's route. A server without ``/api/embed`` is asked
    on the older ``/api/embeddings`` from then on, which takes one text a request. ``num_ctx`` is the
    context to load the model with, in tokens; ``keep_alive`` how long it stays loaded (``"5m"``).

    >>> OllamaProvider("nomic-embed-text")
    OllamaProvider('nomic-embed-text', host='localhost:11434')
    """

    name = "ollama"
    default_url = "http://localhost:11434"
    key_variables = ("OLLAMA_API_KEY",)
    url_variables = ("OLLAMA_HOST",)
    needs_key = False

    def __init__(
        self,
        model: str | None = None,
        *,
        num_ctx: int | None = None,
        keep_alive: str | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, **options)
        given = self.http.address.path
        self._whole = given.endswith(("/api/embed", "/api/embeddings"))
        self._route: Route = "/api/embed"
        if given.endswith("/v1"):
            self._route = "/embeddings"
        elif given.endswith("/api/embeddings"):
            self._use_older_route()
        self._extra: dict[str, Any] = {}
        if num_ctx is not None:
            self._extra["options"] = {"num_ctx": num_ctx}
        if keep_alive is not None:
            self._extra["keep_alive"] = keep_alive

    @property
    def settings(self) -> Mapping[str, str]:
        """The older route does not normalise, so its vectors are others."""
        route = {"route": self._route} if self._route == "/api/embeddings" else {}
        return {**super().settings, **route}

    def call(self, request: Request) -> Call:
        """``input`` is a list, or ``prompt`` one text on the older route."""
        path = "" if self._whole else self._route
        body: dict[str, Any] = {"model": self.model, "truncate": False, **self._extra}
        if self._route == "/api/embeddings":
            if len(request.texts) != 1:
                raise _one_at_a_time(len(request.texts))
            return Call(path, body={**body, "prompt": request.texts[0], **self._body})
        if request.dimensions is not None:
            body["dimensions"] = request.dimensions
        return Call(path, body={**body, "input": list(request.texts), **self._body})

    def read(self, request: Request, answer: Answer) -> Reply:
        """``embeddings`` in the order of the request; ``embedding`` from the older route."""
        data = answer.data if isinstance(answer.data, dict) else {}
        if self._route == "/embeddings":
            items = embedding_items(data)
        elif self._route == "/api/embed":
            rows = data.get("embeddings")
            items = [(None, row) for row in rows] if isinstance(rows, list) else None
        else:
            items = [(None, data["embedding"])] if data.get("embedding") is not None else None
        tokens = total_tokens(data) or data.get("prompt_eval_count")
        return Reply(self.vectors(request, answer, items), tokens, data.get("model"))

    def adapt(self, request: Request, error: ProviderError) -> bool:
        """A 404 without JSON is a missing route; with JSON it is a missing model."""
        if super().adapt(request, error):
            return True
        missing = error.fault.status in {404, 405} and not _is_json(error.body)
        if missing and self._route == "/api/embed" and not self._whole:
            self._use_older_route()
            return True
        return False

    def _url(self, given: str | None) -> str:
        """``OLLAMA_HOST`` may be an address to listen on, without a scheme."""
        url = super()._url(given)
        if "://" not in url:
            url = f"http://{url}" if ":" in url else f"http://{url}:11434"
        return url.replace("//0.0.0.0", "//127.0.0.1", 1)

    def _use_older_route(self) -> None:
        self._route = "/api/embeddings"
        self.limit = self.limit.tighten(Limit(request_inputs=1))


def _one_at_a_time(inputs: int) -> Overflow:
    fault = Fault("batch_count", limit=1, actual=inputs, unit="inputs")
    return Overflow(f"ollama: the route /api/embeddings takes 1 text a request, not {inputs}", fault)


def _is_json(body: object) -> bool:
    text = body if isinstance(body, bytes | str) else ""
    return isinstance(body, dict) or text[:1] in {b"{", "{"}
