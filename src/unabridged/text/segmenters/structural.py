"""``structural``: headings are boundaries; a chunk never goes across one (SPEC S7).

Inside a section whole blocks are packed. A fence, a table row or a list item is not cut while a smaller cut
exists; a table that must be cut opens each further piece with its header, a section with its heading.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.text.documents.model import Block, Document, blocks_of
from unabridged.text.documents.plain import with_plain_headings
from unabridged.text.markdown import scan
from unabridged.text.segmenters.pieces import Cut, Piece, pack_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec
    from unabridged.types import Span

__all__ = ["segment_structural"]

_SEAM = 2  # tokens that an exact tokenizer may need more where a heading is put before a text


@dataclass(frozen=True, slots=True)
class _Section:
    """The blocks from one heading to the next; ``end`` is where the next begins, so sections tile the text."""

    start: int
    end: int
    blocks: Sequence[Block]


def segment_structural(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """Sections one after another, each packed on its own."""
    document = _structured(document)
    prefixed = spec.get("prefix_section", True)
    pieces: list[Piece | Span] = []
    for section in _sections(document):
        if tools.costs.between(section.start, section.end) <= spec.max_tokens:
            if document.text[section.start : section.end].strip():
                pieces.append(Piece(section.start, section.end))
        else:
            pieces.extend(_cut_section(document, section, spec, tools, prefixed=prefixed))
    return Cut(pieces, document=document)


def _structured(document: Document) -> Document:
    """With blocks, and with headings: a text's own where its reader found none."""
    if document.blocks and (
        document.format not in ("text", "pdf") or any(b.kind == "heading" for b in document.blocks)
    ):
        return document
    if document.blocks and document.format == "pdf":
        return document
    marks = with_plain_headings(document.text, scan(document.text))
    return Document(document.text, blocks_of(document.text, marks), document.format, document.source)


def _sections(document: Document) -> Iterator[_Section]:
    blocks = document.blocks
    heads = [at for at, block in enumerate(blocks) if block.kind == "heading"]
    firsts = sorted({0, *heads})
    lasts = [*firsts[1:], len(blocks)]
    for first, last in zip(firsts, lasts, strict=True):
        start = blocks[first].start if first else 0
        end = blocks[last].start if last < len(blocks) else len(document.text)
        if end > start:
            yield _Section(start, end, blocks[first:last])


def _cut_section(
    document: Document, section: _Section, spec: SegmentSpec, tools: Tools, *, prefixed: bool
) -> Iterator[Piece]:
    text = document.text
    prefix = _heading(text, section) if prefixed else ""
    header_room = _table_room(text, section, tools)
    head = section.blocks[0]
    room = tools.costs.between(head.start, head.end) + _SEAM if prefix else 0
    if room * 2 > spec.max_tokens:  # a heading longer than half of a chunk is not repeated
        prefix, room = "", 0
    if (room + header_room) * 2 > spec.max_tokens:
        header_room = 0
    cap = spec.max_tokens - room - header_room
    ends = _units(section, tools, cap)
    spans = pack_window(
        text, tools.costs, (section.start, section.end), cap,
        ends=ends, overlap=spec.overlap_tokens, minimum=spec.min_tokens,
    )  # fmt: skip
    for at, span in enumerate(spans):
        opening = prefix if at else ""
        if header_room:
            opening += _table_header(text, section, span)
        yield Piece(span.start, span.end, opening)


def _heading(text: str, section: _Section) -> str:
    """What each further chunk of a section opens with: its heading, or a long definition's first line."""
    first = section.blocks[0]
    if first.kind != "heading":
        return ""
    return " ".join(text[first.start : first.end].split("\n")).strip() + "\n\n" if first.level else ""


def _units(section: _Section, tools: Tools, cap: int) -> list[int]:
    """Where units end: at blocks, and inside a block over the cap at its own cuts."""
    ends: list[int] = []
    blocks = section.blocks
    # Sums at the blocks' edges, all at once: a token more or less at an edge decides nothing here.
    opens = tools.costs.many([block.start for block in blocks]).tolist()
    closes = tools.costs.many([block.end for block in blocks]).tolist()
    for at, block in enumerate(blocks):
        # A heading stays with what it heads, if both fit.
        if at and (blocks[at - 1].kind != "heading" or closes[at] - opens[at - 1] > cap):
            ends.append(block.start)
        if block.cuts and closes[at] - opens[at] > cap:
            ends.extend(block.cuts)
    return sorted(set(ends))


def _table_room(text: str, section: _Section, tools: Tools) -> int:
    rooms = [
        tools.tokenizer.count(text[block.start : block.head].strip() + "\n")
        for block in section.blocks
        if block.kind == "table" and block.head
    ]
    return max(rooms, default=0)


def _table_header(text: str, section: _Section, span: Span) -> str:
    """The header of the table that a chunk begins inside of, below the header."""
    starts = [block.start for block in section.blocks]
    at = bisect_right(starts, span.start) - 1
    block = section.blocks[at] if at >= 0 else None
    if block is None or block.kind != "table" or not block.head or not block.head <= span.start < block.end:
        return ""
    return text[block.start : block.head].strip("\n") + "\n"
