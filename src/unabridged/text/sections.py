"""Chunks grouped into sections, for vectors of chunk, section and document (SPEC L11)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.text.markdown import heading_text, scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.types import Chunk, Span

__all__ = ["Section", "group_chunks"]


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document and the chunks in it.

    ``members`` are positions of chunks, ``weights`` how many characters of the section each is the first to
    bring (an overlap counts once), so that a weighted mean over the members is the section's vector and one
    over the sections, weighed by ``weight``, the document's.
    """

    title: str | None
    start: int
    end: int
    members: tuple[int, ...]
    weights: tuple[int, ...]

    @property
    def weight(self) -> int:
        """The characters that its chunks bring."""
        return sum(self.weights)


def group_chunks(text: str, chunks: Sequence[Chunk | Span]) -> tuple[Section, ...]:
    """The sections of a text that hold its chunks; a chunk that goes across a heading belongs to both.

    A text without headings is grouped evenly, about √n chunks a section. Every chunk that brings anything is
    in at least one section, and the weights of all sections sum to the characters covered.

    >>> from unabridged.types import Span
    >>> [(s.title, s.members) for s in group_chunks("# A\\n\\nx\\n\\n# B\\n\\ny", [Span(0, 8), Span(8, 14)])]
    [('A', (0,)), ('B', (1,))]
    """
    if not chunks:
        return ()
    news = _unique(chunks)
    heads = [mark for mark in scan(text) if mark.kind == "heading"]
    if heads:
        starts = [mark.start for mark in heads]
        titles: list[str | None] = [heading_text(text, mark) or None for mark in heads]
        if starts[0] > 0:
            starts, titles = [0, *starts], [None, *titles]
        bounds = list(zip(titles, starts, [*starts[1:], len(text)], strict=True))
    else:
        step = max(1, math.isqrt(len(chunks)))
        starts = [0, *(chunks[at].start for at in range(step, len(chunks), step))]
        bounds = [(None, a, b) for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    return tuple(section for bound in bounds if (section := _section(bound, news)).members)


def _unique(chunks: Sequence[Chunk | Span]) -> list[tuple[int, int]]:
    """What each chunk is the first to bring."""
    news, floor = [], 0
    for chunk in chunks:
        news.append((max(chunk.start, floor), max(chunk.end, floor)))
        floor = max(floor, chunk.end)
    return news


def _section(bound: tuple[str | None, int, int], news: Sequence[tuple[int, int]]) -> Section:
    title, start, end = bound
    shares = [(at, min(b, end) - max(a, start)) for at, (a, b) in _near(news, start, end)]
    held = [(at, share) for at, share in shares if share > 0]
    return Section(title, start, end, tuple(at for at, _ in held), tuple(share for _, share in held))


def _near(news: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, tuple[int, int]]]:
    from bisect import bisect_left, bisect_right

    low = bisect_right(news, start, key=lambda new: new[1])
    high = bisect_left(news, end, key=lambda new: new[0])
    return list(enumerate(news[low:high], low))
