"""Where a chunk comes from: its page, section and block, or ``None`` where that is not one (SPEC S4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.text.boundaries import paragraphs
from unabridged.text.markdown import heading_text, scan_marked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unabridged.text.documents.model import Document
    from unabridged.text.markdown import Mark
    from unabridged.text.scan import Scan
    from unabridged.types import Span

__all__ = ["Place", "Places"]

Place = tuple[int | None, str | None, str | None]
# Whether a text can have a Markdown heading at all: most prose cannot, and need not be scanned.
_HEADING_LINE = r" {0,3}(?:#{1,6}[ \t]|<[hH][1-6]|[=-]+[ \t\r]*(?:\n|\Z))"
_FIRST_HEADING, _MAYBE_HEADING = re.compile(_HEADING_LINE), re.compile(r"\n" + _HEADING_LINE)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Block starts, and for each block the number of its run of one page and of one section."""

    starts: NDArray[np.int64]
    ids: Sequence[str] | None
    pages: Sequence[int | None] | None
    sections: Sequence[str | None] | None
    page_runs: NDArray[np.int64]
    section_runs: NDArray[np.int64]

    @classmethod
    def of(cls, document: Document, scan: Scan | None = None) -> Places:
        """From the blocks; of a bare text, from its blank lines and headings."""
        blocks = document.blocks
        if blocks:
            pages = [block.page for block in blocks]
            paths = [block.path for block in blocks]
            names = [block.section for block in blocks]
            ids = [block.id for block in blocks]
            return cls._from([block.start for block in blocks], ids, pages, names, paths)
        text = document.text
        if not (_FIRST_HEADING.match(text) or _MAYBE_HEADING.search(text)):
            ends = paragraphs(text, scan)
            return cls._from([0, *ends[:-1].tolist()], None, None, None, None)
        marks = scan_marked(text)
        starts = _starts(text, marks, scan)
        heads = [mark for mark in marks if mark.kind == "heading"]
        runs = np.asarray([mark.start for mark in heads], np.int64).searchsorted(starts, "right")
        none = np.zeros(len(starts), np.int64)
        if len(starts):
            starts[0] = 0
        return cls(starts, None, None, _Titles(text, heads, runs, {0: None}), none, runs)

    @classmethod
    def _from(
        cls,
        starts: Sequence[int],
        ids: Sequence[str] | None,
        pages: Sequence[int | None] | None,
        sections: Sequence[str | None] | None,
        paths: Sequence[object] | None,
    ) -> Places:
        first = np.asarray(starts, np.int64)
        if len(first):
            first[0] = 0
        return cls(first, ids, pages, sections, _runs(pages, len(first)), _runs(paths, len(first)))

    def of_spans(self, spans: Sequence[Span]) -> list[Place]:
        """The place of each span."""
        if not len(self.starts):
            return [(None, None, None)] * len(spans)
        opens = self.starts.searchsorted([span.start for span in spans], "right") - 1
        closes = self.starts.searchsorted([span.end for span in spans], "left") - 1
        same_page = (self.page_runs[opens] == self.page_runs[closes]).tolist()
        same_section = (self.section_runs[opens] == self.section_runs[closes]).tolist()
        return [
            (
                self.pages[at] if self.pages and on_page else None,
                self.sections[at] if self.sections and in_section else None,
                (self.ids[at] if self.ids else str(at + 1)) if at == last else None,
            )
            for at, last, on_page, in_section in zip(
                opens.tolist(), closes.tolist(), same_page, same_section, strict=True
            )
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Titles(Sequence[str | None]):
    """The section of each block, its title read from the text only when asked for."""

    text: str
    heads: Sequence[Mark]
    runs: NDArray[np.int64]
    known: dict[int, str | None]

    def __getitem__(self, at: Any) -> Any:
        number = int(self.runs[at])
        if number not in self.known:
            self.known[number] = heading_text(self.text, self.heads[number - 1]) or None
        return self.known[number]

    def __len__(self) -> int:
        return len(self.runs)


def _starts(text: str, marks: Sequence[Mark], scan: Scan | None) -> NDArray[np.int64]:
    """Where blocks start: those that are marked, what follows each, and paragraphs outside of them."""
    opens = np.asarray([mark.start for mark in marks], np.int64)
    closes = np.asarray([mark.end for mark in marks], np.int64)
    free = np.concatenate((np.zeros(1, np.int64), paragraphs(text, scan)[:-1]))
    if not marks:
        return free
    inside = opens.searchsorted(free, "right") - 1
    free = free[(inside < 0) | (free >= closes[np.maximum(inside, 0)])]
    # What follows a block without a blank line between them starts one too.
    follows = np.asarray([mark.end + 1 for mark in marks if text[mark.end + 1 : mark.end + 2] > " "], np.int64)
    starts = np.concatenate((free, opens, follows))
    starts.sort(kind="stable")
    return starts[np.concatenate((np.ones(1, np.bool_), starts[1:] != starts[:-1]))]


def _runs(values: Sequence[object] | None, size: int) -> NDArray[np.int64]:
    """Numbers that grow by one wherever the value changes, so that equal ends mean one value throughout."""
    if values is None:
        return np.zeros(size, np.int64)
    changes = [0, *(int(a != b) for a, b in zip(values, values[1:], strict=False))]  # noqa: RUF007
    return np.cumsum(np.asarray(changes[:size], np.int64))
