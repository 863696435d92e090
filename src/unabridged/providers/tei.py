"""Text Embeddings Inference, its native route. ``truncate: false`` is said, although it is the default.

Source: https://huggingface.github.io/text-embeddings-inference/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from unabridged.providers.http import Call
from unabridged.providers.remote import HttpProvider
from unabridged.types import Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.providers.http import Answer
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request, Role

__all__ = ["TeiProvider", "rows_of"]


class TeiProvider(HttpProvider):
    """A server of one model; its name need not be given.

    ``prompt_names`` names the server's own prompts by role; ``normalize=False`` asks for raw vectors.
    :meth:`discover` asks the server for its model and its limits.

    >>> TeiProvider(base_url="http://localhost:8081")
    TeiProvider('default', host='localhost:8081')
    """

    name = "tei"
    default_url = "http://localhost:8080"
    default_model: str | None = "default"
    key_variables: tuple[str, ...] = ("TEI_API_KEY",)
    url_variables: tuple[str, ...] = ("TEI_URL",)
    needs_key = False

    def __init__(
        self,
        model: str | None = None,
        *,
        prompt_names: Mapping[Role, str] | None = None,
        normalize: bool = True,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, **options)
        self._prompt_names = dict(prompt_names or {})
        self._normalize = normalize

    @property
    def settings(self) -> Mapping[str, str]:
        """Prompts by name, and whether vectors are unit length."""
        names = {f"prompt_name.{role}": name for role, name in self._prompt_names.items()}
        return {**super().settings, **names, "normalized": str(self._normalize).lower()}

    def call(self, request: Request) -> Call:
        """``inputs``, and the switch against silent cuts."""
        return Call("/embed", body={**self._options(request), **self._body})

    def read(self, request: Request, answer: Answer) -> Reply:
        """A list of vectors in the order of the request; the tokens are in a header."""
        vectors = self.vectors(request, answer, rows_of(answer.data))
        counted = answer.headers.get("x-compute-tokens", "")
        return Reply(vectors, int(counted) if counted.isdigit() else None)

    def discover(self) -> Limit:
        """Ask the server's ``/info`` for its limits; they are in force from then on."""
        about = self.http.call(Call("/info", method="GET")).data
        said = Limit(
            input_tokens=about.get("max_input_length"),
            request_inputs=about.get("max_client_batch_size"),
            request_tokens=about.get("max_batch_tokens"),
        )
        self.model = about.get("model_id") or self.model
        self.limit = self.limit.tighten(said)
        return said

    def _options(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "inputs": list(request.texts),
            "normalize": self._normalize,
            "truncate": False,
        }
        if request.role in self._prompt_names:
            body["prompt_name"] = self._prompt_names[request.role]
        if request.dimensions is not None:
            body["dimensions"] = request.dimensions
        return body


def rows_of(data: Any) -> list[tuple[object, object]] | None:
    """The rows of a bare list of vectors."""
    return [(None, row) for row in data] if isinstance(data, list) else None
