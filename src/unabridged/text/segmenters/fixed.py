"""``fixed``: windows of equal size, whatever the text says. The control that others are measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.text.boundaries import Words
from unabridged.text.engine import Meter, pack
from unabridged.text.segmenters.pieces import Cut

if TYPE_CHECKING:
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["segment_fixed"]


def segment_fixed(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """Each window as full as whole words allow; ``min_tokens`` is ignored (SPEC S6)."""
    text = document.text
    meters = [Meter(tools.costs, spec.max_tokens)]
    return Cut(pack(text, meters, None, (Words(text),), overlap=spec.overlap_tokens))
