"""What an embedding call gives back: each text's outcome, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from unabridged.text.measure import utf8_length
from unabridged.types import Chunk, Span, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unabridged.types import Vector, Vectors

__all__ = ["EmbedResult", "Progress", "SectionVector", "Status", "TextResult"]

Status = Literal["ok", "chunked", "truncated", "skipped", "empty", "failed"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call is. ``tokens`` are as counted here; cached texts count as done."""

    texts: int
    texts_done: int
    tokens: int
    tokens_done: int
    requests: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class SectionVector:
    """The vector of ``text[start:end]``, one section of a text, float32 ``(width,)``."""

    title: str | None
    start: int
    end: int
    vector: Vector = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class TextResult:
    """The outcome of one text.

    ``vector`` has shape ``(width,)``, or is ``None`` where the text was skipped or failed, or the pooling
    is ``none``. ``spans`` has a row a chunk: start, end (characters), tokens, overlap tokens.
    ``dispersion`` is the mean pairwise cosine of the chunk vectors, ``unknown_share`` the share (0 … 1) of
    tokens that the model's vocabulary does not know.
    """

    index: int
    status: Status
    vector: Vector | None = field(default=None, repr=False)
    tokens: int = 0
    cached: bool = False
    dispersion: float | None = None
    unknown_share: float | None = None
    chunk_vectors: Vectors | None = field(default=None, repr=False)
    spans: NDArray[np.int64] | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)
    warnings: tuple[str, ...] = ()
    error: Exception | None = None

    @property
    def reason(self) -> str | None:
        """Why the text has no vector of its own, in words."""
        return None if self.error is None else str(self.error)

    @property
    def chunk_count(self) -> int:
        """How many pieces were embedded: 1 for a text that fits, 0 for one that was not sent."""
        if self.spans is not None:
            return len(self.spans)
        return int(self.status == "ok")

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The pieces, with their text and offsets in characters and bytes."""
        if self.spans is None:
            return ()
        made, at, at_byte = [], 0, 0
        for index, (start, end, tokens, overlap) in enumerate(self.spans.tolist()):
            at_byte += utf8_length(self.text[at:start]) if start >= at else -utf8_length(self.text[start:at])
            at = start
            piece = self.text[start:end]
            made.append(Chunk(index, start, end, at_byte, at_byte + utf8_length(piece), piece, tokens, overlap))
        return tuple(made)

    @property
    def sections(self) -> tuple[SectionVector, ...]:
        """A vector for each section of a text that was cut (SPEC L11); ask for ``chunk_vectors`` with the call.

        >>> from unabridged import Embedder
        >>> text = "# Salt\\n\\n" + "sea " * 9000 + "\\n\\n# Sand\\n\\n" + "dune " * 9000
        >>> with Embedder("hashing", cache=False) as embedder:
        ...     result = embedder.embed_detailed(text, chunk_vectors=True)[0]
        >>> [(section.title, section.vector.shape) for section in result.sections]
        [('Salt', (256,)), ('Sand', (256,))]
        """
        from unabridged.embedding.pooling import pool_sections
        from unabridged.text.sections import group_chunks

        if self.spans is None or self.chunk_vectors is None:
            return ()
        found = group_chunks(self.text, [Span(start, end) for start, end, *_ in self.spans.tolist()])
        rows = pool_sections(self.chunk_vectors, found) if found else ()
        return tuple(SectionVector(s.title, s.start, s.end, row) for s, row in zip(found, rows, strict=True))

    def max_similarity(self, query: Vector) -> float:
        """The best cosine between ``query`` and any chunk vector (SPEC L16); ask for them with the call."""
        rows = self.chunk_vectors if self.chunk_vectors is not None else self.vector
        if rows is None:
            raise ValueError(f"text {self.index} has no vectors: {self.status}")
        matrix = np.atleast_2d(rows).astype(np.float64)
        norms = np.linalg.norm(matrix, axis=1) * float(np.linalg.norm(query))
        return float((matrix @ query.astype(np.float64) / np.where(norms == 0, 1, norms)).max())


@dataclass(frozen=True, slots=True, eq=False)
class EmbedResult(Sequence[TextResult]):
    """Every text's outcome, in the order given, and what the call cost."""

    texts: tuple[TextResult, ...]
    usage: Usage
    width: int
    warnings: tuple[str, ...] = ()

    @overload
    def __getitem__(self, at: int) -> TextResult: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[TextResult, ...]: ...
    def __getitem__(self, at: int | slice) -> TextResult | tuple[TextResult, ...]:
        """One outcome, or a tuple of them."""
        return self.texts[at]

    def __len__(self) -> int:
        """How many texts there were."""
        return len(self.texts)

    @property
    def vectors(self) -> Vectors:
        """All vectors there are, float32 ``(n, width)``; texts that were skipped or failed have no row."""
        rows = [text.vector for text in self.texts if text.vector is not None]
        if not rows:
            return np.zeros((0, self.width), np.float32)
        return np.stack(rows).astype(np.float32, copy=False)

    @property
    def failed(self) -> tuple[TextResult, ...]:
        """The texts that have an error."""
        return tuple(text for text in self.texts if text.status == "failed")


def unique_tokens(spans: NDArray[np.int64]) -> list[int]:
    """The tokens that each chunk alone brings: its own less those it shares with the one before."""
    return [max(int(tokens) - int(overlap), 0) for _, _, tokens, overlap in spans]
