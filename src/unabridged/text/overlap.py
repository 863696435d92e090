"""Overlap that follows the text: wider where a boundary is weak, and where the text is dense (SPEC L11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.text.boundaries import Words
from unabridged.text.lexical import words_of
from unabridged.text.sentences import Sentences
from unabridged.types import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.text.measure import Costs

__all__ = ["boundary_weakness", "complexity", "widen"]

_SAMPLE = 600  # characters before a boundary that say how dense the text is there


def boundary_weakness(text: str, at: int) -> float:
    """How little a boundary at ``at`` parts: 0 before a heading, ¼ at a blank line, … 1 inside a word.

    >>> [boundary_weakness("One.\\n\\nTwo. Three four", at) for at in (6, 11, 17, 19)]
    [0.25, 0.5, 0.75, 1.0]
    """
    if at <= 0 or at >= len(text) or text[at:].startswith("#"):
        return 0.0
    before = text[max(0, at - 200) : at]
    gap = before[len(before.rstrip()) :]
    if gap.count("\n") >= 2:
        return 0.25
    if Sentences(text).last(at - 1, at) == at:
        return 0.5
    return 0.75 if gap else 1.0


def complexity(text: str) -> float:
    """How dense a text is, from 0 to 1: the share of its words that are new.

    >>> complexity("one two three four") > complexity("one one one one")
    True
    """
    words = words_of(text)
    return len(set(words)) / len(words) if words else 0.0


def widen(text: str, spans: Sequence[Span], *, costs: Costs, overlap: int, cap: int) -> list[Span]:
    """Open each span earlier, by up to ``overlap`` tokens, as far as its boundary and the text call for.

    The start moves back to a sentence where one is in reach, else to a word; a span never grows over ``cap``,
    and starts stay strictly ascending.
    """
    widened: list[Span] = []
    for span in spans:
        if not widened:
            widened.append(span)
            continue
        density = complexity(text[max(0, span.start - _SAMPLE) : span.start])
        share = boundary_weakness(text, span.start) * (0.5 + 0.5 * density)
        room = min(round(overlap * share), cap - costs.between(span.start, span.end))
        start = _opening(text, span.start, room, costs, widened[-1].start + 1)
        while start < span.start and costs.between(start, span.end) > cap:  # exact tokenizers do not add up
            start = Words(text).first(start, span.start) or span.start
        widened.append(Span(start, span.end))
    return widened


def _opening(text: str, at: int, room: int, costs: Costs, floor: int) -> int:
    if room <= 0:
        return at
    low = max(floor, costs.select(costs.at(at) - room - 1) + 1)
    if low >= at:
        return at
    middle = (low + at) // 2
    return Sentences(text).first(low - 1, middle) or Words(text).first(low - 1, middle) or at
