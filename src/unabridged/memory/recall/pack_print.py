"""A pack as text: facts with their sources, then passages, numbered as they come (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from unabridged.memory.recall.data import Citation, Hit
    from unabridged.memory.recall.pack_spans import Passage, Place

__all__ = ["Line", "blocks", "printed", "title", "when"]


@dataclass(frozen=True, slots=True)
class Line:
    """A fact, an entity or a summary, and the bytes that it rests on."""

    hit: Hit
    rank: int
    place: Place


def printed(passages: Sequence[Passage], lines: Sequence[Line]) -> tuple[str, tuple[Citation, ...]]:
    """The text, and what each number in it cites."""
    said, order = _blocks(passages, lines)
    return "\n\n".join(said), tuple(passage.cited() for passage in order)


def blocks(passages: Sequence[Passage], lines: Sequence[Line]) -> list[str]:
    """What stands apart in the text by an empty line."""
    return _blocks(passages, lines)[0]


def _blocks(passages: Sequence[Passage], lines: Sequence[Line]) -> tuple[list[str], list[Passage]]:
    """What stands apart by an empty line, and what each number cites."""
    numbers: dict[Place, int] = {}
    order: list[Passage] = []

    def number(passage: Passage) -> int:
        if passage.place not in numbers:
            order.append(passage)
            numbers[passage.place] = len(order)
        return numbers[passage.place]

    told = [_line(line, next((p for p in passages if p.holds(line.place)), None), numbers, number) for line in lines]
    said = [f"[{number(p)}] {title(p.citation)}\n{p.quote}" for p in passages if p.shown]
    return [*(["\n".join(told)] if told else []), *said], order


def _line(line: Line, passage: Passage | None, numbers: dict[Place, int], number: Callable[[Passage], int]) -> str:
    text = f"- {line.hit.text.strip()}{when(line.hit.record)}"
    if passage is None:
        return text
    fresh = passage.place not in numbers
    mark = f"[{number(passage)}]"
    if passage.shown or not fresh:
        return f"{text} {mark}"
    return f"{text}\n  {mark} {title(passage.citation)}: “{passage.quote}”"


def when(record: object) -> str:
    """When a fact held, as far as it is known."""
    since, until = getattr(record, "valid_at", None), getattr(record, "invalid_at", None)
    if not hasattr(record, "invalid_at") or (since is None and until is None):
        return ""
    return f" ({_day(since)} – {_day(until) or 'now'})"


def title(citation: Citation) -> str:
    """Where a passage is from: the source, the place in it, who said it, when."""
    place = [citation.source or f"artifact {citation.document_id}"]
    place += [f"page {citation.page}"] if citation.page is not None else []
    place += [citation.section] if citation.section else []
    place += [citation.speaker] if citation.speaker else []
    moment = citation.valid_at or citation.created_at
    return " · ".join([*place, *([_day(moment)] if moment else [])])


def _day(moment: dt.datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"
