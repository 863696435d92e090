"""``page``: one chunk a page; forms, invoices, records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.text.segmenters.paragraph import segment_paragraph
from unabridged.text.segmenters.pieces import Cut, pack_window
from unabridged.types import Span

if TYPE_CHECKING:
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["segment_page"]


def segment_page(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """A page over the cap is split and counted; without pages the paragraphs are packed (SPEC S8)."""
    pages = list(_pages(document))
    if not pages:
        why = "page: the document has no page numbers; paragraphs were packed instead"
        return Cut(segment_paragraph(document, spec, tools).pieces, method="page->paragraph", fell_back=(why,))
    spans: list[Span] = []
    over: list[int] = []
    for number, start, end in pages:
        if tools.costs.between(start, end) <= spec.max_tokens:
            spans.append(Span(start, end))
        else:
            over.append(number)
            spans += pack_window(
                document.text, tools.costs, (start, end), spec.max_tokens, ends=_block_starts(document)
            )
    shown = ", ".join(map(str, over[:10])) + (" …" if len(over) > 10 else "")
    notes = (f"page: {len(over)} over the cap of {spec.max_tokens} tokens and split: {shown}",) if over else ()
    return Cut(spans, {"pages_split": len(over)}, notes=notes)


def _pages(document: Document) -> list[tuple[int, int, int]]:
    """Each page's number and bounds; the bounds tile the text."""
    starts: list[tuple[int, int]] = []
    for block in document.blocks:
        if block.page is not None and (not starts or block.page != starts[-1][0]):
            starts.append((block.page, block.start if starts else 0))
    ends = [start for _, start in starts[1:]] + [len(document.text)] * bool(starts)
    return [(page, start, end) for (page, start), end in zip(starts, ends, strict=True)]


def _block_starts(document: Document) -> list[int]:
    return [block.start for block in document.blocks]
