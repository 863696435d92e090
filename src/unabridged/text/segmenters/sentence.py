"""``sentence``: sentences, packed tightly: a chunk may begin and end inside a paragraph, never inside a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.text.engine import Meter, pack
from unabridged.text.segmenters.pieces import Cut, finest

if TYPE_CHECKING:
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["segment_sentence"]


def segment_sentence(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """The last sentence that fits ends a chunk; only a sentence over the cap is cut."""
    text = document.text
    meters = [Meter(tools.costs, spec.max_tokens)]
    spans = pack(text, meters, None, finest(text), overlap=spec.overlap_tokens, minimum=spec.min_tokens)
    return Cut(spans)
