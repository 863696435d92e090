"""``semantic``: cut where the meaning of neighbouring windows differs most (SPEC S10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unabridged.errors import ConfigError
from unabridged.text.segmenters.models import LimitReached
from unabridged.text.segmenters.paragraph import segment_paragraph
from unabridged.text.segmenters.pieces import Cut, pack_window
from unabridged.text.sentences import sentences
from unabridged.types import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.models import Embed
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["segment_semantic"]

_BATCH = 256  # windows in one call of the embedder


def segment_semantic(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """Windows of ``semantic_window`` sentences; cuts at distances over the ``semantic_percentile``."""
    size, percentile = _settings(spec)
    if tools.embed is None:
        return _fallback(document, spec, tools, "no embedder was given")
    ends = [*sentences(document.text), len(document.text)]
    ends = [*ends[size - 1 :: size]] if len(ends) % size == 0 else [*ends[size - 1 :: size], ends[-1]]
    try:
        distances = _distances(document.text, ends, tools, tools.embed)
    except LimitReached as reached:
        return _fallback(document, spec, tools, str(reached))
    cuts = [0, *_strongest(ends, distances, percentile), len(document.text)]
    spans: list[Span] = []
    for start, end in zip(cuts, cuts[1:], strict=False):  # noqa: RUF007
        spans += pack_window(
            document.text, tools.costs, (start, end), spec.max_tokens,
            overlap=spec.overlap_tokens, minimum=spec.min_tokens,
        )  # fmt: skip
    spans = _merged(spans, spec, tools)
    return Cut(spans, {"embedding_source": tools.embed.source, "windows": len(ends), "cuts": len(cuts) - 2})


def _settings(spec: SegmentSpec) -> tuple[int, float]:
    size, percentile = spec.get("semantic_window", 2), spec.get("semantic_percentile", 90)
    if not isinstance(size, int) or size < 1:
        raise ConfigError("semantic_window", "expected a whole number of sentences from 1")
    if not isinstance(percentile, (int, float)) or not 0 <= percentile <= 100:
        raise ConfigError("semantic_percentile", "expected a number between 0 and 100")
    return size, float(percentile)


def _fallback(document: Document, spec: SegmentSpec, tools: Tools, reason: str) -> Cut:
    why = f"semantic: {reason}; paragraphs were packed instead"
    return Cut(segment_paragraph(document, spec, tools).pieces, method="semantic->paragraph", fell_back=(why,))


def _distances(text: str, ends: list[int], tools: Tools, embed: Embed) -> NDArray[np.float64]:
    """1 − cosine of each two neighbouring windows, a batch at a time: only the last vector is kept."""
    starts = [0, *ends[:-1]]
    found: list[NDArray[np.float64]] = []
    before: NDArray[np.float64] | None = None
    for at in range(0, len(ends), _BATCH):
        windows = [
            text[a:b].strip() or "." for a, b in zip(starts[at : at + _BATCH], ends[at : at + _BATCH], strict=True)
        ]
        vectors = tools.models.embed("segment.semantic", embed, windows).astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        row = vectors if before is None else np.vstack((before, vectors))
        found.append(1.0 - np.einsum("ij,ij->i", row[:-1], row[1:]))
        before = vectors[-1:]
    return np.concatenate(found) if found else np.zeros(0)


def _strongest(ends: list[int], distances: NDArray[np.float64], percentile: float) -> list[int]:
    if not len(distances):
        return []
    over = np.flatnonzero(distances > np.percentile(distances, percentile))
    return [ends[at] for at in over.tolist()]


def _merged(spans: list[Span], spec: SegmentSpec, tools: Tools) -> list[Span]:
    """A chunk under the minimum goes to the one before it where both fit (SPEC S6)."""
    merged: list[Span] = []
    for span in spans:
        small = merged and tools.costs.between(span.start, span.end) < spec.min_tokens
        if small and tools.costs.between(merged[-1].start, span.end) <= spec.max_tokens:
            merged[-1] = Span(merged[-1].start, span.end)
        else:
            merged.append(span)
    return merged
