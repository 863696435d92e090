"""A provider's batch API: many requests in one file, answered within hours, at a lower price.

A batch goes through three calls (upload a file, create the batch, ask how it is), and ends with files of
answers in any order, told apart by an id. :class:`BatchApi` is what the three dialects have in common; it
has no policy: who waits, retries and remembers is :mod:`unabridged.jobs.batches`.
Sources: https://platform.openai.com/docs/guides/batch, https://ai.google.dev/gemini-api/docs/batch-api,
https://docs.voyageai.com/docs/batch-inference
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from unabridged.errors import ConfigError, ProviderError
from unabridged.providers.faults import classify, error_for
from unabridged.providers.replies import bad_reply
from unabridged.types import Fault, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from unabridged.providers.remote import HttpProvider
    from unabridged.types import Provider, Request

__all__ = [
    "BatchApi",
    "BatchItem",
    "BatchLimits",
    "BatchResult",
    "BatchState",
    "BatchStatus",
    "batch_api",
    "batch_discount",
    "json_rows",
    "refusal",
]

BatchStatus = Literal["running", "done", "expired", "cancelled", "failed"]

# Name of the provider -> where its batch API is, and the share of the price that is left.
_APIS: Mapping[str, tuple[str, str, float]] = {
    "openai": ("batches_openai", "OpenAIBatches", 0.5),
    "gemini": ("batches_gemini", "GeminiBatches", 0.5),
    "voyage": ("batches_openai", "VoyageBatches", 0.67),  # "a 33% discount"
}


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one batch may hold: requests (lines), inputs over all of them, and bytes of its file."""

    requests: int
    inputs: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One request of a batch and the id by which its answer is known. ``request`` is as it goes out."""

    id: str
    request: Request


@dataclass(frozen=True, slots=True)
class BatchState:
    """How a batch is: ``total``, ``completed`` and ``failed`` count requests; ``files`` hold answers.

    ``expires`` is in seconds since the epoch; ``fault`` says why it failed as a whole.
    """

    id: str
    status: BatchStatus
    total: int | None = None
    completed: int | None = None
    failed: int | None = None
    expires: float | None = None
    files: tuple[str, ...] = ()
    inline: Any = field(default=None, repr=False)
    error: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The answer to one request, or to the text ``at`` of it where each text is answered by itself."""

    id: str
    answer: Reply | ProviderError
    at: int | None = None


class BatchApi(Protocol):
    """One provider's batches. Every refusal is a :class:`~unabridged.errors.ProviderError` with its fault."""

    @property
    def limits(self) -> BatchLimits:
        """What one batch may hold."""
        ...

    def lines(self, item: BatchItem) -> list[bytes]:
        """The lines of the input file that stand for a request."""
        ...

    def upload(self, content: bytes, name: str) -> str:
        """Upload an input file; its id. An upload alone costs nothing."""
        ...

    def create(self, file: str, items: tuple[BatchItem, ...], *, key: str) -> BatchState:
        """Start a batch that can be found by ``key`` afterwards. From here on it costs money."""
        ...

    def find(self, key: str) -> BatchState | None:
        """The batch that was created with a key: whether a call that was never answered did arrive."""
        ...

    def check(self, batch: str) -> BatchState:
        """How a batch is now."""
        ...

    def cancel(self, batch: str) -> None:
        """Stop a batch; what is finished stays."""
        ...

    def results(self, state: BatchState, items: tuple[BatchItem, ...], folder: Path) -> Iterator[BatchResult]:
        """The answers of a batch that is over, in any order, but for requests that it did not reach.

        ``folder`` takes what is downloaded meanwhile.
        """
        ...

    def discard(self, files: tuple[str, ...]) -> None:
        """Delete files on the provider's side: they hold texts and vectors."""
        ...


def batch_api(provider: Provider) -> BatchApi:
    """The batch API behind a provider.

    Raises :class:`~unabridged.errors.ConfigError` for a provider that has none that is known here.

    >>> from unabridged.providers.registry import open_provider
    >>> batch_api(open_provider("openai/text-embedding-3-small", api_key="sk-123456")).limits.requests
    50000
    """
    from importlib import import_module

    known = _APIS.get(provider.name)
    if known is None:
        raise ConfigError("batch", f"{provider.name} has no batch API here; known are {', '.join(sorted(_APIS))}")
    module = import_module(f"unabridged.providers.{known[0]}")
    api: BatchApi = getattr(module, known[1])(provider)
    return api


def batch_discount(provider: str) -> float:
    """The share of the ordinary price that a batch costs; 1 where there is no batch API.

    >>> batch_discount("openai"), batch_discount("ollama")
    (0.5, 1.0)
    """
    known = _APIS.get(provider)
    return 1.0 if known is None else known[2]


def json_rows(path: Path, provider: str) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file, one at a time; a line that is none is an error with its number."""
    from pydantic_core import from_json

    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = from_json(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise bad_reply(f"line {number} of a file of answers is no JSON object", provider=provider)
            yield row


def refusal(status: int | None, body: Any, provider: HttpProvider, *, fallback: str) -> ProviderError:
    """What an error inside a batch means: classified as the same words in an ordinary reply would be."""
    fault = classify(status, body, provider=provider.name)
    if fault.kind == "unknown" and status is None:
        return ProviderError(f"{provider.name}: {fallback}", Fault("bad_request", confidence=0.5), body=body)
    return error_for(fault, body, provider=provider.name)
