"""A document's pieces -> its one vector, and what is said of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from unabridged.embedding.cache import Entry
from unabridged.embedding.pooling import dispersion, pool, pool_sections
from unabridged.embedding.results import TextResult, unique_tokens
from unabridged.errors import InputError
from unabridged.text.sections import group_chunks
from unabridged.types import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unabridged.embedding.pieces import Document, Piece
    from unabridged.embedding.pooling import Pooling
    from unabridged.embedding.results import Status
    from unabridged.embedding.settings import Settings
    from unabridged.types import Vector, Vectors

__all__ = ["outcome", "pooled"]

_log = logging.getLogger("unabridged")

# A mean of n unit vectors keeps √((1+(n-1)ρ)/n) of their length (FINDINGS §2): from eight chunks on, a mean
# cosine ρ under this leaves less than half of it.
_MANY_CHUNKS = 8
_LITTLE_IN_COMMON = 0.15


def _complete(document: Document) -> bool:
    """Whether all of a document's vectors are there."""
    if document.error is not None:
        return False
    return document.entry is not None or (bool(document.pieces) and all(p.vector is not None for p in document.pieces))


def pooled(document: Document, settings: Settings) -> Entry | None:
    """The document's entry: as it was cached, or pooled now; ``None`` if it is not complete."""
    if document.entry is not None or not _complete(document):
        return document.entry if document.error is None else None
    if not document.cut:
        piece = document.pieces[0]
        assert piece.vector is not None  # noqa: S101
        return Entry(piece.vector, document.tokens, None, piece.unknown)
    rows = _rows(document)
    unknown = _unknown_share(document.pieces)
    spans = _spans(document, settings)
    vector = _one(document.text, rows, spans, settings.pool_as)
    _log.info("Document embedded as %d averaged chunks", len(rows))
    return Entry(vector, document.tokens, dispersion(rows), unknown, spans)


def _one(text: str, rows: Vectors, spans: NDArray[np.int64], how: Pooling) -> Vector:
    if how != "hierarchical":
        return pool(rows, unique_tokens(spans), how)
    sections = group_chunks(text, [Span(start, end) for start, end, *_ in spans.tolist()])
    return pool(pool_sections(rows, sections), [section.weight for section in sections])


def outcome(document: Document, entry: Entry | None, settings: Settings, *, chunk_vectors: bool) -> TextResult:
    """What the caller is told of a document."""
    at = document.indices[0]
    if entry is None:
        error = document.error or InputError(f"text {at}: no vector came back")
        return TextResult(at, "failed", tokens=document.tokens, error=error)
    status: Status = "truncated" if document.truncated else ("chunked" if document.cut else "ok")
    rows = _rows(document) if document.pieces and (chunk_vectors or settings.pooling == "none") else None
    return TextResult(
        at,
        status,
        vector=None if settings.pooling == "none" and document.cut else entry.vector.copy(),
        tokens=document.tokens,
        cached=all(p.cached for p in document.pieces),
        dispersion=entry.dispersion,
        unknown_share=entry.unknown,
        chunk_vectors=rows,
        spans=entry.spans,
        text=document.text,
        warnings=_warnings(document, entry),
    )


def _rows(document: Document) -> NDArray[np.float32]:
    return np.stack([p.vector for p in document.pieces if p.vector is not None])


def _spans(document: Document, settings: Settings) -> NDArray[np.int64]:
    rows, before = [], 0
    for piece in document.pieces:
        shared = document.text[piece.span.start : before]
        overlap = settings.count(shared) if shared else 0
        rows.append((piece.span.start, piece.span.end, piece.tokens, overlap))
        before = piece.span.end
    return np.array(rows, np.int64)


def _unknown_share(pieces: Sequence[Piece]) -> float | None:
    known = [(p.unknown, p.tokens) for p in pieces if p.unknown is not None]
    total = sum(tokens for _, tokens in known)
    return sum(share * tokens for share, tokens in known) / total if total else None


def _warnings(document: Document, entry: Entry) -> tuple[str, ...]:
    at, said = document.indices[0], []
    if document.truncated and document.pieces:
        end = document.pieces[-1].span.end
        said.append(f"text {at}: cut off at character {end} of {len(document.text)} (on_overflow='truncate')")
    chunks = 0 if entry.spans is None else len(entry.spans)
    if chunks >= _MANY_CHUNKS and entry.dispersion is not None and entry.dispersion < _LITTLE_IN_COMMON:
        said.append(
            f"text {at}: its {chunks} chunks have little in common (mean cosine {entry.dispersion:.2f}); "
            "one vector says little about it: ask for chunk_vectors"
        )
    return tuple(said)
