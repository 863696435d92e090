"""``paragraph``: the author's paragraphs, packed in order up to the cap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.text.packing import cut
from unabridged.text.segmenters.pieces import Cut

if TYPE_CHECKING:
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["segment_paragraph"]


def segment_paragraph(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """A paragraph is cut only if it alone is over the cap, then at sentences."""
    return Cut(
        cut(
            document.text,
            max_tokens=spec.max_tokens,
            overlap_tokens=spec.overlap_tokens,
            min_tokens=spec.min_tokens,
            costs=tools.costs,
        )
    )
