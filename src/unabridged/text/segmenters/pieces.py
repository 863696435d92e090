"""What goes into a segmenter and what comes out: tools in, pieces and additions out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.text.boundaries import Lines, Words
from unabridged.text.engine import Meter, pack
from unabridged.text.sentences import Sentences
from unabridged.types import Span

if TYPE_CHECKING:
    from unabridged.text.boundaries import Level
    from unabridged.text.documents.model import Document
    from unabridged.text.measure import Costs, Measure
    from unabridged.text.segmenters.models import Embed, Models

__all__ = ["Cut", "Piece", "Tools", "Window", "finest", "pack_window"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk to be: a span, and what its text has besides.

    ``prefix`` stands before ``document[start:end]``; ``words`` stand instead of it (a model's own words).
    """

    start: int
    end: int
    prefix: str = ""
    words: str | None = None

    def text(self, document: str) -> str:
        """What a model will read."""
        return self.prefix + document[self.start : self.end] if self.words is None else self.words


@dataclass(frozen=True, slots=True)
class Cut:
    """What a segmenter made: pieces in order, its own counts, the method where it differs, what to say."""

    pieces: Sequence[Piece | Span]
    extra: Mapping[str, Any] = field(default_factory=dict)
    method: str | None = None
    notes: tuple[str, ...] = ()
    fell_back: tuple[str, ...] = ()
    document: Document | None = None  # with the blocks that the segmenter found, where it looked for them


@dataclass(frozen=True, slots=True)
class Tools:
    """What a segmenter works with: the tokenizer, its prefix sums over the document, the models handed in."""

    tokenizer: Measure
    costs: Costs
    embed: Embed | None
    models: Models


@dataclass(frozen=True, slots=True)
class Window:
    """The prefix sums of ``text[start:end]``, seen as a text of its own."""

    costs: Costs
    start: int
    end: int

    @property
    def total(self) -> int:
        """What the window costs."""
        return self.costs.between(self.start, self.end)

    @property
    def fixed(self) -> int:
        """As of the whole."""
        return self.costs.fixed

    def at(self, offset: int) -> int:
        """As of the whole, from the window's start."""
        return self.costs.at(self.start + offset) - self.costs.at(self.start)

    def many(self, offsets: Any) -> Any:
        """The same for many."""
        import numpy as np

        return self.costs.many(np.asarray(offsets, np.int64) + self.start) - self.costs.at(self.start)

    def select(self, budget: int) -> int:
        """The largest offset within a budget."""
        if budget < 0:
            return 0
        return min(self.costs.select(budget + self.costs.at(self.start)), self.end) - self.start

    def between(self, start: int, end: int) -> int:
        """What a slice costs on its own."""
        return self.costs.between(self.start + start, self.start + end)

    def is_sure(self, start: int, end: int) -> bool:
        """As of the whole."""
        return self.costs.is_sure(self.start + start, self.start + end)


def finest(text: str) -> tuple[Level, ...]:
    """Sentences, lines, words: where a unit over the cap is cut."""
    return (Sentences(text), Lines(text), Words(text))


def pack_window(
    text: str,
    costs: Costs,
    bounds: tuple[int, int],
    cap: int,
    *,
    ends: Sequence[int] | None = None,
    overlap: int = 0,
    minimum: int = 0,
) -> list[Span]:
    """Pack ``text[start:end]`` on its own; ``ends`` are offsets of units in the whole text.

    >>> from unabridged.text.tokens import Characters
    >>> text = "one two. three four. five"
    >>> pack_window(text, Characters().measure(text), (9, 25), 12)
    [Span(start=9, end=21), Span(start=21, end=25)]
    """
    start, end = bounds
    if start >= end:
        return []
    inside = [at - start for at in ends or () if start < at < end]
    piece = text[start:end]
    view = Window(costs, start, end)
    spans = pack(
        piece, [Meter(view, cap)], [*inside, end - start], finest(piece),
        overlap=min(overlap, cap - 1), minimum=min(minimum, cap),
    )  # fmt: skip
    return [Span(start + span.start, start + span.end) for span in spans]
