"""The vocabulary: frozen dataclasses and Protocols that all floors share.

Offsets are in characters (Python's code points) unless a name says bytes; bytes are those of the
UTF-8 form. Vectors are float32 arrays of shape ``(width,)`` or ``(texts, width)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Vectors = NDArray[np.float32]

__all__ = [
    "OVERFLOWS",
    "Chunk",
    "ChunkSet",
    "Fault",
    "FaultKind",
    "Limit",
    "Provider",
    "Reply",
    "Request",
    "Role",
    "Scope",
    "Span",
    "Tokenizer",
    "Unit",
    "Usage",
]

Role = Literal["document", "query"]
Scope = Literal["input", "request"]
Unit = Literal["tokens", "chars", "bytes", "inputs", "tokens/min", "requests/min"]
FaultKind = Literal[
    "input_overflow",
    "request_overflow",
    "batch_count",
    "rate_limit",
    "rate_limit_impossible",
    "quota",
    "overloaded",
    "auth",
    "model_not_found",
    "invalid_dimensions",
    "output_budget",
    "empty_input",
    "wrong_shape",
    "bad_values",
    "bad_reply",
    "upstream_error",
    "bad_request",
    "timeout",
    "unknown",
]
# Something of the request is too large: fewer or shorter texts would pass.
OVERFLOWS: frozenset[FaultKind] = frozenset(("input_overflow", "request_overflow", "batch_count"))


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters, ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, and where it came from.

    ``text`` is what a model reads; it equals ``document[start:end]`` unless a segmenter added
    something (a heading, a context line), and then ``source`` holds the slice itself.
    """

    index: int
    start: int
    end: int
    start_byte: int
    end_byte: int
    text: str = field(repr=False)
    tokens: int
    overlap_tokens: int = 0
    page: int | None = None
    section: str | None = None
    block_id: str | None = None
    source: str | None = field(default=None, repr=False)

    @property
    def chunk_id(self) -> int:
        """Its number among its siblings, from 1."""
        return self.index + 1

    @property
    def source_text(self) -> str:
        """``document[start:end]``: what a quotation is checked against."""
        return self.text if self.source is None else self.source


@dataclass(frozen=True, slots=True)
class ChunkSet(Sequence[Chunk]):
    """The chunks of one document, in order, and how they were made (SPEC S17).

    ``method`` shows a fallback (``"page->paragraph"``); ``cap`` is the token limit that held;
    ``extra`` has the segmenter's own counts; ``trace`` the model calls; ``warnings`` what was
    corrected or dropped.
    """

    chunks: tuple[Chunk, ...]
    method: str
    cap: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    trace: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @overload
    def __getitem__(self, at: int) -> Chunk: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Chunk, ...]: ...
    def __getitem__(self, at: int | slice) -> Chunk | tuple[Chunk, ...]:
        """One chunk, or a tuple of them."""
        return self.chunks[at]

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self.chunks)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost. ``tokens`` are as the provider bills them, or counted here if it does not say."""

    tokens: int = 0
    requests: int = 0
    chunks: int = 0
    cached: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Limit:
    """What a provider takes. ``None`` means: no such limit is known.

    >>> Limit(input_tokens=8192).tighten(Limit(input_tokens=512, request_inputs=64)).input_tokens
    512
    """

    input_tokens: int | None = None
    input_chars: int | None = None
    input_bytes: int | None = None
    request_inputs: int | None = None
    request_tokens: int | None = None
    request_bytes: int | None = None

    def tighten(self, other: Limit) -> Limit:
        """The smaller of each two; a number beats ``None``."""
        smaller = {}
        for name in (f.name for f in fields(self)):
            both = [v for v in (getattr(self, name), getattr(other, name)) if v is not None]
            smaller[name] = min(both) if both else None
        return replace(self, **smaller)


@dataclass(frozen=True, slots=True)
class Fault:
    """A provider's refusal, classified.

    ``limit``, ``actual`` and ``excess`` are in ``unit``; ``indices`` are positions in the request
    that was refused; ``retry_after`` is in seconds; ``confidence`` is between 0 and 1.
    """

    kind: FaultKind
    scope: Scope = "request"
    limit: int | None = None
    actual: int | None = None
    excess: int | None = None
    unit: Unit | None = None
    indices: tuple[int, ...] = ()
    retry_after: float | None = None
    confidence: float = 1.0
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One raw request to an embeddings model: texts that are known to fit, and how to read them.

    ``timeout`` is the time left, in seconds, until the caller's deadline.
    """

    texts: tuple[str, ...] = field(repr=False)
    role: Role = "document"
    dimensions: int | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """A checked answer: ``vectors[i]`` belongs to ``request.texts[i]``.

    ``tokens`` is the provider's own count, ``unknown`` the share (0 … 1) of unknown tokens in each
    text where the tokenizer tells, ``model`` the name that the provider reports.
    """

    vectors: Vectors = field(repr=False)
    tokens: int | None = None
    model: str | None = None
    unknown: tuple[float, ...] | None = None
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Tokenizer(Protocol):
    """Anything that can count the tokens of a text, roughly additive over words."""

    def count(self, text: str) -> int:
        """How many tokens ``text`` costs."""
        ...


class Provider(Protocol):
    """One raw request to one model. It knows its dialect; it has no policy: no retry, no cut, no cache.

    A refusal is raised as :class:`~unabridged.errors.ProviderError` with its fault.
    """

    @property
    def name(self) -> str:
        """The dialect: ``openai``, ``ollama``, ``local`` and so on."""
        ...

    @property
    def host(self) -> str:
        """Where requests go, without a key: ``api.openai.com``, ``localhost:11434``, ``process``."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the provider spells it."""
        ...

    @property
    def limit(self) -> Limit:
        """What one request may hold, as far as it is known beforehand."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """What else changes the vectors (revision, prompts, normalisation): part of the fingerprint."""
        ...

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's own tokenizer where it is at hand, else ``None``."""
        ...

    def send(self, request: Request) -> Reply:
        """Send one request and check its reply."""
        ...

    async def asend(self, request: Request) -> Reply:
        """The same, for async callers."""
        ...

    def close(self) -> None:
        """Give back connections, threads and files."""
        ...

    async def aclose(self) -> None:
        """The same, for async callers."""
        ...
