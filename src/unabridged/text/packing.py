"""The one cutting engine: caps, boundaries and overlap in; spans out.

A chunk takes whole units, greedily and in order: paragraphs; of a paragraph that alone is over the
cap, its sentences; of such a sentence, its lines, then words; of such a word, graphemes. Prefix
sums say where the cap is reached, and boundaries are looked for only there, so that the work is
linear in the text and the chunks, on any input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.errors import CapUnenforceable, ConfigError
from unabridged.text.boundaries import Level, Lines, Marks, Sentences, Words, lines, paragraphs
from unabridged.text.graphemes import forced_cut, forced_start
from unabridged.text.measure import Characters, Starts, Utf8Bytes, utf8_length
from unabridged.text.tokens import as_tokenizer
from unabridged.types import Chunk, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unabridged.text.measure import Costs, Measure

__all__ = ["Meter", "cut", "pack", "to_chunks"]


@dataclass(frozen=True, slots=True)
class Meter:
    """One cap: what is counted, and how much of it a chunk may hold."""

    costs: Costs
    cap: int

    @property
    def room(self) -> int:
        """What is left for characters."""
        return self.cap - self.costs.fixed


def cut(
    text: str,
    *,
    max_tokens: int | None,
    overlap_tokens: int = 0,
    min_tokens: int = 0,
    max_lines: int | None = None,
    tokenizer: str | object | None = None,
    semantic: bool = True,
    max_chars: int | None = None,
    max_bytes: int | None = None,
    strip: bool = False,
) -> list[Span]:
    """Cut a text into spans that are each within every cap.

    Args:
        text: Any text; lone surrogates and NUL included.
        max_tokens: The cap, in tokens of ``tokenizer``.
        overlap_tokens: How many tokens at most a chunk shares with the one before.
        min_tokens: A chunk with fewer is merged with its neighbour where both fit one chunk.
        max_lines: How many new lines at most a chunk may begin.
        tokenizer: See :func:`~unabridged.text.tokens.as_tokenizer`; the estimator by default.
        semantic: Look for paragraphs, sentences and words; else cut at the cap.
        max_chars: A second cap, in characters.
        max_bytes: A third, in bytes of the UTF-8 form.
        strip: Leave white space at the ends of spans out, and blank spans (SPEC K2).

    Returns:
        Spans that cover every character but blank ones, starts and ends strictly ascending.

    Raises:
        ConfigError: Settings that contradict each other.
        CapUnenforceable: One character alone is over a cap.

    >>> cut("One two. Three four. Five six.", max_tokens=5)
    [Span(start=0, end=9), Span(start=9, end=21), Span(start=21, end=30)]
    """
    _check(max_tokens, overlap_tokens, min_tokens, max_lines, max_chars, max_bytes)
    measure = as_tokenizer(tokenizer)
    if not text or text.isspace():
        return []
    costs = measure.measure(text)
    meters = [] if max_tokens is None else [Meter(costs, max_tokens)]
    if max_chars is not None:
        meters.append(Meter(Characters().measure(text), max_chars))
    if max_bytes is not None:
        meters.append(Meter(Utf8Bytes().measure(text), max_bytes))
    levels: list[Level] = []
    if semantic:
        scan = getattr(costs, "scan", None)
        levels = [Marks(paragraphs(text, scan)), Sentences(text), Lines(text), Words(text)]
    new_lines = None if max_lines is None else Meter(Starts(lines(text), len(text)), max_lines)
    spans = pack(
        text,
        meters,
        levels,
        overlap=overlap_tokens,
        minimum=min_tokens,
        overlap_costs=costs,
        new_lines=new_lines,
    )
    return list(_stripped(text, spans)) if strip else spans


def _check(
    max_tokens: int | None,
    overlap_tokens: int,
    min_tokens: int,
    max_lines: int | None,
    max_chars: int | None,
    max_bytes: int | None,
) -> None:
    caps = {"max_tokens": max_tokens, "max_chars": max_chars, "max_bytes": max_bytes, "max_lines": max_lines}
    for name, cap in caps.items():
        if cap is not None and cap < 1:
            raise ConfigError(name, f"found {cap}, expected a whole number from 1")
    if max_tokens is None and max_chars is None and max_bytes is None:
        raise ConfigError("max_tokens", "found no cap at all, expected max_tokens, max_chars or max_bytes")
    for name, value in {"overlap_tokens": overlap_tokens, "min_tokens": min_tokens}.items():
        if value < 0:
            raise ConfigError(name, f"found {value}, expected 0 or more")
    if max_tokens is not None and overlap_tokens >= max_tokens:
        raise ConfigError(
            "overlap_tokens", f"found {overlap_tokens}, expected less than max_tokens ({max_tokens})"
        )
    if max_tokens is not None and min_tokens > max_tokens:
        raise ConfigError("min_tokens", f"found {min_tokens}, expected at most max_tokens ({max_tokens})")


def pack(
    text: str,
    meters: Sequence[Meter],
    levels: Sequence[Level],
    *,
    overlap: int = 0,
    minimum: int = 0,
    overlap_costs: Costs | None = None,
    new_lines: Meter | None = None,
) -> list[Span]:
    """Pack units into chunks: what :func:`cut` and the segmenters stand on.

    ``levels`` are the boundaries, strongest first; a unit is looked into only if it alone is over a
    cap. ``overlap`` and ``minimum`` are in ``overlap_costs``' unit (the first meter's by default).
    """
    for meter in meters:
        if meter.room < 1:
            raise CapUnenforceable(
                f"a cap of {meter.cap} leaves no room beside {meter.costs.fixed} special tokens"
            )
    packer = _Packer(text, tuple(meters), tuple(levels), overlap, overlap_costs or meters[0].costs, new_lines)
    spans = list(packer.spans())
    if minimum:
        spans = _merged(packer, spans, minimum)
    return [span for span in spans if not text[span.start : span.end].isspace()]


@dataclass(frozen=True, slots=True)
class _Packer:
    text: str
    meters: tuple[Meter, ...]
    levels: tuple[Level, ...]
    overlap: int
    overlap_costs: Costs
    new_lines: Meter | None

    def spans(self) -> Iterator[Span]:
        size = len(self.text)
        content_end = len(self.text.rstrip())
        start = new = 0
        while True:
            start, end = self._chunk(start, new)
            if content_end <= end < size and content_end - 1 > new:
                start, end = self._confirmed(start, new, self._end(start, new, content_end - 1))
            yield Span(start, end)
            if end >= size:
                return
            start, new = self._overlap_start(start, end), end

    def _chunk(self, start: int, new: int) -> tuple[int, int]:
        """The chunk that opens at ``start`` and brings the characters from ``new`` on."""
        high = self._reach(start, new)
        if high <= new and start < new:
            start = new
            high = self._reach(start, new)
        if high <= new:
            raise CapUnenforceable(f"the character at {new} alone is over the limit")
        return self._confirmed(start, new, self._end(start, new, high))

    def _reach(self, start: int, new: int) -> int:
        """How far a chunk may go."""
        reach = min(m.costs.select(m.costs.at(start) + m.room) for m in self.meters)
        if self.new_lines is not None:
            costs = self.new_lines.costs
            reach = min(reach, costs.select(costs.at(new) + self.new_lines.cap))
        return reach

    def _end(self, start: int, new: int, high: int) -> int:
        """The best boundary in ``(new, high]``."""
        if high >= len(self.text):
            return len(self.text)
        base = new
        for depth, level in enumerate(self.levels):
            base = level.last(base, high) or base
            if base > new and self._unit_end(base, depth) is not None:
                return base
        if base > new and self._is_full_enough(start, base):
            return base
        return forced_cut(self.text, high, new) if base == new else base

    def _is_full_enough(self, start: int, end: int) -> bool:
        first = self.meters[0]
        return 2 * (first.costs.at(end) - first.costs.at(start)) >= first.room

    def _confirmed(self, start: int, new: int, end: int) -> tuple[int, int]:
        """The chunk, shortened until it is within every cap by a recount."""
        tries = 0
        while (over := self._over(start, end)) is not None:
            meter, actual = over
            tries += 1
            at = meter.costs.at(start)
            target = at + (meter.costs.at(end) - at) * meter.room // max(1, actual - meter.costs.fixed) - 1
            high = min(meter.costs.select(target), end - 1)
            if tries > 3:
                high = min(high, new + (end - new) // 2)
            if high <= new and start < new:
                start, tries = new, 0
                continue
            if end - new == 1:
                raise CapUnenforceable(f"the character at {new} alone is over the limit")
            end = self._end(start, new, max(high, new + 1))
        return start, end

    def _over(self, start: int, end: int) -> tuple[Meter, int] | None:
        for meter in self.meters:
            if (actual := meter.costs.between(start, end)) > meter.cap:
                return meter, actual
        return None

    def _unit_end(self, at: int, depth: int) -> int | None:
        """Where the unit at ``at`` ends, if at this depth there is one that is not over a cap."""
        reach = self._reach(at, at)
        for level in self.levels[: depth + 1]:
            if (end := level.first(at, reach)) is not None:
                return end
        return reach if reach >= len(self.text) else None

    def _overlap_start(self, before: int, new: int) -> int:
        """Where the chunk after ``new`` opens: the tail of the one that opened at ``before``."""
        if not self.overlap:
            return new
        following = self._unit_end(new, len(self.levels))
        costs = self.overlap_costs
        low = max(before + 1, costs.select(costs.at(new) - self.overlap - 1) + 1)
        if following is not None:
            for m in self.meters:
                low = max(low, m.costs.select(m.costs.at(following) - m.room - 1) + 1)
        if low >= new:
            return new
        for level in self.levels:
            if (found := level.first(low - 1, new - 1)) is not None:
                return found
        return forced_start(self.text, low, new)


def _merged(packer: _Packer, spans: list[Span], minimum: int) -> list[Span]:
    """Chunks under the minimum, merged with a neighbour where both fit one chunk."""
    costs = packer.overlap_costs
    merged: list[Span] = []
    new = 0
    for span in spans:
        if merged:
            before = merged[-1]
            small = (
                min(costs.between(span.start, span.end), costs.between(before.start, before.end)) < minimum
            )
            if small and _fits(packer, before.start, new, span.end):
                merged[-1] = Span(before.start, span.end)
                continue
            new = before.end
        merged.append(span)
    return merged


def _fits(packer: _Packer, start: int, new: int, end: int) -> bool:
    if packer.new_lines is not None and packer.new_lines.costs.between(new, end) > packer.new_lines.cap:
        return False
    return all(meter.costs.between(start, end) <= meter.cap for meter in packer.meters)


def _stripped(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        piece = text[span.start : span.end]
        start = span.end - len(piece.lstrip())
        yield Span(start, span.start + len(piece.rstrip()))


def to_chunks(text: str, spans: Sequence[Span], tokenizer: str | object | None = None) -> tuple[Chunk, ...]:
    """The spans of a text as chunks: with their text, tokens, overlap and byte offsets.

    >>> to_chunks("é two", [Span(0, 2), Span(2, 5)])[1].start_byte
    3
    """
    measure: Measure = as_tokenizer(tokenizer)
    chunks: list[Chunk] = []
    end = end_byte = 0
    for index, span in enumerate(spans):
        piece = text[span.start : span.end]
        shared = text[span.start : end]
        start_byte = end_byte - utf8_length(shared) + utf8_length(text[end : span.start])
        overlap = measure.count(shared) if shared else 0
        end, end_byte = span.end, start_byte + utf8_length(piece)
        chunks.append(
            Chunk(
                index,
                span.start,
                end,
                start_byte,
                end_byte,
                piece,
                measure.count(piece),
                overlap_tokens=overlap,
            )
        )
    return tuple(chunks)
